"""Changes of two plans are merged entry by entry."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.plan import AboutPlan, AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan, TablePlan, ThreatPlan
from engine.plan.differences import departures, entry_values, lock, merged, with_entries

BASE = Plan(
    DataPlan((AttributePlan("age", cut=(25,)), AttributePlan("sex"), AttributePlan("work")), carry=("wt", "note")),
    keys=("age", "sex"),
    space=SpacePlan(swap_sizes=(1,), rates=("0.1",)),
)


def _data(**changes: object) -> dict[str, object]:
    return {"data": replace(BASE.data, **changes)}  # type: ignore[arg-type]


def _space(**changes: object) -> dict[str, object]:
    return {"space": replace(BASE.space, **changes)}  # type: ignore[arg-type]


CHANGES: dict[str, dict[str, object]] = {
    "keys": {"keys": ("age", "sex", "work")},
    "measures": {"measures": (*BASE.measures, "unique_cells")},
    "tables": {"tables": (TablePlan("jobs", ("age", "work")),)},
    "space.rates": _space(rates=("0.1", "0.2")),
    "space.replicates": _space(replicates=7),
    "data.carry": _data(carry=("wt",)),
    "data.weight": _data(weight="weight"),
    "attribute.age": _data(attributes=(AttributePlan("age", cut=(30,)), *BASE.attributes[1:])),
    "attribute.place": _data(attributes=(*BASE.attributes, AttributePlan("place"))),
    "decision.max_risk": {"decision": DecisionPlan(max_risk="0.05")},
    "threat.harm": {"threat": ThreatPlan(harm="loss of work")},
    "about.survey": {"about": AboutPlan(survey="Census")},
}
"""A change of each entry of its own."""


def _with(names: set[str]) -> Plan:
    plan = BASE
    for name in sorted(names):
        plan = with_entries(plan, replace(BASE, **CHANGES[name]), [name])  # type: ignore[arg-type]
    return plan


@given(st.lists(st.sets(st.sampled_from(sorted(CHANGES))), min_size=2, max_size=2))
def test_changes_of_different_entries_are_both_there_and_the_same_change_is_no_conflict(sides: list[set[str]]):
    mine, theirs = sides
    merge = merged(BASE, _with(mine), _with(theirs))
    assert merge.plan == _with(mine | theirs) and not merge.conflicts
    assert set(merge.taken) == (theirs if mine != theirs else set())


@pytest.mark.parametrize(
    ("entry", "mine", "theirs"),
    [
        ("decision.max_risk", {"decision": DecisionPlan(max_risk="0.01")}, {"decision": DecisionPlan(max_risk="0.05")}),
        ("space.rates", _space(rates=("0.2",)), _space(rates=("0.3",))),
        ("keys", {"keys": ("age",)}, {"keys": ("sex",)}),  # no key left would mean all of them
        ("keys", {"keys": ("sex", "age")}, {"keys": ("age", "sex", "work")}),  # one orders, the other adds
        ("tables", {"tables": (TablePlan("a", ("age",)),)}, {"tables": (TablePlan("a", ("sex",)),)}),
        (
            "attribute.age",
            _data(attributes=(AttributePlan("age", cut=(30,)), *BASE.attributes[1:])),
            _data(attributes=(AttributePlan("age", cut=(40,)), *BASE.attributes[1:])),
        ),
    ],
)
def test_an_entry_that_both_changed_is_a_conflict_and_the_rest_is_merged(
    entry: str, mine: dict[str, object], theirs: dict[str, object]
):
    ours = replace(BASE, about=AboutPlan(survey="Census"), **mine)  # type: ignore[arg-type]
    other = replace(BASE, threat=ThreatPlan(harm="loss"), **theirs)  # type: ignore[arg-type]
    merge = merged(BASE, ours, other)
    assert merge.conflicts == (entry,) and merge.taken == ("threat.harm",)
    assert merge.plan == replace(other, about=ours.about), "the plan has theirs"
    chosen = with_entries(merge.plan, ours, merge.conflicts)
    assert chosen == replace(ours, threat=other.threat), "and mine when it is chosen"


def test_lists_of_names_take_what_both_added_and_lose_what_either_took_away():
    mine = replace(BASE, keys=("age", "sex", "work"), **_data(carry=("note", "x")))  # type: ignore[arg-type]
    theirs = replace(BASE, keys=("age",), **_data(carry=("wt", "note", "y")))  # type: ignore[arg-type]
    merge = merged(BASE, mine, theirs)
    assert merge.plan.keys == ("age", "work") and merge.plan.data.carry == ("note", "y", "x") and not merge.conflicts


def test_two_tabs_that_use_another_column_each_agree():
    sides = []
    for column in BASE.data.carry:
        data = replace(
            BASE.data,
            attributes=(*BASE.attributes, AttributePlan(column)),
            carry=tuple(other for other in BASE.data.carry if other != column),
        )
        sides.append(replace(BASE, data=data, swap=(*BASE.swap, column), analyse=(*BASE.analyse, column)))
    both = merged(BASE, *sides).plan
    assert set(both.swap) == set(both.names) == {"age", "sex", "work", "wt", "note"} and not both.data.carry


def test_changes_that_are_no_plan_together_stay_apart():
    mine = replace(BASE, decision=DecisionPlan(max_risk="0.05"), about=AboutPlan(survey="Census"))
    theirs = replace(BASE, decision=DecisionPlan(slope="2"))
    merge = merged(BASE, mine, theirs)
    assert merge.plan == theirs
    assert set(merge.conflicts) == {"decision.max_risk", "decision.slope", "about.survey"}
    assert with_entries(merge.plan, mine, merge.conflicts) == mine


def test_without_a_plan_to_begin_with_all_that_differs_is_a_conflict():
    mine, theirs = _with({"keys"}), _with({"about.survey"})
    merge = merged(None, mine, theirs)
    assert merge.plan == theirs and set(merge.conflicts) == {"keys", "about.survey"}


@pytest.mark.parametrize("names", [*combinations(sorted(CHANGES), 1), tuple(CHANGES)])
def test_nothing_departs_in_silence_from_an_approval_given_meanwhile(names: tuple[str, ...]):
    approved = lock(_with({"threat.harm"}), "2026-1", "the board")
    merge = merged(BASE, _with({*names}), approved)
    assert merge.plan.lock == approved.lock and not departures(merge.plan) and "lock" in merge.taken
    fixed = {*names} - {"about.survey", "threat.harm"}
    assert set(merge.conflicts) == fixed, "replicates may grow, and 7 are fewer"
    chosen = with_entries(merge.plan, _with({*names}), merge.conflicts)
    assert entry_values(chosen) == entry_values(_with({*names, "threat.harm"})) and chosen.lock == approved.lock


def test_an_approval_is_given_to_the_plan_that_was_seen_alone():
    merge = merged(BASE, lock(BASE, "2026-1", "the board"), _with({"keys"}))
    assert merge.plan == _with({"keys"}) and merge.plan.lock is None and merge.conflicts == ("keys",)
