"""Quantiles of single runs, the share of runs within a bound, and the first run that may be released.

The choices from a frontier, beside their literal twins.
"""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from engine.common.errors import UsageError
from engine.frontier import choosing as chance
from engine.frontier.choosing import (
    FEWEST_RUNS,
    _ranks,
    best_under_bound,
    binomial_quantile,
    contest,
    first_within,
    hull_intervals,
    hypervolume,
    knee,
    run_quantiles,
    runs_needed,
    share_within,
    straight_sum,
    supporting_line,
)
from engine.frontier.undominated import dominated_by, undominated
from tests.engine.losses import ANY, FEW, ODD, TWO_COLUMNS, WHOLE, pairs, simplex, tables
from tests.twins import frontier as twin

NINE_TENTHS = Fraction(9, 10)
shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)
runs_by_scenario = st.lists(st.lists(st.integers(0, 20), max_size=40), min_size=1, max_size=5)


def quantile_by_hand(losses: list[int], probability: Fraction) -> float:
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
            assert found.quantile[i] == quantile_by_hand(runs, probability)
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
        "import sys; from fractions import Fraction; from engine.frontier.choosing import _ranks;"
        "_ranks(20, Fraction(9, 10)); print('scipy' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


# The worked example: (DU, DR).
UTILITY = np.array([0, 1, 2, 1.5, 1])
RISK = np.array([0, 0.1, 0.5, 0.4, 0.3])


def test_the_worked_example():
    losses = np.column_stack((RISK, -UTILITY))
    assert undominated(losses).tolist() == [True, True, True, True, False]
    # Candidate 3 is on the frontier, but above the chord from 1 to 2: no slope makes it win.
    assert [index for index, _, _ in hull_intervals(RISK, -UTILITY)] == [0, 1, 2]
    assert dominated_by(losses, 4).tolist() == [1]
    assert hull_intervals(RISK, -UTILITY) == [(0, 0.0, 0.1), (1, 0.1, 0.4), (2, 0.4, math.inf)]
    assert supporting_line(RISK, -UTILITY, 0) == [0]
    assert supporting_line(RISK, -UTILITY, 0.05) == [0]
    assert supporting_line(RISK, -UTILITY, 0.1) == [0, 1]
    assert supporting_line(RISK, -UTILITY, 0.2) == [1]
    assert supporting_line(RISK, -UTILITY, math.inf) == [2]
    assert best_under_bound(RISK, -UTILITY, 0.4) == 3
    assert best_under_bound(RISK, -UTILITY, 0.399) == 1
    assert best_under_bound(RISK, -UTILITY, -0.001) is None
    assert knee(RISK, -UTILITY) == 1


@pytest.mark.slow
@given(st.one_of(pairs(FEW), pairs(ANY), pairs(ODD)), st.one_of(FEW, st.floats(allow_nan=False)))
def test_best_under_a_bound_is_the_twins_and_on_the_frontier(points, bound):
    risk, loss = points
    found = best_under_bound(risk, loss, bound)
    assert found == twin.best_under_bound(risk.tolist(), loss.tolist(), bound)
    if found is not None:
        assert risk[found] <= bound
        assert undominated(np.column_stack((risk, loss)))[found]


SLOPES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, math.inf]), st.floats(0, 1e6))
FINITE = st.floats(-1e6, 1e6)


@given(st.one_of(pairs(FEW, 1), pairs(WHOLE, 1), pairs(FINITE, 1)), SLOPES)
def test_the_supporting_line_is_the_twins(points, slope):
    risk, loss = points
    found = supporting_line(risk, loss, slope)
    touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), slope)
    if set(found) <= set(touching):
        # All on the line have to be found, but for duplicates and for points between two ends.
        ends = {(risk[i], loss[i]) for i in touching}
        assert {(risk[i], loss[i]) for i in found} == {min(ends), max(ends)}
        for i in found:
            assert i == min(j for j in touching if risk[j] == risk[i] and loss[j] == loss[i])
    else:
        # The slope is an edge's as far as floats can tell: both of its ends are named, one of them exactly right.
        assert set(found) & set(touching)
        assert any(slope in (low, high) for _, low, high in hull_intervals(risk, loss))


@given(pairs(WHOLE, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, math.inf]))
def test_no_straight_sum_is_below_that_of_the_candidate_on_the_supporting_line(points, slope):
    risk, loss = points
    sums = [straight_sum(float(x), float(y), slope) for x, y in zip(risk, loss, strict=True)]
    assert all(sums[i] == min(sums) for i in supporting_line(risk, loss, slope))


@pytest.mark.slow
@given(st.one_of(pairs(FEW, 1), pairs(WHOLE, 1), pairs(FINITE, 1)))
def test_hull_intervals_tile_all_slopes_and_their_vertices_win(points):
    risk, loss = points
    hull = hull_intervals(risk, loss)
    assert hull[0][1] == 0 and hull[-1][2] == math.inf
    assert all(one[2] == two[1] for one, two in pairwise(hull))
    assert all(low <= high for _, low, high in hull)
    mask = undominated(np.column_stack((risk, loss)))
    for index, low, high in hull:
        assert mask[index]
        middle = (low + high) / 2 if high < math.inf else 2 * low + 1
        if low < middle < high:
            touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), middle)
            assert index == touching[0]
            assert len({(risk[i], loss[i]) for i in touching}) == 1
            assert supporting_line(risk, loss, middle) == [index]


def seeded_pairs(seed):
    """Many small sets of candidates: tie-heavy whole numbers, decimals that floats only approximate, near-lines."""
    rng = np.random.default_rng(seed)
    for _ in range(150):
        size = int(rng.integers(1, 16))
        yield rng.integers(0, 4, size).astype(float), rng.integers(0, 4, size).astype(float)
        yield rng.integers(-30, 30, size) / 10, rng.integers(-30, 30, size) / 10
        steps = rng.integers(0, 40, size)
        yield steps / 10, -steps * 3 / 10
        yield 0.1 + steps * 0.1, 0.7 - steps * 0.3


@pytest.mark.slow
def test_hulls_of_ties_and_near_lines_are_exact():
    for risk, loss in seeded_pairs(1):
        expected = twin.hull(risk.tolist(), loss.tolist())
        assert hull_intervals(risk, loss) == [(i, float(low), float(high)) for i, low, high in expected]


@pytest.mark.slow
def test_bounds_lines_and_knees_among_ties():
    for number, (risk, loss) in enumerate(seeded_pairs(2)):
        for bound in (0.0, 1.0, 2.0, 3.0, 0.1 * 3):
            found = best_under_bound(risk, loss, bound)
            assert found == twin.best_under_bound(risk.tolist(), loss.tolist(), bound)
        if number % 4 > 1:
            assert knee(risk, loss) is None  # on a line but for the rounding of decimals
        if number % 4 == 0:
            assert knee(risk, loss) == twin.knee(risk.tolist(), loss.tolist())
            for slope in (0.0, 0.5, 1.0, 2.0, math.inf):
                touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), slope)
                ends = {min(touching, key=lambda i: (risk[i], i)), min(touching, key=lambda i: (-risk[i], i))}
                assert set(supporting_line(risk, loss, slope)) == ends


def test_collinear_points_are_no_vertices_even_where_floats_waver():
    # Steps of 0.1 are not collinear in binary; multiples of one float that stay exact are.
    utility = np.arange(64) * 2.0**-40
    risk = np.arange(64) * 3.0 * 2.0**-60
    assert hull_intervals(risk, -utility) == [(0, 0.0, 3.0 * 2.0**-20), (63, 3.0 * 2.0**-20, math.inf)]
    tiny = np.array([0.0, 5e-324, 1e-323])
    assert [index for index, _, _ in hull_intervals(tiny, -tiny)] == [0, 2]
    huge = np.array([-1.7e308, 0.0, 1.7e308])
    assert [index for index, _, _ in hull_intervals(huge, -huge)] == [0, 2]


def test_slopes_that_leave_the_range_of_floats():
    steep = hull_intervals([0.0, 1e308], [0.0, -1e-308])
    assert steep == [(0, 0.0, math.inf), (1, math.inf, math.inf)]
    assert supporting_line([0.0, 1e308], [0.0, -1e-308], math.inf) == [1]
    assert supporting_line([0.0, 1e-308], [0.0, -1e308], 0.0) == [0]


def test_candidates_without_finite_figures_have_no_line():
    assert hull_intervals([], []) == []
    assert supporting_line([math.nan, math.inf], [0, -math.inf], 1) == []
    assert supporting_line([math.nan, 1.0, 0.0], [0, 1.0, math.inf], 0) == [1]
    assert knee([math.nan, 1.0, 0.0], [0, 1.0, math.inf]) is None


@pytest.mark.parametrize("slope", [-0.1, math.nan, -math.inf])
def test_a_slope_that_rewards_risk_is_refused(slope):
    with pytest.raises(UsageError, match="0 or more"):
        supporting_line(RISK, -UTILITY, slope)


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match=r"\(2,\).*\(3,\)"):
        best_under_bound([1, 2], [1, 2, 3], 1)
    with pytest.raises(UsageError, match="numbers"):
        hull_intervals(["low"], [1])
    with pytest.raises(UsageError, match="NaN"):
        best_under_bound([1], [1], math.nan)


@given(st.one_of(pairs(FEW), pairs(WHOLE)))
def test_the_knee_is_the_twins(points):
    risk, loss = points
    found, expected = knee(risk, loss), twin.knee(risk.tolist(), loss.tolist())
    assert found == expected
    assert found is None or undominated(np.column_stack((risk, loss)))[found]


def test_the_knee_does_not_depend_on_units():
    risk, loss = np.array([0.0, 1, 2, 5, 9]), np.array([9.0, 3.5, 3, 2, 0])
    assert knee(risk, loss) == knee(risk * 1e300, loss * 1e-300 + 1e-299) == knee(risk * 1.7e307 - 8e307, loss) == 1


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("elements", [FEW, st.floats(-2, 3)])
def test_hypervolume_is_the_twins(columns, elements):
    @given(tables(elements, columns=st.just(columns), rows=st.integers(1, 6 if columns < 4 else 4)))
    def check(losses):
        reference = [2.5] * columns
        expected = float(twin.hypervolume(losses.tolist(), reference))
        assert hypervolume(losses, reference) == pytest.approx(expected, rel=1e-12, abs=1e-12)

    check()


def test_hypervolume_in_three_columns_equals_slicing():
    rng = np.random.default_rng(11)
    for losses in (simplex(rng, 300, 3), rng.integers(0, 8, (200, 3)) / 8):
        # A fourth column that is the same everywhere multiplies the volume by its own depth and takes the other path.
        padded = np.column_stack((np.zeros(len(losses)), losses))
        assert hypervolume(losses, [1, 1, 1]) == pytest.approx(hypervolume(padded, [1, 1, 1, 1]), rel=1e-12)


def test_hypervolume_at_the_edges():
    assert hypervolume(np.empty((0, 2)), [1, 1]) == 0
    assert hypervolume(np.array([[1, 0], [math.nan, 0], [0, math.inf]]), [1, 1]) == 0
    assert hypervolume([[-math.inf, 0]], [1, 1]) == math.inf
    assert hypervolume([[-math.inf, 1]], [1, 1]) == 0
    for bad in map(np.array, ([1], [1, math.inf], [1, math.nan], ["x", "1"])):
        with pytest.raises(UsageError, match="reference"):
            hypervolume([[0, 0]], bad)


@pytest.mark.slow
@given(TWO_COLUMNS)
def test_dominated_rows_add_no_volume(losses):
    finite = losses[np.isfinite(losses).all(axis=1) & (np.abs(losses) < 1e6).all(axis=1)]
    front = finite[undominated(finite)]
    assert hypervolume(finite, [30, 30]) == hypervolume(front, [30, 30])
