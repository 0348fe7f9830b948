"""The plan: checked when it is made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.plan import AttributePlan, DataPlan, DecisionPlan, SpacePlan, plan_from_toml
from tests.engine.plans import plan_of


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
        (lambda: DecisionPlan(max_risk="-1"), "max_risk == -1, must not be negative."),
        (lambda: DecisionPlan(slope="steep"), "slope is 'steep', must be a decimal number"),
        (
            lambda: DecisionPlan(realisation="best"),
            "realisation is 'best', must be 'first_within', 'first' or the number of a replicate",
        ),
        (lambda: DecisionPlan(probability="0"), "probability == 0, must be above 0 and below 1, or 'mean' for a limit"),
        (lambda: DecisionPlan(probability="1"), "probability == 1, must be above 0 and below 1, or 'mean' for a limit"),
        (lambda: DecisionPlan(probability="often"), "probability is 'often', must be a decimal number"),
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
