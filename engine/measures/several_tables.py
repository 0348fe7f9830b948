"""Risk that records are known to be altered because several released tables of them differ.

Tables that are published together show the same records in the same order, so that rows can be compared without
anything of the original: a record whose rows differ is altered in some table, for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine.measures.detection import area_under_curve
from engine.measures.moved_units import by_score
from engine.measures.verdict import Outright, Verdict, told_outright
from engine.release.records import ReleasedTable


class Compared(NamedTuple):
    """By record: in how many of the ``tables`` its row is not the one that most of them show, and whether its row is
    ``altered`` in some table."""

    tables: int
    disagree: np.ndarray
    altered: np.ndarray

    @property
    def certain(self) -> int:
        """The number of records whose rows differ, all of them altered."""
        return int(np.count_nonzero(self.disagree))

    @property
    def auc(self) -> float:
        """Chance that an altered record disagrees more often than an unaltered one; NaN when undefined."""
        return area_under_curve(*by_score(self.disagree.astype(float), self.altered))

    @property
    def verdict(self) -> Verdict:
        """The verdict on the records whose rows differ."""
        n, altered = len(self.altered), int(self.altered.sum())
        outright = Outright(self.certain, altered, by="several")
        return told_outright(outright, n, "several") or Verdict("untried", why=_SAME)


_SAME = "all released tables show the same rows"


def compared(tables: Sequence[ReleasedTable]) -> Compared | None:
    """Compare the tables of a release with each other, on what they show of every record; None for a single one."""
    if len(tables) < 2:
        return None
    data = tables[0].data
    original, *rows = _rows([ReleasedTable(data), *tables])
    ordered = np.sort(np.array(rows), axis=0)
    most, run = np.ones(data.n_records, np.int64), np.ones(data.n_records, np.int64)
    for before, after in pairwise(ordered):
        run = np.where(before == after, run + 1, 1)
        most = np.maximum(most, run)
    return Compared(len(tables), len(tables) - most, (np.array(rows) != original).any(axis=0))


def _rows(tables: Sequence[ReleasedTable]) -> list[np.ndarray]:
    """One number per record and table, equal exactly where rows show the same."""
    data, n = tables[0].data, tables[0].data.n_records
    altered = sorted({j for table in tables for j in table.altered})
    columns = [np.concatenate([table.codes(j) for table in tables]) for j in altered]
    for name in sorted({name for table in tables for name in table.swapped_columns}):
        codes = data.raw.columns[name].codes
        columns.append(np.concatenate([_carried(table, name, codes) for table in tables]))
    for name in sorted({name for table in tables for name in table.renumbered}):
        columns.append(np.concatenate([table.numeric(name) for table in tables]))
    row = np.zeros(n * len(tables), np.int64)
    for column in columns:
        _, value = np.unique(column, return_inverse=True)
        _, row = np.unique(row * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
    return np.split(row, len(tables))


def _carried(table: ReleasedTable, name: str, codes: np.ndarray) -> np.ndarray:
    """The codes of a raw column as a table shows them: an attribute that was drawn anew is shown by its levels."""
    replaced = any(
        table.is_replaced(j) and name in attribute.columns for j, attribute in enumerate(table.data.domain.attributes)
    )
    if replaced:
        return np.zeros(len(codes), codes.dtype)
    return codes if table.source is None or name not in table.swapped_columns else codes[table.source]
