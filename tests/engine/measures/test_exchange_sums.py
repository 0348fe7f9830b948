"""Sums formed while pairs are exchanged have the bits of NumPy's sums over the cells that a batch lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.compiled import COMPILED
from engine.measures import call, exchange_kernels, exchange_sums
from engine.measures.distortion import entropy_change, hellinger, total_variation, x_log_x
from engine.measures.exchange_sums import ExchangeSums, rule_of_sums
from engine.measures.small_cells import small_cells
from engine.release.batch import CellIndex, TouchedBuffer
from engine.release.exchanges import DIRECT
from engine.release.space import build, complete, scenarios
from engine.sweeps import realisations as cell_evaluator
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import group
from tests.examples import examples
from tests.small_tables import KEY, Small

DEFAULT = ("small_cells", "hellinger", "total_variation", "entropy_change")
SHAPES = [(3, 2, 4, 3), (7,) * 12, (200,) * 12]
"""Cells that are their own buckets, cells in a hash table, and cells of two words."""
needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")


def table_of(shape: tuple[int, ...], n_records: int, rng: np.random.Generator) -> Small:
    """Records of which many are alike."""
    return Small(tuple(map(tuple, (rng.random((n_records, len(shape))) ** 3 * np.array(shape)).astype(int))), shape)


def add_group(
    into: TouchedBuffer | ExchangeSums, index: CellIndex, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Exchange pairs of one structure; returns the changed records and the swaps of its candidates."""
    table = index.table
    d, n_splits, n_stops = len(table.domain), rng.integers(1, 5), rng.integers(1, 4)
    pairs = np.array(np.repeat(np.arange(len(table)), table.counts))
    rng.shuffle(pairs)
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2)
    swaps = rng.random((n_splits, d)) < 0.5
    stops = np.sort(rng.integers(0, len(pairs) + 1, n_stops))
    wanted = rng.random((n_splits, n_stops)) < 0.8
    into.exchange(index, pairs, stops, swaps @ index.table.packing.masks, wanted)
    split, stop = np.nonzero(wanted)
    return 2 * stops[stop], swaps[split]


def figures(into: TouchedBuffer | ExchangeSums, small: Small, seed: int, n_rule: int) -> list[list[int]]:
    """The bits of the figures of some groups."""
    rng = np.random.default_rng(seed)
    index = CellIndex(small.coded()[0])
    for batch_number in range(2):
        into.clear()
        parts = [add_group(into, index, rng) for _ in range(1 + batch_number)]
        assert not index.arrived.any(), "scratch is left as it was"
    batch: Any = into.batch(index, *map(np.concatenate, zip(*parts, strict=True)))
    assert len(batch) == sum(len(changed) for changed, _ in parts)
    risk = small_cells(batch, n_rule)
    distances = hellinger(batch), total_variation(batch), entropy_change(batch)
    return [values.view(np.int64).tolist() for values in (risk, *distances)]


@pytest.mark.parametrize("shape", SHAPES, ids=["direct", "hashed", "two words"])
@given(st.integers(2, 300), st.integers(2, 6), st.integers(0, 2**32))
@examples(25)
def test_sums_have_the_bits_of_those_over_listed_cells(shape, n_records, n_rule, seed):
    small = table_of(shape, n_records, np.random.default_rng(seed))
    table, _ = small.coded()
    assert (CellIndex(table).bucket_shift == DIRECT) == (shape == SHAPES[0])
    summed = figures(ExchangeSums(table, n_rule), small, seed, n_rule)
    assert summed == figures(TouchedBuffer(), small, seed, n_rule)


@pytest.mark.parametrize("into", ["cells", "sums"])
def test_cells_that_find_no_room_at_first_change_no_bit(into, monkeypatch):
    """An index that has to grow between the splits of a structure begins again where it stopped."""
    small = table_of((40,) * 6, 2000, np.random.default_rng(4))
    table, _ = small.coded()

    def run() -> list[list[int]]:
        return figures(TouchedBuffer(16) if into == "cells" else ExchangeSums(table, 3), small, 5, 3)

    wanted, grown = run(), []
    grow, reset = CellIndex._grow, CellIndex.reset

    def grow_and_count(index: CellIndex, size: int) -> None:
        grown.append(size)
        grow(index, size)

    def begin(index: CellIndex) -> None:
        reset(index)
        index.words = index.words[: len(table) + 1]
        grow(index, len(table) + 1)

    monkeypatch.setattr(CellIndex, "_grow", grow_and_count)
    monkeypatch.setattr(CellIndex, "reset", begin)
    assert run() == wanted and len(grown) > 2, "the index has grown on the way"


@needs_compiler
def test_a_sweep_that_needs_no_more_than_sums_gives_the_rows_of_one_that_lists_cells(monkeypatch):
    small = table_of((3, 2, 4), 90, np.random.default_rng(1))
    asked = small.asked(*DEFAULT)
    names = small.names
    tasks = [
        (one, (1, 2))
        for one in group(scenarios(build(complete(names, names), asked.table).specs, ("0.1", "0.4")), asked.table)
    ]
    summing = Evaluator(asked, KEY)
    assert isinstance(summing._cell_runs._touched, ExchangeSums)
    rows = summing.run_all(tasks).rows
    monkeypatch.setattr(cell_evaluator, "rule_of_sums", lambda *_: None)
    listing = Evaluator(asked, KEY)
    assert isinstance(listing._cell_runs._touched, TouchedBuffer)
    assert rows.tobytes() == listing.run_all(tasks).rows.tobytes()
    assert np.isfinite(rows[:, 5:]).all()


@needs_compiler
def test_a_candidate_remade_between_sweeps_has_its_row_and_leaves_the_sums_as_they_were():
    small = table_of((3, 2, 4), 90, np.random.default_rng(1))
    asked = small.asked(*DEFAULT)
    names = small.names
    one = group(scenarios(build(complete(names, names), asked.table).specs, ("0.3",)), asked.table)[0].part(slice(0, 1))
    runs = Evaluator(asked, KEY)
    (derived,) = runs._derived((one, (1,)))
    before = runs.run(one, (1,)).rows
    row, table = runs._cell_runs.remake_table(one, derived)
    assert row.tobytes() == before[0].tobytes() and table.n_records == asked.table.n_records
    assert runs.run(one, (1,)).rows.tobytes() == before.tobytes()


@needs_compiler
@pytest.mark.parametrize(
    ("measures", "rule"),
    [
        (DEFAULT, 3),
        (("hellinger", "small_cells[n_rule=5]"), 5),
        (("total_variation",), 0),
        (("small_cells[attributes=A+B+C]", "hellinger"), 3),
        ((*DEFAULT, "small_cells[n_rule=5]"), None),
        ((*DEFAULT, "false_zeros"), None),
        ((*DEFAULT, "hellinger[attributes=A+B]"), None),
    ],
)
def test_sums_suffice_for_distances_of_the_whole_table_and_one_rule_of_small_cells(measures, rule):
    asked = table_of((3, 2, 4), 30, np.random.default_rng(0)).asked(*measures)
    assert rule_of_sums(asked.calls, asked.table, asked.plan) == rule


@needs_compiler
def test_cells_are_listed_where_counts_are_larger_than_tables_by_count(monkeypatch):
    asked = table_of((3, 2, 4), 30, np.random.default_rng(0)).asked(*map(str, map(call, DEFAULT)))
    monkeypatch.setattr(exchange_sums, "LARGEST", 30)
    assert rule_of_sums(asked.calls, asked.table, asked.plan) == 3
    monkeypatch.setattr(exchange_sums, "LARGEST", 29)
    assert rule_of_sums(asked.calls, asked.table, asked.plan) is None


def as_numpy(values: np.ndarray) -> float:
    """The sum of a part as ``add.reduceat`` forms it."""
    return float(np.add.reduceat(values, [0])[0] + 0.0) if len(values) else 0.0


@pytest.mark.slow
@given(st.integers(0, 3000), st.integers(0, 2**32))
@examples(300)
def test_a_part_is_added_in_the_order_of_numpy(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)
    total = exchange_kernels.sum_of_part(values, n, np.empty(64), np.empty(64, np.int64))
    assert np.float64(total).tobytes() == np.float64(as_numpy(values)).tobytes()


def test_a_part_of_any_length_is_added_in_the_order_of_numpy():
    rng = np.random.default_rng(5)
    scratch = np.empty(64), np.empty(64, np.int64)
    values = rng.normal(size=1100)
    for n in range(len(values)):
        assert exchange_kernels.sum_of_part(values, n, *scratch) == as_numpy(values[:n]), n


@needs_compiler
def test_tables_hold_what_numpy_gives_for_arrays_of_any_length():
    """Some of NumPy's loops treat the end of an array apart."""
    roots, terms = exchange_sums.tables_by_count(5000)
    for n in (1, 2, 3, 5, 8, 17, 4099):
        counts = np.arange(4000 % n, 4000 % n + n)
        assert np.array_equal(roots[counts], np.sqrt(counts))
        assert np.array_equal(terms[counts], x_log_x(counts))
