"""Probabilistic linkage: EM against single pairs, best assignments against all of them, ties shared evenly."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import fellegi_sunter
from engine.measures.linkage import LinkRows, link_rows
from tests.engine.measures.test_linkage import altered, with_numbers
from tests.examples import examples
from tests.record_releases import figure, released
from tests.small_tables import Small
from tests.twins import linkage as twin


@pytest.mark.slow
@given(altered(most=6))
@examples(40)
def test_it_is_a_mixture_of_best_linkages(case):
    small, after = case
    got = figure("probabilistic_linkage", released(small, [after])).value
    fewest, most = twin.probabilistic_linkage(small.records, after, range(len(small.shape)))
    assert fewest - 1e-9 <= got <= most + 1e-9
    assert 0 <= got <= 1


@pytest.mark.slow
@given(altered(most=12))
@examples(40)
def test_em_as_over_single_pairs(case):
    small, after = case
    release = released(small, [after])
    rows = link_rows(release, release.tables[0], range(len(small.shape)), ())
    d, n = len(small.shape), len(after)
    counts = fellegi_sunter.count_patterns(rows, np.zeros(len(rows.categories), int), d, 0.1)
    patterns = [tuple(x == y for x, y in zip(a, b, strict=True)) for a, b in product(after, small.records)]
    for bits in range(1 << d):
        assert counts[bits] == patterns.count(tuple(bool(bits >> j & 1) for j in range(d)))
    found = fellegi_sunter.estimate(counts, d, n)
    m, u = twin.em(patterns, n)
    np.testing.assert_allclose(found.m, m, atol=1e-6)
    np.testing.assert_allclose(found.u, u, atol=1e-6)
    assert 0 < found.share <= max(1 / n, 1e-12)


@pytest.mark.slow
def test_em_finds_what_the_pairs_were_made_from():
    m, u = np.array([0.95, 0.8, 0.9, 0.6, 0.97]), np.array([0.1, 0.3, 0.5, 0.2, 0.15])
    share = 0.002
    bits = ((np.arange(32)[:, None] >> np.arange(5)) & 1).astype(bool)
    both = [np.where(bits, p, 1 - p).prod(axis=1) for p in (m, u)]
    counts = 1e8 * (share * both[0] + (1 - share) * both[1])
    found = fellegi_sunter.estimate(counts, 5, int(1e8 * share))
    np.testing.assert_allclose(found.m, m, atol=0.002)
    np.testing.assert_allclose(found.u, u, atol=0.0001)
    worth = np.log(m / u) - np.log((1 - m) / (1 - u))
    np.testing.assert_allclose(found.weights / 65536, worth, rtol=0.01)


whole = st.integers(0, 3)


@pytest.mark.slow
@given(
    st.integers(1, 3).flatmap(lambda k: st.lists(st.lists(whole, min_size=3, max_size=3), min_size=k, max_size=k)),
    st.data(),
)
@examples(80)
def test_assignments_are_best_and_even(weights, data):
    weights = np.array(weights, np.int32)
    supply = np.array(data.draw(st.lists(st.integers(1, 2), min_size=len(weights), max_size=len(weights))))
    demand = np.array(data.draw(st.lists(st.integers(1, 2), min_size=3, max_size=3)))
    flow = fellegi_sunter.assign(weights, supply, demand)
    linked = min(supply.sum(), demand.sum())
    assert (flow >= 0).all() and flow.sum() == pytest.approx(linked)
    assert (flow.sum(axis=1) <= supply + 1e-9).all() and (flow.sum(axis=0) <= demand + 1e-9).all()
    left, right = np.repeat(np.arange(len(supply)), supply), np.repeat(np.arange(3), demand)
    big = weights[left][:, right]
    big = big if len(left) <= len(right) else big.T
    best = max(sum(big[i, j] for i, j in enumerate(p)) for p in permutations(range(big.shape[1]), big.shape[0]))
    assert (flow * weights).sum() == pytest.approx(best)
    order = data.draw(st.permutations(range(3)))
    again = fellegi_sunter.assign(weights[:, order], supply, demand[order])
    np.testing.assert_allclose(again, flow[:, order], atol=1e-8)


@pytest.mark.parametrize("optimal", [2000, 0])
def test_ties_are_shared(monkeypatch, optimal):
    monkeypatch.setattr(fellegi_sunter, "_OPTIMAL", optimal)
    equal = fellegi_sunter.assign(np.zeros((2, 3), np.int32), np.array([3, 1]), np.array([1, 2, 3]))
    np.testing.assert_allclose(equal.sum(), 4)
    np.testing.assert_allclose(equal[0], 3 * equal[1])
    np.testing.assert_allclose(equal[0], 3 * np.array([1, 2, 3]) / 6, atol=1e-8)
    clear = fellegi_sunter.assign(np.array([[5, 1], [4, 1]], np.int32), np.array([1, 1]), np.array([1, 1]))
    np.testing.assert_allclose(clear, [[1, 0], [0, 1]], atol=1e-9)


def test_greedy_takes_the_heaviest_first(monkeypatch):
    weights, ones = np.array([[5, 4], [4, 0]], np.int32), np.array([1, 1])
    np.testing.assert_allclose(fellegi_sunter.assign(weights, ones, ones), [[0, 1], [1, 0]], atol=1e-9)
    monkeypatch.setattr(fellegi_sunter, "_OPTIMAL", 0)
    np.testing.assert_allclose(fellegi_sunter.assign(weights, ones, ones), [[1, 0], [0, 1]], atol=1e-9)


@pytest.mark.slow
@given(altered(most=20), st.randoms(use_true_random=True))
@examples(25)
def test_order_of_records_and_names_of_levels_do_not_matter(case, rng):
    small, after = case
    order = list(range(len(after)))
    rng.shuffle(order)
    again = Small(tuple(small.records[i] for i in order), small.shape)
    value = figure("probabilistic_linkage", released(small, [after])).value
    assert figure("probabilistic_linkage", released(again, [[after[i] for i in order]])).value == value
    levels = [rng.sample(range(size), size) for size in small.shape]
    renamed = [[tuple(levels[j][x] for j, x in enumerate(r)) for r in rows] for rows in (small.records, after)]
    other = figure("probabilistic_linkage", released(Small(tuple(renamed[0]), small.shape), [renamed[1]]))
    assert other.value == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
def test_bounds():
    distinct = Small(tuple((a, b) for a in range(5) for b in range(4)), (5, 4))
    assert figure("probabilistic_linkage", released(distinct, [distinct.records])).value == 1
    equal = Small(((1, 2),) * 9, (3, 3))
    assert figure("probabilistic_linkage", released(equal, [equal.records])) == (
        1 / 9,
        "1.0 of 9 records linked correctly, 1.0 by guessing",
    )
    wiped = figure("probabilistic_linkage", released(distinct, [[(0, 0)] * 20]))
    assert wiped.value == pytest.approx(1 / 20)
    both = released(distinct, [distinct.records, [(0, 0)] * 20])
    assert figure("probabilistic_linkage", both).value == pytest.approx((1 + 1 / 20) / 2)


@pytest.mark.slow
def test_one_changed_value_among_distinct_rows_is_found():
    """Whoever is left over on both sides is linked, though nothing of theirs is unique any more."""
    small = Small(tuple((a, b, c) for a in range(3) for b in range(3) for c in range(3)), (3, 3, 3))
    after = [*small.records]
    after[0] = (0, 0, 1)
    # two released rows are (0, 0, 1); one takes the original of it, the other the one original without a row
    assert figure("probabilistic_linkage", released(small, [after])).value == pytest.approx((25 + 0.5 + 0.5) / 27)
    assert figure("distance_linkage", released(small, [after])).value == pytest.approx(26 / 27)


def test_numbers_agree_within_h_standard_deviations():
    small = Small(((0,),) * 5, (1,))
    old = [0.0, 10.0, 20.0, 30.0, 40.0]
    new = [x + 1.0 for x in old]  # 0.063 standard deviations
    near, apart = (
        figure(f"probabilistic_linkage[numeric=w;h={h}]", with_numbers(small, small.records, old, new))
        for h in ("0.1", "0.01")
    )
    assert near.value == 1
    assert apart.value == pytest.approx(1 / 5)


@pytest.mark.slow
def test_blocks_keep_apart_what_differs():
    small = Small(((0, 0), (0, 1), (1, 0), (1, 1)), (2, 2))
    after = [(1, 0), (0, 1), (0, 0), (1, 1)]
    free, blocked, other = (
        figure(text, released(small, [after])).value
        for text in ("probabilistic_linkage", "probabilistic_linkage[block=A]", "probabilistic_linkage[attributes=B]")
    )
    assert free == blocked == 0.5 and other == pytest.approx(0.5)
    within = figure("probabilistic_linkage[attributes=B;block=A]", released(small, [after]))
    assert within.value == 0.5, "blocks need not be link variables"
    moved = released(small, [[(1, 0), (1, 1), (1, 0), (1, 1)]])
    assert figure("probabilistic_linkage[block=A]", moved).value == pytest.approx(2 * 0.5 / 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("probabilistic_linkage[h=-1]", "h == -1, must not be negative."),
        ("probabilistic_linkage[h=wide]", "must be a decimal number"),
        ("probabilistic_linkage[block=AA]", "unknown attribute 'AA'."),
        ("probabilistic_linkage[block=A+A]", "names a column twice"),
    ],
)
def test_a_wrong_request_is_answered_in_words(text, message):
    small = Small(((0, 0), (1, 1)), (2, 2))
    with pytest.raises(UsageError) as got:
        figure(text, released(small, [small.records]))
    assert message in str(got.value)


def test_too_much_to_compare(monkeypatch):
    small = Small(((0,) * 17, (1,) * 17), (2,) * 17)
    with pytest.raises(UsageError, match="17 link variables, must be at most 16"):
        figure("probabilistic_linkage", released(small, [small.records]))
    assert figure("probabilistic_linkage[block=A]", released(small, [small.records])).value == 1
    monkeypatch.setattr(fellegi_sunter, "_PAIRS", 1)
    few = Small(((0, 0), (0, 1), (1, 0)), (2, 2))
    got = figure("probabilistic_linkage", released(few, [few.records]))
    assert np.isnan(got.value) and "9 pairs of distinct rows" in got.note and "block=" in got.note


def test_agreement_is_a_bit_for_each_variable_and_weighs_as_its_two_odds() -> None:
    """Numbers agree up to h, itself included, and where both are missing."""
    numbers = np.array([[0.0, np.nan], [0.5, np.nan], [1.5, 3.0]])
    rows = LinkRows(np.array([[0], [1], [0]]), numbers, np.arange(3), np.arange(3))
    patterns = fellegi_sunter.agreements(rows, np.arange(3), np.arange(3), 0.5)
    assert patterns.tolist() == [[0b111, 0b110, 0b001], [0b110, 0b111, 0b000], [0b001, 0b000, 0b111]]
    linkage = fellegi_sunter.Linkage(np.array([0.9, 0.5, 0.2]), np.array([0.1, 0.5, 0.3]), 0.1)
    assert linkage.weights.tolist() == [round(2 * np.log(9) * 65536), 0, 0]
