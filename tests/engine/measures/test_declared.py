"""What a plan declares switches on its measures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.common.errors import UsageError
from engine.measures.declared import measures_of_uses, sensitive, table_measure, with_sensitive, with_uses_measured
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, DecisionPlan, Plan, TablePlan

PLAN = Plan(DataPlan(tuple(map(AttributePlan, ("age", "sex", "work"))), carry=("pay",)))
TABLE = TablePlan("work by sex", ("sex", "work"))
WAGES = AnalysisPlan("wages", "pay ~ age + sex")
ON_TABLE = "total_variation[attributes=sex+work]"


def test_declared_uses_bring_their_measures_and_take_them_away() -> None:
    used = with_uses_measured(PLAN, replace(PLAN, tables=(TABLE,), analyses=(WAGES,)))
    assert used.measures == (*PLAN.measures, ON_TABLE, "ci_overlap")
    assert measures_of_uses(used) == (ON_TABLE, "ci_overlap")
    assert with_uses_measured(used, used) == used
    without = replace(used, measures=PLAN.measures)
    assert with_uses_measured(used, without).measures == PLAN.measures, "who takes a measure out is not overruled"
    assert with_uses_measured(used, replace(used, tables=())).measures == (*PLAN.measures, "ci_overlap")
    judged = replace(used, decision=DecisionPlan(utility="ci_overlap"))
    assert "ci_overlap" in with_uses_measured(judged, replace(judged, analyses=())).measures


def test_a_name_that_no_measure_can_be_written_with_is_left_out() -> None:
    assert table_measure(TablePlan("t", ("a+b", "sex"))) == ""
    with pytest.raises(UsageError, match="'a;b' cannot be written in a measure"):
        with_sensitive(PLAN, ["a;b"])


def test_sensitive_attributes_are_targets_of_right_guesses() -> None:
    asked = with_sensitive(PLAN, ["work"])
    assert asked.measures[-1] == "correct_attribution[target=work]" and sensitive(asked) == ("work",)
    own = replace(asked, measures=(*PLAN.measures, "correct_attribution[target=work;unmatched=skip]"))
    both = with_sensitive(own, ["work", "sex"])
    assert (
        set(sensitive(both)) == {"work", "sex"} and "correct_attribution[target=work;unmatched=skip]" in both.measures
    )
    assert with_sensitive(both, []).measures == PLAN.measures
