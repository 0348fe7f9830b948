"""What a plan declares switches on its measures; the risk of several tables together decides where several are
released; a bound lies within the range of its measure.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import engine as sf
from engine.common.errors import Remedy, UsageError
from engine.measures import MEASURES, call
from engine.measures.planned import (
    check_bounded,
    deciding_column,
    measures_of_uses,
    planned_calls,
    releases_several_tables,
    sensitive,
    table_measure,
    unmeasured_uses,
    with_sensitive,
    with_uses_measured,
)
from engine.mechanisms import mechanism
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, DecisionPlan, MechanismPlan, Plan, TablePlan, edit_plan
from engine.plan.samples import load
from engine.study.map_reader import objective_indices, planned_risk, risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import plan_of as survey_plan
from tests.engine.report.conftest import raw_table
from tests.engine.small_studies import keyed, plan_of

TWO = (MechanismPlan("maps", (("w0", ("0.5",)), ("s", ("3",)), ("D", ("2",)))),)


def names(plan: Plan) -> list[str]:
    return [str(one) for one in planned_calls(plan)]


@pytest.mark.parametrize(
    ("mechanisms", "several"),
    [
        ((), False),
        ((MechanismPlan("rds", (("rate", ("0.2",)),)),), False),
        (TWO, True),
        ((MechanismPlan("maps", (("w0", ("0.5",)),)),), True),  # ten tables where the plan says nothing
        ((MechanismPlan("smike", (("D", ("1", "3")),)),), True),
        ((MechanismPlan("maps", (("w0", ("0.5",)), ("D", ("1",)))),), False),
    ],
)
def test_a_plan_that_releases_several_tables_measures_their_joint_risk(mechanisms, several):
    plan = plan_of(mechanisms=mechanisms)
    assert releases_several_tables(plan) is several
    assert ("r2" in names(plan)) is several
    calls = planned_calls(plan)
    decides = deciding_column(plan, calls, "risk")
    assert decides is not None
    assert bool(calls[decides].measure.judges_jointly) is several


def test_the_most_tables_of_a_mechanism_follow_from_its_grid():
    assert mechanism("maps").most_tables((("D", ("2", "7")),)) == 7
    assert mechanism("maps").most_tables(()) == 10
    assert mechanism("rds").most_tables(()) == 1


@pytest.mark.parametrize("number", ["?", "0", "2.5"])
def test_a_number_of_tables_that_cannot_be_is_refused_in_a_sentence(number: str):
    with pytest.raises(UsageError, match=r"\bD\b"):
        releases_several_tables(plan_of(mechanisms=(MechanismPlan("maps", (("D", (number,)),)),)))


def test_the_joint_risk_is_that_of_the_measure_of_one_table_beside_it():
    plan = plan_of(mechanisms=TWO, measures=("r1[s=5;rule=lt]", "hellinger"))
    assert names(plan) == ["r1[s=5;rule=lt]", "hellinger", "r2[s=5;rule=lt]"]


def test_a_joint_risk_that_the_plan_names_is_measured_once():
    assert names(plan_of(mechanisms=TWO, measures=("small_cells", "r2[s=4]", "hellinger"))) == [
        "small_cells",
        "r2[s=4]",
        "hellinger",
    ]


@pytest.mark.slow
def test_the_joint_risk_decides_in_a_study_unless_the_plan_names_another(tmp_path: Path):
    raw = raw_table()
    plan = survey_plan(keys=("A", "C", "D"), mechanisms=TWO, measures=("small_cells", "hellinger"), analyses=())
    with sweep(raw, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        risk, _ = objective_indices(study)
        assert str(study.measures[risk]) == "r2"
        view = risk_utility_map(study)
        assert view.risk == risk and np.isfinite(view.risk_loss).all()
        assert planned_risk(study) == risk, "the plan's limit and the run that is released follow it too"
    named = replace(plan, decision=DecisionPlan(risk="small_cells"))
    with sweep(raw, named, keyed(tmp_path / "n.study"), workers=1) as study:
        assert str(study.measures[objective_indices(study)[0]]) == "small_cells"
        assert "r2" in map(str, study.measures), "measured all the same"


def test_a_study_without_the_joint_risk_is_read_as_it_was():
    """Studies of earlier versions do not hold it."""
    plan = plan_of(mechanisms=TWO)
    calls = tuple(map(call, plan.measures))
    column = deciding_column(plan, calls, "risk")
    assert column is not None and calls[column].measure.name == "small_cells"


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


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("small_cells", (0, 1)),
        ("pmse", (0, 0.25)),
        ("attribution_gain", (-1, 1)),
        ("p1", (-inf, 1)),
        ("ci_overlap", (-inf, 1)),
        ("r1_share", (0, inf)),
        ("sample_uniques", (0, inf)),
        ("entropy_change", (-inf, inf)),
    ],
)
def test_a_range_gives_its_numbers(name: str, limits: tuple[float, float]):
    assert (MEASURES[name].least, MEASURES[name].most) == limits


def test_a_bound_outside_the_range_is_refused_with_what_may_be_meant():
    check_bounded(call("small_cells"), 1)
    check_bounded(call("sample_uniques"), 2000)
    with pytest.raises(UsageError, match=r"max_risk == 1\.5, must be between 0 and 1, the range of 'small_cells'"):
        check_bounded(call("small_cells"), 1.5)
    with pytest.raises(UsageError, match=r"Did you mean 0\.02\?"):
        check_bounded(call("small_cells"), 2)


@pytest.mark.slow
def test_a_sweep_under_such_a_bound_does_not_begin():
    raw, plan = load("czech")
    with pytest.raises(sf.UsageError, match="the range of 'small_cells'"):
        sf.sweep("czech", plan=edit_plan(plan, max_risk="2"), replicates=10)
    assert raw.n_records
