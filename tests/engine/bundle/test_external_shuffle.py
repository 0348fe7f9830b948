"""Rows are shuffled through buckets on disk: every order is equally likely, and the secret alone decides it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import factorial
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from engine.bundle.released_files import MOST_BUCKETS, ExternalShuffle, buckets_for
from engine.common.streams import derive, generator
from tests.small_tables import KEY

SCHEMA = pa.schema([("row", pa.int32()), ("text", pa.string())])


@cache
def batches(n_rows: int, batch: int) -> list[pa.RecordBatch]:
    """Rows 0 to ``n_rows - 1``, ``batch`` at a time."""
    made = []
    for start in range(0, n_rows, batch):
        numbers = range(start, min(start + batch, n_rows))
        rows = [pa.array(numbers, pa.int32()), pa.array([str(number) if number % 3 else None for number in numbers])]
        made.append(pa.record_batch(rows, schema=SCHEMA))
    return made


def shuffled(folder: Path, n_rows: int, secret: bytes, n_buckets: int, batch: int) -> list[int]:
    """The new order of rows 0 to ``n_rows - 1`` that are added ``batch`` at a time."""
    shuffle = ExternalShuffle(folder, secret, n_buckets)
    for rows in batches(n_rows, batch):
        shuffle.add(rows)
    assert shuffle.n_rows == n_rows
    order: list[int] = []
    for table in shuffle.shuffled():
        assert table["text"].to_pylist() == [str(n) if n % 3 else None for n in table["row"].to_pylist()]
        order += table["row"].to_pylist()
    assert list(folder.iterdir()) == []
    return order


def chance(folder: Path, n_rows: int, n_buckets: int) -> float:
    """The chance of orders as uneven as those of many secrets, were all orders alike."""
    found = Counter(tuple(shuffled(folder, n_rows, derive(KEY, "shuffle", (run,)), n_buckets, 3)) for run in range(800))
    return float(chisquare([*found.values(), *[0] * (factorial(n_rows) - len(found))]).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_buckets"), [(3, 2), (4, 3), (4, 1)])
def test_every_order_is_equally_likely(tmp_path: Path, n_rows: int, n_buckets: int) -> None:
    assert chance(tmp_path, n_rows, n_buckets) > 1e-6


class _InFileOrder:
    """Random numbers for the buckets, and none for the order in a bucket."""

    def __init__(self, derived: bytes) -> None:
        self.integers = generator(derived).integers

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)


class _InTurn:
    """Random orders in buckets to which rows go in turn."""

    def __init__(self, derived: bytes) -> None:
        self.permutation = generator(derived).permutation

    def integers(self, low: int, high: int, n: int, dtype: type) -> np.ndarray:
        return (np.arange(n) % high).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [_InFileOrder, _InTurn])
def test_a_shuffle_that_is_nearly_right_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: type
) -> None:
    monkeypatch.setattr("engine.bundle.released_files.generator", wrong)
    assert chance(tmp_path, 4, 2) < 1e-9


@pytest.mark.slow
def test_every_row_comes_once_from_all_over_the_file(tmp_path: Path) -> None:
    order = np.array(shuffled(tmp_path, 200_000, KEY, 5, 70_000))
    assert np.array_equal(np.sort(order), np.arange(200_000))
    assert abs(np.corrcoef(order, np.arange(200_000))[0, 1]) < 0.01
    assert np.count_nonzero(np.diff(order) == 1) < 10


@pytest.mark.slow
def test_the_secret_decides_and_batches_do_not(tmp_path: Path) -> None:
    order = shuffled(tmp_path, 100_000, KEY, 3, 100_000)
    assert shuffled(tmp_path, 100_000, KEY, 3, 9_999) == order
    assert shuffled(tmp_path, 100_000, derive(KEY, "other"), 3, 100_000) != order


def test_no_rows_are_no_rows(tmp_path: Path) -> None:
    assert shuffled(tmp_path, 0, KEY, 4, 1) == []


def test_buckets_are_as_many_as_memory_asks_and_files_allow() -> None:
    assert buckets_for(0, 16) == buckets_for(1_000, 16) == 1
    assert buckets_for(100_000_000, 16) == 24
    assert buckets_for(1_400_000_000, 40) == MOST_BUCKETS
    with pytest.raises(ValueError, match="must be 1 to"):
        ExternalShuffle(Path(), KEY, 0)


def test_all_files_are_closed_where_one_cannot_be_written_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = ExternalShuffle(tmp_path, KEY, 3)
    shuffle.add(pa.record_batch([pa.array(range(9), pa.int32()), pa.array([""] * 9)], schema=SCHEMA))
    files, full = list(shuffle._files), mock.Mock()
    full.close.side_effect = OSError(28, "No space left on device")
    monkeypatch.setattr(shuffle, "_writers", [*shuffle._writers[:2], full])
    with pytest.raises(OSError, match="No space"):
        shuffle.close()
    assert all(file.closed for file in files)
