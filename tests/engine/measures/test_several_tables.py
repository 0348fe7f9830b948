"""Records whose rows differ between released tables: all are altered, and all are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from engine.data.frames import table_of_frame
from engine.data.microdata import Microdata
from engine.measures.several_tables import _carried, compared
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable


def small() -> Microdata:
    rng = np.random.default_rng(3)
    raw = table_of_frame(pd.DataFrame({name: rng.integers(0, 4, 90).astype(str) for name in "abc"}))
    return code(raw, Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names))))


def test_what_differs_between_tables_is_altered_and_scored_by_its_disagreement() -> None:
    data, rng = small(), np.random.default_rng(4)
    tables = []
    for _ in range(5):
        source = np.arange(90)
        first = rng.permutation(90)[:20]
        source[first] = rng.permutation(first)
        tables.append(ReleasedTable(data, source, (0, 1)))
    found = compared(tables)
    assert found is not None
    rows = [list(zip(*(table.codes(j).tolist() for j in range(3)), strict=True)) for table in tables]
    shown = list(zip(*rows, strict=True))
    assert found.disagree.tolist() == [5 - max(map(row.count, row)) for row in shown]
    assert not (found.disagree[~found.altered]).any()
    assert found.certain == sum(len(set(row)) > 1 for row in shown) > 20
    verdict = found.verdict
    assert verdict.kind == "several" and verdict.severity == "serious" and verdict.right == verdict.named
    assert found.auc > 0.9


def test_one_table_and_equal_ones_tell_nothing() -> None:
    data = small()
    assert compared([ReleasedTable(data)]) is None
    source = np.roll(np.arange(90), 1)
    same = compared([ReleasedTable(data, source, (0,))] * 3)
    assert same is not None and same.certain == 0 and same.verdict.severity == "untried"


def test_numbers_that_were_drawn_for_each_table_differ() -> None:
    data = small()
    numbers = [np.arange(90.0) + (np.arange(90) < k) for k in (0, 4)]
    found = compared([ReleasedTable(data, numbers={"c": one}) for one in numbers])
    assert found is not None and found.certain == 4


def test_carried_columns_that_are_exchanged_with_a_place_differ_too() -> None:
    """One that is not among them stays with its record, and a table without a swap shows the original's."""
    data = small()
    codes, source = np.arange(90), np.roll(np.arange(90), 1)
    swapped = ReleasedTable(data, source, (0,))
    assert _carried(swapped, "a", codes).tolist() == source.tolist()
    assert _carried(swapped, "b", codes).tolist() == _carried(ReleasedTable(data), "a", codes).tolist() == [*range(90)]
    drawn = ReleasedTable(data, replaced={0: data.codes[0]})
    assert not _carried(drawn, "a", codes).any() and _carried(drawn, "b", codes).tolist() == [*range(90)]
