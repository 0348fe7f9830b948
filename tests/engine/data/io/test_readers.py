"""CSV and Parquet files are read as they are, or refused in a sentence."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import time
from datetime import date
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError, Remedy, UsageError
from engine.data.io import readers
from engine.data.io import readers as module
from engine.data.io import stream as parts
from engine.data.io.readers import Quotes, csv_batches, read_table
from engine.data.io.stream import first_records, open_stream
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import RawTable

ALL = ".csv, .tsv, .parquet, .sav, .zsav, .por, .dta, .sas7bdat or .xpt"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def column(table: RawTable, name: str) -> list[object]:
    raw = table.columns[name]
    values = raw.values.to_pylist()
    return [None if code < 0 else values[code] for code in raw.codes]


def test_csv_values_stay_the_text_they_were(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv", "id,x\n007,1.50\n7,\n007,NA\n"))
    assert table.n_records == 3
    assert table.source == "a.csv"
    assert column(table, "id") == ["007", "7", "007"]
    assert column(table, "x") == ["1.50", "", "NA"]
    assert table.columns["id"].values.to_pylist() == ["007", "7"], "order of first appearance"
    assert table.columns["id"].is_text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_comes_from_the_header(tmp_path: Path, delimiter: str) -> None:
    text = f'"a,;|x"{delimiter}b{delimiter}c\n1{delimiter}2{delimiter}3\n'
    table = read_table(write(tmp_path / "a.csv", text))
    assert table.names == ("a,;|x", "b", "c")
    assert column(table, "b") == ["2"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark_line_ends_and_quoted_newlines(tmp_path: Path, end: str) -> None:
    text = f'\ufeffa,b{end}"line one{end}line two","say ""so"", then"{end}x,y{end}'
    table = read_table(write(tmp_path / "a.csv", text))
    assert table.names == ("a", "b")
    assert column(table, "a") == [f"line one{end}line two", "x"]
    assert column(table, "b") == ['say "so", then', "y"]


def test_a_single_column_and_no_last_newline(tmp_path: Path) -> None:
    assert column(read_table(write(tmp_path / "a.csv", 'a\n1\n""\n2')), "a") == ["1", "", "2"]


def test_blocks_are_joined_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_CHUNK", 256)
    wanted = [str(i * i % 97) for i in range(3000)]
    ids = [f"r{i}" for i in range(3000)]
    table = read_table(
        write(tmp_path / "a.csv", "v,id\n" + "".join(f"{v},{i}\n" for v, i in zip(wanted, ids, strict=True)))
    )
    assert column(table, "v") == wanted
    assert column(table, "id") == ids
    assert table.columns["v"].values.to_pylist() == list(dict.fromkeys(wanted))
    assert table.columns["v"].codes.dtype.itemsize == 1
    assert table.columns["id"].codes.dtype.itemsize == 2


def test_a_record_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_CHUNK", 64)
    long = "x" * 1000
    assert column(read_table(write(tmp_path / "a.csv", f"a,b\n1,{long}\n2,y\n")), "b") == [long, "y"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file 'a.csv' is empty; it needs a header line and records"),
        ("a,b\n", "file 'a.csv' has a header but no records; it needs at least one line below the header"),
        ("a,b", "file 'a.csv' has a header but no records; it needs at least one line below the header"),
        ("\n1,2\n", "file 'a.csv' begins with an empty line; the first line must name the columns"),
        (
            "a,b,a\n1,2,3\n",
            "file 'a.csv': columns 1 and 3 of 3 are both called 'a'; give each column a name of its own, for example "
            "'a_2'",
        ),
        (
            "a,,c\n1,2,3\n",
            "file 'a.csv': column 2 of 3 has no name; name every column in the header line, for example 'column_2'",
        ),
        (
            "a,b,c\n" + "1,2,3\n" * 15 + "4,secret\n",
            "file 'a.csv': line 17 has 2 fields, 3 were expected; a value that holds ',' must stand in quotes",
        ),
        (
            "Survey of 2020\n1,2,3\n",
            "file 'a.csv': line 2 has 3 fields, 1 were expected; a value that holds ',' must stand in quotes, and line "
            "1 must name all columns, without a title above it, or with a line such as 'sep=;' above it that names "
            "what separates columns",
        ),
        (
            "Survey,,\na,b,c\n1,2,3\n",
            "file 'a.csv': column 2 of 3 has no name; name every column in the header line, the first one, without a "
            "title above it, for example 'column_2'",
        ),
        (
            'a;b\n"1\n\n1";2\n3;secret;5\n',
            "file 'a.csv': line 5 has 3 fields, 2 were expected; a value that holds ';' must stand in quotes",
        ),
        (
            'a,b\n1,2\n"secret,3\n',
            "file 'a.csv': the record that begins in line 3 has a misplaced quote or one never closed; "
            "write a quote within a quoted value twice, and no text behind the quote that closes it",
        ),
        (
            b"a,b\n1,2\ncaf\xe9,2\n",
            "file 'a.csv': line 3 holds the byte 0xe9, which is not UTF-8; "
            "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        (
            b"a,\xe9b\n1,2\n",
            "file 'a.csv': line 1 holds the byte 0xe9, which is not UTF-8; "
            "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        (
            "a,b\n1,2\n".encode("utf-16"),
            "file 'a.csv' is UTF-16 text, UTF-8 is wanted; save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        (b"a,b\n1,2\n3,\xc3", "file 'a.csv' ends in the middle of a UTF-8 character; copy or save it again"),
    ],
)
def test_one_sentence_for_each_broken_csv(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_table(write(tmp_path / "a.csv", content))
    assert str(caught.value) == message
    assert caught.value.exit_code == 1


@pytest.mark.slow
def test_a_byte_that_is_not_utf8_is_found_behind_the_header_block(tmp_path: Path) -> None:
    lines = 900_000
    with pytest.raises(EngineError, match=f"line {lines + 2} holds the byte 0xff"):
        read_table(write(tmp_path / "a.csv", b"a,b\n" + b"12,34\n" * lines + b"\xff,1\n"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.csv", "file 'none.csv' does not exist; check the spelling and the folder"),
        (
            "folder",
            f"'folder' is a folder; give a file ending in {ALL}",
        ),
        (
            "a.xlsx",
            f"file 'a.xlsx' has '.xlsx', supported are {ALL}; export it as one of these",
        ),
        (
            "plain",
            f"file 'plain' has no extension, supported are {ALL}; export it as one of these",
        ),
    ],
)
def test_only_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "a.xlsx", "x")
    write(tmp_path / "plain", "x")
    with pytest.raises(EngineError) as caught:
        read_table(tmp_path / name)
    assert str(caught.value) == message
    assert isinstance(caught.value, UsageError) == (name == "none.csv")


def test_parquet_keeps_types_and_nulls(tmp_path: Path) -> None:
    columns = {
        "i": pa.array([3, None, 3], pa.int64()),
        "f": pa.array([0.5, float("nan"), None]),
        "t": pa.array(["b", "a", None]),
        "b": pa.array([True, None, False]),
        "d": pa.array([date(2020, 1, 2), None, date(2020, 1, 2)]),
        "k": pa.DictionaryArray.from_arrays(pa.array([1, None, 1]), pa.array(["unused", "x"])),
        "n": pa.nulls(3),
        "dot.ted": pa.array(["p", "q", "p"]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.names == tuple(columns)
    assert column(table, "i") == [3, None, 3]
    assert column(table, "t") == ["b", "a", None]
    assert column(table, "b") == [True, None, False]
    assert column(table, "d") == [date(2020, 1, 2), None, date(2020, 1, 2)]
    assert column(table, "n") == [None, None, None]
    assert column(table, "dot.ted") == ["p", "q", "p"]
    assert table.columns["k"].values.to_pylist() == ["x"], "a value that no record has is no value of the column"
    assert table.columns["k"].codes.tolist() == [0, -1, 0]
    assert table.columns["f"].codes.tolist() == [0, 1, -1]
    assert table.columns["i"].values.type == pa.int64()
    assert not table.columns["i"].is_text


def test_parquet_with_many_row_groups(tmp_path: Path) -> None:
    wanted = [f"v{i % 300}" for i in range(1000)]
    parquet.write_table(pa.table({"v": wanted}), tmp_path / "a.parquet", row_group_size=70)
    table = read_table(tmp_path / "a.parquet")
    assert column(table, "v") == wanted
    assert table.columns["v"].codes.dtype.itemsize == 2


def test_broken_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": list(range(1000))}), path)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"PAR1 not at all PAR1", whole[:4] + b"\0" * 200 + whole[204:]):
        with pytest.raises(
            EngineError, match=r"file 'a\.parquet' is no readable Parquet file \(corrupt or cut short\)"
        ):
            read_table(write(path, broken))


def test_parquet_that_cannot_be_a_table_of_categories(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [[1], [2]]}), path)
    with pytest.raises(EngineError, match="column 'a' has the type ListType, wanted are plain values"):
        read_table(path)
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(EngineError, match="has columns but no records"):
        read_table(path)


@pytest.mark.slow
def test_small_csv_is_read_and_coded_without_pandas() -> None:
    code = (
        "import sys; from engine.plan import coding as recode, samples; recode.code(*samples.load('czech')); "
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[4]).returncode == 0


def test_a_quote_inside_a_header_is_a_sign_like_others(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv", 'A,scr 15",B\n1,2,3\n4,5" x,6\n'))
    assert table.names == ("A", 'scr 15"', "B")
    assert column(table, 'scr 15"') == ["2", '5" x']
    assert read_table(write(tmp_path / "a.csv", '"A";"B ""x"";";C\n1;2;3\n')).names == ("A", 'B "x";', "C")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "A,scr\n1,2\n".encode("utf-16-le"),
            "file 'a.csv' is UTF-16 text, without a mark that says so; UTF-8 is wanted; "
            "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        (
            "A,scr\n1,2\n".encode("utf-16-be"),
            "file 'a.csv' is UTF-16 text, without a mark that says so; UTF-8 is wanted; "
            "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        (
            b"A,B\n1,2\n3,\0\n",
            "file 'a.csv': line 3 holds a zero byte, which no text has; "
            "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ),
        ('a|"b\nc",d,e\n1,2,3\n', "file 'a.csv': the header has a misplaced quote or one never closed"),
    ],
)
def test_text_that_is_no_csv_is_a_sentence(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_table(write(tmp_path / "a.csv", content))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('A,B\n1,x\n2,"y"z\n3,w\n', 3),
        ('A,B\n1,x\n2,"y"z', 3),
        ('A;B\n"1" ;2\n', 2),
        ('A,B\n5" x,2\n"a""b"c,3\n', 3),
        ('"A"x,B\n1,2\n', 1),
        ('sep=|\nA|B\n1|"2"|\n1|"2"2\n', 3),
    ],
)
def test_text_behind_a_quoted_value_is_refused_whole_and_streamed(tmp_path: Path, content: str, line: int) -> None:
    path = write(tmp_path / "a.csv", content)
    for read in (read_table, lambda file: first_records(open_stream(file), 99)):
        with pytest.raises(EngineError, match=f"(line {line} has|begins in line {line} )"):
            read(path)


@pytest.mark.parametrize("first", ["sep=;\n", "\ufeffSEP=;\r\n", '"sep=;"\r'])
def test_a_line_above_the_header_names_the_delimiter(tmp_path: Path, first: str) -> None:
    path = write(tmp_path / "a.csv", first + 'A,x;B\n1,2;"3;4"\n')
    for table in (read_table(path), first_records(open_stream(path), 99)):
        assert table.names == ("A,x", "B")
        assert (column(table, "A,x"), column(table, "B")) == (["1,2"], ["3;4"])
    # a column may be called so
    assert read_table(write(tmp_path / "b.csv", "sep=;,B\n1,2\n")).names == ("sep=;", "B")


def test_a_line_above_the_header_counts_in_messages(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="line 4 has 1 field"):
        read_table(write(tmp_path / "a.csv", "sep=;\nA;B\n1;2\n3\n4;5\n"))


@pytest.mark.parametrize("extension", ["csv", "parquet", "sav", "xpt"])
def test_a_file_without_an_end_is_refused(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a.{extension}"
    if not hasattr(os, "mkfifo"):
        pytest.skip("Windows has no pipes among its files; run the tests on Linux or macOS")
    os.mkfifo(path)
    (tmp_path / f"b.{extension}").symlink_to("/dev/zero")
    for name, kind in ((path.name, "a named pipe"), (f"b.{extension}", "a device")):
        with pytest.raises(EngineError) as caught:
            read_table(tmp_path / name)
        assert str(caught.value) == f"'{name}' is {kind}; give a file, whose end can be known"


def test_a_zero_byte_in_a_name_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1], "b\0": [2]}), tmp_path / "a.parquet")
    with pytest.raises(EngineError, match=r"the name of column 2 of 2, .*rename the column"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(("old", "new"), [(b"tag_ge", b"t\xe6g_ge"), (b"value", b"v\xffl\xfee")])
def test_parquet_whose_text_is_no_utf8(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"tag_ge": ["value", "other"]}), path, compression="none", store_schema=False)
    content = path.read_bytes()
    assert old in content
    with pytest.raises(EngineError, match=r"file 'a\.parquet' is no readable Parquet file"):
        read_table(write(path, content.replace(old, new)))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts here; run the tests on Linux")
@pytest.mark.parametrize("end", [".csv", ".parquet"])
def test_a_name_that_is_not_utf8(tmp_path, end):
    path = tmp_path / f"{os.fsdecode(b'gr' + bytes([0xF6]))}{end}"
    {".csv": write_csv, ".parquet": write_parquet}[end](path, {"a": pa.array(["x", "y"])})
    assert column(read_table(path), "a") == ["x", "y"]


BLOCK = 64
wait = time.sleep


def values(path: Path, block: int) -> list[list[str]]:
    """All values of a file, column by column."""
    columns: list[list[str]] = [[], []]
    for batch in csv_batches(path, ["A", "B"], ",", block):
        for column, read in zip(columns, batch.columns, strict=True):
            column += read.to_pylist()
    return columns


def streamed(path: Path) -> list[str]:
    """All values of the last column of a file that is read by streaming."""
    stream, read = open_stream(path), []
    for batch in stream.batches(stream.names):
        column = batch.coded[stream.names[-1]]
        read += column.values.take(column.codes).to_pylist()
    return read


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["\r\n", "\r", "\n", "\r\r\n\n"])
@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_in_quotes_are_kept_wherever_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, end: str
) -> None:
    monkeypatch.setattr(readers, "chunk_bytes", lambda n_columns: BLOCK)
    monkeypatch.setattr(parts, "_CSV_BLOCK", BLOCK)
    path = tmp_path / "a.csv"
    wanted = [f"{k}{inside}{k}" for k in range(20)]
    for padding in range(30):
        lines = ["A,B", f"{'x' * padding},", *(f'{k},"{value}"' for k, value in enumerate(wanted))]
        path.write_bytes(end.join([*lines, ""]).encode())
        table = read_table(path)
        column = table.columns["B"]
        assert column.values.take(column.codes).to_pylist() == ["", *wanted], padding
        assert streamed(path) == ["", *wanted], padding


def test_records_longer_than_a_block_are_read_by_larger_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_CSV_BLOCK", BLOCK)
    path, long = tmp_path / "a.csv", "y" * 1000
    texts = [*("xyz"[k % 3] * 10 for k in range(50)), long, *("ab"[k % 2] for k in range(50))]
    path.write_text("A,B\n" + "".join(f"{k},{text}\n" for k, text in enumerate(texts)), encoding="utf-8")
    assert values(path, BLOCK) == [[str(k) for k in range(len(texts))], texts]
    assert streamed(path) == texts


def test_no_read_ends_between_the_two_bytes_of_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    content = b"ab\r\n\r\r\nc\r"
    path.write_bytes(content)
    for size in range(2, 12):
        with module._WholeLineEnds(path, ",", 0) as file:
            reads = list(iter(lambda file=file, size=size: bytes(file.read(size)), b""))  # type: ignore[misc]
        assert b"".join(reads) == content
        assert all(len(read) <= size for read in reads)
        assert not any(a.endswith(b"\r") and b.startswith(b"\n") for a, b in pairwise(reads))


class Slow(module._WholeLineEnds):
    """A file whose blocks come late: Arrow's threads still call Python when their user is done."""

    def read(self, size: int | None = -1, /) -> memoryview:  # type: ignore[override]
        block = super().read(size)
        time.sleep(0.05)
        return block


@pytest.mark.parametrize("rest", [0, 2], ids=["closed early", "read to the end"])
def test_nothing_of_python_is_in_use_when_batches_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: int
) -> None:
    lent = []

    def opened(path: Path, delimiter: str, skipped: int) -> Slow:
        file = Slow(path, delimiter, skipped)
        lent.append(file.lent)
        return file

    monkeypatch.setattr(module, "_WholeLineEnds", opened)
    path = tmp_path / "a.csv"
    path.write_text("A,B\n" + "1,2\n" * 40, encoding="utf-8")
    batches = csv_batches(path, ["A", "B"], ",", BLOCK)
    assert len([next(batches), *islice(batches, rest)]) == 1 + rest
    batches.close()
    assert len(lent) == 1 and len(lent[0]) > 1
    assert [one() for one in lent[0]] == [None] * len(lent[0])


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()], ids=["fault", "interrupt"])
@pytest.mark.parametrize("after", [0, 2])
def test_a_file_that_cannot_be_read_on_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, after: int
) -> None:
    class Failing(module._WholeLineEnds):
        n = 0

        def read(self, size: int | None = -1, /) -> memoryview:  # type: ignore[override]
            self.n += 1
            if self.n > after:
                raise error
            return super().read(size)

    pauses: list[float] = []

    def paused(seconds: float) -> None:
        pauses.append(seconds)
        wait(0.001)

    monkeypatch.setattr(module, "_WholeLineEnds", Failing)
    monkeypatch.setattr(module, "_LONGEST", 30.0)
    monkeypatch.setattr(time, "sleep", paused)
    path = tmp_path / "a.csv"
    path.write_text("A,B\n" + "1,2\n" * 100, encoding="utf-8")
    with pytest.raises(type(error)):
        list(csv_batches(path, ["A", "B"], ",", BLOCK))
    assert len(pauses) < 5_000, "it waits for Arrow's threads, not for the error to be handled"


@pytest.mark.slow
def test_a_process_that_ends_soon_after_a_file_is_not_aborted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("A,B\n" + "1,2\n" * 40, encoding="utf-8")
    code = f"""
import time
from pathlib import Path
from engine.data.io import readers as module
class Slow(module._WholeLineEnds):
    def read(self, size=-1, /):
        block = super().read(size)
        time.sleep(0.05)
        return block
module._WholeLineEnds = Slow
batches = module.csv_batches(Path({str(path)!r}), ["A", "B"], ",", {BLOCK})
next(batches)
batches.close()
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, cwd=Path(__file__).parents[4])
    assert (done.returncode, done.stderr) == (0, b"")


@given(st.lists(st.sampled_from('ab"",\n'), max_size=14).map("".join), st.integers(1, 14))
def test_text_behind_quotes_is_found_in_blocks_of_any_size(text: str, size: int) -> None:
    quotes = Quotes(",")
    for start in range(0, len(text), size):
        quotes.look_at(text[start : start + size].encode())
    quotes.look_at(b"")
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
        wrong = False
    except csv.Error as error:
        wrong = "expected after" in str(error)
    assert quotes.text_behind == wrong


EMPTY = r"column 2 of 5 has no name.*'column_2'", ["a", "column_2", "b", "column_4", "column_5"]
TWICE = r"columns 1 and 3 of 5 are both called 'a'.*'a_3'", ["a", "b", "a_3", "a_2", "a_4"]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("names", "said", "clean"),
    [
        (["a", "", "b", "", ""], *EMPTY),
        (["a", "", "b", " ", "\u200b"], *EMPTY),
        (["a", "b", "a", "a_2", "a"], *TWICE),
        (["a", "b", "a", "b", ""], r"columns 1 and 3 of 5", ["a", "b", "a_2", "b_2", "column_5"]),
    ],
)
def test_several_empty_names_and_names_given_twice_are_offered_clean_ones(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    said: str,
    clean: list[str],
    form: str,
    wide: bool,
) -> None:
    if wide:
        monkeypatch.setattr(readers, "WIDE", 1)
        monkeypatch.setattr(readers, "LARGE", 1)
    path, rows_of_file = tmp_path / f"a.{form}", [["1", "2", "3", "4", "5"], ["6", "7", "8", "9", ""]]
    if form == "csv":
        path.write_text("".join(",".join(f'"{value}"' for value in line) + "\n" for line in (names, *rows_of_file)))
    else:
        columns = [pa.array(values) for values in zip(*rows_of_file, strict=True)]
        parquet.write_table(pa.Table.from_arrays(columns, names=names), path)
    for read in (read_table, open_stream):
        with pytest.raises(EngineError, match=said) as refused:
            read(path)
        assert refused.value.remedy == Remedy.CLEAN_NAMES
    table = read_table(path, clean_names=True)
    rows = first_records(open_stream(path, clean_names=True), 9)
    for found in (table, rows):
        assert list(found.names) == clean
        values = [[column.values[i].as_py() for i in column.codes.tolist()] for column in found.columns.values()]
        assert values == [["1", "6"], ["2", "7"], ["3", "8"], ["4", "9"], ["5", ""]]


@pytest.mark.parametrize("sign", ["^", "~", " ", ":"])
def test_a_sign_that_may_separate_columns_is_asked_about(tmp_path: Path, sign: str) -> None:
    lines = f"a{sign}b\n1{sign}2\n2{sign}1\n"
    for read in (read_table, open_stream):
        with pytest.raises(EngineError, match="one column"):
            read(write(tmp_path / "a.csv", lines))
    assert tuple(read_table(write(tmp_path / "b.csv", f"sep={sign}\n{lines}")).names) == ("a", "b")
    assert tuple(read_table(write(tmp_path / "c.csv", f"sep=,\n{lines}")).names) == (f"a{sign}b",)
    assert tuple(read_table(write(tmp_path / "d.csv", f"{lines}3\n")).names) == (f"a{sign}b",)


def test_times_of_an_unknown_zone_are_refused_with_their_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"w": pa.array([0, 1], pa.timestamp("s", "Mars/Olympus"))}), path)
    for read in (read_table, open_stream):
        with pytest.raises(EngineError, match="column 'w' has times of a zone that this computer does not know"):
            read(path)
