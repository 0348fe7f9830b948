"""Which texts a piece of a file cannot hold: those with two bytes in a row that never follow each other in it.

A secret has dozens of forms and a picture megabytes of pixels; one pass over them leaves few forms to be looked for.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_PIECE = 1 << 20  # bytes at a time: a large file needs no memory of its size


def pairs_in(content: bytes) -> np.ndarray:
    """For each of the 65,536 pairs of bytes, at 256 times the first plus the second, whether ``content`` holds it."""
    there = np.zeros(1 << 16, bool)
    for start in range(0, len(content) - 1, _PIECE):
        there[_numbers(content[start : start + _PIECE + 1])] = True
    return there


def possible(forms: tuple[bytes, ...], there: np.ndarray) -> list[bytes]:
    """Those of ``forms`` that may stand where only the pairs ``there`` do (see :func:`pairs_in`); no other can."""
    long = tuple(form for form in forms if len(form) > 1)
    if not long:
        return list(forms)
    numbers, starts = _laid_out(long)
    fits = np.logical_and.reduceat(there[numbers], starts)
    return [form for form in forms if len(form) < 2] + [form for form, it in zip(long, fits, strict=True) if it]


@lru_cache(maxsize=1024)
def _laid_out(forms: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of all forms in a row, and where those of each begin."""
    each = [_numbers(form) for form in forms]
    return np.concatenate(each), np.cumsum([0, *(len(numbers) for numbers in each[:-1])])


def _numbers(content: bytes) -> np.ndarray:
    codes = np.frombuffer(content, np.uint8)
    return codes[:-1].astype(np.uint16) << 8 | codes[1:]
