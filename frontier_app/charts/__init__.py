"""Figures from given arrays."""

__all__ = [
    "board_map",
    "candidate_labels",
    "candidate_map",
    "compare",
    "density",
    "live_map",
    "places",
    "script_map",
    "splom",
    "style",
]
