"""Quantiles of single runs, the share of runs within a bound, and the first run that may be released."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from engine.frontier import chance
from engine.frontier.chance import (
    FEWEST_RUNS,
    _ranks,
    binomial_quantile,
    contest,
    first_within,
    run_quantiles,
    runs_needed,
    share_within,
)

NINE_TENTHS = Fraction(9, 10)
shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)
runs_by_scenario = st.lists(st.lists(st.integers(0, 20), max_size=40), min_size=1, max_size=5)


def twin(losses: list[int], probability: Fraction) -> float:
    """The smallest loss that at least the share ``probability`` of the runs do not exceed, by trying each."""
    return min(x for x in losses if Fraction(sum(y <= x for y in losses), len(losses)) >= probability)


def quantiles_of(scenarios: list[list[int]], probability: Fraction = NINE_TENTHS):
    loss = np.array([x for runs in scenarios for x in runs], float)
    scenario = np.array([i for i, runs in enumerate(scenarios) for _ in runs], np.int64)
    return run_quantiles(loss, scenario, len(scenarios), probability)


@pytest.mark.slow
@given(runs_by_scenario, shares)
def test_a_quantile_is_the_smallest_loss_that_enough_runs_do_not_exceed(scenarios, probability):
    found = quantiles_of(scenarios, probability)
    for i, runs in enumerate(scenarios):
        if runs:
            assert found.quantile[i] == twin(runs, probability)
            assert found.low[i] <= found.quantile[i] <= found.high[i]
        else:
            assert np.isnan(found.quantile[i])
    assert found.runs.tolist() == [len(runs) for runs in scenarios]


@pytest.mark.slow
@given(runs_by_scenario, shares, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(scenarios, probability, random):
    shuffled = [random.sample(runs, len(runs)) for runs in scenarios]
    np.testing.assert_array_equal(
        quantiles_of(scenarios, probability).quantile, quantiles_of(shuffled, probability).quantile
    )


def test_a_mean_within_the_bound_does_not_make_a_scenario_eligible():
    half = [0] * 10 + [12] * 10  # a mean of 6, and every other run above 10
    found = quantiles_of([half, [9] * 18 + [50, 50]])
    assert found.eligible(10).tolist() == [False, True]


def test_few_runs_never_support_a_choice():
    found = quantiles_of([[1] * (FEWEST_RUNS - 1), [1] * FEWEST_RUNS, []])
    assert found.eligible(5).tolist() == [False, True, False]
    assert found.missing.tolist() == [1, 0, FEWEST_RUNS]


@pytest.mark.parametrize(("share", "needed"), [("1/2", 10), ("9/10", 10), ("0.95", 20), ("0.99", 100), ("0.999", 1000)])
def test_a_rarer_excess_takes_more_runs(share, needed):
    assert runs_needed(Fraction(share)) == needed


def test_a_run_without_a_figure_leaves_its_scenario_out():
    found = run_quantiles(np.array([1.0, np.nan] * 10), np.zeros(20, np.int64), 1, NINE_TENTHS)
    assert np.isnan(found.quantile[0])
    assert not found.eligible(math.inf)[0]


@pytest.mark.parametrize("runs", [10, 20, 29, 40, 100, 400])
@pytest.mark.parametrize("share", ["1/2", "9/10", "0.95"])
def test_the_interval_of_a_quantile_covers_it_as_often_as_it_says(runs, share):
    """Of uniform runs the true quantile is ``p`` and the interval [X(l), X(h)] covers it if between l and h - 1 runs
    lie at or below it: a binomial probability, exact."""
    p = Fraction(share)
    found = quantiles_of([list(range(1, runs + 1))], p)
    low = 0 if np.isinf(found.low[0]) else int(found.low[0])
    high = runs + 1 if np.isinf(found.high[0]) else int(found.high[0])
    covered = binom.cdf(high - 1, runs, float(p)) - (binom.cdf(low - 1, runs, float(p)) if low else 0.0)
    assert covered >= 0.95


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_the_limits_of_a_share_are_those_of_clopper_and_pearson(case):
    runs, within = case
    found = share_within(np.array([0.0] * within + [2.0] * (runs - within)), 1.0)
    assert (found.within, found.runs) == (within, runs)
    if within:
        assert binom.sf(within - 1, runs, found.low) == pytest.approx(0.025)
    else:
        assert found.low == 0
    if within < runs:
        assert binom.cdf(within, runs, found.high) == pytest.approx(0.025)
    else:
        assert found.high == 1


def test_twenty_runs_of_twenty_do_not_settle_nine_tenths_and_forty_do():
    assert not share_within(np.zeros(20), 1.0).settled(NINE_TENTHS)
    assert share_within(np.zeros(40), 1.0).settled(NINE_TENTHS)
    assert share_within(np.full(20, 2.0), 1.0).settled(NINE_TENTHS)


def test_the_first_run_that_meets_the_bound_and_is_safer_than_the_original_is_released():
    loss = np.array([0.03, 0.02, 0.011, 0.001])
    assert first_within(loss, 0.02, 0.015) == 2
    assert first_within(loss, 0.02, 1.0) == 1
    assert first_within(loss, math.inf, 0.02) == 2  # as risky as the original is not safer
    assert first_within(loss, 0.0005, 1.0) is None
    assert first_within(np.array([np.nan, 0.01]), math.inf, 1.0) == 1


def arrays(*rows: tuple[int, int, float]):
    within, runs, loss = zip(*rows, strict=True)
    return np.array(within), np.array(runs), np.array(loss, float), NINE_TENTHS


def test_a_choice_is_settled_when_its_share_is_and_no_better_scenario_may_still_meet_the_bound():
    sure, never = (60, 60, 0.5), (0, 20, 0.1)
    found = contest(*arrays(sure, never))
    assert found.best == 0
    assert found.settled


def test_a_more_useful_scenario_that_may_meet_the_bound_keeps_the_choice_open():
    found = contest(*arrays((60, 60, 0.5), (17, 20, 0.1)))
    assert found.best == 0
    assert found.open_.tolist() == [False, True]


def test_a_less_useful_one_does_not():
    assert contest(*arrays((60, 60, 0.5), (17, 20, 0.9))).settled


def test_a_best_scenario_of_few_runs_is_open_itself():
    found = contest(*arrays((20, 20, 0.5), (0, 20, 0.1)))
    assert found.best == 0
    assert found.open_.tolist() == [True, False]


def test_without_an_eligible_scenario_all_that_may_become_one_are_open():
    found = contest(*arrays((4, 4, 0.5), (0, 40, 0.1), (3, 4, np.nan)))
    assert found.best is None
    assert found.open_.tolist() == [True, False, False]
    assert not found.settled


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=8), shares)
def test_the_best_is_eligible_by_its_exact_share(cases, probability):
    within, runs = np.array([min(c) for c in cases]), np.array([max(c) for c in cases])
    loss = np.arange(len(cases), dtype=float)
    found = contest(within, runs, loss, probability)
    eligible = [
        i
        for i in range(len(cases))
        if runs[i] >= runs_needed(probability) and Fraction(int(within[i]), int(runs[i])) >= probability
    ]
    assert found.best == (eligible[0] if eligible else None)


@pytest.mark.parametrize("runs", [1, 2, 9, 10, 20, 100, 101, 399, 1000, 100_000])
@pytest.mark.parametrize("probability", [0.01, 0.3, 2 / 3, 0.8, 0.95, 0.999])
def test_quantiles_of_binomial_counts_are_those_of_the_distribution(runs, probability):
    for q in (0.025, 0.5, 0.975):
        assert binomial_quantile(q, runs, Fraction(probability)) == binom.ppf(q, runs, probability)


@pytest.mark.slow
def test_ranks_of_few_runs_are_those_of_many(monkeypatch):
    cases = [(runs, Fraction(share, 20)) for runs in range(1, 101) for share in (1, 10, 18, 19)]
    few = [_ranks(*case) for case in cases]
    monkeypatch.setattr(chance, "_FEW_RUNS", 0)
    assert [_ranks(*case) for case in cases] == few


@pytest.mark.slow
def test_ranks_of_few_runs_load_no_scipy():
    code = (
        "import sys; from fractions import Fraction; from engine.frontier.chance import _ranks;"
        "_ranks(20, Fraction(9, 10)); print('scipy' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"
