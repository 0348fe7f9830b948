"""Columns of numbers with decimal commas or signs between thousands: measurements, and never ids or categories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from engine.bundle.codebook import codebook
from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import Notation, readings
from engine.data.io.labelled_writers import load_scripts, write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import NO_LABELS, ColumnLabels
from engine.models.record_release import numbers_of
from engine.plan import (
    AttributePlan,
    DataPlan,
    Plan,
    accept,
    dependencies,
    first_plan,
    guess_plan,
    plan_from_toml,
    plan_to_toml,
    propose,
)
from engine.plan import coding as tabulating
from engine.plan.check import fixes, mismatches, points_between_thousands, settle
from engine.plan.coding import code, key_table, tabulate
from engine.plan.columns import facts
from engine.plan.differences import plan_differences
from engine.plan.entries import AnalysisPlan, ColumnPlan
from engine.release.records import ReleasedTable
from engine.sweeps.sweep import ready
from tests.engine.plan.tables import table_of

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
    asked = {found.key: found for found in propose(table, plan) if found.kind == "number"}
    assert [*asked] == ["number:pay:point", "number:pay:comma"]
    assert all("read as texts" in found.sentence and not found.certain for found in asked.values())
    for refused in (lambda: guess_plan(table), lambda: guess_plan(table, attributes=["pay", "sex"])):
        with pytest.raises((EngineError, UsageError), match="can be read in several ways"):
            refused()
    cut = Plan(DataPlan((AttributePlan("pay", cut=(5000,)), AttributePlan("sex"))))
    with pytest.raises(EngineError, match="can be read in several ways"):
        ready(table, cut)
    assert "can be read in several ways" in mismatches(cut, table)[0].sentence


def test_points_that_may_stand_between_thousands_are_asked_about() -> None:
    table = table_of(pay=[f"{x:,}".replace(",", ".") for x in range(900, 900 + N)], sex=SEX)
    plan = first_plan(table)
    asked = {found.key: found for found in propose(table, plan) if found.kind == "number"}
    assert [*asked] == ["number:pay:point", "number:pay:comma"]
    assert "read with a decimal point" in asked["number:pay:point"].sentence
    for key, times in (("number:pay:point", 1), ("number:pay:comma", 1000)):
        said = accept(plan, asked[key])
        assert not [found for found in propose(table, said) if found.kind == "number"]
        figures = ReleasedTable(code(table, said)).numeric("pay")
        assert figures[-1] == pytest.approx((900 + N - 1) / 1000 * times)


@pytest.mark.parametrize("use", ["cut", "weight", "numeric"])
def test_a_plan_that_uses_them_as_numbers_is_warned(use: str) -> None:
    table = table_of(pay=[f"{x:,}".replace(",", ".") for x in range(900, 900 + N)], sex=SEX)
    sex = DataPlan((AttributePlan("sex"),), carry=("pay",))
    data = {
        "cut": DataPlan((AttributePlan("sex"), AttributePlan("pay", cut=(1,)))),
        "weight": replace(sex, carry=(), weight="pay"),
        "numeric": replace(sex, numeric=("pay",)),
    }[use]
    (warning,) = points_between_thousands(Plan(data), table)
    assert "'pay'" in warning
    for way in readings(table.columns["pay"].values):
        said = replace(data, columns=(ColumnPlan("pay", decimal=way.decimal, thousands=way.thousands),))
        assert not [*points_between_thousands(Plan(said), table)]
    assert not [*points_between_thousands(Plan(sex), table)], "a carried text is no number"


def test_numbers_that_no_sign_fits_can_be_dropped_only() -> None:
    table = table_of(pay=["1,5", "1.5", "2,25", "3.75"] * (N // 4), sex=SEX)
    plan = Plan(DataPlan((AttributePlan("sex"),), carry=("pay",)))
    (asked,) = [found for found in propose(table, plan) if found.kind == "number"]
    assert asked.notation is None and accept(plan, asked).data.drop == ("pay",)
    cut = Plan(DataPlan((AttributePlan("pay", cut=(2,)), AttributePlan("sex"))))
    (mismatch,) = mismatches(cut, table)
    assert [fix.name for fix in fixes(mismatch, cut, table)] == ["drop"]


WHOLE = 1000 + 7 * np.random.default_rng(4).permutation(N)
UNCLEAR = [f"{x:,}" for x in WHOLE]
"""Numbers with a comma, which may be the decimal sign or stand between thousands."""
ANSWERS = {"point": (ColumnPlan("pay", decimal=".", thousands=","), 1), "comma": (ColumnPlan("pay", decimal=","), 1000)}


@pytest.mark.parametrize("sign", ANSWERS)
def test_the_plan_says_which_is_right(sign: str) -> None:
    said, divisor = ANSWERS[sign]
    table = table_of(pay=UNCLEAR, sex=SEX)
    plan = Plan(
        DataPlan((AttributePlan("sex"),), carry=("pay",), numeric=("pay",)), analyses=(AnalysisPlan("a", "pay ~ sex"),)
    )
    (mismatch,) = mismatches(plan, table)
    assert mismatch.key == "notation:pay"
    settled = settle(plan, table, [mismatch, mismatch], sign)
    assert settled.data.columns == (said,) and not mismatches(settled, table)
    assert accept(plan, next(p for p in propose(table, plan) if p.key == f"number:pay:{sign}")) == settled
    assert plan_from_toml(plan_to_toml(settled)) == settled != plan
    original = ReleasedTable(code(table, settled))
    assert numbers_of(original, original, "pay", settled).tolist() == pytest.approx((WHOLE / divisor).tolist())
    assert "data.columns" in plan_differences(plan, settled)


@pytest.mark.parametrize("most", [tabulating.MANY_ROWS, 1])
@pytest.mark.parametrize("sign", ANSWERS)
def test_the_answer_holds_for_weights_and_edges_in_memory_and_streamed(
    sign: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, divisor = ANSWERS[sign]
    path = tmp_path / "a.csv"
    pd.DataFrame({"sex": SEX, "pay": UNCLEAR, "wt": UNCLEAR}).to_csv(path, sep=";", index=False)
    parts = (AttributePlan("sex"), AttributePlan("pay", cut=(1500 / divisor, 2500 / divisor)))
    plan = Plan(DataPlan(parts, weight="wt", columns=(said, replace(said, name="wt"))))
    wanted = np.bincount(np.searchsorted([1500, 2500], WHOLE, side="right")).tolist()
    monkeypatch.setattr(tabulating, "MANY_ROWS", most)
    for source in (read_table(path), tabulate(open_stream(path), plan)):
        data = code(source, plan)
        data.check_weight()
        assert np.bincount(data.table.cells[:, 1], data.table.counts).tolist() == wanted
        assert not mismatches(plan, source)
        if source.streamed is None:
            assert [n for _, n in key_table(source, plan).levels["pay"]] == wanted
        with pytest.raises(EngineError, match="'wt' can be read in several ways"):
            code(source, replace(plan, data=replace(plan.data, columns=(said,)))).check_weight()


@pytest.mark.parametrize("entries", [{"decimal": ";"}, {"thousands": "_"}, {"decimal": ",", "thousands": ","}])
def test_signs_that_are_none_are_refused(entries: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="column 'pay': decimal"):
        ColumnPlan("pay", **entries)  # type: ignore[arg-type]


def test_a_number_that_the_answer_does_not_fit_is_counted_and_not_shown() -> None:
    table = table_of(pay=[*UNCLEAR[:-1], "12,5"], sex=SEX)
    said, _ = ANSWERS["point"]
    plan = Plan(DataPlan((AttributePlan("sex"),), carry=("pay",), numeric=("pay",), columns=(said,)))
    original = ReleasedTable(code(table, plan))
    with pytest.raises(EngineError, match=f"'pay' is no number in 1 of {N} records .first: record {N}") as refused:
        numbers_of(original, original, "pay", plan)
    assert "12,5" not in str(refused.value)


def test_an_answer_on_a_column_that_went_is_a_mismatch() -> None:
    plan = Plan(DataPlan((AttributePlan("sex"),), columns=(ColumnPlan("pay", decimal=","),)))
    (mismatch,) = mismatches(plan, table_of(sex=SEX))
    assert mismatch.key == "absent:pay"
    assert settle(plan, table_of(sex=SEX), [mismatch], "drop").data.columns == ()


def test_released_texts_stay_texts_and_say_so(tmp_path: Path) -> None:
    about = ColumnLabels(notation=Notation(",", "."))
    columns = {"pay": pa.array(["1.234", "12.345"]), "clear": pa.array(["1,5", "2,25"]), "id": pa.array(["1", "2"])}
    for write in (write_sav, write_dta):
        notes = write(tmp_path / "a", columns, {"pay": about})
        assert [note.split(":")[0] for note in notes if "numbers are texts" in note] == ["'pay'", "'clear'"]
    for text in load_scripts("a.csv", columns, {"pay": about}).values():
        assert text.count("a decimal comma") == 2 and text.count("'.' between thousands") == 1
    labels = dict.fromkeys(columns, NO_LABELS) | {"pay": about}
    pay, clear, number = codebook("", {"release": columns}, labels, [], [], "clear").tables[0].columns
    assert (pay.most, clear.most) == (12345, 2.25)
    assert [value.weighted for value in number.values] == [1.5, 2.25]


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
