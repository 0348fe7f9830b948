"""The compiled swap over records that benchmarks hold the engine to: it must leave nothing out, or ratios flatter."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._records import OverRecords, swap_records
from engine.common.compiled import wrapping
from tests.examples import examples
from tests.small_tables import Small
from tests.twins import measures as measures_twin
from tests.twins.random_swap import may_swap

NUMBERS = {"U": 0, "S": 1, "F": 2, "C": 3}


def swapped(records: np.ndarray, roles: str, wanted: int, seed: int):
    changed, released = np.zeros(len(records), bool), records.copy()
    numbers = np.arange(len(records), dtype=np.int32)
    state = np.random.default_rng(seed).integers(1, 2**63, 4).astype(np.uint64)
    role = np.array([NUMBERS[r] for r in roles], np.int8)
    with wrapping():
        pairs = swap_records(records, role, wanted, state, numbers, numbers.copy(), changed, released)
    return pairs, changed, released


@pytest.mark.slow
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=2, max_size=24),
    st.sampled_from(["SUU", "SSU", "SFU", "SCU", "SUC", "CSF"]),
    st.integers(0, 99),
)
@examples(60)
def test_it_swaps_as_the_paper_says_until_nobody_is_left(records, roles, seed):
    table = np.array(records, np.int8)
    pairs, changed, released = swapped(table, roles, len(records), seed)
    s = [j for j, role in enumerate(roles) if role == "S"]
    others = [j for j, role in enumerate(roles) if role != "S"]
    assert changed.sum() == 2 * pairs
    assert (released[:, others] == table[:, others]).all() and (released[~changed] == table[~changed]).all()
    assert (released[changed][:, s] != table[changed][:, s]).all()
    assert sorted(map(tuple, released[:, s].tolist())) == sorted(map(tuple, table[:, s].tolist()))
    left = [record for record, gone in zip(records, changed, strict=True) if not gone]
    assert not any(may_swap(a, b, roles) for a, b in combinations(left, 2)), "all of them were asked for"


@pytest.mark.slow
def test_its_measures_are_those_of_the_formulas():
    rng = np.random.default_rng(3)
    shape = (3, 4, 2)
    records = sorted(tuple(int(v) for v in row) for row in rng.integers(0, shape, (60, 3)))
    table, _ = Small(tuple(records), shape).coded()
    state = np.arange(1, 5).astype(np.uint64)
    figures = OverRecords(table).candidate([0], 12, state.copy())
    role = np.array([1, 0, 0], np.int8)
    changed, released = np.zeros(60, bool), np.array(records, np.int8)
    numbers = np.arange(60, dtype=np.int32)
    with wrapping():
        assert swap_records(np.array(records, np.int8), role, 12, state, numbers, numbers.copy(), changed, released)
    after = [tuple(row) for row in released.tolist()]
    names = ("small_cells", "hellinger", "total_variation", "entropy_change")
    wanted = [measures_twin.TWINS[name](records, after, range(3), shape) for name in names]
    assert figures == pytest.approx(wanted, rel=1e-12)
    assert min(abs(figure) for figure in figures) > 0
