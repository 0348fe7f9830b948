"""The recorded choice, its states, comparisons of candidates, and texts that disclose too much."""
