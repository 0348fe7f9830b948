"""Files and folders are read by streaming, some records at a time."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io import stream as growing_values
from engine.data.io.readers import read_table
from engine.data.io.stream import GrowingValues, first_records, local_codes, open_stream, read_folder
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


def check_equal(folder: RawTable, whole: RawTable) -> None:
    """Compare names, types, values and codes."""
    assert folder.names == whole.names
    assert folder.n_records == whole.n_records
    for name in whole.names:
        a, b = folder.columns[name], whole.columns[name]
        assert a.values.type == b.values.type
        assert np.array_equal(a.codes, b.codes)
        assert a.codes.dtype == b.codes.dtype
    assert folder.content_digest() == whole.content_digest()


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["csv", "parquet"]),
    n=st.integers(2, 400),
    seed=st.integers(0, 99),
    cuts=st.lists(st.integers(0, 400), max_size=4),
    pieces=st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(64, 4096)),
    group=st.integers(1, 300),
)
def test_a_folder_gives_the_table_of_one_file(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    n: int,
    seed: int,
    cuts: list[int],
    pieces: tuple[int, int, int],
    group: int,
) -> None:
    place, table = tmp_path_factory.mktemp("source"), records(n, seed)
    folder = write_source(place, f"{kind} folder", table, [min(cut, n) for cut in cuts], group)
    with small_pieces(*pieces):
        check_equal(read_folder(open_stream(folder)), read_table(write_source(place, kind, table, [])))


def test_types_are_those_of_the_files(tmp_path: Path) -> None:
    texts = ["b", "", None, "a", "b", "c"]
    table = pa.table(
        {
            "large": pa.array(texts, pa.large_string()),
            "coded": pa.array(texts).dictionary_encode(),
            "empty": pa.nulls(6, pa.int16()),
            "untyped": pa.nulls(6),
            "when": pa.array([0, 1, None, 3, 1, 0], pa.timestamp("us", "Europe/Berlin")),
            "size": pa.array([np.nan, -0.0, 0.0, None, np.nan, 1.5], from_pandas=False),
            "flag": [True, None, False, True, True, False],
            "bytes": [b"a", b"b", None, b"a", b"c", b"a"],
        }
    )
    folder = tmp_path / "people"
    folder.mkdir()
    for number in range(3):
        parquet.write_table(table.slice(2 * number, 2), folder / f"{number}.parquet")
    parquet.write_table(table, tmp_path / "people.parquet")
    check_equal(read_folder(open_stream(folder)), read_table(tmp_path / "people.parquet"))


def test_folders_of_a_key_add_a_column(tmp_path: Path) -> None:
    for state in ("02", "01", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "people" / f"state={state}").mkdir(parents=True)
        write_source(tmp_path / "people" / f"state={state}", "csv", records(10), [])
    column = read_folder(open_stream(tmp_path / "people")).columns["state"]
    assert column.values.to_pylist() == ["01", "02"]
    assert column.codes.tolist() == [0] * 10 + [1] * 10 + [-1] * 10


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    folder = write_source(tmp_path, "parquet folder", records(10).slice(0, 0), [])
    with pytest.raises(EngineError, match="'people' has columns but no records"):
        read_folder(open_stream(folder))


TYPES = (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float64())


def coded(batches: list[pa.Array]) -> tuple[list[object], list[int]]:
    """The values that a column has in the end, and the codes of its records."""
    growing, codes = GrowingValues("x", "people"), []
    for batch in batches:
        dictionary, indices = local_codes("people", "x", batch)
        codes += growing.add(dictionary, indices)[indices].tolist()
    return growing.values.to_pylist(), codes


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("spread", [1, 40])
def test_values_are_coded_as_if_all_records_came_at_once(kind: pa.DataType, nulls: bool, spread: int) -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 3, 200) * spread + np.repeat([7, 0, 3, 7], 50)
    mask = rng.random(200) < 0.2 if nulls else np.zeros(200, bool)
    whole = pa.array(numbers, mask=mask).cast(kind)
    once = whole.dictionary_encode()
    for ends in ([200], [3, 50, 110, 200], list(range(1, 201))):
        starts = [0, *ends[:-1]]
        values, codes = coded([whole.slice(a, b - a) for a, b in zip(starts, ends, strict=True)])
        assert values == once.dictionary.to_pylist()
        assert codes == once.indices.fill_null(-1).to_pylist()


def test_whole_numbers_at_the_ends_of_their_type_are_coded() -> None:
    for kind in TYPES[:-1]:
        bits = kind.bit_width
        low, high = (0, 2**bits - 1) if str(kind).startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for numbers in ([high, high - 1] * 3, [low + 1, low] * 3, [low, high] * 3):
            values, codes = coded([pa.array(numbers, kind)])
            assert values == numbers[:2]
            assert codes == [0, 1] * 3

    all_bytes = list(range(-128, 128))
    assert coded([pa.array(all_bytes, pa.int8())]) == (all_bytes, list(range(256)))


def test_values_of_a_dictionary_that_do_not_occur_are_left_out() -> None:
    batch = pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), pa.array(["a", "b", "c", "d"]))
    assert coded([batch, batch]) == (["c", "a"], [0, -1, 1] * 2)


@pytest.mark.parametrize("numbers", [[1, 0, 2], [0, 1], [3, 0, 0, 2, 3, 1], [], [2, None, 2]])
def test_dictionaries_in_any_order_and_with_a_value_twice_are_coded_in_order_of_use(numbers: list[int | None]) -> None:
    known = pa.array(["z", "b"]).dictionary_encode()
    dictionary = pa.array(["a", "b", "c", "a"])
    batch = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), dictionary)
    for batches in ([batch], [known, batch], [batch, known, batch], [known, batch.slice(0, 1), batch]):
        texts = [text for each in batches for text in each.to_pylist()]
        values = [*dict.fromkeys(text for text in texts if text is not None)]
        assert coded(batches) == (values, [-1 if text is None else values.index(text) for text in texts])


def test_values_that_first_occur_late_are_coded() -> None:
    numbers = np.repeat(np.array([4, 0, 3, 1], np.int32), [growing_values._FEW, 5 * growing_values._FEW, 1, 2])
    batch = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list("abcde")))
    values, codes = coded([batch])
    assert values == ["e", "a", "d", "b"]
    assert codes == np.repeat(np.arange(4), [growing_values._FEW, 5 * growing_values._FEW, 1, 2]).tolist()


def test_known_values_come_first() -> None:
    growing = GrowingValues("x", "people", pa.array(["b", "a"]))
    dictionary, indices = local_codes("people", "x", pa.array(["c", "a"]))
    assert growing.add(dictionary, indices)[indices].tolist() == [2, 1]


def test_more_values_than_can_be_coded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_values, "MOST_VALUES", 2)
    with pytest.raises(
        EngineError, match="column 'x' has more than 2 distinct values, too many to code while streaming"
    ):
        coded([pa.array(["a", "b"]), pa.array(["c"])])
