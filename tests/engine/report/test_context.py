"""Whether the recommendation is what the plan's rule picked, and which bound counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.decision.choice import choose
from engine.plan import DecisionPlan, SpacePlan
from engine.plan.lock import lock
from engine.report.answers import plan_history
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import plan_of, raw_table


@pytest.mark.slow
def test_a_choice_off_the_approved_rule_departs_and_the_plan_s_bound_counts(tmp_path: Path):
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=10)
    plan = lock(plan_of(space=space, decision=DecisionPlan(max_risk="0.074")), "DRB-7", "Board")
    study = sweep(raw_table(), plan, tmp_path / "s.study", workers=1)
    view = risk_utility_map(study)
    picked = view.scenarios[view.under_bound(0.074)].label
    other = next(s.label for s in view.scenarios if s.label != picked)
    runs, single = view.results, view.results.values[:, view.risk]
    for label, off in ((picked, False), (other, True)):
        choice = choose(study, view, "it serves", candidate=label)
        report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
        assert report.approved.rule.endswith("; it does not pick the recommended candidate") == off
        assert any("is not the one that it picks" in text for text in report.approved.departures) == off
        assert ("Nothing departs from what was approved." in plan_history(report)) != off
    wide = float(single.max())
    choice = choose(study, view, "it serves", max_risk=wide)
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    within = sum((single[runs.scenario == i] <= 0.074).mean() >= 0.9 for i in range(len(view.scenarios)))
    assert (
        0 < within < len(view.scenarios) and report.map.n_within == within and report.map.bound in report.approved.rule
    )
