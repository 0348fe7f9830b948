"""Attributes that no declared use looks at are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.measures.planned import planned_calls
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan, TablePlan, edit_plan
from engine.plan.coding import code
from engine.plan.types import in_no_use, no_use_sentence
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.groups import group
from tests.engine.proposals import table_of

RAW = table_of(
    age=[i % 5 for i in range(400)],
    sex=["fm"[i // 7 % 2] for i in range(400)],
    work=[f"w{i % 5 // 2}" for i in range(400)],
    town=[f"t{i * i % 11 % 4}" for i in range(400)],
    pay=[1000.0 + i for i in range(400)],
)
PLAN = edit_plan(
    Plan(DataPlan(tuple(map(AttributePlan, ("age", "sex", "work", "town"))), carry=("pay",))),
    keys=["age", "sex"],
    analyse=["age", "sex"],
    swap=["sex", "work", "town"],
    swap_sizes=[1],
    rates=["0.4"],
    replicates=2,
)


@pytest.mark.parametrize(
    ("plan", "unused"),
    [
        (PLAN, ("work", "town")),
        (replace(PLAN, tables=(TablePlan("t", ("sex", "town")),)), ("work",)),
        (replace(PLAN, analyses=(AnalysisPlan("a", "pay ~ age + work"),)), ("town",)),
        (replace(PLAN, analyses=(AnalysisPlan("a", "pay ~ age", by=("work",)),)), ("town",)),
        (replace(PLAN, analyse=PLAN.names), ()),
    ],
)
def test_what_no_declared_use_looks_at(plan: Plan, unused: tuple[str, ...]) -> None:
    assert in_no_use(plan, plan.swap) == unused
    assert ("largest_two_way" in map(str, planned_calls(plan))) is bool(unused)


def test_the_sentence_names_them() -> None:
    assert no_use_sentence(()) == ""
    assert no_use_sentence(("work", "town")).startswith("No declared table or regression uses work and town")


def test_an_exchange_of_what_nobody_tabulates_is_seen_by_a_default_measure() -> None:
    """Two columns that nobody tabulates were exchanged in 40 % of the records, and every figure said "the same"."""
    data = code(RAW, PLAN)
    question = question_of(PLAN, data)
    names = list(map(str, question.calls))
    specs = scenarios_of(PLAN, data)[0]
    rows = Evaluator(question, bytes(16)).run_all([(g, [1]) for g in group(specs, data.table)]).rows
    for row in rows:
        spec = specs[int(row[0])].attributes
        if spec.names_having("S") == ("work",):
            assert row[4 + names.index("hellinger")] == 0 < 0.1 < row[4 + names.index("largest_two_way")]
            break
    else:
        pytest.fail("no candidate exchanges 'work' alone")


def test_a_named_measure_is_not_asked_twice_and_many_attributes_are_not_crossed_unasked() -> None:
    named = edit_plan(PLAN, measures=["small_cells", "largest_two_way"])
    assert list(map(str, planned_calls(named))) == ["small_cells", "largest_two_way"]
    many = tuple(AttributePlan(f"a{i}") for i in range(61))
    analyse = [part.name for part in many if part.name != "a1"]
    wide = edit_plan(Plan(DataPlan(many)), keys=["a0"], analyse=analyse, swap=["a1"], swap_sizes=[1], rates=["0.1"])
    assert "largest_two_way" not in map(str, planned_calls(wide)) and in_no_use(wide, wide.swap) == ("a1",)
