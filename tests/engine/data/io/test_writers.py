"""Files are written without traces and read back before they get their name."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.common.wording import has_hidden_signs, is_blank
from engine.data.io import writers
from engine.data.io import writers as read_back
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import RawTable
from tests import forked


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


def test_bytes_of_one_length_are_hexadecimal_whatever_they_are(tmp_path: Path) -> None:
    values = pa.array([b"ab", b"\xff\x00"], pa.binary(2))
    for i in range(2):
        assert len(write_csv(tmp_path / "a.csv", {"x": values.slice(i, 1)})) == 1
        assert (tmp_path / "a.csv").read_text() == f"x\n{values[i].as_py().hex()}\n"


def test_a_text_with_a_zero_byte_is_in_no_csv_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="column 'x' has texts with a zero byte"):
        write_csv(tmp_path / "a.csv", {"x": pa.array(["a", "b\0c"])})
    assert write_parquet(tmp_path / "a.parquet", {"x": pa.array(["a", "b\0c"])}) == ()


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


DRAW = np.random.default_rng(5)
COLUMNS = {
    "number": pa.array(DRAW.normal(size=3000)),
    "whole": pa.array(DRAW.integers(0, 9, 3000)),
    "text": pa.array(DRAW.choice(["x", "yé", ""], 3000)),
}
LABELLED: dict[str, tuple[Callable[..., Any], str]] = {
    "sav": (write_sav, "write_sav"),
    "dta": (write_dta, "write_dta"),
}
FORMS = ("csv", "parquet", *LABELLED)


def limited(folder: Path, form: str, size: int) -> subprocess.CompletedProcess[str]:
    """The command that writes a sample, no file of which may grow beyond ``size`` bytes."""
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}));"
        "from engine.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["datasets", "write", "czech", "--to", str(folder / f"c.{form}")]
    return forked.run(["-c", code, *arguments])


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows cannot limit the sizes of files; run the tests on Linux or macOS"
)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [0, 700, 30_000])
def test_a_limit_on_the_size_of_files_leaves_nothing(tmp_path: Path, form: str, size: int) -> None:
    """As a full disk does, of which labelled files said nothing."""
    ran = limited(tmp_path, form, size)
    if (form, size) == ("parquet", 30_000):
        assert ran.returncode == 0 and read_table(tmp_path / "c.parquet").n_records == 1841
        return
    assert ran.returncode == 1, ran.stdout
    assert ran.stderr.startswith("frontier: ") and f"'c.{form}'" in ran.stderr and "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", LABELLED)
@pytest.mark.parametrize("kept", [0, 80, 4000, -80, -1])
def test_a_library_that_writes_less_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, kept: int
) -> None:
    write, name = LABELLED[form]
    library = getattr(pyreadstat, name)

    def cut(frame: Any, path: str, **options: Any) -> None:
        library(frame, path, **options)
        content = Path(path).read_bytes()
        Path(path).write_bytes(content[:kept])

    monkeypatch.setattr(pyreadstat, name, cut)
    with pytest.raises(EngineError, match=rf"a\.{form}'? (could not be written|is cut short|has a header)"):
        write(tmp_path / f"a.{form}", COLUMNS)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("form", LABELLED)
def test_a_library_that_writes_other_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    write, name = LABELLED[form]
    library = getattr(pyreadstat, name)
    less: list[Any] = [lambda f: f.iloc[:-1], lambda f: f.iloc[::-1], lambda f: f.drop(columns="whole")]
    for change in less:
        monkeypatch.setattr(pyreadstat, name, lambda frame, path, _c=change, **o: library(_c(frame), path, **o))
        with pytest.raises(EngineError, match=rf"a\.{form}"):
            write(tmp_path / f"a.{form}", COLUMNS)
        assert not list(tmp_path.iterdir())


def test_a_csv_that_does_not_hold_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = read_back.check_bytes

    def cut(part: Path, file: str, sha256: bytes) -> None:
        part.write_bytes(part.read_bytes()[:-3])
        check(part, file, sha256)

    monkeypatch.setattr(writers, "check_bytes", cut)
    with pytest.raises(EngineError, match=r"file 'a\.csv' could not be written whole"):
        write_csv(tmp_path / "a.csv", COLUMNS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spoil", ["cut", "records", "values", "names"])
def test_a_parquet_file_that_holds_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str) -> None:
    check = read_back.check_parquet

    def spoilt(part: Path, file: str, columns: Any) -> None:
        other = dict(COLUMNS)
        if spoil == "cut":
            part.write_bytes(part.read_bytes()[:-3])
        elif spoil == "records":
            parquet.write_table(pa.table({name: values[:-1] for name, values in other.items()}), part)
        elif spoil == "values":
            parquet.write_table(pa.table(other | {"whole": pa.array(other["whole"].to_pylist()[::-1])}), part)
        else:
            parquet.write_table(pa.table(other).rename_columns(["number", "text", "whole"]), part)
        check(part, file, columns)

    monkeypatch.setattr(writers, "check_parquet", spoilt)
    with pytest.raises(EngineError, match=r"file 'a\.parquet' could not be written whole"):
        write_parquet(tmp_path / "a.parquet", COLUMNS)
    assert not list(tmp_path.iterdir())


def test_a_parquet_file_of_all_types_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "ROW_GROUP", 2)
    columns = {
        "nan": pa.array([float("nan"), -0.0, 0.0, None]),
        "small": pa.array([1.5, float("nan"), None, 2], pa.float32()),
        "coded": pa.array(["a", None, "b", "a"]).dictionary_encode(),
        "large": pa.array(["a", None, "b", "a"], pa.large_string()),
        "none": pa.nulls(4),
        "time": pa.array([1, None, 3, 4], pa.timestamp("s")),
        "day": pa.array([1, None, 3, 4], pa.date32()),
        "raw": pa.array([b"x", None, b"", b"z"]),
        "chunks": pa.chunked_array([["a"], ["b", "c", None]]),
        "dot.ted": pa.array([True, False, None, True]),
    }
    write_parquet(tmp_path / "a.parquet", columns)
    assert parquet.read_metadata(tmp_path / "a.parquet").num_rows == 4


@pytest.mark.parametrize(
    ("form", "values", "said"),
    [
        ("sav", ["a\0b", "c"], r"column 'x' reads back from a\.sav with other values"),
        ("dta", ["a\0b", "c"], r"column 'x' reads back from a\.dta with other values"),
    ],
)
def test_what_a_format_would_alter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, values: list[Any], said: str
) -> None:
    monkeypatch.setattr("engine.data.io.encoded_column.refuse_zero_bytes", lambda *_: None)
    with pytest.raises(EngineError, match=said):
        LABELLED[form][0](tmp_path / f"a.{form}", {"x": pa.array(values)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_keeps_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"before")
    write = {"csv": write_csv, "parquet": write_parquet, **{f: w for f, (w, _) in LABELLED.items()}}[form]

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "hidden")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EngineError, match=rf"'({path.name})' could not be written: the disk is full"):
        write(path, COLUMNS)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
