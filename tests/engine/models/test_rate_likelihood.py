"""The rate of a swap from changes of which only intervals are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.models.rate_likelihood import Shift, rate_estimate, rate_interval

RATE, N = 0.08, 30_000


def changes(seed: int = 5) -> list[tuple[float, float, float]]:
    """Changes of 25 cells with their slopes and variances per unit of the rate."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0, 0.2, 25) * N / 2
    variances = rng.uniform(0.1, 0.4, 25) * N
    moved = slopes * RATE + rng.normal(0, np.sqrt(variances * RATE))
    return list(zip(moved.tolist(), slopes.tolist(), variances.tolist(), strict=True))


def test_exact_changes_give_the_rate_by_either_way():
    exact = [Shift(change, change, slope, variance) for change, slope, variance in changes()]
    low, high = rate_interval(exact)
    estimate = rate_estimate(exact)
    assert low < RATE < high < 1.35 * low
    assert estimate.rate == pytest.approx(RATE, abs=3 * estimate.error) and estimate.error < 0.05 * RATE
    assert low < estimate.rate < high


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says():
    inside = 0
    for seed in range(100):
        low, high = rate_interval([Shift(c, c, slope, variance) for c, slope, variance in changes(seed)])
        inside += low <= RATE <= high
    assert 88 <= inside <= 100


def test_wider_figures_leave_a_wider_interval():
    widths = []
    for room in (0.0, 100.0, 1000.0, 20_000.0):
        low, high = rate_interval([Shift(c - room, c + room, slope, variance) for c, slope, variance in changes()])
        assert low <= RATE <= high
        widths.append(high - low)
    assert widths == sorted(widths) and widths[-1] > 0.3


def test_a_size_without_its_direction_tells_less_and_nothing_tells_nothing():
    only_size = [Shift(abs(c) * 0.9, abs(c) * 1.1, slope, variance, True) for c, slope, variance in changes()]
    low, high = rate_interval(only_size)
    assert low < RATE < high
    assert rate_interval([]) == (0.0, 1.0)
    assert rate_interval([Shift(0.0, math.inf, 10.0, 100.0, True)]) == (0.0, 1.0)
    assert math.isnan(rate_estimate([]).rate)
