"""Means, standard errors, dominance and shares, by hand and beside a literal count.

The share of the true frontier that noisy means find.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil, hypot, isnan, nan, sqrt
from pathlib import Path
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cli.main import main
from engine.decision.statements import words
from engine.frontier.summary import (
    CONFIDENCE,
    FEWEST_RUNS,
    Summary,
    _within_reach,
    believed_errors,
    dominance,
    expected_recall,
    losses,
    margins,
    shared_runs,
    summarise,
    t_thresholds,
    threshold,
)
from engine.frontier.undominated import undominated
from engine.measures import MEASURES
from engine.release.scenarios import Results, RunStatus
from engine.report.sentences import ALL_FOUND, hidden
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of
from tests.equal_scenarios import wrongly_clear
from tests.examples import examples
from tests.readme_samples import shares_found


def rng(number: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(number))


def trade_off(n: int, width: float, number: int = 3) -> np.ndarray:
    """Scenarios along a curve of constant product, ``width`` off it."""
    source = rng(number)
    risk = np.exp(source.uniform(-1, 1, n))
    return np.column_stack([risk, 1 / risk]) * np.exp(source.uniform(0, width, (n, 1)))


def test_means_without_noise_find_all_of_it():
    loss = trade_off(200, 0.5)
    assert expected_recall(loss, np.zeros_like(loss), rng()) == 1


def test_more_noise_finds_less():
    loss = trade_off(200, 0.5)
    shares = [expected_recall(loss, np.full_like(loss, se), rng()) for se in (0.001, 0.01, 0.05)]
    assert shares[0] > shares[1] > shares[2]


def test_no_scenario_has_no_frontier_to_find():
    assert np.isnan(expected_recall(np.zeros((0, 2)), np.zeros((0, 2)), rng()))
    assert np.isnan(expected_recall(np.full((3, 2), np.nan), np.zeros((3, 2)), rng()))


def test_nothing_is_said_where_no_noise_is_known():
    loss = trade_off(50, 0.3)
    assert np.isnan(expected_recall(loss, np.full_like(loss, np.nan), rng()))
    assert np.isnan(expected_recall(loss, np.full_like(loss, np.inf), rng()))


def near_by_pairs(loss: np.ndarray, se: np.ndarray, on: np.ndarray) -> list[int]:
    """The scenarios within reach of the frontier, pair by pair."""
    return [
        i
        for i in range(len(loss))
        if not any(
            all(loss[i, k] - loss[j, k] > 4 * np.hypot(se[i, k], se[j, k]) for k in range(loss.shape[1]))
            for j in np.flatnonzero(on)
        )
    ]


@pytest.mark.parametrize("objectives", [2, 3])
def test_those_within_reach_are_what_all_pairs_say(objectives: int):
    source = rng(11)
    loss = source.random((300, objectives))
    se = source.random((300, objectives)) * 0.05
    on = undominated(loss)
    assert _within_reach(loss, se, on).tolist() == near_by_pairs(loss, se, on)


@pytest.mark.slow
def test_a_map_says_the_same_share_every_time_and_none_without_noise(tmp_path: Path):
    with sweep(RAW, plan_of(space={"replicates": 12}), keyed(tmp_path / "s.study"), workers=1) as study:
        share = risk_utility_map(study).recall
        assert 0 < share < 1
        assert risk_utility_map(study).recall == share
        assert [each.values for each in hidden(risk_utility_map(study))] == [{"share": 1 - share}] * (share < ALL_FOUND)
    with sweep(RAW, plan_of(space={"replicates": 1}), keyed(tmp_path / "1.study"), workers=1) as study:
        assert np.isnan(risk_utility_map(study).recall)
        assert hidden(risk_utility_map(study)) == []


@pytest.mark.slow
def test_the_list_of_candidates_says_how_much_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = keyed(tmp_path / "s.study")
    sweep(RAW, plan_of(space={"replicates": 12}), path, workers=1).close()
    assert main(["show", str(path)]) == 0
    with Study.open(path) as study:
        (told,) = map(words, hidden(risk_utility_map(study)))
    assert told in capsys.readouterr().out
    assert main(["show", str(path), "--format", "csv"]) == 0
    assert told not in capsys.readouterr().out


def test_a_scenario_without_a_mean_or_far_behind_changes_nothing():
    loss, se = trade_off(50, 0.3), np.full((50, 2), 0.02)
    alone = expected_recall(loss, se, rng())
    far = np.vstack([loss, [[np.nan, 0.1], [90.0, 90.0]]])
    assert expected_recall(far, np.vstack([se, np.full((2, 2), 0.02)]), rng()) == alone


@pytest.mark.slow
@pytest.mark.parametrize("runs", [10, 40])
def test_it_agrees_with_what_simulated_sweeps_find(runs):
    """The truth is known here: sweeps of so many runs find the share that their own figures promise, or a little less,
    as the docstring says."""
    truth, source = trade_off(120, 0.4, 5), rng(7)
    frontier = undominated(truth)
    found, promised = [], []
    for _ in range(40):
        noise = source.standard_normal((runs, *truth.shape)) * 0.1
        means, se = truth + noise.mean(0), noise.std(0, ddof=1) / np.sqrt(runs)
        found.append(undominated(means)[frontier].mean())
        promised.append(expected_recall(means, se, source, 20))
    assert -0.03 < np.mean(promised) - np.mean(found) < 0.12


@pytest.mark.slow
def test_a_recall_that_ignored_the_noise_of_rivals_would_show():
    """Of two scenarios that differ by less than the noise, the better one is missed about half the time."""
    loss, se = np.array([[1.0, 1.0], [1.0001, 1.0001]]), np.full((2, 2), 0.1)
    assert expected_recall(loss, se, rng(), 2000) == pytest.approx(0.75, abs=0.03)


@pytest.mark.slow
def test_twenty_runs_of_108_candidates_miss_a_third_of_the_true_frontier():
    """Sweeps differ by a tenth; their mean is known to about .02."""
    missed = 1 - shares_found(20)
    print(f"missed with 20 runs: {missed.mean():.2f} ± {missed.std(ddof=1):.2f}")
    assert abs(missed.mean() - 1 / 3) < missed.std(ddof=1)
    assert 0.25 < missed.mean() < 0.42


OK, FAILED, NOOP = RunStatus.OK, RunStatus.FAILED, RunStatus.NOOP

DR, HD, DH = MEASURES["small_cells"], MEASURES["hellinger"], MEASURES["entropy_change"]


def results(rows: list[tuple]) -> Results:
    """Rows (scenario, replicate, status, changed, values...)."""
    data = np.array(rows, dtype=float)
    whole = data[:, :4].astype(np.int64)
    return Results(whole[:, 0], whole[:, 1], whole[:, 2], whole[:, 3], data[:, 4:])


BY_HAND = results(
    [
        (0, 1, OK, 10, 0.2, -0.1),
        (0, 2, OK, 10, 0.4, 0.3),
        (0, 3, FAILED, 4, 0.9, 0.8),
        (1, 1, NOOP, 0, 0.5, 0.0),
        (2, 1, FAILED, 6, 0.1, 0.1),
        (3, 1, OK, 10, nan, 0.2),
        (3, 2, OK, 10, 0.3, 0.4),
    ]
)


def test_means_and_standard_errors_by_hand():
    summary = summarise(BY_HAND, [DR, DH], 5)
    assert summary.counted.tolist() == [2, 1, 0, 2, 0] and summary.failed.tolist() == [1, 0, 1, 0, 0]
    np.testing.assert_allclose(summary.mean[:, 0], [0.3, 0.5, nan, nan, nan])
    np.testing.assert_allclose(summary.mean[:, 1], [0.1, 0.0, nan, 0.3, nan])
    np.testing.assert_allclose(summary.se[0], [0.1, 0.2])
    assert np.isnan(summary.se[[1, 2, 4]]).all(), "a standard error needs two runs"
    np.testing.assert_array_equal(summary.changed, [10, 0, nan, 10, nan])


def test_equal_runs_have_exactly_their_mean_and_no_error():
    """0.1 + 0.1 + 0.1 is 0.30000000000000004; the mean of three runs of 0.1 is 0.1."""
    summary = summarise(results([(0, run, OK, 2, 0.1, 0.01) for run in (1, 2, 3)]), [DR, DH], 1)
    assert summary.mean.tolist() == [[0.1, 0.01]] and summary.se.tolist() == [[0.0, 0.0]]


def test_losses_are_formed_before_averaging():
    """Entropy changes of -0.1 and 0.3 are distortions of 0.1 and 0.3: 0.2 on average, not |0.1|."""
    summary = summarise(BY_HAND, [DR, DH], 5)
    assert summary.loss[0, 1] == pytest.approx(0.2) and summary.mean[0, 1] == pytest.approx(0.1)
    assert summary.loss_se[0, 1] == pytest.approx(0.1) and summary.se[0, 1] == pytest.approx(0.2)


def test_failed_runs_enter_only_when_allowed():
    assert BY_HAND.counted(False).tolist() == [True, True, False, True, False, True, True]
    summary = summarise(BY_HAND, [DR, DH], 5, allow_partial=True)
    assert summary.counted.tolist() == [3, 1, 1, 2, 0] and summary.failed.tolist() == [1, 0, 1, 0, 0]
    assert summary.mean[0, 0] == pytest.approx(0.5) and summary.mean[2, 0] == pytest.approx(0.1)
    assert summary.changed[0] == pytest.approx(8)


@st.composite
def many(draw) -> Results:
    figure = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, -0.1, nan])
    status = st.sampled_from([OK, OK, OK, FAILED, NOOP])
    rows = [
        (scenario, replicate, draw(status), 2 * draw(st.integers(0, 5)), draw(figure), draw(figure), draw(figure))
        for scenario in range(draw(st.integers(1, 6)))
        for replicate in range(1, draw(st.integers(0, 4)) + 1)
    ]
    order = draw(st.permutations(rows)) if rows else [(0, 1, OK, 0, 0.1, 0.1, 0.1)]
    return results(list(order))


@pytest.mark.slow
@given(many(), st.booleans())
@examples(60)
def test_summary_beside_a_literal_one(found, allow_partial):
    measures = [DR, HD, DH]
    summary = summarise(found, measures, 7, allow_partial)
    for scenario in range(7):
        mine = [i for i in range(len(found)) if found.scenario[i] == scenario]
        used = [i for i in mine if allow_partial or found.status[i] != FAILED]
        assert summary.counted[scenario] == len(used)
        assert summary.failed[scenario] == sum(found.status[i] == FAILED for i in mine)
        for k in range(3):
            figures = [float(found.values[i, k]) for i in used]
            turned = [abs(v) for v in figures] if k == 2 else figures
            for got, values in ((summary.mean[scenario, k], figures), (summary.loss[scenario, k], turned)):
                known = values and not any(map(isnan, values))
                np.testing.assert_allclose(got, mean(values) if known else nan, atol=1e-15)
            known = len(figures) > 1 and not any(map(isnan, figures))
            wanted = stdev(figures) / sqrt(len(figures)) if known else nan
            np.testing.assert_allclose(summary.se[scenario, k], wanted, atol=1e-15)


# -- dominance -------------------------------------------------------------------------------------------------------


def summary_of(loss: list[tuple[float, float]], se: float | list[tuple[float, float]]) -> Summary:
    figures = np.array(loss, float)
    errors = np.full(figures.shape, se) if isinstance(se, float) else np.array(se, float)
    n = np.full(len(figures), 20)
    return Summary(figures, errors, figures, errors, n, 0 * n, 10.0 * n)


EMPTY = np.zeros(0, np.int64)
NONE = Results(EMPTY, EMPTY, EMPTY, EMPTY, np.zeros((0, 2)))


def test_dominance_is_clear_beyond_the_noise_and_uncertain_within_it():
    # 0 and 1 on the frontier; 2 clearly behind 1; 3 behind 0 by less than the noise
    loss = [(0.1, 0.9), (0.5, 0.1), (0.8, 0.5), (0.105, 0.91)]
    found = dominance(summary_of(loss, 0.01), NONE, [DR, HD], [0, 1])
    assert found.undominated.tolist() == [True, True, False, False]
    assert found.clear.tolist() == [False, True, True, False], "0 may be overtaken by 3, and 3 by nobody for sure"
    assert found.z == threshold(3) == NormalDist().inv_cdf(1 - 0.05 / 6)
    sure = dominance(summary_of(loss, 1e-4), NONE, [DR, HD], [0, 1])
    assert sure.clear.all()
    unsure = dominance(summary_of(loss, 10.0), NONE, [DR, HD], [0, 1])
    assert not unsure.clear.any()


@pytest.mark.parametrize(("runs", "clear"), [(2, False), (5, False), (9, False), (10, True)])
def test_an_error_of_zero_is_believed_from_ten_equal_runs_on(runs: int, clear: bool):
    np.testing.assert_array_equal(
        believed_errors(np.array([[0.0, 0.1], [nan, 0.0]]), np.array([runs, 20])),
        [[0.0 if clear else np.inf, 0.1], [np.inf, 0.0]],
    )
    summary = summary_of([(0.1, 0.9), (0.2, 0.95)], 0.0)
    summary = replace(summary, counted=np.full(2, runs))
    assert dominance(summary, NONE, [DR, HD], [0, 1]).clear.tolist() == [clear, clear]


def clear_by_pairs(summary: Summary) -> list[bool]:
    """What the definition says, pair by pair of scenarios."""
    loss, se = summary.loss, np.nan_to_num(summary.loss_se, nan=np.inf)
    se[(se == 0) & (summary.counted < FEWEST_RUNS)[:, None]] = np.inf
    known = np.flatnonzero(~np.isnan(loss).any(axis=1)).tolist()
    others, objectives = len(known) - 1, loss.shape[1]
    on, quantiles = undominated(loss), t_thresholds(max(others, ceil(others * objectives / 2)))
    better = {i: loss - loss[i] > margins(se, summary.counted, i, quantiles) for i in known}  # i better than row j
    measured = [i for i in known if on[i] and np.isfinite(se[i]).any()]
    found = [False] * len(loss)
    for j in known:
        if not on[j]:
            found[j] = any(better[i][j].all() for i in measured)
        elif j in measured:
            found[j] = all(better[j][i].any() for i in known if i != j)
        else:
            found[j] = len(known) == 1
    return found


@pytest.mark.slow
def test_what_is_clear_is_what_all_pairs_say():
    rng = np.random.default_rng(3)
    sure = unsure = 0
    for _ in range(400):
        n, k = int(rng.integers(1, 30)), int(rng.integers(2, 4))
        loss = rng.random((n, k)) if rng.random() < 0.7 else rng.integers(0, 5, (n, k)) / 4  # with ties and without
        se = rng.random((n, k)) * 10 ** rng.uniform(-5, 0)
        counted = rng.integers(1, 30, n) if rng.random() < 0.5 else np.full(n, 20)
        loss[rng.random((n, k)) < 0.03] = nan
        se[rng.random((n, k)) < 0.1] = 0
        se[counted == 1] = nan
        se[rng.random((n, k)) < 0.05] = nan
        summary = Summary(loss, se, loss, se, counted, 0 * counted, 10.0 * counted)
        found = dominance(summary, NONE, [], range(k)).clear.tolist()
        assert found == clear_by_pairs(summary)
        sure, unsure = sure + sum(found), unsure + n - sum(found)
    assert sure > 1000 and unsure > 1000


def test_the_margin_is_welchs_t_interval_of_the_difference():
    from scipy.stats import t

    df = (0.03**2 + 0.04**2) ** 2 / ((0.03**4 + 0.04**4) / 19)
    quantile = t.ppf(1 - 0.05 / 2, int(df))  # rounded down: at most more careful
    for factor, clear in ((0.999, False), (1.001, True)):
        gap = quantile * hypot(0.03, 0.04) * factor
        found = dominance(summary_of([(0, 0), (gap, gap)], [(0.03, 0.03), (0.04, 0.04)]), NONE, [DR, HD], [0, 1])
        assert found.clear.tolist() == [clear, clear] and found.undominated.tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 3, 20])
def test_equal_scenarios_are_seldom_told_apart_however_few_the_runs(runs: int):
    wrong = wrongly_clear(runs, 200)
    assert wrong.any(axis=1).sum() <= 20, "at most a tenth of 200 trials call some difference clear where there is none"
    of_two = wrongly_clear(runs, 500, scenarios=2)
    assert of_two.mean() <= 1 - CONFIDENCE, "each candidate is called clear wrongly in at most 5 % of all trials"


@pytest.mark.slow
@pytest.mark.parametrize("objectives", [2, 3, 6])
def test_many_objectives_make_nothing_clear_by_their_number(objectives: int) -> None:
    """One candidate beats the other by a hair on all objectives: that the other is on the frontier is clear seldom."""
    rng, runs, trials = np.random.default_rng(2), 20, 3_000
    measures = [DR, HD, DR, HD, DR, HD][:objectives]
    wrong = 0
    for _ in range(trials):
        values = rng.normal(size=(2, runs, objectives))
        summary = Summary(
            values.mean(axis=1),
            values.std(axis=1, ddof=1) / sqrt(runs),
            values.mean(axis=1),
            values.std(axis=1, ddof=1) / sqrt(runs),
            np.full(2, runs),
            np.zeros(2, np.int64),
            np.full(2, float(runs)),
        )
        found = dominance(summary, NONE, measures, list(range(objectives)))
        wrong += bool(found.undominated[1] and found.clear[1])
    assert wrong / trials <= 1 - CONFIDENCE + 3 * sqrt(0.05 * 0.95 / trials)


def test_unknown_figures_take_no_part():
    found = dominance(summary_of([(0.1, 0.2), (nan, 0.1), (0.3, 0.4)], 1e-3), NONE, [DR, HD], [0, 1])
    assert found.undominated.tolist() == [True, False, False] and found.clear.tolist() == [True, False, True]
    alone = dominance(summary_of([(0.1, 0.2)], 0.1), NONE, [DR, HD], [0, 1])
    assert alone.undominated.tolist() == [True] and alone.clear.tolist() == [True] and alone.z == threshold(1)
    single = dominance(summary_of([(0.1, 0.2), (0.2, 0.3)], nan), NONE, [DR, HD], [0, 1])
    assert not single.clear.any(), "a mean of one run is never sure"


def test_equal_scenarios_are_never_clear():
    found = dominance(summary_of([(0.1, 0.2), (0.1, 0.2)], 0.0), NONE, [DR, HD], [0, 1])
    assert found.undominated.all() and not found.clear.any()


def literal_share(found: Results, scenario: int, allow_partial: bool) -> tuple[float, int]:
    """Of the scenario's counted runs, the share that no run of the same replicate dominates (|entropy change|), and how
    many runs that is of.

    Only replicates at which most scenarios were run are looked at.
    """

    def loss(i: int) -> tuple[float, float]:
        return float(found.values[i, 0]), abs(float(found.values[i, 2]))

    rivals_at = Counter(found.replicate.tolist())
    most = max(rivals_at.values(), default=0)
    used = [i for i in range(len(found)) if allow_partial or found.status[i] != FAILED]
    used = [i for i in used if rivals_at[int(found.replicate[i])] == most]
    mine = [i for i in used if found.scenario[i] == scenario]
    wins = 0
    for i in mine:
        if any(map(isnan, loss(i))):
            continue
        rivals = [loss(j) for j in used if found.replicate[j] == found.replicate[i] and not any(map(isnan, loss(j)))]
        wins += not any(r != loss(i) and r[0] <= loss(i)[0] and r[1] <= loss(i)[1] for r in rivals)
    return wins / len(mine) if mine else nan, len(mine)


@pytest.mark.slow
@given(many(), st.booleans())
@examples(60)
def test_shares_beside_a_literal_count(found, allow_partial):
    measures = [DR, HD, DH]
    made = dominance(summarise(found, measures, 7, allow_partial), found, measures, [0, 2], allow_partial)
    np.testing.assert_array_equal(made.share, [literal_share(found, s, allow_partial)[0] for s in range(7)])
    runs = [literal_share(found, s, allow_partial)[1] for s in range(7)]
    np.testing.assert_array_equal(shared_runs(found, 7, allow_partial), runs)


def test_losses_of_no_measure():
    assert losses(np.zeros((3, 0)), []).shape == (3, 0)


def test_thresholds_are_computed_once_and_nobody_changes_them():
    found = t_thresholds(3)
    assert t_thresholds(3) is found
    with pytest.raises(ValueError, match="read-only"):
        found[1] = 0.0
