"""Attributes get other names wherever a plan names them, and names that no measure can hold are proposed anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.mechanisms import MECHANISMS
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    DecisionPlan,
    MechanismPlan,
    Plan,
    SpacePlan,
    TablePlan,
    accept,
    dependencies,
    propose,
)
from engine.plan.edit import with_attributes_renamed, writable_name, writable_names
from engine.plan.entries import NAMING
from engine.plan.propose import accept_all
from tests.engine.proposals import table_of

OF_COLUMNS = {"y", "log", "cols"}  # parameters that name columns of numbers

PLAN = Plan(
    DataPlan(
        (AttributePlan("pay [EUR]", cut=(1.0,), labels=("low", "high")), AttributePlan("sex"), AttributePlan("work"))
    ),
    keys=("pay [EUR]", "sex"),
    swap=("pay [EUR]",),
    edits=(EditRule("no", (("pay [EUR]", ("high",)), ("work", ("none",)))),),
    space=SpacePlan(specs=("pay [EUR]:S sex:F",), fix=("sex",)),
    analyses=(AnalysisPlan("m", 'Q("pay [EUR]_raw") ~ C(Q("pay [EUR]"), Treatment("sex")) + sex', by=("work",)),),
    tables=(TablePlan("t", ("pay [EUR]", "sex")),),
)


def test_a_renamed_attribute_is_renamed_wherever_the_plan_names_it() -> None:
    plan = with_attributes_renamed(PLAN, {"pay [EUR]": "pay_EUR"})
    part = plan.attributes[0]
    assert (part.name, part.columns, part.view, part.cut) == ("pay_EUR", ("pay [EUR]",), ("pay [EUR]",), (1.0,))
    assert (plan.keys, plan.swap, plan.analyse) == (("pay_EUR", "sex"), ("pay_EUR",), ("pay_EUR", "sex", "work"))
    assert plan.edits[0].forbid[0] == ("pay_EUR", ("high",)) and plan.tables[0].attributes == ("pay_EUR", "sex")
    assert plan.space.specs == ("pay_EUR:S sex:F",)
    assert plan.analyses[0].formula == 'pay_EUR_raw ~ C(pay_EUR, Treatment("sex")) + sex'
    assert with_attributes_renamed(plan, {"pay_EUR": "pay [EUR]"}).data == PLAN.data


def test_measures_and_mechanisms_follow_a_renamed_attribute_and_keep_what_only_looks_like_it() -> None:
    measures = ("hellinger[attributes=sex+work]", "l_diversity[target=sex;diversity=distinct]", "small_cells")
    exchange = MechanismPlan.of("trs", {"hierarchy": "work", "must": ["within"], "similar": ["sex|sex+work"]})
    near = MechanismPlan.of("random_swap", {"near": "work:1+sex:2", "lean": "1"})
    plan = replace(PLAN, measures=measures, decision=DecisionPlan(risk=measures[1]), mechanisms=(exchange, near))
    named = with_attributes_renamed(plan, {"sex": "gender", "work": "within"})
    assert named.measures == (
        "hellinger[attributes=gender+within]",
        "l_diversity[target=gender;diversity=distinct]",
        "small_cells",
    )
    assert named.decision.risk == named.measures[1] and named.space.fix == ("gender",)
    assert dict(named.mechanisms[0].grid) == {
        "hierarchy": ("within",),
        "must": ("within",),
        "similar": ("gender|gender+within",),
    }
    assert dict(named.mechanisms[1].grid) == {"near": ("within:1+gender:2",), "lean": ("1",)}
    assert named.analyses[0].by == ("within",) and named.analyses[0].formula.endswith('Treatment("sex")) + gender')


def test_a_matrix_that_names_a_renamed_attribute_is_refused() -> None:
    plan = replace(PLAN, mechanisms=(MechanismPlan.of("pram", {"matrix": '{"sex": [[1, 0], [0, 1]]}'}),))
    with pytest.raises(UsageError, match="the matrix of mechanism 'pram' names 'sex'"):
        with_attributes_renamed(plan, {"sex": "gender"})
    assert with_attributes_renamed(plan, {"work": "job"}).mechanisms == plan.mechanisms


def test_every_parameter_of_a_mechanism_that_names_attributes_is_known() -> None:
    named = {p.name for name in MECHANISMS for p in MECHANISMS.find(name).parameters if p.kind == "names"}
    assert named - OF_COLUMNS <= set(NAMING)


@pytest.mark.parametrize(
    ("name", "proposed"), [("a[b]", "a_b"), ("c;d", "c_d"), ("[+]", "attribute"), ("x, y=[1]", "x_y_1")]
)
def test_a_writable_name_is_proposed(name: str, proposed: str) -> None:
    assert writable_name(name, ()) == proposed


def test_new_names_differ_from_each_other_and_from_those_there_are() -> None:
    plan = Plan(DataPlan(tuple(map(AttributePlan, ("a,b", "a;b", "a_b")))))
    assert writable_names(plan) == {"a,b": "a_b_2", "a;b": "a_b_3"}


def test_names_that_no_measure_can_hold_are_proposed_and_accepted_all_at_once() -> None:
    values = ["1", "2", "3", "4", "5", "1"]
    columns: dict[str, Any] = {"a,b": values, "c=d": values[::-1], "e": ["x", "y"] * 3}
    raw = table_of(**columns)
    plan = Plan(DataPlan(tuple(map(AttributePlan, raw.names))))
    found = [proposal for proposal in propose(raw, plan) if proposal.kind == "name"]
    assert [proposal.new_name for proposal in found] == ["a_b", "c_d"]
    assert "No measure can name the attribute 'a,b'" in found[0].sentence
    one = accept(plan, found[1])
    assert one.names == ("a,b", "c_d", "e") and one.attributes[1].columns == ("c=d",)
    done = accept_all(raw, plan, dependencies(raw), lambda proposal: proposal.kind == "name")
    assert done.plan.names == ("a_b", "c_d", "e") and not done.refused
    assert not [proposal for proposal in propose(raw, done.plan) if proposal.kind == "name"]
    assert accept(done.plan, found[0]) == done.plan
