"""The frontier, beside its literal twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.frontier import undominated as module
from engine.frontier.undominated import dominated_by, undominated
from tests.engine.losses import ANY_TABLE, FEW, WHOLE, simplex, tables
from tests.twins import frontier as twin


@pytest.fixture
def small_pieces(monkeypatch):
    """Thresholds so low that small tables are thinned out first, divided and married."""
    for name, value in {"_FEW": 4, "_PAIRS": 4, "_SAMPLE": 3, "_CELLS": 8}.items():
        monkeypatch.setattr(module, name, value)


@pytest.mark.slow
@given(ANY_TABLE)
def test_frontier_is_the_twins(losses):
    before = losses.copy()
    assert undominated(losses).tolist() == twin.undominated(losses.tolist())
    assert losses.tobytes() == before.tobytes()


def test_frontier_is_the_twins_through_every_path(small_pieces):
    @given(ANY_TABLE)
    def check(losses):
        assert undominated(losses).tolist() == twin.undominated(losses.tolist())

    check()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_recursion_on_small_pieces(small_pieces, columns, levels):
    rng = np.random.default_rng(columns * levels)
    for size in (15, 16, 17, 33, 150):
        losses = rng.integers(0, levels, (size, columns)).astype(float)
        assert undominated(losses).tolist() == twin.undominated(losses.tolist())


def quadratic(losses):
    """Frontier by comparing every row with all others, some hundred rows at a time."""
    ok = ~np.isnan(losses).any(axis=1)
    table, parts = np.ascontiguousarray(losses.T), []
    for begin in range(0, len(losses), 256):
        no_larger = np.ones((min(256, len(losses) - begin), len(losses)), dtype=bool)
        smaller = np.zeros_like(no_larger)
        for values in table:
            mine = values[begin : begin + 256, None]
            no_larger &= values <= mine
            smaller |= values < mine
        parts.append(~(no_larger & smaller).any(axis=1))
    return ok & np.concatenate(parts)


def shapes(rng, rows, columns):
    uniform = rng.random((rows, columns))
    trade = simplex(rng, rows, columns) * (1 + rng.exponential(0.2, (rows, 1)))
    tied = np.round(trade, 1)
    odd = uniform.copy()
    odd[rng.random(odd.shape) < 0.01] = np.nan
    odd[rng.random(odd.shape) < 0.01] = -np.inf
    odd[rng.random(odd.shape) < 0.01] = np.inf
    skewed = np.exp(12 * trade)
    flat = trade.copy()
    flat[:, 0] = 1.0
    return {
        "uniform": uniform,
        "trade-off": trade,
        "tied": tied,
        "odd": odd,
        "skewed": skewed,
        "flat": flat,
        "all on the frontier": simplex(rng, rows, columns),
        "sorted": uniform[np.lexsort(uniform.T)],
        "all equal": np.ones((rows, columns)),
        "a chain": np.repeat(np.arange(rows, dtype=float)[::-1, None], columns, axis=1),
    }


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_large_tables_go_through_the_prefilter(columns):
    rng = np.random.default_rng(columns)
    for name, losses in shapes(rng, 4200, columns).items():
        before = losses.copy()
        assert np.array_equal(undominated(losses), quadratic(losses)), name
        assert losses.tobytes() == before.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 4])
def test_every_pair_of_places_meets_in_the_sweep(monkeypatch, columns):
    monkeypatch.setattr(module, "_PAIRS", 4)
    # Nothing dominates anything, the first column rising and the second falling, but i dominates j: same second value.
    size = 40
    for i in range(size):
        for j in range(i + 1, size):
            losses = np.ones((size, columns))
            losses[:, 0], losses[:, 1] = np.arange(size), np.arange(size)[::-1]
            losses[j, 1] = losses[i, 1]
            losses[[i, j], 2:] = 0.0
            assert np.flatnonzero(~undominated(losses)).tolist() == [j]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_several_prefilter_passes(columns):
    losses = np.random.default_rng(columns).random((60_000, columns))
    mask = undominated(losses)
    front = losses[mask]
    assert 0 < len(front) < 3000
    assert quadratic(front).all()
    # A witness for every row that was dropped is enough: it is dominated, so the frontier is exactly what is left.
    dropped = losses[~mask]
    for part in np.array_split(dropped, 200):
        no_larger = np.ones((len(part), len(front)), dtype=bool)
        for column in range(columns):
            no_larger &= front[:, column] <= part[:, column, None]
        assert no_larger.any(axis=1).all()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_two_thousand_rows_against_the_literal_twin(columns):
    losses = np.round(np.random.default_rng(7).random((2000 if columns == 2 else 700, columns)), 2)
    assert undominated(losses).tolist() == twin.undominated(losses.tolist())


@pytest.mark.slow
def test_a_hundred_thousand_points_against_a_plain_sweep():
    rng = np.random.default_rng(3)
    for losses in (
        np.round(simplex(rng, 100_000, 2) * (1 + rng.exponential(0.1, (100_000, 1))), 4),
        simplex(rng, 100_000, 2),
    ):
        expected = np.zeros(len(losses), dtype=bool)
        best, last = math.inf, None
        for i in np.lexsort((losses[:, 1], losses[:, 0])).tolist():
            x, y = losses[i]
            if y < best or (x, y) == last:
                expected[i], best, last = True, y, (x, y)
        assert np.array_equal(undominated(losses), expected)


@pytest.mark.slow
def test_no_quadratic_memory_when_every_point_is_on_the_frontier():
    assert undominated(simplex(np.random.default_rng(0), 200_000, 2)).all()
    assert undominated(simplex(np.random.default_rng(0), 50_000, 3)).all()


def test_layout_and_kind_of_the_table_do_not_matter():
    losses = np.random.default_rng(5).integers(0, 50, (4500, 3))
    expected = quadratic(losses.astype(float))
    assert np.array_equal(undominated(losses), expected)
    assert np.array_equal(undominated(np.asfortranarray(losses.astype(float))), expected)
    assert np.array_equal(undominated(losses[::-1])[::-1], expected)
    assert undominated([[1, 2], [2, 1], [2, 2]]).tolist() == [True, True, False]
    locked = losses.astype(float)
    locked.setflags(write=False)
    assert np.array_equal(undominated(locked), expected)


@pytest.mark.slow
@given(ANY_TABLE)
def test_every_dominated_row_has_a_dominator_on_the_frontier(losses):
    mask = undominated(losses)
    for i in np.flatnonzero(~mask & ~np.isnan(losses).any(axis=1)).tolist():
        assert mask[dominated_by(losses, i)].any()


@pytest.mark.slow
@given(ANY_TABLE, st.data())
def test_who_dominates(losses, data):
    if len(losses) == 0:
        return
    i = data.draw(st.integers(0, len(losses) - 1))
    found = dominated_by(losses, i)
    assert found.tolist() == twin.dominated_by(losses.tolist(), i)
    if not np.isnan(losses[i]).any():
        assert (len(found) == 0) == undominated(losses)[i]


@pytest.mark.slow
@given(ANY_TABLE, st.integers(0, 40))
def test_the_frontier_of_a_union_is_within_the_union_of_frontiers(losses, cut):
    parts = np.concatenate((undominated(losses[:cut]), undominated(losses[cut:])))
    whole = undominated(losses)
    assert not (whole & ~parts).any()
    # Nothing is lost by going through the parts.
    mask = np.zeros(len(losses), dtype=bool)
    mask[np.flatnonzero(parts)[undominated(losses[parts])]] = True
    assert np.array_equal(mask, whole)


@pytest.mark.slow
@given(st.one_of(tables(FEW), tables(WHOLE)), st.randoms(use_true_random=False))
def test_monotone_transforms_and_permutations_change_nothing(losses, random):
    mask = undominated(losses)
    assert np.array_equal(undominated(np.arctan(losses) * 7 - 3), mask)
    assert np.array_equal(undominated(losses**3 + losses), mask)
    order = list(range(len(losses)))
    random.shuffle(order)
    assert np.array_equal(undominated(losses[order]), mask[order])
    columns = list(range(losses.shape[1]))
    random.shuffle(columns)
    assert np.array_equal(undominated(losses[:, columns]), mask)


def test_ties_nan_and_infinities():
    assert undominated([[1, 1], [1, 1], [1, 2], [2, 1]]).tolist() == [True, True, False, False]
    assert undominated(np.array([[math.nan, 0], [1, 1]])).tolist() == [False, True]
    assert undominated(np.array([[math.nan, 0], [math.nan, 1]])).tolist() == [False, False]
    assert undominated(np.array([[-math.inf, math.inf], [0, 0], [1, math.inf]])).tolist() == [True, True, False]
    assert undominated([[0.0, 1], [-0.0, 1]]).tolist() == [True, True]
    assert undominated(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize(
    "bad", [np.empty((3, 0)), np.ones(2), np.zeros((2, 2, 2)), np.array([["a", "b"]]), np.array([[1j, 2]])]
)
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(UsageError, match="losses"):
        undominated(bad)
    with pytest.raises(UsageError, match="losses"):
        dominated_by(bad, 0)


@pytest.mark.parametrize("i", [-1, 2])
def test_a_candidate_that_does_not_exist_is_refused(i):
    with pytest.raises(UsageError, match=rf"{i}.*below 2"):
        dominated_by([[1, 2], [2, 1]], i)
