"""A column as a partition of the records: which of them have equal values, and what the values are beside that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.microdata import RawColumn
from engine.values import texts

RECORDS_PER_LEVEL = 20
"""A column with fewer records per value than this is nearly unique: that it decides another says little."""


@dataclass
class Partition:
    """A column's partition of the records.

    ``codes`` are level codes 0..n_levels-1 in order of first appearance (an empty value is a level), ``first`` is the
    first record of each level and ``place`` the column's place in the file.
    """

    raw: RawColumn
    codes: np.ndarray
    first: np.ndarray
    place: int

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.first)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.raw.name

    @property
    def nearly_unique(self) -> bool:
        """Whether there are few records per value."""
        return self.n_levels * RECORDS_PER_LEVEL > len(self.codes)

    @cached_property
    def support(self) -> tuple[np.ndarray, int]:
        """Records per level, and the level that has most."""
        counts = np.bincount(self.codes, minlength=self.n_levels)
        return counts, int(counts.argmax())

    def read(self, level: int) -> str:
        """The raw value of a level as text; an empty one is ""."""
        code = int(self.raw.codes[self.first[level]])
        return "" if code < 0 else texts(self.raw.values.slice(code, 1))[0]


def partition(raw: RawColumn, place: int) -> Partition:
    """The partition that a column makes; linear in its records."""
    shifted = raw.codes.astype(np.int32) + 1
    first = firsts(shifted, len(raw.values) + 1)
    order = np.argsort(first, kind="stable")
    used = order[first[order] < len(shifted)]
    number = np.zeros(len(first), np.int32)
    number[used] = np.arange(len(used))
    return Partition(raw, number[shifted], first[used], place)


def firsts(codes: np.ndarray, size: int | None = None) -> np.ndarray:
    """The first record of each code; the number of records for a code that does not occur."""
    first = np.full(int(codes.max()) + 1 if size is None else size, len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first
