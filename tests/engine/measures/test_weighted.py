"""Weighted tables: equal weights are no weights, by the literal formula, the level that is hit worst."""

from __future__ import annotations

import math
from collections import defaultdict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.record_releases import figure, released
from tests.small_tables import Small, roles_for, smalls
from tests.twins import measures as twin
from tests.twins import random_swap as swap_twin

TWINS = {
    "weighted_hellinger": lambda p, q: math.sqrt(sum((math.sqrt(p[c]) - math.sqrt(q[c])) ** 2 for c in {*p, *q}) / 2),
    "weighted_total_variation": lambda p, q: sum(abs(p[c] - q[c]) for c in {*p, *q}) / 2,
    "weighted_entropy_change": lambda p, q: entropy(q) - entropy(p),
}
UNWEIGHTED = {
    "weighted_hellinger": twin.hellinger,
    "weighted_total_variation": twin.total_variation,
    "weighted_entropy_change": twin.entropy_change,
}
ALL = [*TWINS, "weighted_margin_change"]


def entropy(p):
    return -sum(x * math.log(x) for x in p.values() if x > 0)


def shares(records, weights):
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for record, weight in zip(records, weights, strict=True):
        found[record] += weight / math.fsum(weights)
    return found


@st.composite
def swapped(draw):
    small = draw(smalls(most_records=20))
    roles = draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(draw(st.integers(0, 9))), "loose").pairs
    n = len(small.records)
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.25, 40.0]), min_size=n, max_size=n).filter(any))
    return small, swap_twin.exchange(small.records, pairs, roles), weights


@pytest.mark.slow
@given(swapped())
@examples(80)
def test_by_the_formula(case):
    small, after, weights = case
    found = released(small, [after], weights=weights)
    p, q = shares(small.records, weights), shares(after, weights)
    for name, formula in TWINS.items():
        got = figure(name, found).value
        if name == "weighted_hellinger":  # a root of rounding errors is larger than they are
            assert got == pytest.approx(formula(p, q), abs=1e-7)
        else:
            assert got == pytest.approx(formula(p, q), abs=1e-12)
    worst = 0.0
    for j in range(len(small.shape)):
        old, new = shares([(r[j],) for r in small.records], weights), shares([(r[j],) for r in after], weights)
        worst = max([worst, *(abs(new[c] - old[c]) / old[c] for c in old if old[c] > 0)])
    assert figure("weighted_margin_change", found).value == pytest.approx(worst, abs=1e-12)


@pytest.mark.slow
@given(swapped(), st.sampled_from([1.0, 3.0, 0.1]))
@examples(60)
def test_equal_weights_are_no_weights(case, weight):
    small, after, _ = case
    found = released(small, [after], weights=[weight] * len(after))
    for name, unweighted in UNWEIGHTED.items():
        wanted = unweighted(small.records, after, range(len(small.shape)), small.shape)
        assert figure(name, found).value == pytest.approx(wanted, abs=1e-7)
    # a swap keeps every count of one attribute
    assert figure("weighted_margin_change", found).value == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@given(swapped())
@examples(40)
def test_nothing_changed_is_nought(case):
    small, _, weights = case
    for name in ALL:
        got = figure(name, released(small, [small.records], weights=weights))
        assert got == (0, "") and math.copysign(1, got.value) == 1


def test_the_note_names_the_level_that_is_hit_worst():
    small = Small(((0, 0), (0, 1), (1, 0), (1, 1)), (2, 2))
    after = [(1, 0), (0, 1), (1, 0), (0, 1)]  # the first and the last exchange A
    found = released(small, [after], weights=[10, 30, 30, 60])
    for name in ALL:
        assert figure(name, found).note == "largest change of a weighted total: A 'v0' +125.00%"
    assert figure("weighted_margin_change", found).value == 1.25
    assert figure("weighted_margin_change[attributes=B]", found) == (0, "")
    assert figure("weighted_total_variation[attributes=A]", found).value == pytest.approx(50 / 130)


@pytest.mark.parametrize(
    ("weights", "note"),
    [
        (None, "no weight is declared"),
        ([1, -1, 1, 1], "records whose weight is missing, negative or no number: 1"),
        ([1, float("nan"), float("inf"), 1], "records whose weight is missing, negative or no number: 2"),
        ([0, 0, 0, 0], "every weight is 0"),
    ],
)
def test_undefined_with_the_reason(weights, note):
    small = Small(((0, 0), (0, 1), (1, 0), (1, 1)), (2, 2))
    for name in ALL:
        got = figure(name, released(small, [small.records], weights=weights))
        assert math.isnan(got.value) and got.note.endswith(note)
