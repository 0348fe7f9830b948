"""The share of the true frontier that noisy means find."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.frontier.recall import _within_reach, expected_recall
from engine.frontier.undominated import undominated
from engine.report.sentences import recall_words
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of
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
        assert "finds about" in recall_words(risk_utility_map(study))
    with sweep(RAW, plan_of(space={"replicates": 1}), keyed(tmp_path / "1.study"), workers=1) as study:
        assert np.isnan(risk_utility_map(study).recall)
        assert recall_words(risk_utility_map(study)) == ""


@pytest.mark.slow
def test_the_list_of_candidates_says_how_much_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = keyed(tmp_path / "s.study")
    sweep(RAW, plan_of(space={"replicates": 12}), path, workers=1).close()
    assert main(["show", str(path)]) == 0
    assert "with these runs a map finds about" in capsys.readouterr().out
    assert main(["show", str(path), "--format", "csv"]) == 0
    assert "with these runs" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_share_of_a_map_of_164_037_scenarios_takes_little_time():
    """The release space of eight attributes at three rates: the figure stands beside every map of it."""
    loss = trade_off(164_037, 0.4)
    se = np.full_like(loss, 0.003)
    began = time.process_time()
    share = expected_recall(loss, se, rng())
    spent = time.process_time() - began
    print(f"{spent:.2f} s, {undominated(loss).sum()} on the frontier, {share:.2f} of it found")
    assert spent < 5


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
