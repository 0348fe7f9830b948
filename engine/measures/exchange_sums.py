"""Sums over the cells that candidates touch, formed while their pairs are exchanged, for sweeps that need no more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from engine.data.table import ContingencyTable
from engine.measures.base import MeasureCall, attribute_indices
from engine.measures.distortion import entropy_change, hellinger, total_variation, x_log_x
from engine.measures.small_cells import small_cells
from engine.plan import Plan
from engine.release.batch import CellIndex, ExchangedPairs, SummedBatch

_FROM_SUMS = (small_cells, hellinger, total_variation, entropy_change)
"""Functions of measures that also take a :class:`SummedBatch`."""
LARGEST = (1 << 20) - 1
"""Most records of which square root and x log x are tabulated by count."""


def rule_of_sums(calls: Sequence[MeasureCall], table: ContingencyTable, plan: Plan) -> int | None:
    """The one ``n_rule`` of measures that sums over a table's cells suffice for, 0 where none has any; None where some
    need more, or compiled code does not pay: there the cells themselves are listed."""
    from engine.common import compiled

    lists, everything = {"keys": plan.keys, "analyse": plan.analyse}, tuple(range(len(table.domain)))
    on_counts = [call for call in calls if not call.measure.on_records]
    suffice = all(
        call.measure.compute in _FROM_SUMS and attribute_indices(call, table.domain, lists) == everything
        for call in on_counts
    )
    rules = {int(call.values["n_rule"]) for call in on_counts if "n_rule" in call.values}
    if not suffice or len(rules) > 1 or table.n_records > LARGEST or not compiled.COMPILED:
        return None
    return max(rules, default=0)


@lru_cache(maxsize=2)
def tables_by_count(largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Square root and x log x of the counts from 0 to ``largest``."""
    counts = np.arange(1 << largest.bit_length())
    return np.sqrt(counts), x_log_x(counts)


class ExchangeSums(ExchangedPairs):
    """The sums of many candidates, one after the other, in place of their cells."""

    def __init__(self, table: ContingencyTable, n_rule: int) -> None:
        from engine.measures import exchange_kernels

        super().__init__(exchange_kernels.exchange_sums)
        self._n_rule, self._tables = n_rule, tables_by_count(table.n_records)
        self._scratch = np.empty((2, 0))
        self._sums = np.empty((4, 1 << 10))

    def exchange(
        self, index: CellIndex, pairs: np.ndarray, stops: np.ndarray, swapped: np.ndarray, wanted: np.ndarray
    ) -> None:
        """Add the candidates of several splits of one structure, as a ``TouchedBuffer`` does."""
        self.make_room(wanted.size)
        self._add(index, pairs, stops, swapped, wanted, lambda more: self.arrays(index))

    def make_room(self, more: int) -> None:
        """Make sure that so many more candidates fit."""
        if self.n_added + more > self._sums.shape[1]:
            self._sums = np.concatenate([self._sums, np.empty((4, self.n_added + more))], axis=1)

    def arrays(self, index: CellIndex) -> tuple[Any, ...]:
        """The tables, the rule, scratch and the room for sums, as the kernel takes them."""
        if len(index.fresh) > self._scratch.shape[1]:
            self._scratch = np.empty((2, len(index.fresh)))
        return *self._tables, self._n_rule, *self._scratch, self._sums

    def batch(
        self, index: CellIndex, changed: np.ndarray, swaps: np.ndarray, failing: np.ndarray | None = None
    ) -> SummedBatch:
        """The candidates that measures look at; it shares this object's room."""
        table = index.table
        return SummedBatch(table.counts, table.n_records, changed, self._n_rule, *self._sums[:, : self.n_added])
