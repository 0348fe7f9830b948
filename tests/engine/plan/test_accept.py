"""Accepted proposals: another plan, which keeps records whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.mechanisms import mechanism
from engine.mechanisms import names as mechanism_names
from engine.mechanisms.targeted import Profiles
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    MechanismPlan,
    Plan,
    Proposal,
    SpacePlan,
    TablePlan,
    accept,
    edit_plan,
    propose,
)
from engine.plan.coding import code
from engine.plan.edit import take_out
from engine.plan.entries import attributes_named
from tests.engine.proposals import first_plan_of, made
from tests.examples import examples

NUMERIC = ("y", "log", "cols")
"""Parameters that name numeric columns, which stay columns whatever becomes of attributes."""
BLOCK = Proposal("block", ("a", "b"), "s.", "e.")


def plan_of(*names: str, **more: Any) -> Plan:
    data = {k: more.pop(k) for k in ("carry", "drop", "id", "weight") if k in more}
    return Plan(DataPlan(tuple(AttributePlan(name) for name in names), **data), **more)


def test_joined_attributes_hand_over_their_roles() -> None:
    plan = plan_of("a", "b", "c", keys=("b",), swap=("a", "b", "c"), analyse=("c",), space=SpacePlan(fix=("b",)))
    after = accept(plan, BLOCK)
    assert after.attributes == (AttributePlan("b", columns=("b", "a")), AttributePlan("c"))
    assert (after.keys, after.swap, after.analyse, after.space.fix) == (("b",), ("b", "c"), ("c",), ("b",))
    assert accept(after, BLOCK) == after


@pytest.mark.parametrize(
    "more",
    [
        {"keys": ("b", "c")},
        {"analyse": ("b",)},
        {"space": SpacePlan(fix=("b",))},
        {"space": SpacePlan(specs=("b:S",))},
        {"tables": (TablePlan("t", ("b", "c")),)},
        {"mechanisms": (MechanismPlan.of("pram", {"vars": "b"}),)},
    ],
)
def test_a_block_keeps_the_name_of_the_attribute_that_the_plan_names(more: dict[str, Any]) -> None:
    assert accept(plan_of("a", "b", "c", **more), BLOCK).names == ("b", "c")
    assert accept(plan_of("a", "b", "c"), BLOCK).names == ("a", "c"), "the finest, where nothing was chosen"


def test_a_block_keeps_the_attribute_that_was_cut() -> None:
    plan = Plan(DataPlan((AttributePlan("a"), AttributePlan("b", cut=(10,)), AttributePlan("c"))))
    assert accept(plan, BLOCK).attributes[0] == AttributePlan("b", columns=("b", "a"), cut=(10,))


def test_a_block_takes_carried_columns_and_leaves_dropped_ones() -> None:
    assert accept(plan_of("b", carry=("a",)), BLOCK).data == DataPlan((AttributePlan("b", columns=("b", "a")),))
    assert accept(plan_of("b", carry=("a*",)), BLOCK).attributes[0].columns == ("b", "a")
    for drop in (("a",), ("a*",)):
        plan = plan_of("b", drop=drop)
        assert accept(plan, BLOCK) == plan
    plan = plan_of("c", carry=("a", "b"))
    assert accept(plan, BLOCK) == plan, "columns that stay with their record stay together"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"edits": (EditRule("r", (("b", ("1",)),)),)}, "edit rule 'r' uses 'b', which would become part of 'a'"),
        ({"analyses": (AnalysisPlan("m", "c ~ b"),)}, "analysis 'm' uses 'b'"),
        ({"tables": (TablePlan("t", ("b", "c")),)}, "table 't' uses 'b'"),
        ({"space": SpacePlan(specs=("b:S",))}, "the spec 'b:S' uses 'b'"),
        *(
            (
                {"mechanisms": (MechanismPlan.of(name, {entry: text}),)},
                f"{use} uses 'b', which would become part of 'a'",
            )
            for name, entry, text, use in (
                ("trs", "similar", "c|b+c", "the exchange of households"),
                ("survey_swap", "swap", "b", "mechanism 'survey_swap'"),
                ("survey_swap", "boundary", "c+b", "mechanism 'survey_swap'"),
                ("survey_swap", "linked", "b", "mechanism 'survey_swap'"),
                ("survey_swap", "stratum", "b", "mechanism 'survey_swap'"),
                ("random_swap", "near", "c:1+b:2", "mechanism 'random_swap'"),
                ("pram", "vars", "b", "mechanism 'pram'"),
                ("cgs", "strata", "b", "mechanism 'cgs'"),
                ("smike", "within", "b", "mechanism 'smike'"),
                ("of_a_script", "vars", "b", "mechanism 'of_a_script'"),
            )
        ),
    ],
)
def test_what_names_a_joined_attribute_must_be_changed_first(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        accept(plan_of("a", "b", "c", keys=("a",), **more), BLOCK)


def test_words_of_a_mechanism_that_name_no_attribute_keep_nothing_back() -> None:
    plan = plan_of("a", "class", "c", mechanisms=(MechanismPlan.of("survey_swap", {"size": "class", "swap": "c"}),))
    joined = accept(plan, Proposal("block", ("a", "class"), "s.", "e."))
    assert joined.names == ("a", "c")


def test_every_parameter_that_names_attributes_is_known_to_the_plan() -> None:
    for name in mechanism_names():
        for parameter in mechanism(name).parameters:
            holds_names = parameter.kind == "names" or isinstance(parameter, Profiles)
            named = attributes_named(MechanismPlan.of(name, {parameter.name: "b"}))
            assert named == (("b",) if holds_names and parameter.name not in NUMERIC else ()), (name, parameter.name)


def test_ids_weights_and_constants_leave_the_attributes() -> None:
    plan = plan_of("a", "i", "j", "w", "v", "k")
    plan = accept(plan, Proposal("id", ("i", "j"), "s.", "e."))
    plan = accept(plan, Proposal("weight", ("w", "v"), "s.", "e."))
    plan = accept(plan, Proposal("constant", ("k",), "s.", "e."))
    assert plan.data == DataPlan((AttributePlan("a"),), id="i", weight="w", carry=("v", "k"), drop=("j",))
    assert plan.keys == ("a",)
    kept = plan_of("a", "i", id="j", weight="v")
    assert accept(kept, Proposal("id", ("i", "j"), "s.", "e.")).data.id == "j", "an id that was chosen stays"


def test_missing_codes_leave_the_levels() -> None:
    part = AttributePlan("a", merge=(("No", ("0",)), ("Gone", ("9",))), levels=("No", "Gone"))
    plan = Plan(DataPlan((part, AttributePlan("b", skip=("9",)))))
    after = accept(plan, Proposal("missing", ("a", "b"), "s.", "e.", codes=(("a", ("9",)), ("b", ("9",)))))
    assert after.attributes[0] == AttributePlan(
        "a", merge=(("No", ("0",)),), levels=("No",), missing=("9",), on_missing="level"
    )
    assert after.attributes[1] == plan.attributes[1]


@pytest.mark.slow
@examples(8)
@given(st.data())
def test_accepting_in_any_order_leaves_a_plan_that_codes_the_file(data: st.DataObject) -> None:
    table, _, found = made(500)
    plan = first_plan_of(500)
    names = data.draw(st.lists(st.sampled_from(plan.names), min_size=2, max_size=6, unique=True))
    plan = edit_plan(plan, attributes=names)
    while waiting := propose(table, plan, found):
        plan = accept(plan, data.draw(st.sampled_from(waiting)))
    code(table, plan)
    for proposal in propose(table, None, found):
        if proposal.kind in ("block", "skip"):
            free = set(proposal.columns) - {plan.data.id, plan.data.weight}
            holds = [a for a in plan.attributes if free & set(a.columns)]
            assert not holds or free <= set(holds[0].columns)


def test_whole_attributes_are_not_compared_to_take_some_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of columns that took seconds: their number was squared."""

    def compared(one: object, other: object) -> bool:
        raise AssertionError("attributes have names")

    plan = Plan(data=DataPlan(tuple(AttributePlan(name) for name in "abc")))
    monkeypatch.setattr(AttributePlan, "__eq__", compared)
    assert take_out(plan, carry=["a"], drop=["c"]).names == ("b",)
