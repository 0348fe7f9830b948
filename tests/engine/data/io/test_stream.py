"""Streaming: the records of a file or of a folder's files in their order, with the checks of the readers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.io.stream import first_records, open_stream
from engine.data.microdata import RawTable
from tests.streamed_sources import FORMS, records, refusal, small_pieces, write_source


def joined(path: Path, names: list[str]) -> dict[str, list[object]]:
    """The values of all records, from the codes of each batch and the values of the last one."""
    codes: dict[str, list[int]] = {name: [] for name in names}
    values: dict[str, list[object]] = {}
    for batch in open_stream(path).batches(names):
        for name, column in batch.columns.items():
            codes[name] += column.codes.tolist()
            values[name] = column.values.to_pylist()
    return {name: [None if k < 0 else values[name][k] for k in codes[name]] for name in names}


def values_of(table: RawTable, name: str) -> list[object]:
    raw = table.columns[name]
    values = raw.values.to_pylist()
    return [None if k < 0 else values[k] for k in raw.codes.tolist()]


@pytest.mark.parametrize("form", FORMS)
def test_batches_hold_all_records_in_order_with_the_values_of_the_readers(tmp_path: Path, form: str) -> None:
    table = records(900)
    path = write_source(tmp_path, form, table, [100, 101, 700], group=130)
    whole = read_table(write_source(tmp_path, form.split()[0], table, []))
    with small_pieces(64, 200, 4096):
        streamed = joined(path, ["income", "job", "age"])
    for name in ("income", "job", "age"):
        assert streamed[name] == values_of(whole, name)


def test_a_column_that_is_asked_for_plainly_comes_as_it_is(tmp_path: Path) -> None:
    table = records(300)
    path = write_source(tmp_path, "parquet folder", table, [50], group=70)
    notes = [batch.plain["note"] for batch in open_stream(path).batches(["age"], ["note"])]
    assert pa.chunked_array(notes).to_pylist() == table["note"].to_pylist()
    path = write_source(tmp_path, "csv", table, [])
    notes = [batch.plain["note"] for batch in open_stream(path).batches([], ["note"])]
    assert pa.chunked_array(notes).to_pylist() == table["note"].to_pylist()


def test_pieces_that_are_read_in_another_order_have_the_codes_of_known_values(tmp_path: Path) -> None:
    path = write_source(tmp_path, "parquet folder", records(300), [50, 120], group=70)
    source = open_stream(path)
    in_order = [batch.columns["job"] for batch in source.batches(["job"])]
    known = {"job": in_order[-1].values}
    turned = []
    for unit in source.units()[::-1]:
        of_unit = [batch.columns["job"].codes for batch in source.batches(["job"], units=[unit], known=known)]
        turned.append(np.concatenate(of_unit))
    first = np.concatenate([column.codes for column in in_order])
    assert np.array_equal(np.concatenate(turned[::-1]), first)


def test_folders_named_after_values_add_text_columns(tmp_path: Path) -> None:
    for state, n in (("01", 3), ("A%2FB", 2), ("__HIVE_DEFAULT_PARTITION__", 1)):
        folder = tmp_path / "people" / f"state={state}" / "year=2020"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"age": [20] * n}), folder / "part-0.snappy.parquet")
    (tmp_path / "people" / "_SUCCESS").write_text("")
    (tmp_path / "people" / ".part.crc").write_text("")
    source = open_stream(tmp_path / "people")
    assert source.names == ("age", "state", "year")
    assert source.n_records == 6
    assert joined(tmp_path / "people", ["state"]) == {"state": ["01"] * 3 + ["A/B"] * 2 + [None]}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "folder 'p' holds no data"),
        ({"a.csv": "x\n1\n", "old/a.csv": "x\n1\n"}, "folder 'p' holds the folder 'old', whose name is not"),
        ({"a.csv": "x\n1\n", "b.txt": "x"}, "folder 'p' holds 'b.txt'; its files must end in .csv, .tsv or .parquet"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x\n1\n"}, "file 'a.csv' has a column 'y', which 'b.csv' lacks"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "y,x\n1,2\n"}, "have their columns in another order"),
        ({"a.csv": "x\n1\n", "b.csv": ""}, "file 'b.csv' is empty"),
        ({"x=1/a.csv": "x\n1\n"}, "has a column 'x' and lies in a folder that gives one of that name"),
        ({"=1/a.csv": "x\n1\n"}, "a folder without a column's name"),
    ],
)
def test_folders_that_are_no_one_data_set_are_refused(tmp_path: Path, files: dict[str, str], words: str) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    assert words in refusal(lambda: open_stream(folder))


def test_parts_of_several_kinds_or_types_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    parquet.write_table(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "b.parquet")
    with pytest.raises(EngineError, match="holds both CSV and Parquet files"):
        open_stream(tmp_path)
    (tmp_path / "a.csv").unlink()
    parquet.write_table(pa.table({"x": pa.array([1], pa.int64())}), tmp_path / "c.parquet")
    with pytest.raises(EngineError, match=r"column 'x' has the type int32 in 'b\.parquet' and int64"):
        open_stream(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"x,y\n1,2\n3\n", b"x,y\n1,2\n3,\xff\n", b'x,y\n1,2\n3,"a\n', b"x,y\n1,2\n3,a\x00\n"],
)
def test_damaged_text_is_refused_in_the_words_of_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    whole = refusal(lambda: read_table(path))
    assert refusal(lambda: list(open_stream(path).batches(["x", "y"]))) == whole
    assert path.name in whole


def test_nested_types_and_cut_parquet_files_are_refused_as_by_the_reader(tmp_path: Path) -> None:
    nested, cut = tmp_path / "n.parquet", tmp_path / "c.parquet"
    parquet.write_table(pa.table({"x": [[1]]}), nested)
    parquet.write_table(pa.table({"x": [1]}), cut)
    cut.write_bytes(cut.read_bytes()[:-9])
    for path in (nested, cut):
        assert refusal(partial(open_stream, path)) == refusal(partial(read_table, path))


def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path: Path) -> None:
    path = write_source(tmp_path, "csv", records(50), [])
    source = open_stream(path)
    path.write_text(path.read_text() + "20,clerk,f,1.0,n\n")
    with pytest.raises(EngineError, match=r"'people\.csv' has changed since it was opened"):
        next(source.batches(["age"]))


@pytest.mark.parametrize("form", FORMS)
def test_the_first_records_are_those_of_a_file_that_ends_there(tmp_path: Path, form: str) -> None:
    table = records(300)
    path = write_source(tmp_path, form, table, [50, 120], group=70)
    (tmp_path / "short").mkdir()
    short = read_table(write_source(tmp_path / "short", form.split()[0], table.slice(0, 130), []))
    with small_pieces(40, 60, 2048):
        first = first_records(open_stream(path), 130)
        assert first_records(open_stream(path), 1000).n_records == 300
    assert first.n_records == 130
    for name in table.column_names:
        assert first.columns[name].values.equals(short.columns[name].values)
        assert np.array_equal(first.columns[name].codes, short.columns[name].codes)
        assert first.columns[name].codes.dtype == short.columns[name].codes.dtype


def test_views_of_text_and_bytes_are_texts_and_bytes(tmp_path: Path) -> None:
    texts = ["a", "b", None, "a"] * 5
    table = pa.table(
        {"text": pa.array(texts, pa.string_view()), "bytes": pa.array([b"x", b"y"] * 10, pa.binary_view())}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    stream = open_stream(tmp_path / "a.parquet")
    batch = next(stream.batches(["text"], plain=["bytes"]))
    assert batch.coded["text"].values.equals(pa.array(["a", "b"]))
    assert batch.plain["bytes"].equals(pa.array([b"x", b"y"] * 10))
    assert first_records(stream, 5).columns["bytes"].values.type == pa.binary()
