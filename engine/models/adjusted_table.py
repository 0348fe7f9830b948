"""Iterative proportional fitting of a table of patterns and levels to published tables (Deming and Stephan 1940).

The rows are patterns of attributes that are known exactly, the columns levels of one attribute, or combinations of
several.  The table keeps the odds ratios of the table that it starts from wherever no published table speaks, and the
counts of its rows.  It has no other cells, so that a product space of all attributes is never laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

TOLERANCE = 0.05
"""Records by which a cell of a fitted margin may differ from the published one."""
MOST_SWEEPS = 500
MOST_CELLS = 10_000_000
"""Rows times columns beyond which no table is fitted."""
_FIRST, _STILL = 50, 0.999  # a difference that shrinks less from sweep to sweep than this stays


class Margin(NamedTuple):
    """A published table: its ``counts``, and to which of its rows and columns those of the fitted table belong."""

    row: np.ndarray
    column: np.ndarray
    counts: np.ndarray


class TablesFit(NamedTuple):
    """The fit of a table to ``margins`` published ones: the sweeps over all of them, and the largest ``difference`` of
    a cell of a margin from its published count, in records (infinite where the table was too large to be fitted)."""

    margins: int
    sweeps: int
    difference: float

    @property
    def converged(self) -> bool:
        """Return whether all margins are met; they cannot be where no table has them all."""
        return self.difference <= TOLERANCE


class AdjustedTable(NamedTuple):
    """A fit, and the ``chance`` of each column within its row."""

    chance: np.ndarray
    summary: TablesFit

    @property
    def converged(self) -> bool:
        """Return whether all margins are met."""
        return self.summary.converged

    @classmethod
    def too_large(cls) -> AdjustedTable:
        """Return what stands for a table of more than :data:`MOST_CELLS` cells."""
        return cls(np.zeros((0, 0)), TablesFit(0, 0, np.inf))


def adjusted(start: np.ndarray, totals: np.ndarray, margins: Sequence[Margin]) -> AdjustedTable:
    """Fit a table with positive cells ``start`` to margins and to the ``totals`` of its rows, one after the other."""
    from scipy.sparse import csr_array

    rows, columns = start.shape
    sums = [
        (
            csr_array((np.ones(rows), (margin.row, np.arange(rows))), (margin.counts.shape[0], rows)),
            csr_array((np.ones(columns), (np.arange(columns), margin.column)), (columns, margin.counts.shape[1])),
        )
        for margin in margins
    ]
    table, difference = _scaled_rows(start, totals), np.inf
    for sweep in range(1, MOST_SWEEPS + 1):
        before, difference = difference, 0.0
        for (by_row, by_column), margin in zip(sums, margins, strict=True):
            fitted = (by_row @ table) @ by_column
            difference = max(difference, float(np.abs(fitted - margin.counts).max(initial=0.0)))
            factor = np.divide(margin.counts, fitted, out=np.zeros_like(fitted), where=fitted > 0)
            table = table * factor[margin.row[:, None], margin.column]
        table = _scaled_rows(table, totals)
        if difference <= TOLERANCE or (sweep > _FIRST and difference > _STILL * before):
            break
    return AdjustedTable(table / totals[:, None], TablesFit(len(margins), sweep, difference))


def _scaled_rows(table: np.ndarray, totals: np.ndarray) -> np.ndarray:
    sums = table.sum(axis=1)
    factor = np.divide(totals, sums, out=np.zeros(len(sums)), where=sums > 0)
    return np.asarray(table * factor[:, None])
