"""Traces that an order of records keeps of the order that they had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_NEIGHBOURS = 20  # of n records, two are expected to keep their neighbour by chance
_CORRELATED = 5.0  # standard errors of a rank correlation


@dataclass(frozen=True)
class OrderTrace:
    """The trace of an old order in a new one: records that ``neighbours`` the same record as before, and the
    ``correlation`` of old and new places (0 to 1), alone and in standard ``errors`` of a random order."""

    neighbours: int
    correlation: float
    errors: float

    @property
    def is_kept(self) -> bool:
        """Return whether something of the old order is kept that a random one would not keep."""
        return self.neighbours >= _NEIGHBOURS or self.errors > _CORRELATED


def order_trace(order: np.ndarray) -> OrderTrace:
    """Compare an order, the old place of the record in each new place, shape ``(n_records,)``, with the old one."""
    n = len(order)
    neighbours = int((np.abs(np.diff(order)) == 1).sum())
    correlation = abs(float(np.corrcoef(np.arange(n), order)[0, 1])) if n > 2 else 0.0
    return OrderTrace(neighbours, correlation, correlation * float(np.sqrt(max(n - 1, 1))))
