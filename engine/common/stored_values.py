"""Read back values of a study file: check sums of rows, and values of the kind that was written.

A sum is the CRC-32 of a row's content, stored beside it.  It shows a bit that a disk or a copy has turned; against
people there is the seal (:mod:`engine.study.decision_log`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np


def sums_of(rows: np.ndarray) -> list[int]:
    """The sum of every row of a matrix of figures, as a database gives them back: it knows one zero and no NaN's
    bits."""
    figures = np.ascontiguousarray(rows, "<f8") + 0.0
    figures[np.isnan(figures)] = np.nan
    return list(map(crc32, figures.view(f"V{8 * figures.shape[1]}").ravel().tolist()))


def sum_of(values: Sequence[Any]) -> int:
    """The sum of a row of texts and numbers."""
    return crc32("\0".join(map(str, values)).encode("utf-8", "surrogatepass"))


def is_whole(value: object, least: int = 0, most: int = 2**53) -> bool:
    """Return whether a stored value is a whole number within bounds."""
    return isinstance(value, int) and least <= value <= most


def is_number(value: object) -> bool:
    """Return whether a stored value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e308


def is_texts(value: object) -> bool:
    """Return whether a stored value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def from_json(text: object) -> Any:
    """The value of a stored JSON text; :class:`ValueError` for anything that is none, or that is nested too deep."""
    if not isinstance(text, str):
        raise ValueError("no text")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
