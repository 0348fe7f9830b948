"""Missing codes and value labels as SPSS and Stata can declare them, in data files and in programs."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from engine.common.raw_values import is_number
from engine.data.labels import ColumnLabels

_LEAST_LABELLED, _MOST_LABELLED = -2_147_483_647, 2_147_483_620


def stata_labels(value: float) -> bool:
    """Return whether Stata can label a number."""
    return float(value).is_integer() and _LEAST_LABELLED <= value <= _MOST_LABELLED


def spss_missing(about: ColumnLabels, values: np.ndarray, is_text: bool, width: int = 8) -> tuple[list[Any], int]:
    """Missing codes of a column as SPSS declares them, three codes or one range and one code, and how many codes and
    ranges are left over.

    Codes that occur in ``values`` come first.  Neighbours become a range where no other value lies between.  A text
    code has at most 8 bytes, and none is longer than the column (``width`` bytes).
    """
    if is_text:
        present = set(values.tolist())
        texts = [code for code in about.missing if len(code.encode()) <= min(8, width)]
        texts.sort(key=lambda code: code not in present)
        return texts[:3], len(about.missing) - len(texts[:3]) + len(about.missing_ranges)
    codes = sorted({float(code) for code in about.missing if is_number(code) and isfinite(float(code))})
    n_others = sum(not (is_number(code) and isfinite(float(code))) for code in about.missing)
    ranges = [{"lo": low, "hi": high} for low, high in about.missing_ranges]
    codes = [code for code in codes if not any(r["lo"] <= code <= r["hi"] for r in ranges)]
    if len(codes) <= (3 if not ranges else 1) and len(ranges) < 2:
        return [*ranges, *codes], n_others
    ends = [*codes, *(end for r in ranges for end in (r["lo"], r["hi"]))]
    low, high = min(ends), max(ends)
    others = {float(value) for value in values[~np.isnan(values)].tolist()}
    others |= {float(raw) for raw, _ in about.values if is_number(raw)}
    if all(
        value in codes or any(r["lo"] <= value <= r["hi"] for r in ranges) for value in others if low <= value <= high
    ):
        return [{"lo": low, "hi": high}], n_others
    codes.sort(key=lambda code: code not in others)
    declared = [*ranges[:1], *codes[:1]] if ranges else codes[:3]
    return declared, len(ranges) + len(codes) - len(declared) + n_others
