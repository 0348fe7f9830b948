"""The recorded choice, its states, comparisons of candidates, altered groups, and texts that disclose too much."""

__all__ = [
    "altered_groups",
    "cautions",
    "choice",
    "comparison",
    "disclosure_text",
    "meant_run",
    "release_check",
    "slope",
    "states",
]
