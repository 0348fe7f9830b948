"""Counts of a cell of which only the margins are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.models.unknown_counts import SCALES, known_count, unknown_count, up_to_largest

N = 10_000


@pytest.mark.parametrize(("size", "n_x"), [(3000, 400), (9000, 8000), (5, 7), (9990, 5)])
def test_counts_stay_within_the_margins_and_weights_sum_to_one(size: int, n_x: int) -> None:
    counts, weights = unknown_count(size, n_x, N)
    assert counts.min() == pytest.approx(max(0, size + n_x - N), abs=1e-6) and counts.max() == pytest.approx(
        min(size, n_x)
    )
    assert np.all(np.diff(counts) > 0) and weights.min() > 0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_a_scale_is_how_far_counts_are_from_independence() -> None:
    size, n_x = 4000, 3000
    counts, weights = unknown_count(size, n_x, N)
    phi = (counts - size * n_x / N) / math.sqrt(size * n_x * (1 - size / N) * (1 - n_x / N))
    middle = [float(np.interp(0.5, np.cumsum(row[np.argsort(abs(phi))]), np.sort(abs(phi)))) for row in weights]
    assert np.all(np.diff(middle) > 0)
    assert middle[2] == pytest.approx(0.45 * SCALES[2], rel=0.25) and middle[-1] < 0.5


def test_a_known_count_has_the_same_weights_under_all_scales() -> None:
    counts, weights = known_count(12.0, 14.0)
    assert counts.tolist() == [12.0, 13.0, 14.0] and np.ptp(weights) == 0


def test_a_table_has_any_scale_up_to_the_largest() -> None:
    rates = np.zeros((len(SCALES), 3))
    np.testing.assert_allclose(up_to_largest(rates), 0.0, atol=1e-12)
    rates[0] = [0.0, -1.0, -2.0]  # only the least scale tells
    told = up_to_largest(rates)
    np.testing.assert_allclose(told[0], rates[0])
    assert -0.01 < told[-1, 2] < 0 and np.all(np.diff(told[:, 2]) > 0)
