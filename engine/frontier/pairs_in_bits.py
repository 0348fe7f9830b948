"""Vectors that are covered by others, from comparing every pair of them, 64 pairs in one operation on words of bits.

Arrays hold ranks of losses, whole numbers from zero on, one column per vector; one *covers* another when it is no
larger in every row.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from engine.frontier.sorting import Ranks, ranked

Mask = NDArray[np.bool_]

_MEMBERS = 1024
"""Most columns in one set of bits: with a set for every value among them they still fit into the cache."""

_ASKED = 1024
"""Columns that look up their sets at once: what they look up stays in the cache."""

_WORDS = 8
"""Words of a set are a multiple of that many: their truth values fill a word of their own."""

_WIDE = 8
"""Ranks per column from which ranking them anew beats counting through all of them."""

_WORD, _BIT = np.arange(_MEMBERS) // 64, np.uint64(1) << (np.arange(_MEMBERS) % 64).astype(np.uint64)
"""Where in a set of bits each member stands."""


def narrowed(table: Ranks) -> Ranks:
    """Ranks in the same order, few enough to count through them."""
    if table.size == 0 or table.max() < _WIDE * table.shape[1]:
        return table
    return np.stack([ranked(row) for row in table])


def covered_in_bits(above: Ranks, below: Ranks) -> Mask:
    """A mask of the columns of ``below`` ``(m, B)`` that a column of ``above`` ``(m, A)`` covers, ``m >= 1``."""
    table = narrowed(np.concatenate((above, below), axis=1))
    above, below = table[:, : above.shape[1]], table[:, above.shape[1] :]
    top = int(table.max(initial=0))
    hit = np.zeros(below.shape[1], np.bool_)
    for begin in range(0, above.shape[1], _MEMBERS):
        sets = [_Sets(at, row, top) for at, row in enumerate(above[:, begin : begin + _MEMBERS])]
        for first in range(0, len(hit), _ASKED):
            hit[first : first + _ASKED] |= _any(_common(sets, below[:, first : first + _ASKED]))
    return hit


def covered_by_earlier(above: Ranks, below: Ranks) -> Mask:
    """:func:`covered_in_bits` where columns of both sides stand in one order and an earlier one alone covers another;
    ranks of at most a few times their number."""
    top = int(max(above.max(initial=0), below.max(initial=0)))
    hit = np.zeros(below.shape[1], np.bool_)
    for begin in range(0, above.shape[1], _MEMBERS):
        end = begin + _MEMBERS
        sets = [_Sets(at, row, top) for at, row in enumerate(above[:, begin:end])]
        common = _common(sets, below[:, begin:end])
        common &= _EARLIER[: common.shape[0], : common.shape[1]]
        hit[begin:end] |= _any(common)
        for first in range(end, len(hit), _ASKED):
            hit[first : first + _ASKED] |= _any(_common(sets, below[:, first : first + _ASKED]))
    return hit


class _Buffers(threading.local):
    """Memory that each thread fills anew in every call: getting it anew would take longer than filling it."""

    def __init__(self) -> None:
        self._buffers: list[NDArray[np.uint64]] = []

    def take(self, at: int, shape: tuple[int, int]) -> NDArray[np.uint64]:
        """Buffer number ``at`` in some shape, of at most a set for each of the members and one more."""
        while len(self._buffers) <= at:
            self._buffers.append(np.empty((len(_BIT) + 1) * len(_BIT) // 64, np.uint64))
        return self._buffers[at][: shape[0] * shape[1]].reshape(shape)


_BUFFERS = _Buffers()


class _Sets:
    """For each value among some members, row number ``at`` of theirs, the set of those members that are no larger."""

    def __init__(self, at: int, members: Ranks, top: int) -> None:
        words = -(-len(members) // (64 * _WORDS)) * _WORDS
        self._level = np.cumsum(np.bincount(members, minlength=top + 1) > 0)
        self._sets = _BUFFERS.take(2 + at, (int(self._level[-1]) + 1, words))
        self._sets.fill(0)
        place = self._level[members] * words
        place += _WORD[: len(members)]
        # Members have a bit each, so that adding them is joining them.
        np.add.at(self._sets.reshape(-1), place, _BIT[: len(members)])
        np.bitwise_or.accumulate(self._sets, axis=0, out=self._sets)

    def up_to(self, values: Ranks, buffer: int) -> NDArray[np.uint64]:
        """The set of each value that is asked for, in one of the buffers."""
        sets = _BUFFERS.take(buffer, (len(values), self._sets.shape[1]))
        # No level is out of bounds; clipping alone writes to the buffer straight away.
        return self._sets.take(self._level.take(values), axis=0, out=sets, mode="clip")


def _common(sets: list[_Sets], asked: Ranks) -> NDArray[np.uint64]:
    """The members that cover each of the columns that ask."""
    common = sets[0].up_to(asked[0], 0)
    for one, values in zip(sets[1:], asked[1:], strict=True):
        common &= one.up_to(values, 1)
    return common


def _any(sets: NDArray[np.uint64]) -> Mask:
    """A mask of the sets that have a member; eight truth values are looked at as one word."""
    truths = np.not_equal(sets, 0).view(np.uint64)
    hit: Mask = truths[:, 0] != 0
    for column in range(1, truths.shape[1]):
        hit |= truths[:, column] != 0
    return hit


def _earlier() -> NDArray[np.uint64]:
    """For each place the set of all members before it."""
    sets = np.zeros((_MEMBERS, len(_BIT) // 64), np.uint64)
    places = np.arange(_MEMBERS - 1)
    sets[places + 1, _WORD[places]] = _BIT[places]
    return np.bitwise_or.accumulate(sets, axis=0, out=sets)


_EARLIER = _earlier()
