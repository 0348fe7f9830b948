"""A plan that exists can be run; what it leaves unstated or unused is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.measures.planned import planned_calls
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    DecisionPlan,
    Plan,
    SpacePlan,
    TablePlan,
    edit_plan,
    plan_from_toml,
)
from engine.plan.coding import code
from engine.plan.types import in_no_use, no_use_sentence, unstated
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.groups import group
from tests.engine.plans import plan_of
from tests.engine.proposals import table_of


def test_what_is_left_out_has_a_default() -> None:
    plan = plan_from_toml('[[attribute]]\nname = "A"\n[[attribute]]\nname = "B"\n[[attribute]]\nname = "C"')
    assert plan.keys == plan.swap == plan.analyse == plan.names == ("A", "B", "C")
    assert plan.space.swap_sizes == (1, 2)
    assert plan.space.rates == ("0.01", "0.02", "0.1")
    assert plan.attributes[0].columns == plan.attributes[0].view == ("A",)
    assert plan_of("A", "B").space.swap_sizes == (1,), "swapping both of two attributes exchanges whole records"
    assert plan_of("A", "B", "C", swap=("B",)).space.swap_sizes == (1,)


def test_cut_labels_are_written_from_the_edges() -> None:
    assert AttributePlan("A", cut=(25, 55.5, 60.0)).cut_labels == ("<25", "25-<55.5", "55.5-<60", ">=60")


def test_specs_are_kept_in_canonical_form() -> None:
    plan = plan_of("A", "B", "C", space=SpacePlan(specs=("C:F A:S", "A:s  C:F")))
    assert plan.space.specs == ("A:S C:F",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpacePlan(rates=("1.2",)), "rate == 1.2, must be between 0 and 1."),
        (lambda: SpacePlan(rates=("-0.1",)), "rate == -0.1, must be between 0 and 1."),
        (lambda: SpacePlan(rates=("abc",)), "rate == 'abc', must be a number between 0 and 1, such as 0.02."),
        (lambda: SpacePlan(rates=("nan",)), "rate == nan, must be between 0 and 1."),
        (lambda: SpacePlan(rates=()), "rates is empty"),
        (lambda: SpacePlan(rates="0.1"), "rates is '0.1', must be a list"),  # type: ignore[arg-type]
        (lambda: SpacePlan(replicates=0), "replicates == 0, must be at least 1."),
        (lambda: SpacePlan(replicates=2**63), f"replicates == {2**63}, must be at most 1000000."),
        (lambda: SpacePlan(screen=2**63), f"screen == {2**63}, must be at most 1000000."),
        (lambda: SpacePlan(budget=2**63), f"budget == {2**63}, must be at most 1000000000."),
        (lambda: SpacePlan(swap_sizes=(0,)), "swap size == 0, must be at least 1"),
        (lambda: SpacePlan(swap_sizes=(True,)), "swap_sizes holds True, must hold whole numbers"),
        (
            lambda: SpacePlan(swap_sizes=(1,), all_specs=True),
            "the space is described by swap_sizes and all_specs; choose",
        ),
        (lambda: SpacePlan(specs=(" ",)), "a spec is empty"),
        (lambda: SpacePlan(fix=("A",), change=("A",)), "attribute 'A' is in fix and in change"),
        (lambda: SpacePlan(rule="lax"), "rule is 'lax', must be one of strict, loose"),
        (
            lambda: plan_of("A", "B", space=SpacePlan((3,))),
            "swap size == 3, must be at most 2, the number of attributes",
        ),
        (lambda: plan_of("A", "B", space=SpacePlan(fix=("A", "B"))), "fix and change leave no attribute to swap"),
        (lambda: plan_of("A", "B", space=SpacePlan(fix=("D",))), "fix names the unknown attribute 'D'. Known: A, B."),
        (lambda: plan_of("A", "B", space=SpacePlan(specs=("D:S",))), "unknown attribute 'D' in the spec 'D:S'."),
        (lambda: plan_of("Age", "B", keys=("Aeg",)), "keys names the unknown attribute 'Aeg'. Did you mean 'Age'?"),
        (lambda: plan_of("A", "A"), "the plan's attributes names 'A' more than once"),
        (lambda: plan_of("A", swap=("A", "A")), "swap names 'A' more than once"),
        (lambda: plan_of("A", measures=()), "measures is empty"),
        (lambda: plan_of("A", measures=("a b",)), "measure 'a b' is no name"),
        (lambda: plan_of("A", decision=DecisionPlan(risk="uniques")), "decision risk is 'uniques', which is not among"),
        (
            lambda: plan_of("A", edits=(EditRule("x", (("B", ("b",)),)),)),
            "edit rule 'x' names the unknown attribute 'B'",
        ),
        (lambda: plan_of("A", edits=(EditRule("x", ()),)), "edit rule 'x' forbids nothing"),
        (lambda: DecisionPlan(max_risk="0.1", slope="1"), "the decision has both max_risk and slope; choose one rule"),
        (lambda: DecisionPlan(max_risk="-1"), "decision max_risk == -1, must not be negative."),
        (lambda: DecisionPlan(slope="steep"), "decision slope is 'steep', must be a decimal number"),
        (
            lambda: DecisionPlan(realisation="best"),
            "realisation is 'best', must be 'first_within', 'first' or the number of a replicate",
        ),
        (lambda: DecisionPlan(probability="0"), "decision probability == 0, must be above 0 and below 1, or 'mean'"),
        (lambda: DecisionPlan(probability="1"), "decision probability == 1, must be above 0 and below 1, or 'mean'"),
        (lambda: DecisionPlan(probability="often"), "decision probability is 'often', must be a decimal number"),
        (lambda: AttributePlan(""), "an attribute's name is '', must be a text that is not empty"),
        (lambda: AttributePlan("A", view=("b",)), "attribute 'A' views column 'b', which is not in its columns: A"),
        (lambda: AttributePlan("A", cut=(2, 1)), "attribute 'A': cut edges are 2, 1, must be ascending"),
        (lambda: AttributePlan("A", cut=(1, 1.0)), "attribute 'A': cut edges are 1, 1, must be ascending"),
        (lambda: AttributePlan("A", cut=(float("inf"),)), "attribute 'A': cut holds inf, must hold numbers"),
        (lambda: AttributePlan("A", cut=(1,), labels=("a",)), "attribute 'A' has 1 labels for 2 cut levels"),
        (lambda: AttributePlan("A", labels=("a",)), "attribute 'A' has labels but no cut"),
        (lambda: AttributePlan("A", cut=(1,), levels=("a",)), "attribute 'A' has both cut and levels"),
        (lambda: AttributePlan("A", cut=(1,), merge=(("x", ("a",)),)), "attribute 'A' has both cut and merge"),
        (lambda: AttributePlan("A", ("a", "b"), ("a", "b"), cut=(1,)), "attribute 'A' cuts a view of 2 columns"),
        (lambda: AttributePlan("A", merge=(("x", ()),)), "attribute 'A': merge makes 'x' of nothing"),
        (
            lambda: AttributePlan("A", merge=(("x", ("a",)), ("y", ("a",)))),
            "attribute 'A': merge uses the value 'a' more",
        ),
        (
            lambda: AttributePlan("A", levels=("y",), merge=(("x", ("a",)),)),
            "attribute 'A': merge makes 'x', which is not",
        ),
        (
            lambda: AttributePlan("A", on_missing="skip"),  # type: ignore[arg-type]
            "attribute 'A': on_missing is 'skip', must be one of refuse, level",
        ),
        (
            lambda: AttributePlan("A", levels=("a", "-1"), skip=("-1",)),
            "attribute 'A': '-1' is a declared level and also",
        ),
        (lambda: AttributePlan("A", levels="ab"), "attribute 'A': levels is 'ab', must be a list"),  # type: ignore[arg-type]
        (lambda: DataPlan((AttributePlan("A"),), weight="A"), "column 'A' is claimed by attribute 'A' and by weight"),
        (
            lambda: DataPlan((AttributePlan("A"),), carry=("x",), drop=("x",)),
            "column 'x' is claimed by carry and by drop",
        ),
        (lambda: DataPlan((AttributePlan("A"),), id=""), "id is '', must be the name of one column"),
    ],
)
def test_every_check_trips(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


@pytest.mark.slow
@given(st.decimals(0, 1, places=6))
def test_a_rate_is_one_text_however_it_is_written(rate: Any) -> None:
    (text,) = SpacePlan(rates=(str(rate),)).rates
    assert SpacePlan(rates=(text, f"{rate:f}00", f"{rate:e}")).rates == (text,)
    assert float(text) == float(rate)
    assert text == "0" or not text.endswith("0")


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


def test_only_empty_entries_are_listed_and_changes_only_of_what_was_released_before() -> None:
    plan = Plan(DataPlan((AttributePlan("A"),)))
    entries = unstated(plan)
    assert {
        "about.survey",
        "about.contact",
        "threat.intruder",
        "threat.public_files",
        "publish.title",
    } <= entries.keys()
    assert "about.changes" not in entries and "about.classification" not in entries
    about = replace(plan.about, survey="Labour Force Survey", release_type="re-release")
    filled = unstated(replace(plan, about=about))
    assert "about.survey" not in filled and "about.changes" in filled
    assert all(entries.values())
