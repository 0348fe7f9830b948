"""Sources that are read into memory, and those that are read by streaming: too large ones, and those asked for."""

from __future__ import annotations

from pathlib import Path

from engine.common.errors import UsageError
from engine.common.os_support import arrow_file, expanded
from engine.data.io.folders import read_folder
from engine.data.io.parts import STREAMED
from engine.data.io.stream import RecordStream, open_stream
from engine.data.microdata import RawTable
from engine.plan import Plan, samples

MOST_RECORDS = 20_000_000
"""Records of a Parquet file, or of a folder of such files, beyond which they are read by streaming."""
MOST_VALUES = 1_000_000_000
"""Their values, and the bytes of a CSV file or of a folder of such files, beyond which they are."""


def open_source(text: str, stream: bool | None = None) -> tuple[RawTable | RecordStream, Plan | None]:
    """Records of a sample by its name, with its plan, or of a file or a folder by its path, without one.

    ``stream`` says whether to read by streaming, None that large ones are (:data:`MOST_RECORDS`,
    :data:`MOST_VALUES`).  What cannot be read so is a :class:`UsageError`.
    """
    if text in samples.names() or not (path := expanded(text)).exists():
        if stream:
            raise UsageError(f"'{text}' is no file or folder, so it cannot be read by streaming")
        return samples.open_data(text)
    if path.is_dir():
        source = open_stream(path)
        return (source if stream or (stream is None and _is_large_source(source)) else read_folder(source)), None
    if stream and path.suffix.lower() not in STREAMED:
        raise UsageError(f"file '{path.name}' cannot be read by streaming; export it as {STREAMED[0]} or {STREAMED[2]}")
    return (open_stream(path), None) if stream or (stream is None and is_large(path)) else samples.open_data(text)


def open_records(text: str) -> tuple[RawTable, Plan | None]:
    """The same, all records in memory whatever their number."""
    source, plan = open_source(text, False)
    assert isinstance(source, RawTable)
    return source, plan


def _is_large_source(source: RecordStream) -> bool:
    n_records, n_columns = source.n_records, len(source.names)
    if n_records is None:
        return source.n_bytes > MOST_VALUES
    return n_records > MOST_RECORDS or n_records * n_columns > MOST_VALUES


def is_large(path: Path) -> bool:
    """Return whether a file holds so much that it is read by streaming unless somebody says otherwise."""
    if path.suffix.lower() not in STREAMED:
        return False
    size = path.stat().st_size
    if path.suffix.lower() != ".parquet":
        return size > MOST_VALUES
    if size < MOST_RECORDS // 1000:  # a thousand records take more than a byte
        return False
    return _is_large_parquet(path)


def _is_large_parquet(path: Path) -> bool:
    from pyarrow import parquet

    from engine.data.io.readers import parquet_errors

    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        n_records, n_columns = file.metadata.num_rows, file.metadata.num_columns
    return bool(n_records > MOST_RECORDS or n_records * n_columns > MOST_VALUES)
