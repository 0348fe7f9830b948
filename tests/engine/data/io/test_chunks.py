"""Names of columns that no codebook, program or page can hold are refused on reading, whatever the reader."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.frames import table_of_frame
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream

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
