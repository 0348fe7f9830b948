"""Read CSV and Parquet files as dictionary-coded columns; :mod:`engine.data.io.labelled_readers` reads other formats.

CSV values stay the text they were ("007" and "1.50" survive an export) and are read in chunks, so memory is a small
multiple of the coded table and not of the file.  Of files both very wide and large, columns are read when they are
asked for, after a first look that sees whether the file can be read.  Messages name the file, never its folder or a
record's content.
"""

from __future__ import annotations

import io
import os
import re
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np

from engine.common.errors import EngineError, NoRecords, UsageError
from engine.common.os_support import arrow_file
from engine.common.raw_values import index_codes, smallest, texts
from engine.common.untrusted import kind_of
from engine.common.wording import is_blank
from engine.data.io import checks
from engine.data.io.arrow_columns import join_chunks
from engine.data.io.checks import (
    Reread,
    ends_in_quotes,
    file_state,
    holds_nul,
    named_delimiter,
    names_in_file,
    parquet_errors,
    refuse_type,
    told_apart,
)
from engine.data.io.labelled_readers import read_apart
from engine.data.microdata import NO_LABELS, ColumnLabels, GroupedColumns, RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa


LONG_BLOCK = 256 << 20
"""Bytes of a block for records that are longer than the usual one."""
_PAUSE = 0.0005  # seconds between two looks whether Arrow's threads are done
_LONGEST = 10.0  # seconds; one read of a block takes less, on a slow network too


class _WholeLineEnds(io.FileIO):
    """A file of which no read ends on a ``\\r`` that a ``\\n`` follows.

    The Arrow reader takes a ``\\n`` at the beginning of a block for the end of a line that the block before ended, and
    drops it, although the two may stand in quotes and belong to a value.  It may still read ahead when its user is
    done: closing waits for such a read.

    ``lent`` has weak references to the file itself and to every block that somebody still uses.  ``quotes`` looks at
    the blocks; a line that names the delimiter, the first ``skipped`` bytes, is not read.
    """

    def __init__(self, path: Path, delimiter: str, skipped: int) -> None:
        self._reading = threading.Lock()
        super().__init__(path, "rb")
        self.seek(skipped)
        self.quotes = Quotes(delimiter)
        self.lent: list[ReferenceType[object]] = [ref(self)]

    def read(self, size: int | None = -1, /) -> memoryview:  # type: ignore[override]  # bytes bear no weak reference
        """At most ``size`` bytes, which are to be two at least; empty at the end of the file."""
        with self._reading:
            content = self._whole(-1 if size is None or size < 0 else size - 1)
            self.quotes.look_at(content)
            block = memoryview(content)
            self.lent[:] = [*(one for one in self.lent if one() is not None), ref(block)]
            return block

    def _whole(self, size: int) -> bytes:
        content = super().read(size)
        if content.endswith(b"\r"):
            following = super().read(1)
            if following == b"\n":
                return content + following
            self.seek(-len(following), os.SEEK_CUR)
        return content

    def close(self) -> None:
        """Close the file."""
        with self._reading:
            super().close()


class Quotes:
    """A look for quoted values with text behind their closing quote, which the Arrow reader would join to them.

    Quotes stand at both ends of a value, as in ``2,"y"``; ``2,"y"z`` is none, and in ``screen 15"`` a quote is a sign
    like others.
    """

    def __init__(self, delimiter: str) -> None:
        ends = re.escape(delimiter.encode()) + rb"\r\n"
        # No possessive groups: before Python 3.11.5 they match less than they should (gh-106052).
        quoted = rb'(?<![^%s])"[^"]*(?:""[^"]*)*"(?=[%s])' % (ends, ends)
        self._fine = re.compile(rb'(?:[^"]+|%s|(?<=[^%s])")*' % (quoted, ends))
        self._closed = re.compile(rb'"[^"]*(?:""[^"]*)*"(?!")')
        self._beside = np.zeros(256, bool)  # what may stand beside a quote that opens or closes
        self._beside[np.frombuffer(delimiter.encode() + b'\r\n"', np.uint8)] = True
        self._rest, self._before = b"", b"\n"
        self.text_behind = False

    def look_at(self, block: bytes) -> None:
        """Look at the next bytes of a file; none at its end."""
        if self.text_behind or not (self._rest or b'"' in block):
            self._before = block[-1:] or self._before
            return
        text = self._before + self._rest + (block or b"\n")
        end = self._end_of_whole_values(text)
        if end < 0:  # a quote stands within a value without quotes, or text behind one that closes
            matched = self._fine.match(text, 1)
            end = matched.end() if matched else 1
            # a value whose quote may end in the next block is looked at with that
            closed = self._closed.match(text, end)
            self.text_behind = closed is not None and closed.end() < len(text)
        self._before, self._rest = text[end - 1 : end], text[end:]

    def _end_of_whole_values(self, text: bytes) -> int:
        """The end of what needs no second look: of the text, or of the part before a quoted value that it cuts; -1
        where a quote does not open or close a value, or follows another one."""
        signs = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(signs[1:] == ord('"')) + 1  # the first sign was looked at before
        if len(quotes) and signs[quotes[0] - 1] == ord('"'):
            return -1
        opening, closing = quotes[::2], quotes[1::2]
        cut = len(quotes) > 0 and (len(quotes) % 2 == 1 or int(quotes[-1]) == len(text) - 1)
        behind = closing[:-1] if cut and len(quotes) % 2 == 0 else closing
        if not (self._beside[signs[opening - 1]].all() and self._beside[signs[behind + 1]].all()):
            return -1
        return int(opening[signs[opening - 1] != ord('"')][-1]) if cut else len(text)


def csv_batches(
    path: Path, names: Sequence[str], delimiter: str, block_size: int, only_these: Sequence[str] | None = None
) -> Generator[pa.RecordBatch]:
    """The columns of a CSV file, or those to read of them, each dictionary-coded text, in batches of records.

    ``names`` are all columns of the file or those asked for.  Blocks have ``block_size`` bytes, and :data:`LONG_BLOCK`
    from the first record on that is longer than one.  A file without records has no batches.
    """
    import pyarrow as pa

    n_records = 0
    try:
        for batch in _batches(path, names, delimiter, block_size, only_these):
            n_records += batch.num_rows
            yield batch
        return
    except pa.ArrowInvalid as error:
        # The message quotes the record, so it is only looked at here, never shown.
        if "straddl" not in str(error) or block_size >= LONG_BLOCK:
            raise
    for batch in _batches(path, names, delimiter, LONG_BLOCK, only_these):
        rest = batch.slice(n_records)
        n_records -= batch.num_rows - rest.num_rows
        if rest.num_rows:
            yield rest


def _batches(
    path: Path, names: Sequence[str], delimiter: str, block_size: int, only_these: Sequence[str] | None
) -> Generator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    wanted, text = list(names if only_these is None else only_these), pa.dictionary(pa.int32(), pa.string())
    header: dict[str, Any] = {}
    of_file, _ = checks.header(path)
    if any(is_blank(name) or name.endswith("\0") for name in of_file):  # several may be equal, which Arrow mixes up
        header = {"column_names": of_file, "skip_rows_after_names": 1}
    options = {
        "read_options": csv.ReadOptions(block_size=block_size, **header),
        "parse_options": csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(names, text),
            include_columns=None if only_these is None else wanted,
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    }
    source, reader = _WholeLineEnds(path, delimiter, named_delimiter(path)[1]), None
    lent = source.lent
    try:
        try:
            reader = csv.open_csv(source, **options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
        if reader.schema.names != wanted:
            raise pa.ArrowInvalid("header read differently")
        yield from reader
        if source.quotes.text_behind:
            raise pa.ArrowInvalid("text behind a quote")
    except BaseException as error:
        clear_frames(error.__traceback__)  # one in which reading failed would hold the file until the error is handled
        raise
    finally:
        if reader is not None:
            reader.close()
        source.close()
        del source, reader
        _wait_until_free(lent)


def _wait_until_free(lent: Sequence[ReferenceType[object]]) -> None:
    """Wait until Arrow's threads use none of these objects of Python any more.

    They free the last ones by themselves, after the last batch.  A thread outside of Python that asks for Python while
    the process ends is ended by Python in the midst of it, and that aborts the process, whatever it has done before.
    """
    until = time.monotonic() + _LONGEST
    while any(one() is not None for one in lent) and time.monotonic() < until:
        time.sleep(_PAUSE)


STATISTICAL = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
"""SPSS, Stata and SAS, which bring labels."""
EXTENSIONS = (".csv", ".tsv", ".parquet", *STATISTICAL)
_CHUNK = 4 << 20
_CHUNK_OF_COLUMN = 1 << 10  # so that the parts of very many columns are not mostly what surrounds them
_MOST_CHUNK = 32 << 20
_CHUNK_OF_GROUP = 3 << 20
_TOGETHER = 8  # chunks
WIDE = 2048
"""Columns of a file beyond which they are read when they are asked for, if it is large."""
LARGE = 1 << 24
"""Bytes of such a CSV file, or cells of such a Parquet file."""


def read_table(path_or_name: str | Path, clean_names: bool = False) -> RawTable:
    """The records of a file ending in one of :data:`EXTENSIONS`; ``clean_names`` replaces names that no format holds.

    A path of nothing is a :class:`UsageError`; a file of another kind, or one that is empty, ragged, not UTF-8 or
    corrupt, is an :class:`EngineError` that names the line where it can.
    """
    path, began = Path(path_or_name), time.perf_counter()
    extension = path.suffix.lower()
    if path.is_dir():
        raise EngineError(f"'{path.name}' is a folder; give a file ending in {_alternatives(EXTENSIONS)}")
    if not path.exists():
        raise UsageError(f"file '{path.name}' does not exist; check the spelling and the folder")
    if extension not in EXTENSIONS:
        described = f"'{extension}'" if extension else "no extension"
        raise EngineError(
            f"file '{path.name}' has {described}, supported are {_alternatives(EXTENSIONS)}; export it as one of these"
        )
    try:
        if kind := kind_of(path, follow=True):
            raise EngineError(f"'{path.name}' is {kind}; give a file, whose end can be known")
        if path.stat().st_size == 0:
            raise EngineError(f"file '{path.name}' is empty; it needs a header line and records")
        if extension in STATISTICAL:
            table = read_apart(path)
        else:
            table = _read_parquet(path) if extension == ".parquet" else _read_csv(path)
        stored = names_in_file(f"file '{path.name}'", table.names, clean_names)
        return replace(with_names(table, stored), read_seconds=time.perf_counter() - began)
    except OSError as error:
        raise EngineError(
            f"file '{path.name}' could not be read: {error.strerror or 'input or output failed'}"
        ) from None


def with_names(table: RawTable, stored: Mapping[str, str]) -> RawTable:
    """The table with other names of columns, each given with the one that it has."""
    if all(name == old for name, old in stored.items()):
        return table
    if isinstance(table.columns, GroupedColumns):
        return replace(table, columns=table.columns.renamed(stored))
    return replace(table, columns={name: replace(table.columns[old], name=name) for name, old in stored.items()})


def _alternatives(options: tuple[str, ...]) -> str:
    return f"{', '.join(options[:-1])} or {options[-1]}"


def chunk_bytes(n_columns: int) -> int:
    """Bytes of a chunk of a file with so many columns."""
    return min(_MOST_CHUNK, max(_CHUNK, _CHUNK_OF_COLUMN * n_columns))


def _read_csv(path: Path) -> RawTable:
    import pyarrow as pa

    before = file_state(path)
    names, delimiter = checks.header(path)
    grouped = len(names) > WIDE and before[0] > LARGE
    if grouped and not checks.is_text(path):
        raise EngineError(checks.diagnose(path, names, delimiter))
    block = max(_CHUNK_OF_GROUP, chunk_bytes(len(names)) // 4) if grouped else chunk_bytes(len(names))
    try:
        if grouped:
            columns = _some_of_csv(path, names[-1:], delimiter, block)
        else:
            columns = _csv_columns(path, names, delimiter, block)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise EngineError(checks.diagnose(path, names, delimiter)) from None
    n_records = len(columns[0].codes)
    unclosed = n_records > 0 and ends_in_quotes(path, _last_text(columns[-1]), delimiter)
    if unclosed or any(holds_nul(column.values) for column in columns):
        raise EngineError(checks.diagnose(path, names, delimiter))
    if n_records == 0:
        raise NoRecords(f"file '{path.name}' has a header but no records; it needs at least one line below the header")
    if grouped:
        reread = Reread(path.absolute(), before, partial(_some_of_csv, delimiter=delimiter, chunk_size=block))
        return RawTable(GroupedColumns(names, reread), n_records, path.name)
    return RawTable({column.name: column for column in columns}, n_records, path.name)


def _csv_columns(path: Path, names: list[str], delimiter: str, chunk_size: int) -> list[RawColumn]:
    chunks: deque[list[tuple[pa.Array, np.ndarray]]] = deque([] for _ in names)
    for batch in csv_batches(path, names, delimiter, chunk_size):
        for column_chunks, column in zip(chunks, batch.columns, strict=True):
            column_chunks.append((column.dictionary, smallest(index_codes(column.indices), len(column.dictionary))))
    # A column's chunks are freed as soon as it is joined.
    return [join_chunks(name, chunks.popleft()) for name in names]


def _some_of_csv(path: Path, names: Sequence[str], delimiter: str, chunk_size: int) -> list[RawColumn]:
    """A few of many columns, joined over several chunks at once: work for each column in each chunk takes most time."""
    import pyarrow as pa

    chunks: deque[list[tuple[pa.Array, np.ndarray]]] = deque([] for _ in names)
    reader = csv_batches(path, names, delimiter, chunk_size, names)
    while batches := list(islice(reader, _TOGETHER)):
        for column_chunks, column in zip(chunks, pa.Table.from_batches(batches).columns, strict=True):
            coded = column.unify_dictionaries().combine_chunks()
            column_chunks.append((coded.dictionary, smallest(index_codes(coded.indices), len(coded.dictionary))))
    columns = [join_chunks(name, chunks.popleft()) for name in names]
    pa.default_memory_pool().release_unused()
    return columns


def _last_text(column: RawColumn) -> str:
    text: str = column.values[int(column.codes[-1])].as_py()
    return text


def _read_parquet(path: Path) -> RawTable:
    from pyarrow import parquet

    before = file_state(path)
    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        schema = file.schema_arrow
        names = told_apart(schema.names)
        if file.metadata.num_rows == 0:
            raise NoRecords(f"file '{path.name}' has columns but no records")
        if not names:
            raise EngineError(f"file '{path.name}' has no columns")
        for column in schema:
            refuse_type(path.name, column)
        n_records = file.metadata.num_rows
        if len(names) > WIDE and n_records * len(names) > LARGE:
            reread = Reread(path.absolute(), before, _some_of_parquet)
            return RawTable(GroupedColumns(names, reread), n_records, path.name)
        return RawTable(dict(_parquet_columns(path.name, file, names)), n_records, path.name)


def _some_of_parquet(path: Path, names: Sequence[str]) -> list[RawColumn]:
    from pyarrow import parquet

    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        return [column for _, column in _parquet_columns(path.name, file, names)]


def _parquet_columns(file: str, source: Any, names: Sequence[str]) -> Iterator[tuple[str, RawColumn]]:
    import pyarrow as pa

    places = {name: place for place, name in enumerate(told_apart(source.schema_arrow.names))}
    for name in names:
        values = source.reader.read_all(column_indices=[places[name]]).column(0)
        about = NO_LABELS
        if pa.types.is_dictionary(values.type):
            if values.type.ordered and values.num_chunks:
                about = ColumnLabels(order=tuple(texts(values.chunk(0).dictionary)))
            # A stored dictionary may hold unused or repeated values; only those that occur count.
            values = values.cast(values.type.value_type)
        if pa.types.is_null(values.type):
            yield name, RawColumn(name, pa.array([], pa.string()), np.full(len(values), -1, dtype=np.int8))
            continue
        try:
            coded = values.combine_chunks().dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise EngineError(
                f"file '{file}': column '{name}' has the unsupported type {values.type}; store it as text or number"
            ) from None
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        if len(coded) != source.metadata.num_rows:
            raise pa.ArrowInvalid("a column of another length")
        coded.dictionary.validate(full=True)
        indices = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        yield name, RawColumn(name, coded.dictionary, smallest(indices, len(coded.dictionary)), about)
