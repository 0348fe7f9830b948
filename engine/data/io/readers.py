"""Read CSV and Parquet files as dictionary-coded columns; :mod:`engine.data.io.statistical` reads the other formats.

CSV values stay the text they were ("007" and "1.50" survive an export) and are read in chunks, so memory is a small
multiple of the coded table and not of the file.  Of files both very wide and large, columns are read when they are
asked for (:mod:`engine.data.grouped_columns`), after a first look that sees whether the file can be read.  Messages
name the file, never its folder or a record's content.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError, NoRecords, UsageError
from engine.common.os_support import arrow_file
from engine.common.raw_values import index_codes, smallest
from engine.common.untrusted import kind_of
from engine.data.grouped_columns import GroupedColumns
from engine.data.io import sniff
from engine.data.io.chunks import check_names, join_chunks, names_in_file
from engine.data.io.csv_batches import csv_batches
from engine.data.io.reader_process import read_apart
from engine.data.io.reread import Reread, file_state
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa

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
    names, delimiter = sniff.header(path)
    check_names(path.name, names)
    grouped = len(names) > WIDE and before[0] > LARGE
    if grouped and not sniff.is_text(path):
        raise EngineError(sniff.diagnose(path, names, delimiter))
    block = max(_CHUNK_OF_GROUP, chunk_bytes(len(names)) // 4) if grouped else chunk_bytes(len(names))
    try:
        if grouped:
            columns = _some_of_csv(path, names[-1:], delimiter, block)
        else:
            columns = _csv_columns(path, names, delimiter, block)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise EngineError(sniff.diagnose(path, names, delimiter)) from None
    n_records = len(columns[0].codes)
    unclosed = n_records > 0 and ends_in_quotes(path, _last_text(columns[-1]), delimiter)
    if unclosed or any(holds_nul(column.values) for column in columns):
        raise EngineError(sniff.diagnose(path, names, delimiter))
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


def holds_nul(values: pa.Array) -> bool:
    """Return whether a text has a zero byte, as text in UTF-16 has; none of the texts is null.

    Read from the buffers themselves: Arrow's functions take longer to load than a small file to read.
    """
    import pyarrow as pa

    _, ends, text = values.buffers()
    if not len(values) or text is None:
        return False
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    bounds = np.frombuffer(ends, kind, len(values) + 1, values.offset * np.dtype(kind).itemsize)
    return not np.frombuffer(text, np.uint8)[bounds[0] : bounds[-1]].all()


def _last_text(column: RawColumn) -> str:
    text: str = column.values[int(column.codes[-1])].as_py()
    return text


def ends_in_quotes(path: Path, last: str, delimiter: str) -> bool:
    """Return whether the quote of the ``last`` field is never closed: then it may hold many records, and the reader
    says nothing."""
    end = ('"' + last.replace('"', '""')).encode()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(end) - 1))
        tail = file.read()
    return tail[1:] == end and tail[:1] in (delimiter.encode(), b"\n", b"\r")


def _read_parquet(path: Path) -> RawTable:
    from pyarrow import parquet

    before = file_state(path)
    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        schema = file.schema_arrow
        names = schema.names
        check_names(path.name, names)
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


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn errors of the Parquet reader into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:  # a name may be no UTF-8
        if isinstance(error, OSError) and error.errno:
            raise
        raise EngineError(
            f"file '{path.name}' is no readable Parquet file (corrupt or cut short); write or copy it again"
        ) from None


def refuse_type(file: str, column: Any) -> None:
    """Refuse (:class:`EngineError`) a column of a schema that holds no plain values."""
    import pyarrow as pa

    arrow_type = column.type
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pa.types.is_nested(arrow_type) or isinstance(arrow_type, pa.BaseExtensionType):
        raise EngineError(
            f"file '{file}': column '{column.name}' has the type {type(arrow_type).__name__}, wanted are plain values "
            "(numbers, text, truth values, dates); flatten or leave it out"
        )


def _parquet_columns(file: str, source: Any, names: Sequence[str]) -> Iterator[tuple[str, RawColumn]]:
    import pyarrow as pa

    for name in names:
        values = source.read(columns=[name]).column(name)
        if pa.types.is_dictionary(values.type):
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
        yield name, RawColumn(name, coded.dictionary, smallest(indices, len(coded.dictionary)))
