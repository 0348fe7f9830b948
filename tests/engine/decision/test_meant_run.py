"""One run is meant by a scenario: that of the recommendation which stands, else the one of the plan's rule."""

from __future__ import annotations

from pathlib import Path

from engine.decision.choice import choose
from engine.decision.meant_run import meant_run
from engine.decision.states import withhold
from engine.plan import DecisionPlan
from engine.release.scenarios import RunStatus
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.engine.frontier.test_risk_utility_map import study_of

OWN = 0.1
"""A bound on risk below the plan's: run 1 of a scenario is above it, and run 2 within."""


def chosen(folder: Path, **rule: object) -> Study:
    risks = (0.15, *[0.05] * 19)
    rows = [(0, r, RunStatus.OK, 2, risk, 0.1, 0.0) for r, risk in enumerate(risks, 1)]
    study = study_of(folder, rows, DecisionPlan(max_risk="0.2"))
    choose(study, risk_utility_map(study), "safe", by="Ada", **rule)  # type: ignore[arg-type]
    return study


def test_the_run_of_a_recommendation_is_meant_although_the_plans_rule_alone_takes_another(tmp_path: Path) -> None:
    with chosen(tmp_path, max_risk=OWN) as study:
        (choice,) = study.choices.all()
        assert choice.replicate == meant_run(study, 0) == meant_run(study, 0, 0) == 2


def test_without_a_recommendation_that_stands_the_plans_rule_counts_and_a_bound_that_is_tried(tmp_path: Path) -> None:
    with chosen(tmp_path, max_risk=OWN) as study:
        withhold(study, "Ada", "nobody needs it")
        assert meant_run(study, 0) == 1
        assert meant_run(study, 0, bound=OWN) == 2


def test_a_bound_that_is_tried_is_not_overruled_by_what_was_recommended(tmp_path: Path) -> None:
    with chosen(tmp_path) as study:
        assert meant_run(study, 0) == 1
        assert meant_run(study, 0, bound=OWN) == 2
