"""Chunks become one column."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import texts
from engine.data.frames import table_of_frame
from engine.data.io import readers
from engine.data.io.readers import read_table
from engine.data.io.stream import RecordStream, first_records, open_stream
from engine.data.microdata import GroupedColumns, RawTable
from engine.plan.samples import open_source

ESCAPE, TURNED, DELETE, C1, LINE, MARK = "a\x1b[2J", "a\u202eb", "a\x7f", "a\x9bb", "a\u2028b", "\u200ea"


def _csv(folder: Path, name: str) -> Path:
    path = folder / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name, "b"], ["1", "x"], ["2", "y"]])
    return path


def _parquet(folder: Path, name: str) -> Path:
    path = folder / "a.parquet"
    parquet.write_table(pa.table({name: ["1", "2"], "b": ["x", "y"]}), path)
    return path


def _sav(folder: Path, name: str) -> Path:
    """An SPSS file whose long name of a column, in the list of long names, is overwritten: the library refuses it."""
    path = folder / "a.sav"
    stand_in = "q" * len(name.encode())
    pyreadstat.write_sav(pd.DataFrame({stand_in: [1.0, 2.0], "b": [1.0, 2.0]}), str(path))
    content = path.read_bytes()
    assert content.count(b"=" + stand_in.encode()) == 1
    path.write_bytes(content.replace(b"=" + stand_in.encode(), b"=" + name.encode()))
    return path


def _partition(folder: Path, name: str) -> Path:
    part = folder / "parts" / (f"{name}=1".replace("\x1b", "%1B"))
    part.mkdir(parents=True)
    _csv(part, "c")
    return folder / "parts"


def _opened(make: Callable[[Path, str], Path], read: Callable[[Path], object]) -> Callable[[Path, str], object]:
    return lambda folder, name: read(make(folder, name))


READERS = {
    "CSV": _opened(_csv, read_table),
    "Parquet": _opened(_parquet, read_table),
    "SPSS": _opened(_sav, read_table),
    "a streamed CSV": _opened(_csv, open_stream),
    "a streamed Parquet": _opened(_parquet, open_stream),
    "a folder's name": _opened(_partition, open_stream),
    "DataFrame": lambda folder, name: table_of_frame(pd.DataFrame({name: ["1", "2"], "b": ["x", "y"]})),
}
ENDS = ["ab\x85", "\u2028ab", "ab\x1c"]  # signs that Python takes for blanks
HIDDEN = ["a\u00adb", "a\u200db", "a\u200cb", "a\ufeffb", "ab\U000e0041", "a\u3164b", "a\u2800b"]


@pytest.mark.parametrize("name", [ESCAPE, TURNED, DELETE, C1, LINE, MARK, *ENDS, *HIDDEN], ids=ascii)
@pytest.mark.parametrize("reader", READERS)
def test_a_name_that_steers_is_refused_with_another_one(
    reader: str, name: str, tmp_path: Path, quick_readers: None
) -> None:
    with pytest.raises(EngineError) as refused:
        READERS[reader](tmp_path, name)
    if reader == "SPSS" and name in (ESCAPE, DELETE, "ab\x1c"):
        return  # the library takes such a file for a damaged one, and it is refused as that
    said = str(refused.value)
    assert "rename" in said and said.isprintable()
    offered = said.rpartition("'")[0].rpartition("'")[2]
    assert offered in ("a", "ab", "a[2J")


def test_half_a_pair_in_a_frame_is_refused_and_a_name_taken_is_not_offered() -> None:
    with pytest.raises(EngineError, match="'q'"):
        table_of_frame(pd.DataFrame([["x", "y"]], columns=pd.Index(["b", "q\ud800"], dtype=object)))
    with pytest.raises(EngineError, match="'a_2'"):
        table_of_frame(pd.DataFrame([["x", "y"]], columns=["a", "a\u202e"]))


@pytest.mark.parametrize("name", [" ", "\u00a0", "\u200b", "\u2003\u2060", "\u3164", "\u115f\u1160"], ids=ascii)
@pytest.mark.parametrize("reader", ["CSV", "Parquet", "a streamed CSV", "a folder's name", "DataFrame"])
def test_a_name_that_cannot_be_seen_is_none(reader: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no name|without a column's name|not empty"):
        READERS[reader](tmp_path, name)


@pytest.mark.parametrize(
    "name", ["Income\n(EUR)", "a\tb", "שם", "\u0646\u200c\u0647", "🦊", "👩\u200d🔬", "é"], ids=ascii
)
@pytest.mark.parametrize("reader", ["CSV", "Parquet", "DataFrame"])
def test_names_of_real_files_are_taken(reader: str, name: str, tmp_path: Path) -> None:
    READERS[reader](tmp_path, name)


@pytest.mark.parametrize(("name", "clean"), [(TURNED, "ab"), ("\u200bx", "x"), ("b\u00ad", "b_2")], ids=ascii)
@pytest.mark.parametrize("make", [_csv, _parquet, _partition])
@pytest.mark.parametrize("streamed", [False, True])
def test_an_impossible_name_is_replaced_where_that_is_asked_for(
    make: Callable[[Path, str], Path], streamed: bool, name: str, clean: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    path, plain = make(tmp_path, name), make(tmp_path / "plain", "c" if make is not _partition else "d")
    read, known = (open_source(str(p), streamed or None, clean_names=p is path)[0] for p in (path, plain))
    assert read.names == (("c", "b", clean) if make is _partition else (clean, "b"))
    if isinstance(read, RecordStream) and isinstance(known, RecordStream):
        read, known = first_records(read, 9), first_records(known, 9)
    assert isinstance(read, RawTable) and isinstance(known, RawTable)
    for column, same in zip(read.columns.values(), known.columns.values(), strict=True):
        assert texts(column.values) == texts(same.values) and (column.codes == same.codes).all()


def test_a_name_that_cannot_be_seen_is_replaced_by_the_number_of_its_column(tmp_path: Path) -> None:
    assert read_table(_csv(tmp_path, "\u200b"), clean_names=True).names == ("column_1", "b")
    assert open_stream(_parquet(tmp_path, ""), clean_names=True).names == ("column_1", "b")


def test_names_of_a_file_whose_columns_are_read_on_demand_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WIDE", 1)
    monkeypatch.setattr(readers, "LARGE", 1)
    for make in (_csv, _parquet):
        table = read_table(make(tmp_path, TURNED), clean_names=True)
        assert isinstance(table.columns, GroupedColumns)
        assert table.columns["ab"].name == "ab" and len(table.columns["ab"].codes) == table.n_records


@pytest.mark.parametrize("name", [TURNED, ESCAPE])
def test_a_frame_is_told_how_to_rename_its_column(name: str) -> None:
    df = pd.DataFrame({"b": ["1"], name: ["x"]})
    with pytest.raises(UsageError) as refused:
        table_of_frame(df)
    way = str(refused.value).rpartition("df = ")[2]
    assert table_of_frame(eval(way, {"df": df})).names[0] == "b"
