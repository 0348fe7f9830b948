"""Files both wide and large: a group of columns is in memory at a time, and all is as if every column were."""

from __future__ import annotations

import gc
import os
import pickle
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io import readers
from engine.data.microdata import ColumnLabels, GroupedColumns, RawColumn, RawTable
from engine.plan.codebook import Codebook, CodebookRow, with_labels
from engine.plan.coding import code
from engine.plan.guess import guess_plan
from engine.sweeps.warnings import release_warnings

COLUMNS, RECORDS = 2500, 120
Kind = pytest.mark.parametrize("kind", ["csv", "parquet"])


@cache
def content(kind: str) -> bytes:
    """Many columns of a few values; ``c7`` and ``c2000`` are coarser than ``c0``, and nothing else hangs together."""
    codes = np.random.default_rng(5).integers(0, 4, (RECORDS, COLUMNS))
    codes[:, 7] = codes[:, 2000] = codes[:, 0] // 2
    if kind == "csv":
        lines = [",".join(f"c{i}" for i in range(COLUMNS)), *(",".join(map(str, row)) for row in codes.tolist())]
        return ("\n".join(lines) + "\n").encode()
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({f"c{i}": codes[:, i].astype(str) for i in range(COLUMNS)}), sink)
    return sink.getvalue().to_pybytes()


def write(folder: Path, kind: str) -> Path:
    path = folder / f"wide.{kind}"
    path.write_bytes(content(kind))
    return path


def eager(path: Path, monkeypatch: pytest.MonkeyPatch) -> RawTable:
    """The table with all columns in memory."""
    with monkeypatch.context() as patched:
        patched.setattr(readers, "WIDE", 10**9)
        return readers.read_table(path)


@pytest.fixture(autouse=True)
def _small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LARGE", 0, raising=False)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many columns that were read are in memory now."""
    made: weakref.WeakSet[RawColumn] = weakref.WeakSet()
    monkeypatch.setattr(RawColumn, "__hash__", object.__hash__)
    monkeypatch.setattr(RawColumn, "__post_init__", made.add, raising=False)

    def count() -> int:
        gc.collect()
        return len(made)

    return count


@pytest.mark.slow
@Kind
def test_no_more_than_a_group_and_the_needed_columns_are_held(
    kind: str, tmp_path: Path, held: Callable[[], int]
) -> None:
    table = readers.read_table(write(tmp_path, kind))
    plan = guess_plan(table, attributes=("c0", "c2499"))
    data = code(table, plan)
    assert held() <= 1024 + 2
    release_warnings(data, plan)
    table.content_digest()
    assert held() <= 1024 + 4
    most = max(held() for name in list(table.columns)[::500] if table.columns[name])
    assert most <= 1024 + 4


@pytest.mark.slow
@Kind
def test_all_is_as_if_every_column_were_in_memory(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, kind)
    table, other = readers.read_table(path), eager(path, monkeypatch)
    assert isinstance(table.columns, GroupedColumns)
    assert isinstance(other.columns, dict)
    assert (table.names, table.n_records, table.source) == (other.names, other.n_records, other.source)
    assert table.content_digest() == other.content_digest()
    for name, column in other.columns.items():
        assert table.columns[name].values.equals(column.values)
        assert table.columns[name].codes.dtype == column.codes.dtype
        assert np.array_equal(table.columns[name].codes, column.codes)
    plan = guess_plan(other, attributes=("c0", "c2499"))
    assert guess_plan(table, attributes=("c0", "c2499")) == plan
    a, b = code(table, plan), code(other, plan)
    assert a.domain == b.domain
    assert all(np.array_equal(x, y) for x, y in zip(a.codes, b.codes, strict=True))
    warnings = release_warnings(a, plan)
    assert warnings == release_warnings(b, plan)
    assert "'c0' decides 'c7', 'c0' decides 'c2000'" in str(warnings[-1])


def test_going_through_in_order_reads_each_group_once() -> None:
    asked: list[int] = []

    def read(names: object) -> list[RawColumn]:
        assert isinstance(names, tuple | list)
        asked.append(len(names))
        return [RawColumn(name, pa.array(["x"]), np.zeros(2, np.int8)) for name in names]

    columns = GroupedColumns([str(i) for i in range(2500)], read)
    assert [column.name for column in columns.values()] == list(columns)
    assert asked == [1024, 1024, 452]
    columns.keep_in_memory(["2499", "3", "3"])
    assert asked[3:] == [1]  # 2499 is there
    assert columns["3"].name == "3"
    assert columns["2499"].name == "2499"
    assert columns.n_values("1500") == 1
    assert "2500" not in columns
    assert len(asked) == 4


@pytest.mark.slow
def test_groups_are_kept_compressed_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def read(names: object) -> list[RawColumn]:
        assert isinstance(names, tuple | list)
        asked.append(len(names))
        return [RawColumn(name, pa.array(["x"]), np.zeros(2, np.int8)) for name in names]

    for most, reads in ((0, 6), (1 << 26, 3)):
        monkeypatch.setattr("engine.data.microdata.MOST_PACKED", most)
        columns = GroupedColumns([str(i) for i in range(2500)], read)
        asked.clear()
        assert [c.name for c in columns.values()] == [c.name for c in columns.values()] == list(columns)
        assert len(asked) == reads


@pytest.mark.slow
@Kind
@pytest.mark.parametrize("what", ["longer", "touched", "replaced", "gone"])
def test_a_file_that_has_changed_is_refused(kind: str, what: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    table = readers.read_table(path)
    assert table.columns["c0"].name == "c0"
    about = path.stat()
    if what == "longer":
        path.write_bytes(path.read_bytes() + b"\n")
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    elif what == "touched":
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1_000_000_000))
    elif what == "replaced":
        other = tmp_path / "other"
        other.write_bytes(path.read_bytes())
        os.utime(other, ns=(about.st_atime_ns, about.st_mtime_ns))
        os.replace(other, path)
    else:
        path.unlink()
    wanted = "cannot be read again" if what == "gone" else "has changed since it was opened; open it again"
    with pytest.raises(EngineError, match=f"file 'wide.{kind}' {wanted}"):
        table.content_digest()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-4], r"is cut short: its last line, 121"),
        (lambda text: text[:-2] + b"\xff\n", r"line 121 holds the byte 0xff, which is not UTF-8"),
        (lambda text: text[:-2] + b"\0\n", r"line 121 holds a zero byte"),
        (lambda text: text[:-2] + b'"3\n', r"line 121 has a misplaced quote or one never closed"),
    ],
)
def test_a_damaged_file_is_refused_when_it_is_opened(
    damage: Callable[[bytes], bytes], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "csv")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(EngineError, match=words) as now:
        readers.read_table(path)
    with pytest.raises(EngineError, match=words) as before:
        eager(path, monkeypatch)
    assert str(now.value) == str(before.value)


@pytest.mark.slow
def test_a_codebook_labels_columns_that_are_not_read(tmp_path: Path, held: Callable[[], int]) -> None:
    table = readers.read_table(write(tmp_path, "csv"))
    before = held()
    labelled = with_labels(table, Codebook((CodebookRow("c1*", label="of the ones"),)))
    assert labelled.about("c1999") == ColumnLabels("of the ones")
    assert held() == before
    assert labelled.columns["c12"].about.label == "of the ones"
    more = with_labels(labelled, Codebook((CodebookRow("c2", label="of one more"),)))
    assert [more.about(name).label for name in ("c2", "c12")] == ["of one more", "of the ones"]
    assert labelled.content_digest() == table.content_digest()


def test_other_processes_get_what_is_held_and_read_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, "csv")
    table = readers.read_table(path)
    table.keep_in_memory(["c3"])
    packed = pickle.dumps(table)
    assert len(packed) < 300_000
    assert pickle.loads(packed).content_digest() == table.content_digest()
    path.unlink()
    assert np.array_equal(pickle.loads(packed).columns["c3"].codes, table.columns["c3"].codes)


@pytest.mark.slow
def test_files_that_are_small_or_narrow_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "csv")
    monkeypatch.setattr(readers, "LARGE", path.stat().st_size)
    assert isinstance(readers.read_table(path).columns, dict)
    monkeypatch.setattr(readers, "LARGE", 0)
    monkeypatch.setattr(readers, "WIDE", COLUMNS)
    assert isinstance(readers.read_table(path).columns, dict)
