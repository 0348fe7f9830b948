"""All measures by name; adding one is one function and one line here."""

from __future__ import annotations

from engine.measures import distortion, edits, risk
from engine.measures.base import (
    Figure,
    Measure,
    MeasureCall,
    evaluate,
    evaluate_records,
    original_batch,
    parse_call,
)

MEASURES: dict[str, Measure] = {
    "small_cells": risk.SMALL_CELLS,
    "hellinger": distortion.HELLINGER,
    "total_variation": distortion.TOTAL_VARIATION,
    "entropy_change": distortion.ENTROPY_CHANGE,
    "false_zeros": distortion.FALSE_ZEROS,
    "false_nonzeros": distortion.FALSE_NONZEROS,
    "hellinger_two_way": distortion.HELLINGER_TWO_WAY,
    "total_variation_two_way": distortion.TOTAL_VARIATION_TWO_WAY,
    "entropy_change_two_way": distortion.ENTROPY_CHANGE_TWO_WAY,
    "edit_failures": edits.EDIT_FAILURES,
}

DEFAULT = ("small_cells", "hellinger", "total_variation", "entropy_change", "false_zeros")


def call(text: str) -> MeasureCall:
    """The measure written as ``name`` or ``name[parameter=value]``."""
    return parse_call(text, MEASURES)


__all__ = [
    "DEFAULT",
    "MEASURES",
    "Figure",
    "Measure",
    "MeasureCall",
    "call",
    "evaluate",
    "evaluate_records",
    "original_batch",
]
