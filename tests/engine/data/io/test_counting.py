"""The first pass: distinct rows with counts, the same however the source is cut into pieces; numbered in order of first
appearance, the same compiled and plain, over several machine words too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io import counting
from engine.data.io.counting import Counted, DistinctRows, count
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import RawTable
from tests.plain_python import plain
from tests.streamed_sources import FORMS, records, small_pieces, write_source

NAMES = ("age", "job", "income")


def rows_of(table: RawTable) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a table in order of first appearance, and their counts."""
    codes = np.stack([table.columns[name].codes for name in NAMES], axis=1).astype(np.int64)
    distinct, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return distinct[order], counts[order]


def codes_of(counted: Counted) -> np.ndarray:
    return np.stack([counted.rows.columns[name].codes for name in NAMES], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_distinct_rows_and_counts_are_those_of_the_whole_table(tmp_path: Path, form: str) -> None:
    table = records(2000)
    path = write_source(tmp_path, form, table, [300, 301, 900], group=250)
    whole = read_table(write_source(tmp_path, form.split()[0], table, []))
    with small_pieces(100, 500, 4096):
        counted = count(open_stream(path), NAMES)
    rows, counts = rows_of(whole)
    assert np.array_equal(codes_of(counted), rows)
    assert np.array_equal(counted.counts, counts)
    for name in NAMES:
        assert counted.rows.columns[name].values.equals(whole.columns[name].values)


@pytest.mark.slow
def test_the_digest_follows_the_records_and_not_batches_or_threads(tmp_path: Path) -> None:
    table = records(2000)
    path = write_source(tmp_path, "parquet folder", table, [300, 900], group=250)
    digests = set()
    for batch, threads in ((50, 1), (1000, 3), (333, 2)):
        with small_pieces(batch, 500, 4096):
            digests.add(count(open_stream(path), NAMES, threads=threads).digest)
    assert len(digests) == 1
    other = tmp_path / "other"
    other.mkdir()
    turned = table.take(np.r_[1, 0, 2 : len(table)])  # the same counts, two records the other way round
    with small_pieces(50, 500, 4096):
        path = write_source(other, "parquet folder", turned, [300, 900], group=250)
        digests.add(count(open_stream(path), NAMES).digest)
    assert len(digests) == 2


def test_more_rows_than_fit_are_refused_with_the_column_that_has_the_most_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_source(tmp_path, "csv", records(500), [])
    monkeypatch.setattr(counting, "MOST_ROWS", 300)
    with pytest.raises(EngineError, match=r"more than 300 different combinations.*column 'note' has the most values"):
        count(open_stream(path), ("age", "note"))


def test_a_source_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    with pytest.raises(EngineError, match="has columns but no records"):
        count(open_stream(tmp_path), ("x",))


def test_the_digest_of_a_piece_without_values_is_that_of_the_first_version(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([*[None] * 5, 1, 2], pa.int16()), "b": list("abcdefg")})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    with small_pieces(1000, 1, 4096):
        counted = count(open_stream(tmp_path / "a.parquet"), ("a", "b"))
    assert counted.digest.hex() == "0a76616786277176f60bb0ba75c9f985fa22afb89a34b1fdc256bb8ce1acd6a3"


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
    monkeypatch.setattr(counting, "_CHUNK", 1024)
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
        "from tests.engine.data.io.test_counting import *;"
        "test_rows_are_numbered_as_they_come_however_they_are_cut_into_batches(3);"
        "test_rows_are_numbered_as_they_come_however_they_are_cut_into_batches(20);"
        "test_rows_of_dictionaries_in_any_order_are_numbered_and_found(pytest.MonkeyPatch(), 3, 8, 5000);"
        "test_rows_of_dictionaries_in_any_order_are_numbered_and_found(pytest.MonkeyPatch(), 3, 70, 5000);"
        "test_weights_are_added_up(); test_rows_that_were_not_added_are_not_found(); print('\"done\"')"
    )
    assert plain(program) == "done"
