"""Hellinger distance without small cells, matrices of two-way distances and of associations, one candidate or many."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.measures import call, evaluate
from engine.measures import distortion as measures
from engine.measures import distortion as pair_module
from engine.measures.distortion import (
    association_change,
    entropy_change,
    hellinger,
    pair_margins,
    phi_squared,
    strength,
    total_variation,
)
from engine.release.batch import Cells, ReleaseBatch, TouchedCells, release_batch
from tests.examples import examples
from tests.pair_matrices import association_matrix, two_way_matrix
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import measures as twin
from tests.twins import random_swap as swap_twin
from tests.twins import tables as tables_twin

DISTANCES = {hellinger: twin.hellinger, total_variation: twin.total_variation, entropy_change: twin.entropy_change}


def value(text, small, batch):
    return evaluate(call(text), batch, small.domain, {"keys": small.names, "analyse": small.names})[0]


@pytest.mark.slow
@given(smalls(), st.data(), st.integers(2, 5))
@examples(80)
def test_leaving_out_small_cells_takes_away_and_with_none_small_changes_nothing(small, data, n_rule):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "1", Random(2), "loose").pairs
    batch = release(small, roles, pairs)
    large = value(f"hellinger_large[n_rule={n_rule}]", small, batch)
    counts = small.coded()[0].counts
    if (counts < n_rule).all():
        assert math.isnan(large)
    else:
        assert large <= value("hellinger", small, batch) + 1e-15
    # every record tenfold: no cell is small, and only what enters empty cells is left out
    tenfold = Small(small.records * 10, small.shape)
    again = release(tenfold, roles, pairs)
    after = swap_twin.exchange(tenfold.records, pairs, roles)
    fresh = sum(1 for cell in set(after) - set(small.records) for record in after if record == cell)
    if fresh == 0:
        assert value("hellinger_large", tenfold, again) == value("hellinger", tenfold, again)


def test_by_hand():
    small = Small(((0, 0),) * 4 + ((1, 1),) * 4 + ((0, 1),), (2, 2))
    batch = release(small, "SU", [(0, 4)])  # 4, 4, 1 and 0 become 3, 3, 2 and 1
    assert value("hellinger_large", small, batch) == pytest.approx((2 - math.sqrt(3)) / 3)


@pytest.mark.slow
@given(smalls(), st.data())
@examples(50)
def test_the_matrix_holds_every_two_way_distance(small, data):
    d = len(small.shape)
    several = []
    for seed in range(2):
        roles = data.draw(roles_for(d))
        several.append((roles, swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs))
    batch = releases(small, several)
    for distance, literal in DISTANCES.items():
        matrix = two_way_matrix(batch, distance)
        assert matrix.shape == (2, d, d)
        for k, (roles, pairs) in enumerate(several):
            after = swap_twin.exchange(small.records, pairs, roles)
            assert not matrix[k].diagonal().any(), "a swap leaves every one-way margin as it was"
            for i, j in combinations(range(d), 2):
                assert matrix[k, i, j] == matrix[k, j, i]
                wanted = literal(small.records, after, (i, j), small.shape)
                assert matrix[k, i, j] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_a_mean_over_many_pairs_has_the_same_bits_alone_and_in_company():
    """With 45 pairs a sum over an axis is ordered differently for one candidate than for many."""
    rng = np.random.default_rng(4)
    small = Small(tuple(map(tuple, rng.integers(0, 3, (200, 10)).tolist())), (3,) * 10)
    several = [("S" + "U" * 9, [(2 * i, 2 * i + 1) for i in range(k, k + 30)]) for k in range(20)]
    together = releases(small, several)
    lists = {"keys": small.names, "analyse": small.names}
    for name in ("hellinger_two_way", "total_variation_two_way", "entropy_change_two_way", "cramers_v_change"):
        alone = [evaluate(call(name), release(small, *one), small.domain, lists) for one in several]
        assert evaluate(call(name), together, small.domain, lists).tobytes() == np.concatenate(alone).tobytes()


def test_margins_of_pairs_are_the_same_however_they_are_formed(monkeypatch):
    """Sorted or tabulated, one attribute at a time or several together."""
    rng = np.random.default_rng(8)
    shape = (3, 2, 4, 2, 70, 3)
    small = Small(tuple(tuple(int(rng.integers(size)) for size in shape) for _ in range(150)), shape)
    several = [("SUSUUU", [(i, i + 1), (i + 40, i + 60)]) for i in range(30)] + [("UUUSSU", [(3, 9)])] * 2
    lists = {"keys": small.names, "analyse": small.names}
    measures = [call(name) for name in ("hellinger_two_way", "entropy_change_two_way[summary=max]", "cramers_v_change")]

    def figures():
        batch = releases(small, several)
        return np.concatenate([evaluate(one, batch, small.domain, lists) for one in measures]).tobytes()

    tabulated = figures()
    monkeypatch.setattr(pair_module, "_DENSE", -(1 << 40))
    assert figures() == tabulated
    monkeypatch.setattr(pair_module, "_GROUP", 0)
    assert figures() == tabulated


def _moved(before: list[int], after: list[int]) -> tuple[float, float]:
    """Hellinger distance and total variation of two tables of equally many records."""
    n = sum(before)
    h = math.sqrt(sum((math.sqrt(b) - math.sqrt(a)) ** 2 for b, a in zip(before, after, strict=True)) / (2 * n))
    return h, sum(abs(b - a) for b, a in zip(before, after, strict=True)) / (2 * n)


def test_the_share_is_that_of_the_fewest_records_that_have_to_move():
    """Of all ways to give records other values the cheapest one, tried out."""
    before, after = [0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 2, 2]  # levels of six records, before and after
    fewest = min(sum(a != b for a, b in zip(before, order, strict=True)) for order in permutations(after))
    counts = [[values.count(level) for level in range(3)] for values in (before, after)]
    assert fewest / 6 == _moved(*counts)[1] == pytest.approx(2 / 6)


def test_figures_of_pairs_are_averaged_and_the_largest_keeps_its_sign() -> None:
    figures = np.array([[1.0, -4.0, 0.0], [2.0, 2.0, -2.0]])
    assert pair_module.mean_over_pairs(figures).tolist() == [-1.0, 2 / 3]
    assert pair_module.largest_over_pairs(figures).tolist() == [-4.0, 2.0]


def of_table(table, statistic):
    counts = np.array(table)
    return strength(*phi_squared(counts.reshape(-1), np.array([counts.shape])), statistic)[0]


@pytest.mark.parametrize("size", [2, 3, 7])
def test_a_perfect_diagonal(size):
    diagonal = 5 * np.eye(size, dtype=int)
    assert of_table(diagonal, "cramers_v") == pytest.approx(1, abs=1e-15)
    assert of_table(diagonal, "contingency") == pytest.approx(math.sqrt((size - 1) / size))


def test_independence_is_exactly_nought():
    for rows, columns in (([1, 2, 4], [3, 5]), ([7, 11], [13, 17, 19, 23])):
        for statistic in measures.STATISTICS:
            assert of_table(np.outer(rows, columns), statistic) == 0


def test_empty_rows_and_columns_do_not_count():
    table = np.array([[3, 1, 2], [1, 5, 2]])
    padded = np.zeros((4, 5), int)
    padded[np.ix_([0, 2], [1, 2, 4])] = table
    for statistic in measures.STATISTICS:
        assert of_table(padded, statistic) == pytest.approx(of_table(table, statistic), rel=1e-14)
        assert of_table([[4, 0, 3]], statistic) == 0
        assert of_table([[4, 0], [3, 0]], statistic) == 0


def test_cramers_v_by_scipy():
    from scipy.stats.contingency import association

    table = np.random.default_rng(5).integers(1, 30, (4, 3))
    assert of_table(table, "cramers_v") == pytest.approx(association(table, method="cramer"))
    assert of_table(table, "contingency") == pytest.approx(association(table, method="pearson"))


@pytest.mark.slow
@given(smalls(), st.data())
@examples(40)
def test_every_entry_of_the_matrix(small, data):
    d = len(small.shape)
    several = []
    for seed in range(3):
        roles = data.draw(roles_for(d))
        several.append((roles, swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs))
    batch = releases(small, several)
    for which, statistic in enumerate(measures.STATISTICS):
        change = association_matrix(batch, statistic)
        before, after = (association_matrix(batch, statistic, side) for side in ("original", "released"))
        for k, (roles, pairs) in enumerate(several):
            released = swap_twin.exchange(small.records, pairs, roles)
            for i in range(d):
                assert change[k, i, i] == 0 and math.isnan(before[k, i, i]) and math.isnan(after[k, i, i])
                for j in set(range(d)) - {i}:
                    old = tables_twin.association(small.records, i, j)[which]
                    new = tables_twin.association(released, i, j)[which]
                    assert before[k, i, j] == pytest.approx(old, rel=1e-9, abs=1e-12)
                    assert after[k, i, j] == pytest.approx(new, rel=1e-9, abs=1e-12)
                    assert change[k, i, j] == before[k, i, j] - after[k, i, j]
                    if (roles[i] == "S") == (roles[j] == "S"):
                        assert change[k, i, j] == 0, "a swap leaves this table as it was"
    alone = [association_change(release(small, *one), "cramers_v") for one in several]
    assert association_change(batch, "cramers_v").tobytes() == np.concatenate(alone).tobytes()


def test_margins_that_a_mechanism_changed():
    """Not a swap: levels drawn anew, so that a row empties and the smaller side shrinks."""
    small = Small(((0, 0), (0, 0), (1, 1), (1, 1), (2, 0)), (3, 2))
    after = [(0, 0), (0, 0), (0, 1), (1, 0), (0, 0)]
    batch = changed_batch(small, after)
    for which, statistic in enumerate(measures.STATISTICS):
        wanted = tables_twin.association(small.records, 0, 1)[which] - tables_twin.association(after, 0, 1)[which]
        assert association_change(batch, statistic)[0, 0] == pytest.approx(wanted)


def changed_batch(small: Small, after) -> ReleaseBatch:
    """A release that gives every record any levels, as a batch on counts."""
    table, _ = small.coded()
    place = {tuple(cell): number for number, cell in enumerate(table.cells.tolist())}
    old = [place[tuple(record)] for record in small.records]
    for record in after:
        place.setdefault(tuple(record), len(place))
    new = [place[tuple(record)] for record in after]
    count = lambda numbers: np.bincount(numbers, minlength=len(place)).astype(np.int64)  # noqa: E731
    stayed = [a for a, b in zip(old, new, strict=True) if a == b]
    everything = np.ones((1, len(small.shape)), bool)
    before = count(old)
    touched = TouchedCells(
        np.array([len(place)]), np.arange(len(place)), before, count(new), count(np.array(stayed, np.int64))
    )
    changed = np.array([len(old) - len(stayed)])
    return release_batch(Cells.listed(np.array(list(place)), before, small.shape), touched, changed, everything)


def test_many_tables_are_measured_a_few_at_a_time(monkeypatch):
    small = Small(tuple((i % 3, i % 2, (i // 2) % 3) for i in range(40)), (3, 2, 3))
    several = [("SUU", [(i, i + 1)]) for i in range(0, 30, 2)]
    whole = association_change(releases(small, several), "cramers_v")
    monkeypatch.setattr(measures, "_MOST_CELLS", 20)
    assert association_change(releases(small, several), "cramers_v").tobytes() == whole.tobytes()


def test_too_many_levels():
    small = Small(((0, 0), (1, 1), (0, 1)), (3000, 3000))
    batch = release(small, "SU", [(0, 1)])
    with pytest.raises(EngineError, match="two attributes have 3000 and 3000 levels, too many for an association"):
        association_change(batch, "cramers_v")
    lists = {"keys": small.names, "analyse": small.names}
    by_twin = math.sqrt(sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in ((1, 0), (1, 2), (0, 1), (1, 0))) / 6)
    assert len(pair_margins(batch).cell) == 4
    got = evaluate(call("hellinger_two_way"), batch, small.domain, lists)[0]
    assert got == pytest.approx(by_twin), "distances follow occupied cells, however many levels there are"


def test_unknown_names():
    small = Small(((0, 0), (1, 1), (0, 1)), (2, 2))
    batch = release(small, "SU", [])
    with pytest.raises(UsageError, match=r"statistic == 'cramer_v'.*Did you mean 'cramers_v'"):
        association_matrix(batch, "cramer_v")  # type: ignore[arg-type]
    lists = {"keys": small.names, "analyse": small.names}
    assert math.isnan(evaluate(call("cramers_v_change[attributes=A]"), batch, small.domain, lists)[0])
