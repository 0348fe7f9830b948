"""Sweeps in leaves and halves, and blocks of every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.frontier import maxima
from engine.frontier.sorting import ranked
from tests.engine.losses import FEW, simplex

RANKS = hnp.arrays(np.int32, st.integers(0, 30), elements=st.integers(0, 29))


@given(RANKS)
def test_equal_ranks_stay_in_their_order(ranks):
    assert maxima._stable_order(ranks).tolist() == np.argsort(ranks, kind="stable").tolist()


@given(st.permutations(range(12)))
def test_ranks_that_all_differ_take_no_sorting(places):
    ranks = np.array(places, np.int32)
    order = maxima._inverse(ranks)
    assert order is not None
    assert order.tolist() == np.argsort(ranks).tolist()
    ranks[3] = ranks[5]
    assert maxima._inverse(ranks) is None


@pytest.mark.slow
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 30)), elements=FEW))
def test_one_number_orders_columns_as_all_their_rows_do(table):
    key = maxima._lexicographic(np.stack([ranked(row) for row in table]))
    columns = [tuple(column) for column in table.T]
    assert [columns[i] for i in np.argsort(key)] == sorted(columns)
    assert len(np.unique(key)) == len(set(columns))


def test_a_number_for_more_rows_than_it_has_room_for():
    table = np.random.default_rng(3).integers(0, 900, (9, 2000)).astype(np.int32)
    table[:8, 1000:] = table[:8, :1000]
    ranks = np.stack([ranked(row) for row in table])
    assert np.prod(ranks.max(axis=1) + 1.0) > 2.0**63
    assert np.array_equal(np.argsort(maxima._lexicographic(ranks), kind="stable"), np.lexsort(table[::-1]))


@pytest.mark.parametrize("leaf", [1, 2, 5, 64])
def test_a_sweep_tells_what_pairs_tell(monkeypatch, leaf):
    monkeypatch.setattr(maxima, "_LEAF", leaf)
    rng = np.random.default_rng(leaf)
    for size in (1, 2, 3, 31, 64, 130):
        first, second = rng.integers(0, size, (2, size)).astype(np.int32)
        source, target = rng.random((2, size)) < 0.6
        no_larger = (first[:, None] <= first) & (second[:, None] <= second)
        covered = (np.triu(no_larger, 1) & source[:, None]).any(axis=0) & target
        assert maxima._swept(first, second, source, target).tolist() == covered.tolist()


@pytest.mark.slow
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


def test_a_product_of_ranks_that_happens_to_be_the_number_of_columns_does_not_part_them():
    table = np.array([[0, 0, 0, 0, 1, 1, 2, 3], [0, 0, 0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0]], np.int32)
    key = maxima._lexicographic(table)
    assert [key[0] == key[1], key[1] < key[2], key[2] < key[3]] == [True, True, True]
