"""The picture of a coding: cells, small cells and uniques before and after levels are merged or cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.microdata import RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import key_table


def table_of(**columns: list[object]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.fill_null(-1).to_numpy())
    return RawTable(raw, len(next(iter(columns.values()))), "test")


PEOPLE = table_of(age=[1, 2, 3, 4, 4, 4], sex=["m", "f", "m", "f", "f", "f"])
FINE = Plan(DataPlan((AttributePlan("age"), AttributePlan("sex"))))


def test_cells_before_and_after_a_cut() -> None:
    fine = key_table(PEOPLE, FINE)
    assert (fine.possible, fine.cells, fine.small_cells, fine.small_records, fine.uniques) == (8, 4, 3, 3, 3)
    cut = replace(FINE, data=DataPlan((AttributePlan("age", cut=(4,)), AttributePlan("sex"))))
    coarse = key_table(PEOPLE, cut)
    assert (coarse.possible, coarse.cells, coarse.small_cells, coarse.uniques) == (4, 3, 2, 1)
    assert coarse.levels["age"] == (("<4", 3), (">=4", 3))
    assert key_table(PEOPLE, cut, ["sex"], n_rule=5).small_cells == 2


def test_values_that_the_plan_would_refuse_are_counted_but_are_no_levels() -> None:
    plan = replace(FINE, data=DataPlan((AttributePlan("age", levels=("1", "2", "3")), AttributePlan("sex"))))
    picture = key_table(PEOPLE, plan)
    assert picture.cells == 4
    assert sum(n for _, n in picture.levels["age"]) == 3


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=2, max_size=30), st.integers(1, 5))
def test_it_counts_as_a_counter_does(rows: list[tuple[int, str]], n_rule: int) -> None:
    table = table_of(age=[a for a, _ in rows], sex=[s for _, s in rows])
    counts = Counter(rows).values()
    picture = key_table(table, FINE, n_rule=n_rule)
    assert picture.cells == len(counts)
    assert picture.small_cells == sum(n < n_rule for n in counts)
    assert picture.small_records == sum(n for n in counts if n < n_rule)
    assert picture.uniques == sum(n == 1 for n in counts)


def test_what_cannot_be_tabulated_is_said() -> None:
    with pytest.raises(UsageError, match="unknown attribute 'agee'"):
        key_table(PEOPLE, FINE, ["agee"])
    with pytest.raises(UsageError, match="at least one attribute"):
        key_table(PEOPLE, FINE, [])


def test_many_sparse_attributes_do_not_allocate_their_product() -> None:
    columns = {f"c{i}": np.random.default_rng(i).integers(0, 200, 500).tolist() for i in range(12)}
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in columns)))
    picture = key_table(table_of(**columns), plan)
    assert picture.uniques == 500
    assert picture.possible > 10**26
