"""The units that records belong to, such as the households of persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Units:
    """Units numbered from 0 in order of first appearance: ``of_record`` is each record's unit, shape ``(n_records,)``;
    ``first`` is each unit's first record and ``size`` its number of records, shape ``(n_units,)``."""

    of_record: np.ndarray
    first: np.ndarray
    size: np.ndarray

    @staticmethod
    def from_codes(codes: np.ndarray) -> Units:
        """Units from any numbers that are equal for records of one unit."""
        _, first, inverse, size = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return Units(place[inverse], first[order], size[order])

    @staticmethod
    def of_columns(columns: Sequence[np.ndarray]) -> Units:
        """Units from the codes of one or several columns, which are equal in all of them for records of one unit."""
        joint = columns[0].astype(np.int64)
        for codes in columns[1:]:
            _, joint = np.unique(joint, return_inverse=True)
            joint = joint * (int(codes.max()) + 2) + codes + 1
        return Units.from_codes(joint)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def records(self) -> np.ndarray:
        """Records in the order of their units."""
        return np.argsort(self.of_record, kind="stable")

    def constant(self, codes: np.ndarray) -> np.ndarray:
        """Return whether all members of each unit have the same code, shape ``(n_units,)``."""
        differs = codes != codes[self.first][self.of_record]
        same: np.ndarray = np.bincount(self.of_record[differs], minlength=len(self)) == 0
        return same

    def any_bits(self, words: np.ndarray) -> np.ndarray:
        """The bits that some member of each unit has, shape ``(n_units, words)``; ``words`` are those of records."""
        starts = np.append(0, np.cumsum(self.size)[:-1])
        bits: np.ndarray = np.bitwise_or.reduceat(words[self.records], starts, axis=0)
        return bits

    def least(self, numbers: np.ndarray) -> np.ndarray:
        """The least number among the members of each unit, shape ``(n_units,)``."""
        starts = np.append(0, np.cumsum(self.size)[:-1])
        least: np.ndarray = np.minimum.reduceat(numbers[self.records], starts)
        return least
