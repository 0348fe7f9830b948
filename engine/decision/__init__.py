"""The recorded choice, its states, comparisons of candidates, and texts that disclose too much."""

__all__ = ["cautions", "choice", "comparison", "disclosure_text", "release_check", "slope", "states"]
