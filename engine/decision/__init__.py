"""The recorded choice, its states, and what may be told to whom."""
