"""Pairs compared in words of bits, beside comparing them one by one."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.frontier import pairs_in_bits
from engine.frontier.pairs_in_bits import covered_by_earlier, covered_in_bits, narrowed
from engine.frontier.sorting import ranked
from tests.engine.losses import FEW, simplex

SIDES = st.tuples(st.integers(1, 5), st.integers(0, 140), st.integers(0, 140)).flatmap(
    lambda shape: st.tuples(*(hnp.arrays(np.int32, (shape[0], side), elements=st.integers(0, 3)) for side in shape[1:]))
)


def covered(above, below):
    """Which columns of one side have a column of the other that is no larger in every row."""
    return (above[:, :, None] <= below[:, None, :]).all(axis=0).any(axis=0)


def by_an_earlier(table):
    """Which columns have one before them that is no larger in every row."""
    return np.triu((table[:, :, None] <= table[:, None, :]).all(axis=0), 1).any(axis=0)


def ranks_of(*sides):
    """Ranks of two sides together."""
    table = np.stack([ranked(row) for row in np.concatenate(sides, axis=1)])
    return table[:, : sides[0].shape[1]], table[:, sides[0].shape[1] :]


@pytest.mark.slow
@given(SIDES)
def test_words_of_bits_say_what_pairs_say(sides):
    assert covered_in_bits(*sides).tolist() == covered(*sides).tolist()


@given(hnp.arrays(np.int32, st.tuples(st.integers(1, 4), st.integers(1, 140)), elements=st.integers(0, 30)))
def test_words_of_bits_say_what_pairs_in_their_order_say(table):
    assert covered_by_earlier(table, table).tolist() == by_an_earlier(table).tolist()


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("above, below", [(63, 65), (64, 1), (65, 64), (1024, 1025), (1025, 1), (2500, 300)])
def test_sets_of_every_size(rows, above, below):
    rng = np.random.default_rng(rows)
    sides = simplex(rng, above, rows + 1).T[:rows] + 0.01, simplex(rng, below, rows + 1).T[:rows]
    assert np.array_equal(covered_in_bits(*ranks_of(*sides)), covered(*sides))
    sides = np.round(sides[0], 1), np.round(sides[1], 1)
    assert np.array_equal(covered_in_bits(*ranks_of(*sides)), covered(*sides))


@pytest.mark.parametrize("size", [63, 1024, 1025, 2100])
@pytest.mark.parametrize("decimals", [1, 9])
def test_earlier_ones_of_every_size(size, decimals):
    table = np.round(simplex(np.random.default_rng(size), size, 3).T[:2], decimals)
    table = np.stack([ranked(row) for row in table])
    assert np.array_equal(covered_by_earlier(table, table), by_an_earlier(table))


@given(hnp.arrays(np.float64, st.integers(0, 30), elements=st.one_of(FEW, st.sampled_from([-0.0, np.inf, -np.inf]))))
def test_ranks_are_dense_and_in_the_order_of_values(values):
    assert ranked(values).tolist() == np.unique(values, return_inverse=True)[1].tolist()


def test_many_ranks_are_ranked_anew():
    table = np.array([[0, 900, 30, 900], [7, 7, 1000, 3]], np.int32)
    assert narrowed(table).tolist() == [[0, 2, 1, 2], [1, 1, 2, 0]]
    few = np.array([[3, 2, 1, 0]], np.int32)
    assert narrowed(few) is few


def test_threads_do_not_share_buffers():
    """Dashboards of several people look for frontiers at the same time."""
    there = []
    thread = threading.Thread(target=lambda: there.append(pairs_in_bits._BUFFERS.take(0, (1025, 16))))
    thread.start()
    thread.join()
    assert not np.shares_memory(there[0], pairs_in_bits._BUFFERS.take(0, (1025, 16)))
