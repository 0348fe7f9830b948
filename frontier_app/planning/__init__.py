"""The parts of the Plan page: each draws some inputs and returns what they say."""
