"""Columns of numbers with decimal commas or signs between thousands: measurements, and never ids or categories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.plan import AttributePlan, DataPlan, Plan, accept, dependencies, first_plan, guess_plan, propose
from engine.plan import tabulate as tabulating
from engine.plan.check import mismatches
from engine.plan.guess import facts
from engine.plan.recode import code
from engine.plan.tabulate import tabulate
from engine.release.records import ReleasedTable
from engine.sweeps.readiness import ready
from tests.engine.plan.test_guess import table_of

N = 300
FIGURES = np.random.default_rng(3).uniform(1000, 50000, N).round(1)
WRITTEN = {
    "decimal comma": [f"{x:.1f}".replace(".", ",") for x in FIGURES],
    "both signs": [f"{x:,.1f}" for x in FIGURES],
    "both signs, other": [f"{x:,.1f}".translate(str.maketrans(",.", ".,")) for x in FIGURES],
    "blank": [f"{x:,.1f}".replace(",", " ") for x in FIGURES],
    "apostrophe": [f"{x:,.1f}".replace(",", "'") for x in FIGURES],
    "with codes": ["n/a", "-", *(f"{x:.1f}".replace(".", ",") for x in FIGURES[2:])],
}
SEX = ["f", "m"] * (N // 2)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_they_are_measurements(written: list[str]) -> None:
    table = table_of(pay=written, sex=SEX)
    seen = facts(table.columns["pay"], N)
    assert seen.numeric and not seen.looks_like_id and not seen.categorical
    plan = first_plan(table)
    assert plan.data.carry == ("pay",) and plan.data.id is None
    assert dependencies(table).ids == dependencies(table).units == ()
    with pytest.raises(EngineError, match="is numeric with "):
        guess_plan(table)
    released = ReleasedTable(code(table, plan))
    known = [i for i, text in enumerate(written) if text not in ("n/a", "-")]
    assert released.numeric("pay")[known].tolist() == FIGURES[known].tolist()
    assert np.isnan(released.numeric("pay")).sum() == N - len(known)


def test_they_are_cut_in_memory_and_streamed_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"sex": SEX, "pay": WRITTEN["decimal comma"]}).to_csv(path, sep=";", index=False)
    plan = Plan(DataPlan((AttributePlan("sex"), AttributePlan("pay", cut=(10000, 30000)))))
    cells = code(read_table(path), plan).table
    wanted = np.searchsorted([10000, 30000], FIGURES, side="right")
    assert np.bincount(cells.cells[:, 1], cells.counts).tolist() == np.bincount(wanted).tolist()
    for most in (tabulating.MANY_ROWS, 1):
        monkeypatch.setattr(tabulating, "MANY_ROWS", most)
        streamed = code(tabulate(open_stream(path), plan), plan).table
        assert streamed.cells.tolist() == cells.cells.tolist()
        assert streamed.counts.tolist() == cells.counts.tolist()


def test_numbers_that_can_be_read_in_two_ways_are_asked_about() -> None:
    written = [f"{x:,.0f}" for x in np.random.default_rng(4).permutation(np.arange(2000, 2000 + 7 * N, 7))]
    table = table_of(pay=written, sex=SEX)
    plan = first_plan(table)
    assert plan.data.carry == ("pay",) and plan.data.id is None
    (asked,) = [found for found in propose(table, plan) if found.kind == "number"]
    assert "read as texts" in asked.sentence and not asked.certain
    assert accept(plan, asked).data.drop == ("pay",)
    for refused in (lambda: guess_plan(table), lambda: guess_plan(table, attributes=["pay", "sex"])):
        with pytest.raises((EngineError, UsageError), match="can be read in several ways"):
            refused()
    cut = Plan(DataPlan((AttributePlan("pay", cut=(5000,)), AttributePlan("sex"))))
    with pytest.raises(EngineError, match="can be read in several ways"):
        ready(table, cut)
    assert "can be read in several ways" in mismatches(cut, table)[0].sentence


def test_points_that_may_stand_between_thousands_are_asked_about() -> None:
    table = table_of(pay=[f"{x:,}".replace(",", ".") for x in range(900, 900 + N)], sex=SEX)
    (asked,) = [found for found in propose(table, first_plan(table)) if found.kind == "number"]
    assert "read with a decimal point" in asked.sentence


def test_marks_with_a_decimal_comma_are_levels_in_their_order() -> None:
    table = table_of(mark=["1,0", "1,3", "10,5", "2,7", "1,25", "5,0"] * 50, sex=SEX)
    plan = first_plan(table)
    assert plan.attributes[0].levels == ("1,0", "1,25", "1,3", "2,7", "5,0", "10,5")
    assert replace(plan.attributes[0], levels=()) == AttributePlan("mark")


@pytest.mark.parametrize("written", list(WRITTEN.values())[:-1], ids=list(WRITTEN)[:-1])
def test_they_can_be_weights(written: list[str]) -> None:
    table = table_of(sex=SEX, region=["a", "b", "c"] * (N // 3), wt=written)
    plan = Plan(DataPlan((AttributePlan("sex"), AttributePlan("region")), weight="wt"))
    made = ready(table, plan)
    weights = ReleasedTable(made.data).weights
    assert weights is not None and weights.tolist() == FIGURES.tolist()
    unclear = table_of(sex=SEX, region=["a", "b", "c"] * (N // 3), wt=["1,234", "2,345", "3,456"] * (N // 3))
    with pytest.raises(EngineError, match="can be read in several ways"):
        ready(unclear, plan)
