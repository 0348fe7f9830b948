"""Sort numbers by the digits of their places between the least and the largest, or by comparing many at a time.

Digits take a fifth of the time of comparing numbers one by one, and twice the time where NumPy compares many at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]
Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]

_FEW = 1500
"""Numbers up to which comparing them is as quick."""

_WIDE = {"X86_V4", "AVX512_SKX"}
"""NumPy's names of the instructions with which it sorts in half the time that digits take."""


def _compares_many() -> bool:
    found = np.show_config(mode="dicts") or {}
    return not _WIDE.isdisjoint(found.get("SIMD Extensions", {}).get("found", ()))


_COMPARES_MANY = _compares_many()

_TOP = float((1 << 32) - 1024)
"""The largest number's place on a scale from zero on, where rounding cannot carry it beyond 32 bits."""

_MISPLACED = 16
"""Where more than one number in so many is smaller than the one before, digits have told too little."""


def sorted_order(values: Floats | NDArray[np.signedinteger]) -> Index:
    """An order in which values without NaN do not fall; equal values stand in any order."""
    if _COMPARES_MANY or len(values) <= _FEW:
        return np.argsort(values)
    with np.errstate(all="ignore"):  # infinities, and ranges that floats cannot divide: what comes of it is looked at
        low = values.min()
        scale = _TOP / (values.max() - low)
        if not np.isfinite(scale):
            return np.argsort(values)
        order = by_digits(((values - low) * scale).astype(np.uint32))
    ordered = values[order]
    misplaced = np.count_nonzero(ordered[1:] < ordered[:-1])
    if _MISPLACED * misplaced > len(values):
        return np.argsort(values)
    return order[np.argsort(ordered, kind="stable")] if misplaced else order


def by_digits(numbers: NDArray[np.uint32] | NDArray[np.signedinteger]) -> Index:
    """``np.argsort(numbers, kind="stable")`` of whole numbers from 0 to 2^32 - 1, several times quicker.

    NumPy sorts numbers of 16 bits by their digits; two passes sort those of 32 bits.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    high = (numbers >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def ranked(values: Floats | NDArray[np.signedinteger]) -> Ranks:
    """The rank of each value, equal values alike and no rank left out."""
    order = sorted_order(values)
    ordered = values[order]
    climbs = np.zeros(len(order), np.int32)
    np.not_equal(ordered[1:], ordered[:-1], out=climbs[1:], casting="unsafe")
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.cumsum(climbs, dtype=np.int32)
    return ranks
