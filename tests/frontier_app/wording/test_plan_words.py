"""Differences of plans in the words of the pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan, edit_plan
from engine.plan.differences import entry_values, lock
from frontier_app.wording.plan_words import action_words, disputed_words, taken_words

COLUMNS = ("age", "sex", "work", "wt", "note")
PLAN = Plan(
    DataPlan((AttributePlan("age"), AttributePlan("sex"), AttributePlan("work")), carry=("wt", "note")),
    space=SpacePlan(swap_sizes=(1,), rates=("0.1",)),
)


def _data(**changes: object) -> Plan:
    return replace(PLAN, data=replace(PLAN.data, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (_data(carry=("note",), weight="wt"), "wt is the weight"),
        (_data(carry=(), drop=("wt", "note")), "2 columns are dropped"),
        (_data(carry=("note",), id="wt", drop=()), "wt is the id"),
        (
            _data(attributes=(AttributePlan("age", columns=("age", "note")), *PLAN.attributes[1:]), carry=("wt",)),
            "note is in the block age",
        ),
        (edit_plan(PLAN, keys=["age"]), "2 attributes are not known to an intruder"),
        (edit_plan(PLAN, swap=["age", "work"]), "sex is not exchanged"),
        (_data(attributes=(replace(PLAN.attributes[0], cut=(25,)), *PLAN.attributes[1:])), "levels of age changed"),
        (replace(PLAN, decision=DecisionPlan(max_risk="0.01")), "Largest acceptable risk (α): 0.01"),
        (PLAN, ""),
    ],
)
def test_an_action_is_said_in_few_words(new: Plan, words: str) -> None:
    assert action_words(PLAN, new, COLUMNS) == words


def test_many_changes_at_once_are_counted() -> None:
    space = replace(PLAN.space, rates=("0.2",), replicates=7, fix=("sex",))
    assert action_words(PLAN, replace(PLAN, space=space), COLUMNS).endswith("; and 1 more change")


def test_what_another_tab_changed_is_told_without_what_is_asked_about() -> None:
    new = replace(_data(attributes=(*PLAN.attributes, AttributePlan("note")), carry=("wt",)), keys=("age",))
    assert taken_words(PLAN, new, ("keys", "attribute.note")) == ["Keys: age", "attribute 'note' is new"]
    locked = lock(PLAN, "2026-1", "the board")
    assert taken_words(PLAN, locked, ("lock",)) == ["the plan has been approved as 2026-1 by the board and is locked"]


@pytest.mark.parametrize("name", entry_values(PLAN))
def test_every_entry_that_two_tabs_may_change_has_words_for_its_value(name: str) -> None:
    label, value = disputed_words(name, PLAN)
    assert label and value and "Plan(" not in value
