"""The share of the true frontier that noisy means find."""

from __future__ import annotations

import numpy as np
import pytest

from engine.frontier.recall import expected_recall
from engine.frontier.undominated import undominated


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


def test_a_scenario_without_a_mean_or_far_behind_changes_nothing():
    loss, se = trade_off(50, 0.3), np.full((50, 2), 0.02)
    alone = expected_recall(loss, se, rng())
    far = np.vstack([loss, [[np.nan, 0.1], [90.0, 90.0]]])
    assert expected_recall(far, np.vstack([se, np.full((2, 2), 0.02)]), rng()) == alone


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


def test_a_recall_that_ignored_the_noise_of_rivals_would_show():
    """Of two scenarios that differ by less than the noise, the better one is missed about half the time."""
    loss, se = np.array([[1.0, 1.0], [1.0001, 1.0001]]), np.full((2, 2), 0.1)
    assert expected_recall(loss, se, rng(), 2000) == pytest.approx(0.75, abs=0.03)
