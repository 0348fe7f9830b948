"""Sums over many touched cells in compiled code are those of NumPy, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.compiled import COMPILED
from engine.measures import compiled_sums, sum_kernels
from engine.measures.distortion import entropy_change, hellinger, total_variation
from engine.measures.small_cells import small_cells
from engine.release.batch import Cells, ReleaseBatch, TouchedCells, release_batch
from tests.examples import examples

MEASURES = (hellinger, total_variation, entropy_change, lambda batch: small_cells(batch, 3))
needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")


def batch_of(lengths: list[int], largest: int, seed: int) -> ReleaseBatch:
    """A batch of candidates that touch so many cells each, of counts up to ``largest``."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    before = (rng.random(n) ** 4 * (largest + 1)).astype(np.int64)
    left = (rng.random(n) * (before + 1)).astype(np.int64)
    came = np.minimum((rng.random(n) ** 3 * 6).astype(np.int64), largest - before + left)
    original = np.arange(1, 12)
    return release_batch(
        Cells.listed(np.zeros((len(original), 1)), original, (2,)),
        TouchedCells.moved(np.cumsum(lengths), np.zeros(n, np.int64), before, left, came),
        rng.integers(0, 60, len(lengths)),
        np.ones((len(lengths), 1), bool),
    )


def figures(batch: ReleaseBatch) -> list[list[int]]:
    """The bits of all figures, each formed as if it were asked for first."""
    batch.own.forget()
    return [np.asarray(measure(batch)).view(np.int64).tolist() for measure in MEASURES]


def as_numpy(values: np.ndarray) -> float:
    """The sum of a part as ``add.reduceat`` forms it."""
    return float(np.add.reduceat(values, [0])[0] + 0.0) if len(values) else 0.0


@pytest.mark.slow
@given(st.integers(0, 3000), st.integers(0, 2**32))
@examples(300)
def test_a_part_is_added_in_the_order_of_numpy(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)
    total = sum_kernels.sum_of_part(values, n, np.empty(64), np.empty(64, np.int64))
    assert np.float64(total).tobytes() == np.float64(as_numpy(values)).tobytes()


def test_a_part_of_any_length_is_added_in_the_order_of_numpy():
    rng = np.random.default_rng(5)
    scratch = np.empty(64), np.empty(64, np.int64)
    values = rng.normal(size=1100)
    for n in range(len(values)):
        assert sum_kernels.sum_of_part(values, n, *scratch) == as_numpy(values[:n]), n


@needs_compiler
@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.sampled_from([2, 40, 5000]), st.integers(0, 2**32))
@examples(100)
def test_figures_have_the_bits_of_numpy(lengths, largest, seed):
    batch = batch_of(lengths, largest, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_sums, "MANY", 0)
        assert (compiled_sums.distance_sums(batch) is None) == (len(lengths) == 0)
        compiled = figures(batch)
        patch.setattr(compiled_sums, "MANY", 1 + sum(lengths))
        assert compiled_sums.distance_sums(batch) is None
        assert figures(batch) == compiled


@needs_compiler
def test_tables_grow_with_the_counts_up_to_their_largest(monkeypatch):
    monkeypatch.setattr(compiled_sums, "MANY", 0)
    monkeypatch.setattr(compiled_sums, "LARGEST", 5000)
    monkeypatch.setattr(compiled_sums, "_tables", compiled_sums.SumTables.up_to(1))
    assert compiled_sums.distance_sums(batch_of([50, 60], 900, 1)) is not None
    assert len(compiled_sums._tables.roots) > 900
    assert compiled_sums.distance_sums(batch_of([50, 60], 70_000, 2)) is None, "such counts are worked out each time"
    assert len(compiled_sums._tables.roots) <= 8192


@needs_compiler
def test_tables_hold_what_numpy_gives_for_arrays_of_any_length():
    """Some of NumPy's loops treat the end of an array apart."""
    tables = compiled_sums.SumTables.up_to(5000)
    for n in (1, 2, 3, 5, 8, 17, 4099):
        counts = np.arange(4000 % n, 4000 % n + n)
        assert np.array_equal(tables.roots[counts], np.sqrt(counts))
        assert np.array_equal(tables.x_log_x[counts], compiled_sums.x_log_x(counts))
