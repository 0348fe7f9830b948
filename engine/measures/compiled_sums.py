"""Sums over the touched cells of many candidates in one compiled pass, where that pays; the same bits as NumPy's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

import numpy as np

from engine.release.batch import ReleaseBatch

MANY = 1 << 14
"""Touched cells from which on compiled code pays: with fewer, loading it takes longer."""
COMPILED_MEASURES = frozenset({"small_cells", "hellinger", "total_variation", "entropy_change"})
"""Measures that are little more than these sums, in the package's own definition."""
LARGEST = (1 << 20) - 1
"""Largest count in the tables."""


def x_log_x(counts: np.ndarray) -> np.ndarray:
    """``x log x`` of whole numbers from 0 on."""
    result: np.ndarray = counts * np.log(np.maximum(counts, 1))
    return result


class SumTables(NamedTuple):
    """Square root and x log x by count."""

    roots: np.ndarray
    x_log_x: np.ndarray

    @classmethod
    def up_to(cls, largest: int) -> SumTables:
        """Tables of counts from 0 to ``largest``."""
        counts = np.arange(1 << largest.bit_length())
        return cls(np.sqrt(counts), x_log_x(counts))


_tables = SumTables.up_to(1)


class DistanceSums(NamedTuple):
    """Sums for each candidate: squared changes of the roots of counts, changes of counts in size, and x log x before
    less after."""

    root_changes: np.ndarray
    moved: np.ndarray
    x_log_x: np.ndarray


@dataclass(frozen=True)
class SummedBatch:
    """Candidates of which no more is known than sums over the cells that they touch.

    They are those of ``distances``, and in ``small_cells`` the unaltered records in cells of fewer than ``n_rule``
    after, less the records in cells that small before; the other fields are those of a ``ReleaseBatch``.
    """

    original: np.ndarray
    n_records: int
    changed: np.ndarray
    distances: DistanceSums
    n_rule: int
    small_cells: np.ndarray

    def __len__(self) -> int:
        return len(self.changed)


def distance_sums(batch: object) -> DistanceSums | None:
    """The sums of a batch's distances, formed once; None where compiled code does not pay."""
    if isinstance(batch, SummedBatch):
        return batch.distances
    if not _pays(batch):
        return None
    return batch.own.cached("distance sums", lambda: _distance_sums(batch))


def small_cell_sums(batch: ReleaseBatch | SummedBatch, n_rule: int) -> np.ndarray | None:
    """For each candidate of a batch, the unaltered records in touched cells that are small after, less the records in
    those that were small before; None where compiled code does not pay."""
    if isinstance(batch, SummedBatch):
        assert n_rule == batch.n_rule
        return batch.small_cells
    if not _pays(batch):
        return None
    from engine.measures import sum_kernels

    sums = np.empty(len(batch), np.int64)
    ends, before, after, kept = map(_whole, (batch.ends, batch.before, batch.after, batch.kept))
    sum_kernels.small_cell_sums(ends, before, after, kept, n_rule, sums)
    return sums


def _pays(batch: object) -> TypeGuard[ReleaseBatch]:
    """Return whether it is a batch of many touched cells, and there is a compiler."""
    if not isinstance(batch, ReleaseBatch) or len(batch.before) < MANY:
        return False
    from engine.common import compiled

    return compiled.COMPILED


def _distance_sums(batch: ReleaseBatch) -> DistanceSums | None:
    from engine.measures import sum_kernels

    global _tables
    ends, before, after = map(_whole, (batch.ends, batch.before, batch.after))
    longest = int(np.diff(ends, prepend=0).max())
    sums = np.empty((3, len(batch)))
    squares, terms = np.empty(longest), np.empty(longest)
    while True:
        too_large = sum_kernels.distance_sums(ends, before, after, *_tables, squares, terms, sums)
        if too_large < 0:
            return DistanceSums(*sums)
        if too_large > LARGEST:
            return None
        _tables = SumTables.up_to(int(too_large))


def _whole(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers, np.int64)
