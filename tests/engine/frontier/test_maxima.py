"""Pairs compared in words of bits, beside comparing them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.frontier import maxima
from tests.engine.losses import FEW, simplex

SIDES = st.tuples(st.integers(1, 5), st.integers(0, 140), st.integers(0, 140)).flatmap(
    lambda shape: st.tuples(*(hnp.arrays(np.float64, (shape[0], side), elements=FEW) for side in shape[1:]))
)


def covered(above, below):
    """Which columns of one side have a column of the other that is no larger in every row."""
    return (above[:, :, None] <= below[:, None, :]).all(axis=0).any(axis=0)


@given(SIDES)
def test_words_of_bits_say_what_pairs_say(sides):
    assert maxima._covered_in_bits(*sides).tolist() == covered(*sides).tolist()


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("above, below", [(63, 65), (64, 1), (65, 64), (1024, 1025), (1025, 1), (2500, 300)])
def test_sets_of_every_size(rows, above, below):
    rng = np.random.default_rng(rows)
    sides = simplex(rng, above, rows + 1).T[:rows] + 0.01, simplex(rng, below, rows + 1).T[:rows]
    assert np.array_equal(maxima._covered_in_bits(*sides), covered(*sides))
    sides = np.round(sides[0], 1), np.round(sides[1], 1)
    assert np.array_equal(maxima._covered_in_bits(*sides), covered(*sides))


@given(hnp.arrays(np.float64, st.integers(0, 30), elements=FEW))
def test_equal_values_stay_in_their_order(values):
    assert maxima._stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_blocks_of_the_size_in_use_meet():
    """Blocks, marriages in bits and marriages by sweeping, all of them at their usual size."""
    rng = np.random.default_rng(4)
    losses = simplex(rng, 9000, 4)
    losses[rng.integers(0, 9000, 4500)] += 1e-9
    once = maxima.maxima_many(np.ascontiguousarray(losses.T))
    order = rng.permutation(9000)
    again = maxima.maxima_many(np.ascontiguousarray(losses[order].T))
    assert np.array_equal(again, once[order])
    for pairs in (1 << 18, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(maxima, "_PAIRS", pairs)
            assert np.array_equal(maxima.maxima_many(np.ascontiguousarray(losses.T)), once)
