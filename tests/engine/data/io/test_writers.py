"""Writing: text comes back as it was, equal columns give equal bytes, and no trace of a tool or an original is left."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.common.wording import has_hidden_signs, is_blank
from engine.data.io import writers
from engine.data.io.readers import read_table
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import RawTable


def released(table: RawTable) -> dict[str, pa.Array]:
    """All columns of a table as they would be released unchanged."""
    return {
        column.name: pa.DictionaryArray.from_arrays(pa.array(column.codes, mask=column.codes < 0), column.values)
        for column in table.columns.values()
    }


signs = st.characters(codec="utf-8", exclude_characters="\0")
words = st.sampled_from(
    ["", "007", "1.50", "a,b", 'say "so"', "two\nlines", "\r\n", "\r", " x ", "é–", "\ufeff", ";", "NA"]
)
values = words | st.text(signs, max_size=6)
names = st.text(signs, min_size=1, max_size=6).filter(lambda name: not is_blank(name) and not has_hidden_signs(name))


@pytest.mark.slow
@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_comes_back_as_the_same_text(tmp_path: Path, data: st.DataObject) -> None:
    header = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rows = data.draw(st.lists(st.tuples(*[values] * len(header)), min_size=1, max_size=8))
    columns = dict(zip(header, map(pa.array, zip(*rows, strict=True)), strict=True))
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    write_csv(first, columns)
    with first.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [header, *map(list, rows)], "any CSV reader sees the same"
    table = read_table(first)
    assert table.names == tuple(header)
    assert [c.cast(pa.string()).to_pylist() for c in released(table).values()] == [
        list(c) for c in zip(*rows, strict=True)
    ]
    write_csv(second, released(table))
    assert second.read_bytes() == first.read_bytes()


def test_quotes_only_where_needed_and_nulls_empty(tmp_path: Path) -> None:
    columns = {"a;b": pa.array(["x", None, "a,b"]), "b": pa.array([1, None, 3]), "c": pa.array([0.1, 5.0, None])}
    write_csv(tmp_path / "a.csv", columns)
    assert (tmp_path / "a.csv").read_bytes() == b'"a;b",b,c\nx,1,0.1\n,,5\n"a,b",3,\n'


def test_a_lone_empty_value_stays_a_record(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", {"a": pa.array(["", None, "x"])})
    assert (tmp_path / "a.csv").read_bytes() == b'a\n""\n""\nx\n'
    assert read_table(tmp_path / "a.csv").n_records == 3


def test_other_types_are_written_as_text(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "a.csv",
        {"t": pa.array([True, False]), "d": pa.array([date(2020, 1, 2), None]), "b": pa.array([b"\1", None])},
    )
    assert (tmp_path / "a.csv").read_text() == "t,d,b\ntrue,2020-01-02,01\nfalse,,\n"


def test_many_blocks_and_chunks_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [str(i % 7) for i in range(1000)]
    chunked = pa.chunked_array([wanted[:10], wanted[10:990], wanted[990:]])
    monkeypatch.setattr(writers, "_ROWS", 64)
    write_csv(tmp_path / "a.csv", {"v": chunked, "w": pa.array(wanted)})
    assert (tmp_path / "a.csv").read_text() == "v,w\n" + "".join(f"{v},{v}\n" for v in wanted)


def test_parquet_keeps_types_and_says_nothing_else(tmp_path: Path) -> None:
    secret = pa.DictionaryArray.from_arrays(pa.array([0, 0, None]), pa.array(["kept", "of-the-original-only"]))
    columns = {"i": pa.array([1, None, 3], pa.int16()), "k": secret, "f": pa.chunked_array([[0.5], [1.5, None]])}
    write_parquet(tmp_path / "a.parquet", columns)
    write_parquet(tmp_path / "b.parquet", columns)
    content = (tmp_path / "a.parquet").read_bytes()
    assert content == (tmp_path / "b.parquet").read_bytes()
    for trace in (b"pandas", b"ARROW:schema", b"of-the-original-only"):
        assert trace not in content
    file = parquet.ParquetFile(tmp_path / "a.parquet")
    assert file.metadata.metadata is None
    assert file.schema_arrow.metadata is None
    back = file.read()
    assert back.schema.types == [pa.int16(), pa.string(), pa.float64()]
    assert back.to_pydict() == {"i": [1, None, 3], "k": ["kept", "kept", None], "f": [0.5, 1.5, None]}


def test_parquet_drops_metadata_of_the_columns_it_gets(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({"pandas": "index of the original"})
    write_parquet(tmp_path / "a.parquet", {"a": table.column("a")})
    assert b"index of the original" not in (tmp_path / "a.parquet").read_bytes()


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_nothing_and_unequal_columns_are_refused(tmp_path: Path, write: object) -> None:
    assert callable(write)
    with pytest.raises(EngineError, match="there is no column to write"):
        write(tmp_path / "a", {})
    with pytest.raises(EngineError, match="column 'a' has 1 values and column 'b' 2; all must be equally long"):
        write(tmp_path / "a", {"a": pa.array([1]), "b": pa.array(np.arange(2))})
