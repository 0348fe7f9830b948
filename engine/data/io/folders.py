"""Folders of parts that are read into memory: the table that one file with all their records would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import NoRecords
from engine.common.raw_values import smallest
from engine.data.io.arrow_columns import typed_values, with_type
from engine.data.io.chunks import join_chunks
from engine.data.io.growing_values import encoded
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable

if TYPE_CHECKING:
    import pyarrow as pa


def read_folder(stream: RecordStream) -> RawTable:
    """All records of the files of a source in memory, part after part.

    Raises :class:`EngineError` for damaged files, for those that change meanwhile and for a source without records.
    """
    chunks: dict[str, list[tuple[pa.Array, np.ndarray]]] = {name: [] for name in stream.names}
    types = dict(zip(stream.names, stream.parts[0].types, strict=False))  # none of CSV
    n_records = 0
    for arrays, n in stream.arrays(stream.names):
        n_records += n
        for name, column_chunks in chunks.items():
            array = arrays[name]
            if name in types:  # a dictionary of a Parquet file may hold values that do not occur, in any order
                array = typed_values(with_type(array, types[name]))
            values, indices = encoded(stream.source, name, array)
            column_chunks.append((values, smallest(indices, len(values))))
    if not n_records:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    # popping frees a column's chunks as soon as it is joined
    columns = {name: join_chunks(name, chunks.pop(name)) for name in stream.names}
    return RawTable(columns, n_records, stream.source)
