"""What is dropped before anything is sorted."""

from __future__ import annotations

import numpy as np
import pytest

from engine.frontier.prefilter import prefilter_many
from engine.frontier.undominated import undominated
from tests.engine.losses import simplex

MOST_LEFT = {3: 1.5, 4: 2.0, 5: 2.0}
"""Rows left beside those on the frontier."""


def trade_off(rng, rows, columns):
    return simplex(rng, rows, columns) * (1 + rng.exponential(0.2, (rows, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 4, 5])
def test_little_more_than_the_frontier_is_left_of_a_trade_off(columns):
    losses = trade_off(np.random.default_rng(columns), 60_000, columns)
    left = prefilter_many(losses)
    on = np.flatnonzero(undominated(losses))
    assert np.isin(on, left).all()
    assert len(left) < MOST_LEFT[columns] * len(on)


@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("apart", [0.0, 1e-9])
@pytest.mark.parametrize("tied", [False, True])
def test_little_is_left_where_columns_are_nearly_one(columns, apart, tied):
    """The frontier of a sample is a few rows then, which part nothing into boxes and beat nearly all others, also where
    one column tells nothing."""
    rng = np.random.default_rng(columns)
    losses = rng.random((40_000, 1)) + apart * rng.random((40_000, columns))
    if tied:
        losses[:, 1] = 0.0
    losses[0] = losses[losses.sum(axis=1).argmin()]  # the first row is in every sample
    left = prefilter_many(losses)
    assert np.isin(np.flatnonzero(undominated(losses)), left).all() and undominated(losses)[0]
    assert len(left) < 200


def test_boxes_follow_the_frontier_where_scales_are_skewed():
    losses = np.exp(4 * trade_off(np.random.default_rng(3), 60_000, 3))
    assert len(prefilter_many(losses)) < 2 * undominated(losses).sum()


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, 1e308, -5e-324])
@pytest.mark.parametrize("columns", [3, 4])
def test_rows_of_equal_or_extreme_values_are_judged_as_any(columns, value):
    losses = np.random.default_rng(columns).random((6000, columns))
    losses[:, 0] = value
    losses[::7, 1] = -value
    losses[::11, 2] = 1e308
    on = np.flatnonzero(undominated(losses))
    assert np.isin(on, prefilter_many(losses)).all()
    best = losses[on]
    for row in losses[np.setdiff1d(np.arange(6000), on)]:
        no_larger = (best <= row).all(axis=1)
        assert (no_larger & (best < row).any(axis=1)).any()


def test_more_columns_than_boxes_can_part_are_left_as_they_are():
    losses = np.random.default_rng(1).random((4200, 20))
    assert prefilter_many(losses).tolist() == list(range(4200))
