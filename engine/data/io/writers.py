"""Write released columns as CSV and Parquet: no index, no traces of tools, equal bytes for equal columns.

CSV holds text exactly as it was read, quoted only where it must be; a null is empty.  Parquet is written without the
schema copies and library metadata that could carry an original's traces; ``created_by`` alone is forced by the library.
Arrow's description of the types is written where columns have time zones or are spans of time, unknown to Parquet.
Labels of columns stand in its description.  A file is written aside, read back and only then given its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from engine.common.errors import EngineError
from engine.common.os_support import arrow_file, aside
from engine.common.raw_values import as_text
from engine.data.io.arrow_columns import one_array, one_length, plain_values, value_notes
from engine.data.io.read_back import check_bytes, check_parquet
from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

LABELS = "column_labels"
"""Key of the labels in the description of a Parquet file: JSON by column, with "label", "measure", "values" and
"missing"."""
_ROWS = 1 << 18  # records turned into lines at a time
ROW_GROUP = 1 << 20
"""Records in a row group of Parquet."""
_SPECIAL = ',"\r\n'
_QUOTED = '[,"\\r\\n]'


def write_csv(path: str | Path, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> tuple[str, ...]:
    """Write equally long ``columns`` as UTF-8 CSV with a header, commas and ``\\n`` line ends; returns a note for each
    thing that the file says otherwise."""
    n_records, file = one_length(columns), Path(path).name
    with csv_file(path, list(columns)) as write:
        for start in range(0, n_records, _ROWS):
            write([values.slice(start, _ROWS) for values in columns.values()])
    return tuple(note for name, values in columns.items() for note in value_notes(name, values, file, has_zones=True))


@contextmanager
def csv_file(
    path: str | Path, names: Sequence[str]
) -> Iterator[Callable[[Sequence[pa.Array | pa.ChunkedArray]], None]]:
    """A new CSV file, as :func:`write_csv` writes it, and the function that writes its next records, column by
    column."""
    import pyarrow as pa

    # A lone empty value would be an empty line, which readers skip; quotes keep it a record.
    nothing = '""' if len(names) == 1 else ""
    ends = [","] * (len(names) - 1) + ["\n"]
    written = hashlib.sha256()
    with aside(path) as temporary:
        with temporary.open("wb") as file:

            def write_bytes(content: bytes | memoryview) -> None:
                file.write(content)
                written.update(content)

            def write(columns: Sequence[pa.Array | pa.ChunkedArray]) -> None:
                lines = [_lines(*each, nothing) for each in zip(names, columns, ends, strict=True)]
                write_bytes(_joined_lines(pa, lines))

            write_bytes((",".join(_header_text(name) for name in names) + "\n").encode())
            yield write
        check_bytes(temporary, Path(path).name, written.digest())


def _lines(name: str, values: pa.Array | pa.ChunkedArray, end: str, nothing: str) -> pa.Array:
    """Some records of a column as texts, quoted where needed and followed by ``end``; each distinct text is made
    once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = one_array(values)
    if not pa.types.is_dictionary(coded.type) or len(coded.dictionary) > len(coded):
        coded = one_array(plain_values(coded)).dictionary_encode()
    kind = pa.large_string()
    texts = as_text(coded.dictionary).cast(kind)
    if pa.types.is_temporal(coded.dictionary.type) and pc.any(pc.starts_with(texts, "<")).as_py():
        raise EngineError(f"column '{name}' has dates of no year that can be written as text; recode them first")
    special = pc.match_substring_regex(texts, _QUOTED)
    if pc.any(special).as_py():
        doubled = pc.replace_substring(texts, '"', '""')
        mark, between = pa.scalar('"', kind), pa.scalar("", kind)
        texts = pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, between), texts)
    if nothing:
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(nothing, kind), texts)
    lines = pa.concat_arrays([texts, pa.array([nothing], kind)])
    lines = pc.binary_join_element_wise(lines, pa.scalar(end, kind), pa.scalar("", kind))
    return pa.DictionaryArray.from_arrays(coded.indices.fill_null(len(texts)), lines).cast(kind)


def _joined_lines(pa: Any, columns: list[pa.Array]) -> memoryview:
    """The lines of some records: joined texts lie one after the other in the array's own buffer."""
    import pyarrow.compute as pc

    lines = pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string())) if len(columns) > 1 else columns[0]
    _, offsets, data = lines.buffers()
    ends = memoryview(offsets).cast("q")
    return memoryview(data)[ends[lines.offset] : ends[lines.offset + len(lines)]]


def _quoted(text: str, special: str) -> str:
    if any(sign in text for sign in special):
        return '"' + text.replace('"', '""') + '"'
    return text


def _header_text(name: str) -> str:
    # The header is also where a reader looks for the delimiter and for a byte order mark.
    return _quoted(name, _SPECIAL + ";\t|\ufeff")


def write_parquet(
    path: str | Path,
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
    labels: Mapping[str, ColumnLabels] | None = None,
) -> tuple[str, ...]:
    """Write equally long ``columns`` as Parquet, types kept; dictionary-coded columns are written as plain values.

    A stored dictionary could hold values that no record has any more, so none is taken over.  Returns a note for each
    column whose type some programs do not know.
    """
    import pyarrow as pa

    n_records, file = one_length(columns), Path(path).name
    types = {name: values.type for name, values in columns.items()}
    with parquet_file(path, types, lambda part: check_parquet(part, file, columns), labels or {}) as write:
        for start in range(0, max(n_records, 1), ROW_GROUP):
            write([values.slice(start, ROW_GROUP) for values in columns.values()])
    return tuple(
        f"'{name}' is of the type {kind}: programs that do not read Arrow's description in {file} show "
        f"{'numbers' if pa.types.is_duration(kind) else 'its times in UTC'}."
        for name, kind in _stored_types(types).items()
        if _needs_description(kind)
    )


def labels_json(names: Iterable[str], labels: Mapping[str, ColumnLabels]) -> str:
    """The labels of columns that have some, as the description of a Parquet file holds them; empty where none has."""
    known = {}
    for name in names:
        about = labels.get(name, NO_LABELS)
        entries = {
            "label": about.label,
            "measure": about.measure,
            "values": dict(about.values),
            "missing": [*about.missing, *about.written_ranges],
        }
        known[name] = {key: value for key, value in entries.items() if value}
    known = {name: entries for name, entries in known.items() if entries}
    return json.dumps(known, ensure_ascii=False) if known else ""


def _stored_types(types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The types of the columns of a Parquet file, which counts no seconds."""
    import pyarrow as pa

    plain = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in types.items()}
    return {
        name: pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "s" else kind
        for name, kind in plain.items()
    }


def _needs_description(kind: pa.DataType) -> bool:
    """Return whether a Parquet file alone does not tell a type: it has no time zones and no spans of time."""
    import pyarrow as pa

    zone = kind.tz if pa.types.is_timestamp(kind) else None
    return zone not in (None, "UTC") or pa.types.is_duration(kind)


@contextmanager
def parquet_file(
    path: str | Path,
    types: Mapping[str, pa.DataType],
    check: Callable[[Path], None] | None = None,
    labels: Mapping[str, ColumnLabels] = MappingProxyType({}),
) -> Iterator[Callable[[Sequence[pa.Array | pa.ChunkedArray]], None]]:
    """A new Parquet file, as :func:`write_parquet` writes it, and the function that writes its next row group, column
    by column; ``check`` reads the finished file back, before it gets its name, and refuses it where it is not what was
    to be written.  ``labels`` go into its description under :data:`LABELS`, as JSON."""
    import pyarrow as pa
    from pyarrow import parquet

    stored = _stored_types(types)
    schema = pa.schema(list(stored.items()))
    described = any(map(_needs_description, stored.values()))
    with aside(path) as temporary:
        written: dict[str, Any] = {"store_schema": described, "compression": "snappy", "version": "2.6"}
        with arrow_file(temporary, "wb") as sink, parquet.ParquetWriter(sink, schema, **written) as file:

            def write(columns: Sequence[pa.Array | pa.ChunkedArray]) -> None:
                arrays = []
                for (name, kind), values in zip(stored.items(), columns, strict=True):
                    try:
                        arrays.append(plain_values(values).cast(kind))
                    except pa.ArrowInvalid:
                        raise EngineError(
                            f"column '{name}' has times of no year that can be written; recode them first"
                        ) from None
                file.write_table(pa.table(arrays, schema=schema), row_group_size=ROW_GROUP)

            yield write
            if described_labels := labels_json(types, labels):
                file.add_key_value_metadata({LABELS: described_labels})
        if check is not None:
            check(temporary)
