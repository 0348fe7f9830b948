"""The frontier and the choices from it, beside their literal twins."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine import maxima, prefilter
from engine.errors import UsageError
from engine.frontier import dominated_by, undominated
from engine.tradeoff import best_under_bound, hull_intervals, hypervolume, knee, supporting_line
from tests.twins import frontier as twin

FEW = st.integers(0, 3).map(float)
WHOLE = st.integers(-20, 20).map(float)
ANY = st.floats(width=64, allow_nan=True, allow_infinity=True)
ODD = st.one_of(FEW, st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0]))


COLUMNS, ROWS = st.integers(1, 5), st.integers(0, 40)


def tables(elements, columns=COLUMNS, rows=ROWS):
    return st.tuples(rows, columns).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=elements, fill=st.nothing())
    )


def pairs(elements, least=0, most=25):
    return st.lists(st.tuples(elements, elements), min_size=least, max_size=most).map(
        lambda points: (np.array([p[0] for p in points]), np.array([p[1] for p in points]))
    )


ANY_TABLE = st.one_of(tables(FEW), tables(WHOLE), tables(ANY), tables(ODD))
TWO_COLUMNS = st.one_of(*(tables(e, columns=st.just(2)) for e in (FEW, WHOLE, ANY, ODD)))


@pytest.fixture
def small_pieces(monkeypatch):
    """Thresholds so low that small tables go through prefilter passes, chunks, recursion and marriage."""
    monkeypatch.setattr(maxima, "_PAIRS", 4)
    monkeypatch.setattr(prefilter, "_DIRECT", 4)
    monkeypatch.setattr(prefilter, "_CHUNK", 7)
    monkeypatch.setattr(prefilter, "_CELLS", 8)


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


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_recursion_on_small_pieces(small_pieces, columns, levels):
    rng = np.random.default_rng(columns * levels)
    for size in (15, 16, 17, 33, 150):
        losses = rng.integers(0, levels, (size, columns)).astype(float)
        assert undominated(losses).tolist() == twin.undominated(losses.tolist())


def simplex(rng, rows, columns):
    """Rows that do not dominate one another: their columns add up to the same."""
    parts = rng.exponential(size=(rows, columns))
    losses = parts / parts.sum(axis=1, keepdims=True)
    losses[:, -1] = 1.0 - losses[:, :-1].sum(axis=1)
    return losses


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


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_large_tables_go_through_the_prefilter(columns):
    rng = np.random.default_rng(columns)
    for name, losses in shapes(rng, 4200, columns).items():
        before = losses.copy()
        assert np.array_equal(undominated(losses), quadratic(losses)), name
        assert losses.tobytes() == before.tobytes()


@pytest.mark.parametrize("columns", [3, 4])
def test_every_pair_of_places_meets_in_the_sweep(monkeypatch, columns):
    monkeypatch.setattr(maxima, "_PAIRS", 4)
    # Nothing dominates anything, the first column rising and the second falling, but i dominates j: same second value.
    size = 40
    for i in range(size):
        for j in range(i + 1, size):
            losses = np.ones((size, columns))
            losses[:, 0], losses[:, 1] = np.arange(size), np.arange(size)[::-1]
            losses[j, 1] = losses[i, 1]
            losses[[i, j], 2:] = 0.0
            assert np.flatnonzero(~undominated(losses)).tolist() == [j]


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


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_two_thousand_rows_against_the_literal_twin(columns):
    losses = np.round(np.random.default_rng(7).random((2000 if columns == 2 else 700, columns)), 2)
    assert undominated(losses).tolist() == twin.undominated(losses.tolist())


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


@given(ANY_TABLE)
def test_every_dominated_row_has_a_dominator_on_the_frontier(losses):
    mask = undominated(losses)
    for i in np.flatnonzero(~mask & ~np.isnan(losses).any(axis=1)).tolist():
        assert mask[dominated_by(losses, i)].any()


@given(ANY_TABLE, st.data())
def test_who_dominates(losses, data):
    if len(losses) == 0:
        return
    i = data.draw(st.integers(0, len(losses) - 1))
    found = dominated_by(losses, i)
    assert found.tolist() == twin.dominated_by(losses.tolist(), i)
    if not np.isnan(losses[i]).any():
        assert (len(found) == 0) == undominated(losses)[i]


@given(ANY_TABLE, st.integers(0, 40))
def test_the_frontier_of_a_union_is_within_the_union_of_frontiers(losses, cut):
    parts = np.concatenate((undominated(losses[:cut]), undominated(losses[cut:])))
    whole = undominated(losses)
    assert not (whole & ~parts).any()
    # Nothing is lost by going through the parts.
    mask = np.zeros(len(losses), dtype=bool)
    mask[np.flatnonzero(parts)[undominated(losses[parts])]] = True
    assert np.array_equal(mask, whole)


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


# --- the worked example: (DU, DR) ----------------------------------------------------------------------

UTILITY = np.array([0, 1, 2, 1.5, 1])
RISK = np.array([0, 0.1, 0.5, 0.4, 0.3])


def test_the_worked_example():
    losses = np.column_stack((RISK, -UTILITY))
    assert undominated(losses).tolist() == [True, True, True, True, False]
    # Candidate 3 is on the frontier, but above the chord from 1 to 2: no slope makes it win.
    assert [index for index, _, _ in hull_intervals(RISK, -UTILITY)] == [0, 1, 2]
    assert dominated_by(losses, 4).tolist() == [1]
    assert hull_intervals(RISK, -UTILITY) == [(0, 0.0, 0.1), (1, 0.1, 0.4), (2, 0.4, math.inf)]
    assert supporting_line(RISK, -UTILITY, 0) == [0]
    assert supporting_line(RISK, -UTILITY, 0.05) == [0]
    assert supporting_line(RISK, -UTILITY, 0.1) == [0, 1]
    assert supporting_line(RISK, -UTILITY, 0.2) == [1]
    assert supporting_line(RISK, -UTILITY, math.inf) == [2]
    assert best_under_bound(RISK, -UTILITY, 0.4) == 3
    assert best_under_bound(RISK, -UTILITY, 0.399) == 1
    assert best_under_bound(RISK, -UTILITY, -0.001) is None
    assert knee(RISK, -UTILITY) == 1


# --- choosing ------------------------------------------------------------------------------------------


@given(st.one_of(pairs(FEW), pairs(ANY), pairs(ODD)), st.one_of(FEW, st.floats(allow_nan=False)))
def test_best_under_a_bound_is_the_twins_and_on_the_frontier(points, bound):
    risk, loss = points
    found = best_under_bound(risk, loss, bound)
    assert found == twin.best_under_bound(risk.tolist(), loss.tolist(), bound)
    if found is not None:
        assert risk[found] <= bound
        assert undominated(np.column_stack((risk, loss)))[found]


def test_only_allowed_candidates_are_chosen():
    assert best_under_bound([1, 2, 3], [3, 2, 1], 3, allowed=[True, True, False]) == 1
    assert best_under_bound([1, 2, 3], [3, 2, 1], 3, allowed=np.zeros(3, dtype=bool)) is None
    assert best_under_bound([], [], 3) is None
    with pytest.raises(UsageError, match="boolean mask"):
        best_under_bound([1, 2, 3], [3, 2, 1], 3, allowed=[0, 1, 1])
    with pytest.raises(UsageError, match="boolean mask"):
        best_under_bound([1, 2, 3], [3, 2, 1], 3, allowed=[True])


SLOPES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, math.inf]), st.floats(0, 1e6))
FINITE = st.floats(-1e6, 1e6)


@given(st.one_of(pairs(FEW, 1), pairs(WHOLE, 1), pairs(FINITE, 1)), SLOPES)
def test_the_supporting_line_is_the_twins(points, slope):
    risk, loss = points
    found = supporting_line(risk, loss, slope)
    touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), slope)
    if set(found) <= set(touching):
        # All on the line have to be found, but for duplicates and for points between two ends.
        ends = {(risk[i], loss[i]) for i in touching}
        assert {(risk[i], loss[i]) for i in found} == {min(ends), max(ends)}
        for i in found:
            assert i == min(j for j in touching if risk[j] == risk[i] and loss[j] == loss[i])
    else:
        # The slope is an edge's as far as floats can tell: both of its ends are named, one of them exactly right.
        assert set(found) & set(touching)
        assert any(slope in (low, high) for _, low, high in hull_intervals(risk, loss))


@given(st.one_of(pairs(FEW, 1), pairs(WHOLE, 1), pairs(FINITE, 1)))
def test_hull_intervals_tile_all_slopes_and_their_vertices_win(points):
    risk, loss = points
    hull = hull_intervals(risk, loss)
    assert hull[0][1] == 0 and hull[-1][2] == math.inf
    assert all(one[2] == two[1] for one, two in pairwise(hull))
    assert all(low <= high for _, low, high in hull)
    mask = undominated(np.column_stack((risk, loss)))
    for index, low, high in hull:
        assert mask[index]
        middle = (low + high) / 2 if high < math.inf else 2 * low + 1
        if low < middle < high:
            touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), middle)
            assert index == touching[0]
            assert len({(risk[i], loss[i]) for i in touching}) == 1
            assert supporting_line(risk, loss, middle) == [index]


def seeded_pairs(seed):
    """Many small sets of candidates: tie-heavy whole numbers, decimals that floats only approximate, near-lines."""
    rng = np.random.default_rng(seed)
    for _ in range(150):
        size = int(rng.integers(1, 16))
        yield rng.integers(0, 4, size).astype(float), rng.integers(0, 4, size).astype(float)
        yield rng.integers(-30, 30, size) / 10, rng.integers(-30, 30, size) / 10
        steps = rng.integers(0, 40, size)
        yield steps / 10, -steps * 3 / 10
        yield 0.1 + steps * 0.1, 0.7 - steps * 0.3


def test_hulls_of_ties_and_near_lines_are_exact():
    for risk, loss in seeded_pairs(1):
        expected = twin.hull(risk.tolist(), loss.tolist())
        assert hull_intervals(risk, loss) == [(i, float(low), float(high)) for i, low, high in expected]


def test_bounds_lines_and_knees_among_ties():
    for number, (risk, loss) in enumerate(seeded_pairs(2)):
        for bound in (0.0, 1.0, 2.0, 3.0, 0.1 * 3):
            found = best_under_bound(risk, loss, bound)
            assert found == twin.best_under_bound(risk.tolist(), loss.tolist(), bound)
        if number % 4 > 1:
            assert knee(risk, loss) is None  # on a line but for the rounding of decimals
        if number % 4 == 0:
            assert knee(risk, loss) == twin.knee(risk.tolist(), loss.tolist())
            for slope in (0.0, 0.5, 1.0, 2.0, math.inf):
                touching = twin.on_supporting_line(risk.tolist(), loss.tolist(), slope)
                ends = {min(touching, key=lambda i: (risk[i], i)), min(touching, key=lambda i: (-risk[i], i))}
                assert set(supporting_line(risk, loss, slope)) == ends


def test_collinear_points_are_no_vertices_even_where_floats_waver():
    # Steps of 0.1 are not collinear in binary; multiples of one float that stay exact are.
    utility = np.arange(64) * 2.0**-40
    risk = np.arange(64) * 3.0 * 2.0**-60
    assert hull_intervals(risk, -utility) == [(0, 0.0, 3.0 * 2.0**-20), (63, 3.0 * 2.0**-20, math.inf)]
    tiny = np.array([0.0, 5e-324, 1e-323])
    assert [index for index, _, _ in hull_intervals(tiny, -tiny)] == [0, 2]
    huge = np.array([-1.7e308, 0.0, 1.7e308])
    assert [index for index, _, _ in hull_intervals(huge, -huge)] == [0, 2]


def test_slopes_that_leave_the_range_of_floats():
    steep = hull_intervals([0.0, 1e308], [0.0, -1e-308])
    assert steep == [(0, 0.0, math.inf), (1, math.inf, math.inf)]
    assert supporting_line([0.0, 1e308], [0.0, -1e-308], math.inf) == [1]
    assert supporting_line([0.0, 1e-308], [0.0, -1e308], 0.0) == [0]


def test_candidates_without_finite_figures_have_no_line():
    assert hull_intervals([], []) == []
    assert supporting_line([math.nan, math.inf], [0, -math.inf], 1) == []
    assert supporting_line([math.nan, 1.0, 0.0], [0, 1.0, math.inf], 0) == [1]
    assert knee([math.nan, 1.0, 0.0], [0, 1.0, math.inf]) is None


@pytest.mark.parametrize("slope", [-0.1, math.nan, -math.inf])
def test_a_slope_that_rewards_risk_is_refused(slope):
    with pytest.raises(UsageError, match="0 or more"):
        supporting_line(RISK, -UTILITY, slope)


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match=r"\(2,\).*\(3,\)"):
        best_under_bound([1, 2], [1, 2, 3], 1)
    with pytest.raises(UsageError, match="numbers"):
        hull_intervals(["low"], [1])
    with pytest.raises(UsageError, match="NaN"):
        best_under_bound([1], [1], math.nan)


@given(st.one_of(pairs(FEW), pairs(WHOLE)))
def test_the_knee_is_the_twins(points):
    risk, loss = points
    found, expected = knee(risk, loss), twin.knee(risk.tolist(), loss.tolist())
    assert found == expected
    assert found is None or undominated(np.column_stack((risk, loss)))[found]


def test_the_knee_does_not_depend_on_units():
    risk, loss = np.array([0.0, 1, 2, 5, 9]), np.array([9.0, 3.5, 3, 2, 0])
    assert knee(risk, loss) == knee(risk * 1e300, loss * 1e-300 + 1e-299) == knee(risk * 1.7e307 - 8e307, loss) == 1


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("elements", [FEW, st.floats(-2, 3)])
def test_hypervolume_is_the_twins(columns, elements):
    @given(tables(elements, columns=st.just(columns), rows=st.integers(1, 6 if columns < 4 else 4)))
    def check(losses):
        reference = [2.5] * columns
        expected = float(twin.hypervolume(losses.tolist(), reference))
        assert hypervolume(losses, reference) == pytest.approx(expected, rel=1e-12, abs=1e-12)

    check()


def test_hypervolume_in_three_columns_equals_slicing():
    rng = np.random.default_rng(11)
    for losses in (simplex(rng, 300, 3), rng.integers(0, 8, (200, 3)) / 8):
        # A fourth column that is the same everywhere multiplies the volume by its own depth and takes the other path.
        padded = np.column_stack((np.zeros(len(losses)), losses))
        assert hypervolume(losses, [1, 1, 1]) == pytest.approx(hypervolume(padded, [1, 1, 1, 1]), rel=1e-12)


def test_hypervolume_at_the_edges():
    assert hypervolume(np.empty((0, 2)), [1, 1]) == 0
    assert hypervolume(np.array([[1, 0], [math.nan, 0], [0, math.inf]]), [1, 1]) == 0
    assert hypervolume([[-math.inf, 0]], [1, 1]) == math.inf
    assert hypervolume([[-math.inf, 1]], [1, 1]) == 0
    for bad in map(np.array, ([1], [1, math.inf], [1, math.nan], ["x", "1"])):
        with pytest.raises(UsageError, match="reference"):
            hypervolume([[0, 0]], bad)


@given(TWO_COLUMNS)
def test_dominated_rows_add_no_volume(losses):
    finite = losses[np.isfinite(losses).all(axis=1) & (np.abs(losses) < 1e6).all(axis=1)]
    front = finite[undominated(finite)]
    assert hypervolume(finite, [30, 30]) == hypervolume(front, [30, 30])
