"""What a plan declares switches on its measures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.common.errors import Remedy, UsageError
from engine.measures.planned import (
    measures_of_uses,
    sensitive,
    table_measure,
    unmeasured_uses,
    with_sensitive,
    with_uses_measured,
)
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
    with pytest.raises(UsageError, match=r"no measure can name 'a;b'.*rename that attribute to 'a_b'") as refused:
        with_sensitive(Plan(DataPlan((AttributePlan("a;b"), AttributePlan("sex")))), ["a;b"])
    assert refused.value.remedy is Remedy.RENAME


def test_sensitive_attributes_are_targets_of_right_guesses() -> None:
    asked = with_sensitive(PLAN, ["work"])
    assert asked.measures[-1] == "correct_attribution[target=work]" and sensitive(asked) == ("work",)
    own = replace(asked, measures=(*PLAN.measures, "correct_attribution[target=work;unmatched=skip]"))
    both = with_sensitive(own, ["work", "sex"])
    assert (
        set(sensitive(both)) == {"work", "sex"} and "correct_attribution[target=work;unmatched=skip]" in both.measures
    )
    assert with_sensitive(both, []).measures == PLAN.measures


def test_a_declared_use_that_nothing_measures_is_told_with_the_line_to_add() -> None:
    by_hand = replace(PLAN, tables=(TABLE,), analyses=(WAGES,))
    told = [use.sentence for use in unmeasured_uses(by_hand)]
    assert told == [
        f"the table 'work by sex' is declared and not measured; add '{ON_TABLE}' to measures in the plan",
        "the regression 'wages' is declared and not measured; add 'ci_overlap' to measures in the plan",
    ]
    added = replace(by_hand, measures=(*by_hand.measures, *(use.measure for use in unmeasured_uses(by_hand))))
    assert unmeasured_uses(added) == []


@pytest.mark.parametrize(
    "measures", [("hellinger[attributes=work+sex]", "sign_changes"), ("entropy_change", "ci_disjoint")]
)
def test_a_use_is_measured_by_any_measure_of_it(measures: tuple[str, ...]) -> None:
    whole = replace(PLAN, analyse=("sex", "work"), tables=(TABLE,), analyses=(WAGES,))
    assert unmeasured_uses(replace(whole, measures=("small_cells", *measures))) == []


def test_a_table_of_a_name_that_no_measure_can_hold_is_told_with_another_name() -> None:
    odd = Plan(DataPlan(tuple(map(AttributePlan, ("e,f", "sex", "work", "e_f")))))
    (use,) = unmeasured_uses(replace(odd, tables=(TablePlan("odd", ("e,f", "sex")),)))
    assert use.sentence.startswith("the table 'odd' is declared and not measured, since no measure can name 'e,f'")
    assert "rename that attribute to 'e_f_2'; its column keeps its name" in use.sentence
    assert table_measure(TablePlan("odd", (use.proposed, "sex")))
