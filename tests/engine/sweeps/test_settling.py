"""Runs are spent until the choice under the plan's bound is settled, and a choice that stays open is said to be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.decision.choice import planned_indices
from engine.frontier.choosing import fresh_runs_needed, runs_needed
from engine.plan import DecisionPlan
from engine.release.scenarios import Results, RunStatus
from engine.release.spec import MOST_REPLICATES
from engine.study.decision_log import entries
from engine.study.map_reader import objective_indices, risk_utility_map
from engine.study.study import Study
from engine.sweeps.adaptive import MOST_FOLD, judge, looks, most_runs, who_may_be_chosen
from engine.sweeps.runner import Runner, RunOptions
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of, sweep_with_stops, table_of
from tests.engine.sweeps.test_adaptive import fresh_of

SPACE = {"swap_sizes": (1, 2), "rates": ("0.05", "0.1", "0.3"), "replicates": 20, "adaptive": True}
SPENDS = ("0.21", "0.9")
"""A bound, with the share of single runs that must meet it, on which runs are spent up to the limit."""
BOUNDS = [("0.005", "0.9"), ("0.2", "0.9"), SPENDS, ("0.25", "0.5"), ("0.5", "0.9"), ("0.185", "mean"), ("0.2", "mean")]


def bounded(bound: str, probability: str, **space: Any):
    decision = DecisionPlan(max_risk=bound, probability=probability)
    return plan_of(space={**SPACE, **space}, decision=decision)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Every run that any of the sweeps here may make."""
    folder = tmp_path_factory.mktemp("full")
    plan = plan_of(space={**SPACE, "adaptive": False, "replicates": 100})
    with sweep(RAW, plan, keyed(folder / "full.study"), workers=1) as study:
        return study.runs.results()


# -- how many runs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "probability", "space", "most"),
    [
        ("0.1", "0.9", {}, 20 * MOST_FOLD),
        ("0.1", "0.99", {"replicates": 4}, 100),
        ("0.1", "mean", {"replicates": 4, "screen": 2}, 4 * MOST_FOLD),
        ("0.1", "mean", {"replicates": 2, "screen": 2}, 10),
        ("0.1", "0.9", {"replicates": MOST_REPLICATES}, MOST_REPLICATES),
        ("0.1", "0.9", {"adaptive": False}, 20),
    ],
)
def test_the_limit_is_a_multiple_of_the_plans_replicates_and_enough_for_a_choice(bound, probability, space, most):
    assert most_runs(bounded(bound, probability, **space)) == most


def test_without_a_bound_the_limit_is_what_the_plan_says():
    assert most_runs(plan_of(space=SPACE)) == 20


# -- who gets runs -----------------------------------------------------------------------------------------------------


def slow_twin(full: Results, study: Study) -> list[int]:
    """Runs of each scenario as the rule has it, scenario by scenario, from the runs that there might be."""
    from scipy.stats import binomtest, t

    decision, measures = study.plan.decision, [call.measure for call in study.measures]
    risk, utility = objective_indices(study)
    bound, n = float(str(decision.max_risk)), len(study.scenarios)
    share = None if decision.probability == "mean" else Fraction(decision.probability)
    needed, levels, look = 10 if share is None else runs_needed(share), looks(4, 20), 0
    runs = np.full(n, 4)

    def losses_of(scenario: int, column: int) -> np.ndarray:
        mine = (full.scenario == scenario) & (full.replicate <= runs[scenario]) & (full.status != RunStatus.FAILED)
        return measures[column].loss(full.values[mine, column])

    while True:
        _, settled = judge(full, measures, (risk, utility), runs)
        short = [s for s in range(n) if not settled[s] and runs[s] < 20]
        if short:
            look = min(look + 1, len(levels) - 1)
            for s in short:
                runs[s] = max(runs[s], levels[look])
            continue
        may, untold = {}, set()
        for s in range(n):
            r = losses_of(s, risk)
            if not len(r) or np.isnan(r).any():
                continue
            within = int((r <= bound).sum())
            if share is None:
                half = t.ppf(0.975, len(r) - 1) * r.std(ddof=1) / np.sqrt(len(r)) if np.ptp(r) else np.inf
                half = 0.0 if half == np.inf and len(r) >= 10 else half
                eligible, told = r.mean() <= bound, not (r.mean() - half <= bound < r.mean() + half)
            else:
                limits = binomtest(within, len(r)).proportion_ci(0.95, "exact")
                eligible, told = within >= share * len(r), limits.low >= share or limits.high < share
            if eligible and len(r) >= needed:
                may[s] = losses_of(s, utility).mean()
            if not told:
                untold.add(s)
        best = min(may.values(), default=np.inf)
        open_ = [s for s in untold if runs[s] < 100 and losses_of(s, utility).mean() <= best + 1e-12]
        if not open_:
            return runs.tolist()
        for s in open_:
            runs[s] = min(100, needed if runs[s] < needed else 2 * runs[s])


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "probability"), BOUNDS)
def test_the_scenarios_that_get_runs_are_those_that_the_rule_names(tmp_path: Path, full: Results, bound, probability):
    with sweep(RAW, bounded(bound, probability), keyed(tmp_path / "s.study"), workers=1) as study:
        held = study.runs.replicates_done().tolist()
        assert held == slow_twin(full, study)


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "probability"), BOUNDS)
def test_a_settled_choice_is_settled_and_an_open_one_has_reached_the_limit(tmp_path: Path, bound, probability):
    with sweep(RAW, bounded(bound, probability), keyed(tmp_path / "s.study"), workers=1) as study:
        held, measures = study.runs.replicates_done(), [call.measure for call in study.measures]
        found = who_may_be_chosen(study.runs.results(), measures, objective_indices(study), held, study.plan.decision)
        assert found is not None
        message = study.progress.message
        if found.open_.any():
            assert (held[found.open_] == 100).all()
            assert message.startswith(f"the choice under the limit {bound} is not settled: 100 runs each do not tell")
            assert any(study.scenarios[i].label in message for i in np.flatnonzero(found.open_).tolist())
        elif found.best is None:
            assert message == f"no candidate meets the limit {bound}"
        else:
            assert message == f"the choice under the limit {bound} is settled"
            view = risk_utility_map(study)
            assert view.utility_loss[view.under_bound(float(bound))] == view.utility_loss[found.best]
        if found.best is not None:
            assert found.best in study.runs.results("fresh").scenario, "whoever may be chosen has fresh runs"
        judged, settled = judge(study.runs.results(), measures, objective_indices(study), held)
        assert (held[judged] >= 20).all() and (held[~settled] >= 20).all()


def test_all_three_ends_are_among_the_bounds(tmp_path: Path):
    """Else the tests above would look at one kind of end alone."""
    ends = set()
    for number, (bound, probability) in enumerate(BOUNDS):
        with sweep(RAW, bounded(bound, probability), keyed(tmp_path / f"{number}.study"), workers=1) as study:
            ends.add(study.progress.message.replace(bound, "").partition(":")[0])
    bound = "the choice under the limit  is"
    assert ends == {f"{bound} settled", f"{bound} not settled", "no candidate meets the limit "}


# -- stops, workers, progress ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_stops_while_the_choice_is_being_settled_change_nothing(tmp_path: Path):
    plan = bounded(*SPENDS)
    with sweep(RAW, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        rows, fresh, message = table_of(study), fresh_of(study), study.progress.message
        assert study.runs.replicates_done().max() == 100
    other = keyed(tmp_path / "r.study")
    sweep_with_stops(plan, other, stops=(200, 560, 640, 760))
    with Study.open(other) as study:
        assert (table_of(study), fresh_of(study), study.progress.message) == (rows, fresh, message)


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "probability"), BOUNDS)
def test_the_share_done_never_falls_and_the_total_begins_as_the_most_that_there_may_be(tmp_path, bound, probability):
    ticks: list[tuple[int, int]] = []
    plan = bounded(bound, probability)
    picked = 0 if probability == "mean" else max(100, fresh_runs_needed(Fraction(probability))) - 20
    with sweep(
        RAW, plan, keyed(tmp_path / "s.study"), workers=1, on_progress=lambda *tick: ticks.append(tick)
    ) as study:
        assert ticks[0] == (0, len(study.scenarios) * (100 + 20) + picked)
    shares = [done / total for done, total in ticks]
    assert shares == sorted(shares) and shares[-1] == 1 and all(share < 1 for share in shares[:-1])


def test_a_total_that_grows_lets_the_share_stand_still(tmp_path: Path):
    plan, path = plan_of(space={**SPACE, "adaptive": False}), keyed(tmp_path / "s.study")
    ticks: list[tuple[int, int]] = []
    with sweep(RAW, plan, path, workers=1) as study:
        study.acquire_lease(100)
        options = RunOptions(on_progress=lambda *tick: ticks.append(tick))
        runner = Runner(study, None, SimpleNamespace(workers=1), options)  # type: ignore[arg-type]
        for runner.done, runner.total in ((0, 100), (50, 100), (55, 200), (60, 200), (150, 200), (200, 200)):
            runner.report()
        study.lease.release()
    assert ticks == [(0, 100), (50, 100), (55, 110), (60, 120), (150, 200), (200, 200)]


@pytest.mark.slow
def test_the_fresh_runs_of_a_sweep_have_an_entry_in_the_log_and_only_one(tmp_path: Path):
    plan, path = bounded(*BOUNDS[1]), keyed(tmp_path / "s.study")
    for _ in range(2):  # the second time there is nothing left to do
        with sweep(RAW, plan, path, workers=1) as study:
            logged = [entry.detail for entry in entries(study) if entry.event == "rechecked"]
            run_again = sorted(set(study.runs.results("fresh").scenario.tolist()))
            label = [study.scenarios[i].label for i in run_again]
            assert logged[0] == {"candidates": label, "replicates": 20} and len(logged) <= 2
            assert all(entry["replicates"] == 100 and entry["candidates"][0] in label for entry in logged[1:])


@pytest.mark.slow
def test_the_pick_gets_fresh_runs_until_they_tell_whether_enough_runs_meet_the_bound(tmp_path: Path):
    plan = bounded("0.5", "0.9")
    with sweep(RAW, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        fresh = np.bincount(study.runs.results("fresh").scenario)
        (pick,) = planned_indices(study, risk_utility_map(study))
        assert set(fresh[fresh > 0].tolist()) <= {20, 100} and fresh[pick] == 100


@pytest.mark.slow
def test_a_search_settles_the_choice_too(tmp_path: Path):
    space: dict[str, Any] = {"swap_sizes": (), "search": True, "adaptive": False, "budget": 80, "rates": ("0.1", "0.3")}
    with sweep(RAW, bounded(*SPENDS, **space), keyed(tmp_path / "s.study"), workers=1) as study:
        assert study.runs.replicates_done().max() > 20
        assert "looked at" in study.progress.message and "the choice under the limit" in study.progress.message


# -- what is said beforehand -------------------------------------------------------------------------------------------
