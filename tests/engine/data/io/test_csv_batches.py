"""Tests of batches of CSV files: the same values whatever the size of blocks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from engine.data.io import csv_batches as module
from engine.data.io import parts, readers
from engine.data.io.csv_batches import csv_batches
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream

BLOCK = 64


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
        with module._WholeLineEnds(path) as file:
            reads = list(iter(lambda file=file, size=size: file.read(size), b""))  # type: ignore[misc]
        assert b"".join(reads) == content
        assert all(len(read) <= size for read in reads)
        assert not any(a.endswith(b"\r") and b.startswith(b"\n") for a, b in pairwise(reads))
