"""Figures from given arrays."""

__all__ = [
    "board_map",
    "candidate_labels",
    "compare",
    "density",
    "live_map",
    "script_map",
    "splom",
    "study_map",
    "style",
]
