"""A fast filter before a search for texts: pairs of bytes that a part of a file does not hold.

A secret has dozens of forms and a picture megabytes of pixels; one pass over them leaves few forms to search for.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_CHUNK = 1 << 20  # bytes at a time: a large file needs no memory of its size
_DISTANCES = (1, 2)  # neighbours, and neighbours in UTF-16, half of whose bytes are zero


def pairs_in(content: bytes) -> np.ndarray:
    """Return whether ``content`` holds each pair of bytes: 65,536 truth values for neighbours, as many for pairs with
    one byte between them, each at 256 times the first byte plus the second, and a last one that is always true."""
    present = np.zeros((len(_DISTANCES) << 16) + 1, bool)
    present[-1] = True
    for start in range(0, len(content), _CHUNK):
        present[_pair_indices(content[start : start + _CHUNK + max(_DISTANCES)])] = True
    return present


def possible_forms(forms: tuple[bytes, ...], pairs: np.ndarray) -> list[bytes]:
    """The ``forms`` that a content with these ``pairs`` (see :func:`pairs_in`) may hold; it holds no other."""
    if not forms:
        return []
    indices, starts = _indices_of_forms(forms)
    is_possible = np.logical_and.reduceat(pairs[indices], starts)
    return [form for form, possible in zip(forms, is_possible, strict=True) if possible]


@lru_cache(maxsize=1024)
def _indices_of_forms(forms: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the pairs of all forms, one form after the other, and where those of each begin; every form has at
    least the last index, which is always true."""
    indices = [np.append(_pair_indices(form), -1) for form in forms]
    return np.concatenate(indices), np.cumsum([0, *(len(of_form) for of_form in indices[:-1])])


def _pair_indices(content: bytes) -> np.ndarray:
    codes = np.frombuffer(content, np.uint8).astype(np.int32)
    pairs = [(codes[:-distance] << 8 | codes[distance:]) + (i << 16) for i, distance in enumerate(_DISTANCES)]
    return np.concatenate(pairs)
