"""A column as a partition of the records into sets of equal values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.common.raw_values import smallest, texts
from engine.data.microdata import RawColumn

RECORDS_PER_LEVEL = 20
"""A column with fewer records per value than this is nearly unique: that it decides another says little."""

_RARER = 16


@dataclass
class Partition:
    """A column's partition of the records.

    ``codes`` are level codes 0..n_levels-1 in order of first appearance (an empty value is a level), the raw column's
    own where these are so, and ``position`` is the column's position in the file.
    """

    raw: RawColumn
    codes: np.ndarray
    n_levels: int
    position: int

    @property
    def name(self) -> str:
        """The column's name."""
        return self.raw.name

    @property
    def nearly_unique(self) -> bool:
        """Return whether there are few records per value."""
        return self.n_levels * RECORDS_PER_LEVEL > len(self.codes)

    @property
    def first(self) -> np.ndarray:
        """The first record of each level."""
        # a column of few records per value would take more memory for these than for its codes
        return firsts(self.codes, self.n_levels) if self.nearly_unique else self._first

    @cached_property
    def _first(self) -> np.ndarray:
        return firsts(self.codes, self.n_levels)

    @property
    def signature(self) -> bytes:
        """The same for columns that part the records alike."""
        return hashlib.blake2b(smallest(self.codes, self.n_levels).tobytes(), digest_size=16).digest()

    @cached_property
    def rarer(self) -> np.ndarray:
        """A few records whose value is not the one that most have."""
        records = np.flatnonzero(self.codes != self.support[1])
        return records[:: -(-len(records) // _RARER)]

    @cached_property
    def support(self) -> tuple[np.ndarray, int]:
        """Records per level, and the level that has most."""
        counts = np.bincount(self.codes, minlength=self.n_levels)
        return counts, int(counts.argmax())

    def read(self, level: int) -> str:
        """The raw value of a level as text; an empty one is ""."""
        code = int(self.raw.codes[np.argmax(self.codes == level)])
        return "" if code < 0 else texts(self.raw.values.slice(code, 1))[0]


def partition(raw: RawColumn, position: int) -> Partition:
    """The partition that a column makes; linear in its records."""
    n_values = len(raw.values)
    # null has code -1, and so the last index
    first = firsts(raw.codes, n_values + 1)
    order = np.argsort(first, kind="stable")
    used = order[first[order] < len(raw.codes)]
    if len(used) == n_values and (used == np.arange(n_values)).all():
        return Partition(raw, raw.codes, n_values, position)
    number = np.zeros(len(first), np.int32)
    number[used] = np.arange(len(used))
    return Partition(raw, smallest(number, len(used))[raw.codes], len(used), position)


def firsts(codes: np.ndarray, size: int | None = None) -> np.ndarray:
    """The first record of each code; the number of records for a code that does not occur."""
    first = np.full(int(codes.max()) + 1 if size is None else size, len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first
