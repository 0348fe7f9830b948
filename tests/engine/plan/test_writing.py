"""A plan as TOML text: what is left out, what stands on lines of its own, and which signs are escaped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datasets.make_survey import survey
from engine.data.domain import EditRule
from engine.plan import AttributePlan, DataPlan, MechanismPlan, Plan, SpacePlan, plan_from_toml, plan_to_toml
from engine.plan.differences import lock
from engine.plan.samples import load


def test_a_short_plan_is_short() -> None:
    assert plan_to_toml(Plan(DataPlan((AttributePlan("A"), AttributePlan("B b"))))) == (
        '[[attribute]]\nname = "A"\n\n[[attribute]]\nname = "B b"\n\n'
        '[space]\nswap_sizes = [1]\nrule = "strict"\nrates = ["0.01", "0.02", "0.1"]\nreplicates = 20\n\n'
        '[measures]\nnames = ["small_cells", "hellinger", "total_variation", "entropy_change"]\n\n'
        '[decision]\nrealisation = "first_within"\n'
    )


def test_a_long_table_stands_after_the_other_entries_of_its_section() -> None:
    merge = tuple((f"level {j}", (f"{j}", f"-{j}")) for j in range(1, 12))
    part = AttributePlan("A", merge=merge, skip=("-77",), missing=("-99",), on_missing="level")
    forbid = tuple((name, tuple(f"a long level of {name}, number {j}" for j in range(4))) for name in ("A", "B"))
    plan = Plan(DataPlan((part, AttributePlan("B"))), edits=(EditRule("never", forbid),))
    text = plan_to_toml(plan)
    assert plan_from_toml(text) == plan
    assert '\non_missing = "level"\n\n[attribute.merge]\n"level 1" = ["1", "-1"]\n' in text
    assert '\n[edit.forbid]\nA = [\n    "a long level of A, number 0",\n' in text


def test_every_sign_comes_back() -> None:
    odd = '\t\n\r\b\f\x01\x1b\x7f"\\é…\u2028😀 = # [x]'
    plan = Plan(
        DataPlan((AttributePlan(odd, merge=((odd + "1", (odd,)),)), AttributePlan("B")), carry=(odd + "2",)),
        mechanisms=(MechanismPlan.of("maps", {"w0": [0.8, 0.9], "D": 5}),),
        space=SpacePlan(rates=tuple(f"0.0{j:03d}" for j in range(1, 40))),
    )
    locked = lock(plan, f"no. {odd}", "Grace")
    assert plan_from_toml(plan_to_toml(plan)) == plan
    assert plan_from_toml(plan_to_toml(locked)) == locked


@pytest.mark.slow
def test_samples_and_a_plan_with_hundreds_of_attributes_come_back() -> None:
    from engine.plan import first_plan

    wide = first_plan(survey(300)[0])
    assert len(wide.names) > 250
    for plan in (load("czech")[1], wide, replace(wide, keys=wide.names[:5])):
        assert plan_from_toml(plan_to_toml(plan)) == plan
