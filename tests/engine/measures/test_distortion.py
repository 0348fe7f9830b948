"""Hellinger distance without small cells, and matrices of two-way distances."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, evaluate
from engine.measures import distortion as pair_module
from engine.measures.distortion import (
    entropy_change,
    hellinger,
    small_share,
    total_variation,
)
from tests.examples import examples
from tests.pair_matrices import two_way_matrix
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import measures as twin
from tests.twins import random_swap as swap_twin

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
        assert math.isnan(large) and small_share(counts, n_rule) == 1
    else:
        assert large <= value("hellinger", small, batch) + 1e-15
        assert small_share(counts, n_rule) == (counts < n_rule).mean() < 1
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
    assert small_share(np.array([4, 4, 1, 0]), 3) == pytest.approx(1 / 3)
    assert math.isnan(small_share(np.zeros(3, int), 3))


def test_a_threshold_that_leaves_nothing_out_is_refused():
    with pytest.raises(UsageError, match="hellinger_large: n_rule == 1, must be at least 2"):
        call("hellinger_large[n_rule=1]")


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
