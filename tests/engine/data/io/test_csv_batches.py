"""Tests of batches of CSV files: the same values whatever the size of blocks."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import time
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.io import readers
from engine.data.io import readers as module
from engine.data.io import stream as parts
from engine.data.io.readers import Quotes, csv_batches, read_table
from engine.data.io.stream import open_stream

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
