"""A plan edited by flags."""

from __future__ import annotations

from typing import Any

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.plan import AttributePlan, DataPlan, DecisionPlan, MechanismPlan, Plan, SpacePlan, edit_plan, plan_from_toml
from tests.engine.plans import ABC, FULL, plan_of


def test_flags_replace_entries() -> None:
    plan = edit_plan(ABC, rates=["0.10"], replicates=3, rule="loose", measures=["entropy_change"], realisation="2")
    assert plan.space == SpacePlan((1, 2), rule="loose", rates=("0.1",), replicates=3)
    assert plan.measures == ("entropy_change",)
    assert plan.decision.realisation == "2"
    assert edit_plan(ABC) == ABC


def test_one_way_of_describing_the_space_replaces_the_others() -> None:
    everything = edit_plan(ABC, all_specs=True)
    assert everything.space == SpacePlan(all_specs=True)
    listed = edit_plan(everything, specs=["A:S"])
    assert (listed.space.all_specs, listed.space.specs, listed.space.swap_sizes) == (False, ("A:S",), ())
    assert edit_plan(listed, swap_sizes=[2]).space == SpacePlan((2,))
    assert edit_plan(listed, all_specs=False) == listed, "a flag that is not set asks for nothing"
    with pytest.raises(UsageError, match="described by swap_sizes and specs; choose one"):
        edit_plan(ABC, swap_sizes=[1], specs=["A:S"])
    with pytest.raises(UsageError, match="swap_sizes is empty"):
        edit_plan(ABC, swap_sizes=[])


@pytest.mark.parametrize(("idle", "needed"), [({"budget": 5}, "search"), ({"screen": 2}, "adaptive or search")])
def test_an_entry_that_the_space_makes_no_use_of_is_refused(idle, needed) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(idle))} has no effect without {needed}; give both or leave"):
        edit_plan(ABC, **idle)


def test_attributes_restrict_all_lists_and_carry_the_rest() -> None:
    plan = plan_from_toml(FULL.replace("[[edit]]", "[[edit]]").split("[[edit]]")[0])
    small = edit_plan(plan, attributes=["Sex", "Age"])
    assert small.names == ("Age", "Sex"), "the plan's own order, since it is part of every stream"
    assert (small.keys, small.swap, small.analyse) == (("Age", "Sex"), ("Age",), ("Age",))
    assert small.data.carry == ("note_*", "Emp")
    assert small.space.swap_sizes == (1,)
    other = edit_plan(plan, attributes=["Emp", "Sex"])
    assert other.data.carry == ("note_*", "age", "age_flag"), "all columns of the block"
    assert edit_plan(plan, attributes=["Sex"]).swap == ("Sex",), "a list that would be empty becomes all"


def test_an_attribute_that_no_list_names_any_more_is_carried() -> None:
    plan = edit_plan(ABC, keys=["A"], swap=["A"], analyse=["A", "B"])
    assert plan.names == ("A", "B")
    assert plan.data.carry == ("C",)
    assert edit_plan(ABC, keys=["A"], swap=["A"], analyse=["B"], fix=["C"]).names == ("A", "B", "C")
    assert edit_plan(ABC, swap=["A"]).names == ("A", "B", "C")
    never = plan_of("A", "B", "C", keys=("A",), swap=("A",), analyse=("B",))
    assert edit_plan(never, replicates=2).names == ("A", "B", "C"), (
        "an attribute that no list ever named stays as it was"
    )


def test_an_edit_rule_on_an_attribute_that_goes_is_refused() -> None:
    plan = plan_of("A", "B", "C", edits=(EditRule("x", (("C", ("c",)),)),))
    with pytest.raises(UsageError, match="edit rule 'x' names 'C', which would no longer be an attribute"):
        edit_plan(plan, attributes=["A", "B"])
    assert edit_plan(plan, keys=["A"], swap=["A"], analyse=["A"]).names == ("A", "C")


def test_fix_change_and_specs_follow_a_restriction() -> None:
    plan = plan_of("A", "B", "C", "D", space=SpacePlan(fix=("C",), change=("D",)))
    assert edit_plan(plan, attributes=["A", "B", "D"]).space.fix == ()
    swapped = edit_plan(plan, fix=["D"])
    assert (swapped.space.fix, swapped.space.change) == (("D",), ())
    listed = plan_of("A", "B", "C", space=SpacePlan(specs=("A:S", "B:S C:F")))
    assert edit_plan(listed, attributes=["A", "B"]).space.specs == ("A:S",)
    with pytest.raises(UsageError, match="no spec of the plan is left"):
        edit_plan(listed, attributes=["C"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"attributes": ["A", "X"]}, "attributes names the unknown attribute 'X'. Known: A, B, C."),
        ({"attributes": []}, "attributes is empty; name at least one"),
        ({"attributes": ["A"], "keys": ["B"]}, "keys names the unknown attribute 'B'. Known: A."),
        ({"swap": []}, "swap is empty"),
        ({"fix": ["X"]}, "fix names the unknown attribute 'X'"),
        ({"swap": ["A"], "swap_sizes": [2]}, "swap size == 2, must be at most 1"),
        ({"rates": ["2"]}, "rate == 2, must be between 0 and 1."),
        ({"risk": "uniques"}, "decision risk is 'uniques'"),
        ({"max_risk": "1", "slope": "1"}, "the decision has both max_risk and slope"),
    ],
)
def test_a_wrong_flag_is_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        edit_plan(ABC, **flags)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("use", "flags"),
    [
        ({"carry": ("Age",)}, {"keys": ["A", "Age"]}),
        ({"carry": ("Ag*",)}, {"swap": ["Age"]}),
        ({"drop": ("Age",)}, {"analyse": ["Age"]}),
        ({"weight": "Age"}, {"attributes": ["A", "Age"]}),
    ],
)
def test_a_column_of_another_use_that_is_named_as_attribute_is_told_how(
    use: dict[str, Any], flags: dict[str, Any]
) -> None:
    data = DataPlan((AttributePlan("A"), AttributePlan("B")), **use)
    plan = Plan(data)
    told = rf'names column .Age., .* under {next(iter(use))}; .*\[\[attribute\]\] with name = "Age"'
    with pytest.raises(UsageError, match=told):
        edit_plan(plan, **flags)
    role = next(iter(flags))
    if role != "attributes":
        with pytest.raises(UsageError, match=told):
            Plan(data, **flags)


def test_a_decision_follows_the_measures_and_one_rule_replaces_the_other() -> None:
    plan = plan_of("A", "B", decision=DecisionPlan("small_cells", "hellinger", max_risk="0.1"))
    fewer = edit_plan(plan, measures=["small_cells[n_rule=5]", "entropy_change"])
    assert (fewer.decision.risk, fewer.decision.utility) == ("small_cells", None)
    assert edit_plan(plan, slope="0.5").decision == DecisionPlan("small_cells", "hellinger", slope="0.5")


def test_an_entry_that_no_plan_has_is_a_fault_of_the_caller() -> None:
    with pytest.raises(TypeError, match="no entry 'swaps'"):
        edit_plan(ABC, swaps=["A"])  # type: ignore[call-arg]


def test_an_attribute_that_a_mechanism_names_does_not_go_but_with_it() -> None:
    plan = edit_plan(ABC, mechanisms=[MechanismPlan.of("pram", {"vars": "C"})])
    with pytest.raises(UsageError, match="mechanism 'pram' names 'C', which would no longer be an attribute; keep 'C'"):
        edit_plan(plan, attributes=["A", "B"])
    assert edit_plan(plan, keys=["A"], swap=["A"], analyse=["A"]).names == ("A", "C")
    assert edit_plan(plan, attributes=["A", "B"], mechanisms=[MechanismPlan("random_swap")]).names == ("A", "B")
