"""Find equal numbers among very many whole numbers.

A table of all numbers that there may be takes a fraction of the time that sorting does, where it is not too long.
"""

from __future__ import annotations

import numpy as np

_SPARSE = 8  # places of such a table for each number; a longer one leaves a processor's cache
_SHORT = 1 << 16  # places that a table may have however few the numbers


def fit_a_table(top: int, n: int) -> bool:
    """Return whether ``n`` numbers below ``top`` are best looked up in a table."""
    return top <= max(_SHORT, _SPARSE * n)


def first_places(numbers: np.ndarray) -> np.ndarray:
    """For each number, 0 or more, the place of the first one that equals it."""
    top = int(numbers.max(initial=0)) + 1
    if not fit_a_table(top, len(numbers)):
        _, first, same = np.unique(numbers, return_index=True, return_inverse=True)
        return np.asarray(first[same])
    places = np.empty(top, np.int64)
    places[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # of equal ones the last that is written stays
    return np.asarray(places[numbers])


def in_use(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of ``n`` codes that occur, in order, and for each of ``codes`` its place among them."""
    used = np.zeros(n, bool)
    used[codes] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[codes]
