"""What published tables of the original tell of a release, graded by the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine.data.frames import table_of_frame
from engine.data.io.readers import read_table
from engine.measures import call
from engine.measures.moved_units import Found
from engine.measures.verdict import Verdict
from engine.mechanisms.targeted import TRS
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.report import detected as module
from engine.report.detected import (
    Detected,
    _prefers_rare,
    detected,
    detected_once,
    release_verdict,
    units_words,
)
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake
from tests.engine.measures.test_moved_units import census
from tests.engine.report.conftest import Case
from tests.shared import shared_file


@pytest.fixture(scope="module")
def cps() -> tuple[Remade, Plan]:
    """Race swapped in a tenth of the records of CPS-8D."""
    raw = read_table(shared_file("data", "cps8d.csv"))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("Race:S", data.domain.names), "0.1", "strict")
    return remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32))), plan


@pytest.mark.slow
def test_the_attribute_is_certain_the_rate_nearly_and_the_first_hundredth_is_altered_for_the_most_part(
    cps: tuple[Remade, Plan],
) -> None:
    found = detected(*cps)
    assert found.attributes == found.altered == ("Race",) and found.finds_attributes
    assert found.low < 0.1 < found.high and found.inferred == pytest.approx(0.1, abs=0.015) and found.finds_extent
    assert found.rate == pytest.approx(0.1, abs=1e-4) and found.model == "two_way"
    assert found.auc == pytest.approx(0.77, abs=0.015) and found.precision == pytest.approx(0.61, abs=0.07)
    assert found.finds_records
    rows = found.calibration
    assert sum(row.records for row in rows) == 48842
    assert sum(row.records * row.altered for row in rows) == pytest.approx(4884, abs=1)


@pytest.mark.slow
def test_the_attack_sees_neither_order_nor_pairs(cps: tuple[Remade, Plan]) -> None:
    """Rows in another order tell the same: records are not matched with their originals."""
    realisation, plan = cps
    found, order = detected(realisation, plan), np.random.default_rng(3).permutation(realisation.data.n_records)
    data = replace(realisation.data, codes=tuple(codes[order] for codes in realisation.data.codes))
    tables = tuple(_Shuffled(table, order) for table in realisation.tables)
    again = detected(replace(realisation, data=data, tables=tables), plan)  # type: ignore[arg-type]
    assert again == found


class _Shuffled:
    def __init__(self, table: object, order: np.ndarray) -> None:
        self._table, self._order = table, order

    def codes(self, attribute: int) -> np.ndarray:
        codes: np.ndarray = self._table.codes(attribute)[self._order]  # type: ignore[attr-defined]
        return codes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def cached(self, key: object, make: Callable[[], Any]) -> Any:
        return make()


def test_a_release_that_changes_nothing_and_one_that_is_too_large_are_not_attacked(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, realisation = case.study.plan, case.realisation
    same = replace(realisation, tables=(ReleasedTable(realisation.data),))
    assert "no record has another value" in detected(same, plan).why
    monkeypatch.setattr(module, "_MOST_COUNTS", 10)
    found = detected(realisation, plan)
    assert "two-way tables of 4 attributes" in found.why and found.auc is None and not found.finds_attributes


def test_a_model_that_is_too_large_makes_room_for_a_smaller_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for most, model in ((3000, "two_way"), (20, "main"), (2, "level")):
        monkeypatch.setattr(module, "MOST_TERMS", most)
        found = detected(case.realisation, case.study.plan)
        assert found.model == model and found.auc is not None


def test_an_attribute_of_very_many_levels_is_attacked_with_a_quick_model() -> None:
    """A Hessian takes the square of the coefficients, times the rows; the tables are fitted whatever the model."""
    rng = np.random.default_rng(1)
    place, kind = rng.integers(0, 72, 3000), rng.integers(0, 9, (3000, 3))
    kind[:, 0] = place % 9
    columns = {"place": place, **{f"kind{i}": kind[:, i] for i in range(3)}}
    raw = table_of_frame(pd.DataFrame({name: values.astype(str) for name, values in columns.items()}))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("place:S", data.domain.names), "0.1", "strict")
    realisation = remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32)))
    found = detected(realisation, plan)
    assert found.attributes == ("place",) and found.model == "level"
    assert found.precision is not None and found.precision > 0.9 and found.fit is not None and found.fit.converged
    assert detected_once(realisation, plan) is detected_once(realisation, plan)


def _found(**parts: object) -> Detected:
    given: dict[str, object] = {
        **{"why": "", "attributes": ("A",), "altered": ("A",), "inferred": 0.1, "low": 0.09, "high": 0.11},
        **{"rate": 0.1, "model": "main", "auc": 0.7, "precision": 0.4, "calibration": ()},
    }
    return Detected(**{**given, **parts})  # type: ignore[arg-type]


def test_what_counts_as_found() -> None:
    assert _found().finds_attributes and _found().finds_extent and not _found().finds_records
    assert _found(by_tables=Verdict("tables", 1000, 100, 40, 10)).finds_records
    assert not _found(attributes=("A", "B")).finds_attributes
    assert not _found(low=0.04, high=0.13).finds_extent and not _found(inferred=0.2).finds_extent
    assert not _found(rate=0.0, inferred=0.0, low=0.0, high=0.0).finds_extent
    assert not _found(by_tables=Verdict("tables", 1000, 10, 1, 1)).finds_records


def test_the_verdict_is_that_of_the_worst_attack() -> None:
    some, most, none = (Verdict("tables", 1000, 100, right, 10) for right in (30, 90, 10))
    rare = replace(most, kind="rare")
    assert _found(by_tables=some).verdict == some and _found(by_tables=some, by_rarity=rare).verdict == rare
    assert _found(by_tables=most, by_rarity=replace(none, kind="rare")).verdict == most
    several = replace(most, kind="several")
    assert _found(by_tables=some, by_comparison=several).verdict == several
    units = Found("households", 1000, 100, 0.9, ((100, 90.0),), 0)
    assert _found(by_tables=some, units=units).verdict == units.verdict and units.verdict.kind == "units"


def test_a_number_that_can_be_looked_at_one_by_one_is_judged_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two million records 50 are certain, and all others are guesses."""
    n, altered = 2_000_000, 200_000
    grade: Any = SimpleNamespace(release=SimpleNamespace(counts=np.array([n])), altered=np.array([altered]))
    monkeypatch.setattr(module, "precision", lambda grade, top: 1.0 if top * n <= 50 else altered / n)
    verdict = module._named(grade)
    assert (verdict.named, verdict.right, verdict.severity) == (50, 50, "serious")


@pytest.mark.parametrize("together", [False, True])
def test_a_swap_of_independent_columns_raises_no_alarm(together: bool) -> None:
    """Levels of equal size that nothing else tells of; where the others tell them, the alarm is serious."""
    rng = np.random.default_rng(5)
    columns = {name: rng.permutation(np.arange(6000) % 3) for name in "abcd"}
    if together:
        columns["a"] = columns["b"]
    raw = table_of_frame(pd.DataFrame({name: values.astype(str) for name, values in columns.items()}))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("a:S", data.domain.names), "0.1", "strict")
    realisation = remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32)))
    verdict = release_verdict(realisation, plan)
    assert verdict.severity == ("serious" if together else "none")
    same = replace(realisation, tables=(ReleasedTable(data),))
    assert release_verdict(same, plan).severity == "untried"


def test_of_a_random_swap_that_draws_rare_records_more_often_rarity_is_looked_at() -> None:
    raw, plan = load("czech")
    data = code(raw, plan)
    names = data.domain.names
    question = question_of(plan, data, (call("small_cells"),))

    def found(*params: tuple[str, str]) -> Detected:
        spec = ReleaseSpec(AttributeSpec.parse(f"{names[0]}:S", names), "0.1", "strict", params=params)
        return detected(remake(data, question, spec, bytes(range(32))), plan)

    leaning = found(("lean", "3"), ("risk", "+".join(names[1:])))
    assert leaning.not_known == ("records are drawn by 1/count to the power 3",) and leaning.of == "records"
    assert leaning.rare_auc is not None and leaning.rare_auc > 0.9 and leaning.finds_rare
    assert found().rare_auc is None


def of_households(**asked: str) -> tuple[Remade, Plan]:
    """Targeted swapping of a made-up census."""
    data = census(1200)
    names = data.domain.names
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in names), unit="hid"))
    asked = {"rate": "0.05", "hierarchy": "town", "risk": "a30", "k": "2", "similar": "size"} | asked
    params = tuple(TRS.setting(data, asked, range(len(names))).texts)
    spec = ReleaseSpec(AttributeSpec.parse("town:S", names), "", mechanism="trs", params=params)
    return remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32))), plan


def test_households_that_few_tables_tell_are_not_called_found() -> None:
    realisation, plan = of_households()
    found = detected(realisation, plan)
    assert found.units is not None
    nothing = found.units._replace(auc=0.55, named=((12, 1.0), (50, 3.0)), certain=0)
    assert not nothing.finds and nothing.verdict.severity == "none"
    unknown = replace(found, units=nothing, auc=0.7)
    assert not unknown.finds_records
    few = nothing._replace(altered=6, auc=0.7)  # of so few by chance
    assert not few.finds and few._replace(auc=0.99).finds


@pytest.mark.parametrize(
    ("parameters", "prefers"),
    [
        ({"risk": "age", "lean": "0"}, False),
        ({"risk": "age", "lean": "0.5"}, True),
        ({"risk": "age", "lean": "0", "hierarchy": "town", "k": "0"}, False),
        ({"risk": "age", "lean": "0", "hierarchy": "town", "k": "2"}, True),
        ({"risk": "age", "size": "equal", "certain": "0"}, False),
        ({"risk": "age", "size": "class", "certain": "0"}, True),
        ({"risk": "age", "size": "equal", "certain": "1"}, True),
    ],
)
def test_rarity_is_looked_at_only_where_records_at_risk_come_first(parameters: dict[str, str], prefers: bool) -> None:
    assert _prefers_rare(parameters) == prefers


def test_records_of_a_random_swap_in_cells_that_were_empty_are_told_outright() -> None:
    rng = np.random.default_rng(5)
    place = rng.integers(0, 20, 400)
    columns = {"place": place, "kind": place // 2, "other": rng.integers(0, 3, 400)}
    raw = table_of_frame(pd.DataFrame({name: values.astype(str) for name, values in columns.items()}))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("place:S", data.domain.names), "0.2", "strict")
    realisation = remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32)))
    release, there = realisation.tables[0], set(zip(*(data.codes[j].tolist() for j in (0, 1)), strict=True))
    new = sum(cell not in there for cell in zip(release.codes(0).tolist(), release.codes(1).tolist(), strict=True))
    told = release_verdict(realisation, plan).outright
    assert told is not None and told.certain >= new > 50 and told.altered == realisation.n_changed


@pytest.mark.slow
def test_of_households_that_moved_the_attack_on_households_is_the_figure() -> None:
    realisation, plan = of_households()
    found = detected(realisation, plan)
    assert found.units is not None and found.units.of == "households"
    assert found.auc == found.units.auc and found.auc is not None and found.auc > 0.8
    assert found.precision == found.units.precision == 1
    assert found.model == "" and not found.calibration and found.finds_records
    assert f"altered households, {found.units.certain:,} are certain" in units_words(found.units)
