"""Disclosure risk from tables: the share of records in small cells (Gomatam, Karr and Sanil 2005, eq. 6)."""

from __future__ import annotations

import numpy as np

from engine.common.errors import UsageError
from engine.measures.base import Measure
from engine.measures.compiled_sums import SummedBatch, small_cell_sums
from engine.release.batch import ReleaseBatch


def small_cells(batch: ReleaseBatch | SummedBatch, n_rule: int) -> np.ndarray:
    """Share of unaltered records that lie in small cells of the released table (Gomatam, Karr and Sanil 2005, eq. 6).

    A cell is small when its released count is 1 to ``n_rule - 1``.  In [0, 1]; higher is riskier; NaN when no record is
    unaltered.
    """
    sums = small_cell_sums(batch, n_rule)
    if sums is None:
        assert isinstance(batch, ReleaseBatch)
        small_before = batch.before < n_rule
        small_after = (batch.after > 0) & (batch.after < n_rule)
        sums = batch.total(batch.kept * small_after) - batch.total(batch.before * small_before)
    at_risk = int(batch.original[batch.original < n_rule].sum()) + sums
    unaltered = batch.n_records - batch.changed
    result: np.ndarray = np.divide(at_risk, unaltered, out=np.full(len(batch), np.nan), where=unaltered > 0)
    return result


def _check_n_rule(n_rule: int) -> None:
    if n_rule < 2:
        raise UsageError(
            f"small_cells: n_rule == {n_rule}, must be at least 2 (2 counts unique records only, 3 counts cells of "
            "one or two)."
        )


SMALL_CELLS = Measure(
    name="small_cells",
    symbol="DR",
    title="Small-cell risk",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="share of unaltered records",
    unit_kind="share_of_records",
    share_of="unaltered records",
    of_unaltered=True,
    rounding="exposed",
    source="Gomatam, Karr and Sanil (2005), eq. 6",
    meaning=(
        "The share of unaltered records that stand alone or nearly alone (fewer than n_rule together) in the "
        "released table. It counts exposed records and is not the chance that somebody is identified."
    ),
    over="keys",
    compute=small_cells,
    parameters={"n_rule": 3},
    check=_check_n_rule,
    undefined="no unaltered record",
)
