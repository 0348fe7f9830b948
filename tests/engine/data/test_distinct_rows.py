"""Distinct rows: numbered in order of first appearance, the same compiled and plain, over several machine words too."""

from __future__ import annotations

import numpy as np
import pytest

from engine.data.io import counting as distinct_rows
from engine.data.io.counting import DistinctRows
from tests.plain_python import plain


def numbered(columns: list[np.ndarray], ends: list[int]) -> tuple[np.ndarray, DistinctRows]:
    """The rows of records given column by column, in batches that end at ``ends``."""
    rows, numbers, start = DistinctRows(len(columns)), [], 0
    for end in ends:
        batch = [column[start:end] for column in columns]
        sizes = [int(column[:end].max()) + 1 for column in columns]
        coded = [
            (codes, np.append(np.arange(size), -1).astype(np.int32)) for codes, size in zip(batch, sizes, strict=True)
        ]
        numbers.append(rows.add(coded, end - start, sizes))
        start = end
    return np.concatenate(numbers), rows


@pytest.mark.parametrize("n_columns", [1, 3, 20])
def test_rows_are_numbered_as_they_come_however_they_are_cut_into_batches(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    few = rng.integers(-1, 40, (3000, n_columns))
    codes = few[rng.integers(0, 3000, 9000)].astype(np.int32)
    codes[:, 0] = np.sort(codes[:, 0])  # values appear late, so that fields grow
    columns = list(codes.T)
    number, rows = numbered(columns, [1, 700, 701, 9000])
    distinct, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    assert np.array_equal(number, order[inverse.reshape(-1)])
    assert np.array_equal(rows.counts, np.bincount(number))
    assert np.array_equal(np.stack([rows.codes(j) for j in range(n_columns)], axis=1), distinct[np.argsort(first)])


@pytest.mark.parametrize(("n_values", "n_columns"), [(3, 1), (3, 8), (3, 12), (200, 3), (3, 70)])
@pytest.mark.parametrize("n", [1, 50, 5000])
def test_rows_of_dictionaries_in_any_order_are_numbered_and_found(
    monkeypatch: pytest.MonkeyPatch, n_values: int, n_columns: int, n: int
) -> None:
    monkeypatch.setattr(distinct_rows, "_CHUNK", 1024)
    rng = np.random.default_rng(n)
    pool = rng.integers(0, n_values + 1, (40, n_columns))  # the last index stands for null, as does -1
    rows, codes, columns = DistinctRows(n_columns), [], []
    indices = pool[rng.integers(0, 40, n)].astype(np.int32)
    indices[(indices == n_values) & (rng.random(indices.shape) < 0.5)] = -1
    for column in indices.T:
        code_of = np.append(rng.permutation(n_values), -1).astype(np.int32)
        columns.append((column.copy(), code_of))
        codes.append(code_of[column])
    number = rows.add(columns, n, [n_values] * n_columns)
    wanted, first, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    assert np.array_equal(number, order[inverse.reshape(-1)])
    assert np.array_equal(rows.counts, np.bincount(number))
    assert np.array_equal(np.stack([rows.codes(j) for j in range(n_columns)], axis=1), wanted[np.argsort(first)])
    assert np.array_equal(rows.find(columns, n), number)


def test_weights_are_added_up() -> None:
    rows = DistinctRows(1)
    codes = np.array([0, -1, 0], np.int32)
    rows.add([(codes, np.array([0, -1], np.int32))], 3, [1], np.array([5, 7, 11]))
    assert rows.counts.tolist() == [16, 7]


def test_rows_that_were_not_added_are_not_found() -> None:
    rows = DistinctRows(2)
    code_of = np.array([0, 1, -1], np.int32)
    first, second = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    rows.add([(first, code_of), (second, code_of)], 2, [2, 2])
    assert rows.find([(first, code_of), (second[::-1].copy(), code_of)], 2).tolist() == [-1, -1]
    assert rows.find([(first, code_of), (second, code_of)], 2).tolist() == [0, 1]


@pytest.mark.slow
def test_plain_python_gives_the_same_rows() -> None:
    program = (
        "import numpy as np; from engine.common.compiled import COMPILED; assert not COMPILED;"
        "from tests.engine.data.test_distinct_rows import *;"
        "test_rows_are_numbered_as_they_come_however_they_are_cut_into_batches(3);"
        "test_rows_are_numbered_as_they_come_however_they_are_cut_into_batches(20);"
        "test_rows_of_dictionaries_in_any_order_are_numbered_and_found(pytest.MonkeyPatch(), 3, 8, 5000);"
        "test_rows_of_dictionaries_in_any_order_are_numbered_and_found(pytest.MonkeyPatch(), 3, 70, 5000);"
        "test_weights_are_added_up(); test_rows_that_were_not_added_are_not_found(); print('\"done\"')"
    )
    assert plain(program) == "done"
