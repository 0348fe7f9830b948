"""A fast filter before a search for texts: pairs of bytes that a piece of a file does not hold.

A secret has dozens of forms and a picture megabytes of pixels; one pass over them leaves few forms to be looked for.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_PIECE = 1 << 20  # bytes at a time: a large file needs no memory of its size
_APART = (1, 2)  # neighbours, and neighbours in UTF-16, half of whose bytes are zero


def pairs_in(content: bytes) -> np.ndarray:
    """Whether ``content`` holds each pair of bytes: 65,536 truths for those beside each other, as many for those with
    one byte between them, each at 256 times the first byte plus the second, and one that is always true."""
    there = np.zeros((len(_APART) << 16) + 1, bool)
    there[-1] = True
    for start in range(0, len(content), _PIECE):
        there[_places(content[start : start + _PIECE + max(_APART)])] = True
    return there


def possible(forms: tuple[bytes, ...], there: np.ndarray) -> list[bytes]:
    """Those of ``forms`` that may stand where only the pairs ``there`` do (see :func:`pairs_in`); no other can."""
    if not forms:
        return []
    places, starts = _laid_out(forms)
    fits = np.logical_and.reduceat(there[places], starts)
    return [form for form, it in zip(forms, fits, strict=True) if it]


@lru_cache(maxsize=1024)
def _laid_out(forms: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Places of the pairs of all forms in a row, and where those of each begin; none is without a place."""
    each = [np.append(_places(form), -1) for form in forms]
    return np.concatenate(each), np.cumsum([0, *(len(places) for places in each[:-1])])


def _places(content: bytes) -> np.ndarray:
    codes = np.frombuffer(content, np.uint8).astype(np.int32)
    rows = [(codes[:-apart] << 8 | codes[apart:]) + (i << 16) for i, apart in enumerate(_APART)]
    return np.concatenate(rows)
