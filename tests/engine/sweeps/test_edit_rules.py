"""Edit rules that refuse pairs, in the candidates of a plan."""

from __future__ import annotations

import pytest

from engine.common.errors import UsageError
from engine.data.edit_rules import EditRule
from engine.plan import MechanismPlan
from engine.plan.differences import plan_differences
from engine.plan.recode import code
from engine.report.parameters import parameters, true_swap_words
from engine.sweeps.candidates import scenarios_of
from tests.engine.small_studies import RAW, plan_of

RULE = EditRule("never", (("A", ("v0",)), ("B", ("v1",))), refuse=True)


def test_a_mechanism_that_cannot_refuse_pairs_is_refused_where_it_changes_what_a_rule_names():
    plan = plan_of(edits=(RULE,), mechanisms=(MechanismPlan.of("dds", {"s": 1}),))
    with pytest.raises(UsageError) as error:
        scenarios_of(plan, code(RAW, plan))
    assert str(error.value).startswith(
        "edit rule 'never' refuses pairs, which mechanism 'dds' cannot; let the rule count only (leave refuse out of "
        "its [[edit]]), or use "
    )


def test_a_mechanism_that_leaves_the_attributes_of_a_rule_alone_goes_with_it():
    plan = plan_of(edits=(RULE,), keys=("C", "D"), mechanisms=(MechanismPlan.of("dds", {"s": 1}),))
    assert len(scenarios_of(plan, code(RAW, plan))[0]) == 1


def test_a_difference_of_two_plans_says_which_rule_refuses():
    counts = EditRule(RULE.name, RULE.forbid)
    difference = plan_differences(plan_of(edits=(counts,)), plan_of(edits=(RULE,)))["edits"]
    assert difference.words == (
        "the study has never (never A v0 with B v1), asked never (never A v0 with B v1; no swap may make it)"
    )


def test_documents_name_the_rules_that_refuse_pairs():
    counting = plan_of(edits=(EditRule("other", RULE.forbid), RULE))
    assert true_swap_words(counting).endswith("; neither of them breaks anew what the plan forbids (never)")
    assert "forbids" not in true_swap_words(plan_of(edits=(EditRule("other", RULE.forbid),)))
    assert dict(parameters(counting, None, None, "1"))["Edit rules"] == "other and never (forbids)"
