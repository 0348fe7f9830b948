"""Records in memory, their labels, and columns read in groups."""

from __future__ import annotations

import gc
import hashlib
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
from engine.common.streams import fingerprint
from engine.data.io import readers
from engine.data.microdata import ColumnLabels, GroupedColumns, RawColumn, RawTable, digest_values
from engine.plan.codebook import Codebook, CodebookRow, with_labels
from engine.plan.coding import code
from engine.plan.entries import with_missing
from engine.plan.guess import guess_plan
from engine.sweeps.warnings import release_warnings


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("s", "UTC")], ids=str)
def test_dates_beyond_the_years_of_python_have_a_digest(kind: pa.DataType) -> None:
    per_day = 1 if kind == pa.date32() else 86_400
    digests = set()
    for day in (-800_000, -800_001, 4_000_000, 0):
        digest = hashlib.blake2b()
        digest_values(digest, pa.array([day * per_day, 1], pa.int32() if per_day == 1 else pa.int64()).cast(kind))
        digests.add(digest.hexdigest())
    assert len(digests) == 4


def test_the_digest_of_usual_dates_is_that_of_stored_studies() -> None:
    digest, wanted = hashlib.blake2b(), hashlib.blake2b(b"datetime.date(1970, 1, 1)\x1fdatetime.date(1970, 1, 4)")
    digest_values(digest, pa.array([0, 3], pa.int32()).cast(pa.date32()))
    assert digest.hexdigest() == wanted.hexdigest()


def _table(values: list[str], codes: list[int]) -> RawTable:
    return RawTable({"a": RawColumn("a", pa.array(values), np.array(codes, np.int8))}, len(codes), "t")


def test_the_fingerprint_does_not_depend_on_the_order_in_which_distinct_values_lie() -> None:
    seen, listed = _table(["b", "a"], [0, -1, 1, 0]), _table(["a", "b", "c"], [1, -1, 0, 1])
    assert seen.content_digest() == listed.content_digest() != _table(["b", "a"], [0, -1, 1, 1]).content_digest()
    earlier = hashlib.blake2b(digest_size=32)
    earlier.update(repr(("a", "string")).encode())
    digest_values(earlier, listed.columns["a"].values)
    earlier.update(np.array([1, -1, 0, 1], "<i4").data)
    key = b"k" * 16
    assert listed.has_fingerprint(key, fingerprint(key, earlier.digest()))  # of an earlier version
    assert listed.has_fingerprint(key, fingerprint(key, seen.content_digest()))
    assert not listed.has_fingerprint(key, fingerprint(b"l" * 16, seen.content_digest()))


def test_labels_are_checked() -> None:
    with pytest.raises(EngineError, match="the value '1' has two labels"):
        ColumnLabels("", (("1", "a"), ("1", "b")))
    with pytest.raises(EngineError, match="from 2 to 1; give the lower end first"):
        ColumnLabels(missing_ranges=((2, 1),))
    with pytest.raises(EngineError, match="measure is 'x'"):
        ColumnLabels(measure="x")
    about = ColumnLabels("", (("1", "One"),), ("x",), ((-9, -1),))
    assert about.missing_among(["x", "-9", "-9.5", "y", "nan"]) == ("x", "-9")
    assert (about.label_or_value("1"), about.label_or_value("2")) == ("One", "2")


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [(-99, -90, "-99 to -90"), (9_999_997, 9_999_999, "9999997 to 9999999"), (0.1, 98.25, "0.1 to 98.25")],
)
def test_a_range_is_written_with_all_its_digits_and_read_back(low: float, high: float, written: str) -> None:
    about = ColumnLabels(missing_ranges=((low, high),))
    assert about.written_ranges == [written]
    (column,) = with_missing((), "x", "-1", about)
    assert column.missing == (written, "-1") and column.of(ColumnLabels()).missing_ranges == ((low, high),)


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
