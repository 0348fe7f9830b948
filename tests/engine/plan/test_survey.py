"""What is usually tried of the swap of survey records."""

from __future__ import annotations

import pytest

from engine.plan import Plan
from engine.plan.coding import code
from engine.plan.households import personal_attributes, usual_survey_swap
from engine.plan.samples import load


@pytest.mark.slow
def test_what_members_of_a_household_share_is_not_exchanged_between_persons() -> None:
    raw, plan = load("census")
    data = code(raw, plan)
    able = personal_attributes(plan, data)
    assert {"region", "municipality", "hhsize", "hhtype", "tenure"}.isdisjoint(able) and {"age", "sex"} <= set(able)
    grid = dict(usual_survey_swap(plan, data).grid)
    assert grid["boundary"] == ("region",) and set(grid["swap"][0].split("+")) <= set(able)


def test_keys_that_may_be_swapped_come_first() -> None:
    raw, plan = load("nces")
    last = plan.names[-2:]
    chosen = Plan(plan.data, keys=last, swap=last)
    grid = dict(usual_survey_swap(chosen, code(raw, chosen)).grid)
    assert grid["swap"] == ("+".join(last),)
