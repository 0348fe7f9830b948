"""A realisation is made again over cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.common.errors import UsageError
from engine.common.streams import derive
from engine.data.frames import table_of_frame
from engine.data.table import occupied
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, remake_cells
from tests.small_tables import KEY

RNG = np.random.default_rng(8)
DATA = table_of_frame(
    pd.DataFrame({name: RNG.integers(0, n_levels, 700) for name, n_levels in zip("abcd", (3, 4, 2, 5), strict=True)})
)
PLAN = Plan(DataPlan(tuple(AttributePlan(name) for name in DATA.names)))


@pytest.mark.parametrize("roles", ["SUUU", "SSUU", "SUCF", "UUSC", "SFFF"])
@pytest.mark.parametrize("rate", ["0", "0.01", "0.3", "1"])
def test_figures_table_and_counts_are_those_over_records(roles: str, rate: str) -> None:
    data = code(DATA, PLAN)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, roles), rate)
    derived = derive(KEY, roles, (rate,))
    question = question_of(PLAN, data)
    cells, records = remake_cells(data, question, spec, derived), remake(data, question, spec, derived)
    assert cells.figures == records.figures
    assert cells.status == records.status
    assert cells.n_changed == records.n_changed
    released: ReleasedTable = records.tables[0]
    codes = [released.codes(j) for j in range(len(data.domain))]
    table, inverse = occupied(codes, data.domain.shape, data.n_records)
    assert np.array_equal(cells.table.cells, table)
    assert np.array_equal(cells.table.counts, np.bincount(inverse))
    assert released.source is not None
    in_pairs = int(np.count_nonzero(released.source != np.arange(data.n_records)))
    assert 2 * len(cells.pairs) == in_pairs


def test_a_mechanism_that_draws_over_records_is_refused() -> None:
    plan = Plan(PLAN.data, keys=("a",))
    data = code(DATA, plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SUUU"), "", mechanism="pram")
    with pytest.raises(UsageError, match="'pram' draws over records in memory"):
        remake_cells(data, question_of(plan, data), spec, derive(KEY, "pram"))
