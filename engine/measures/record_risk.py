"""Risk record by record; the measures on whole releases sum these up."""

from __future__ import annotations

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.measures.little_liu import largest_sensitive
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable

KINDS = ("small_cells", "little_liu", "cell_size")


def record_risk(
    release: RecordRelease,
    places: tuple[int, ...],
    kind: str = "little_liu",
    n_rule: int = 3,
    s: int = 3,
    rule: str = "le",
) -> np.ndarray:
    """The risk of each record in the original's order, shape ``(n_records,)``, averaged over the release's tables.

    ``kind`` says which: "small_cells" is 1 for an unaltered record in a released cell of fewer than ``n_rule``, 0 for
    another unaltered one and NaN for an altered one, which eq. 6 leaves out (the mean of the others is eq. 6);
    "little_liu" is r_i, ``1/m`` for a record that kept its key cell while its released size ``m`` is sensitive, else 0
    (the sum is R1); "cell_size" is ``1/m`` for the cell that the record is released in, altered or not.
    """
    if kind not in KINDS:
        raise UsageError(
            f"kind of record risk == '{kind}', must be small_cells, little_liu or cell_size.{did_you_mean(kind, KINDS)}"
        )
    total, tables = np.zeros(release.data.n_records), np.zeros(release.data.n_records)
    for table in release.tables:
        size = cell_sizes(table, places)
        stayed = table.cells(places) == release.original.cells(places)
        if kind == "small_cells":
            total += stayed & (size < n_rule)
            tables += stayed
        else:
            counted = stayed & (size <= largest_sensitive(s, rule)) if kind == "little_liu" else True
            total += np.where(counted, 1 / size, 0)
            tables += 1
    result: np.ndarray = np.divide(total, tables, out=np.full(len(total), np.nan), where=tables > 0)
    return result


def cell_sizes(table: ReleasedTable, places: tuple[int, ...]) -> np.ndarray:
    """Number of records of a table that share each record's cell, shape ``(n_records,)``."""

    def count() -> np.ndarray:
        _, cell, counts = np.unique(table.cells(places), return_inverse=True, return_counts=True)
        return counts[cell]

    return table.memo(("cell sizes", places), count)
