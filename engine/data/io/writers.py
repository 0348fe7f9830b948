"""Write released columns as CSV and Parquet: no index, no traces of tools, equal bytes for equal columns.

CSV holds text exactly as it was read, quoted only where it must be; a null is empty.  Parquet is written without the
schema copies and library metadata that could carry an original's traces; ``created_by`` alone is forced by the library.
Arrow's description of the types is written where columns have time zones or are spans of time, unknown to Parquet.
Labels of columns stand in its description.  A file is written aside, read back value by value and only then given its
name: one that holds anything else than what was to be written is an :class:`EngineError` and is removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import FULL, arrow_file, aside, is_full
from engine.common.raw_values import as_text, is_number
from engine.data.io.arrow_columns import (
    clock_times,
    merged_note,
    one_array,
    one_length,
    plain_values,
    refuse_zero_bytes,
    value_notes,
)
from engine.data.io.checks import refuse_cut
from engine.data.io.encoded_column import EncodedColumn, Form
from engine.data.microdata import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa


_CELLS = 2_000_000  # values read at a time


def not_whole(temporary: Path, file: str, problem: str) -> EngineError:
    """The error for a ``file`` that was not written whole, with the ``problem`` that shows it."""
    if is_full(temporary.parent):
        return EngineError(f"file '{file}' could not be written: {FULL}; free some space and try again")
    return EngineError(
        f"file '{file}' could not be written whole: {problem}; the size of files may be limited. Nothing was kept; try "
        "again"
    )


def check_bytes(temporary: Path, file: str, sha256: bytes) -> None:
    """Refuse a file that does not hold exactly the bytes of this digest."""
    with temporary.open("rb") as back:
        if hashlib.file_digest(back, "sha256").digest() != sha256:
            raise not_whole(temporary, file, "it does not hold the bytes that were written")


def check_parquet(temporary: Path, file: str, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
    """Refuse a Parquet file whose columns, read back group by group, are not ``columns`` to the bit."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with arrow_file(temporary) as source, parquet.ParquetFile(source) as back:
            n_records = len(next(iter(columns.values())))
            if back.metadata.num_rows != n_records or back.schema_arrow.names != list(columns):
                raise not_whole(temporary, file, f"it holds {back.metadata.num_rows:,} of {n_records:,} records")
            start = 0
            for group in range(back.num_row_groups):
                table = back.read_row_group(group)
                for (name, values), got in zip(columns.items(), table.columns, strict=True):
                    if not _same_bits(values.slice(start, len(got)), got):
                        raise not_whole(temporary, file, f"column '{name}' reads back differently")
                start += table.num_rows
    except pa.ArrowException:
        raise not_whole(temporary, file, "it cannot be read back") from None


def _same_bits(written: pa.Array | pa.ChunkedArray, read: pa.ChunkedArray) -> bool:
    """Return whether values are the same to the bit or, where the file has them in another type, as text."""
    import pyarrow as pa

    a, b = one_array(plain_values(written)), one_array(read)
    if pa.types.is_large_string(a.type) and pa.types.is_string(b.type):
        a = a.cast(b.type)
    if not a.type.equals(b.type):
        return a.is_null().equals(b.is_null()) and _text_of(a) == _text_of(b)
    if pa.types.is_floating(a.type):  # a NaN equals no other, its bits do
        integers = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[a.type.bit_width]
        a, b = a.view(integers), b.view(integers)
    return bool(a.equals(b))


def _text_of(values: pa.Array) -> list[str]:
    import pyarrow as pa

    coded = values.dictionary_encode()
    texts = _original_texts(coded.dictionary)
    texts = [_short_time(text) for text in texts] if pa.types.is_time(values.type) else texts
    return [texts[code] for code in coded.indices.drop_null().to_pylist()]


def check_labelled(
    temporary: Path,
    file: str,
    form: Form,
    encoded: Sequence[EncodedColumn],
    originals: Mapping[str, pa.Array | pa.ChunkedArray],
) -> tuple[str, ...]:
    """Refuse a file of the form "sav" or "dta" that does not hold ``encoded``, or says other values than the
    ``originals`` do as text; returns a note for each column of which it has different values as one.

    Blanks at the end of a text are no part of it in SPSS.
    """
    import pyreadstat

    read: Any = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[form]
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True, "user_missing": True}
    columns = {h.name: h.values for h in encoded}
    n_records = len(encoded[0].values)
    rows = max(1000, _CELLS // len(columns))
    refuse_cut(temporary, f".{form}", name=file)
    for start in range(0, max(n_records, 1), rows):
        try:
            chunk = read(str(temporary), row_offset=start, row_limit=rows, **options)[0]
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
            raise not_whole(temporary, file, "it cannot be read back") from None
        if list(chunk) != list(columns):
            raise not_whole(temporary, file, f"it holds {len(chunk):,} of {len(columns):,} columns")
        for h in encoded:
            written, got = h.values[start : start + rows], chunk[h.name]
            if len(got) != len(written):
                raise not_whole(temporary, file, f"it holds {start + len(got):,} of {n_records:,} records")
            original = one_array(plain_values(originals[h.column].slice(start, rows)))
            if not (_same_values(written, got, form) and _same_text(original, got, h, form)):
                raise EngineError(
                    f"column '{h.column}' reads back from {file} with other values than were written, so the format "
                    "cannot hold it; leave the column out or release it as CSV or Parquet"
                )
    return tuple(note for h in encoded for note in merged_note(h.column, originals[h.column], _held(h, form), file))


def _held(h: EncodedColumn, form: Form) -> pa.Array:
    """The values of a column as a program shows them, numbers and special missings as text where both occur."""
    import pyarrow as pa

    if h.values.dtype != object:
        return pa.array(h.values)
    return pa.array([str(value).rstrip(" " if form == "sav" else "") for value in h.values if value == value])


def _same_values(written: np.ndarray, read: list[Any], form: Form) -> bool:
    if written.dtype != object:
        return np.array_equal(written.astype(np.float64), np.array(read, np.float64), equal_nan=True)
    if any(isinstance(value, float) for value in written):  # numbers among special missings
        return all(a == b or (a != a and (b is None or b != b)) for a, b in zip(written, read, strict=True))
    ends = None if form == "dta" else " "
    return all(a.rstrip(ends) == b.rstrip(ends) if ends else a == b for a, b in zip(written, read, strict=True))


def _same_text(original: pa.Array, read: list[Any], h: EncodedColumn, form: Form) -> bool:
    """Return whether what a file holds is what the original's values are as text: a time zone is left out, a null and
    an empty text are both empty, and whole and floating-point numbers are compared as they are."""
    import pyarrow as pa

    if pa.types.is_floating(original.type) or pa.types.is_integer(original.type):
        numbers, kind = np.array(read, np.float64), original.type.to_pandas_dtype()
        known = ~np.isnan(numbers)
        whole = original.drop_null().to_numpy(zero_copy_only=False)
        return bool(np.array_equal(numbers[known].astype(kind), whole[whole == whole]))
    coded = original.dictionary_encode()
    texts = ["", *_original_texts(coded.dictionary)]
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    distinct: list[Any]
    if h.is_text or h.tags:
        held = ["" if value is None or value != value else value for value in read]
        place = {value: i for i, value in enumerate(dict.fromkeys(held))}
        distinct, places = list(place), np.array([place[value] for value in held], np.int64)
    else:
        found, places = np.unique(np.array(read, np.float64), return_inverse=True)
        distinct = found.tolist()
    pairs = set((codes * len(distinct) + places).tolist())
    return all(_says(distinct[pair % len(distinct)], texts[pair // len(distinct)], h, form) for pair in pairs)


def _original_texts(values: pa.Array) -> list[str]:
    import pyarrow as pa

    if pa.types.is_boolean(values.type):
        return ["1" if value else "0" for value in values.to_pylist()]
    if pa.types.is_timestamp(values.type):
        return [_short_time(text) for text in as_text(clock_times(values)).to_pylist()]
    return list(as_text(values).to_pylist())


def _short_time(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _says(held: Any, text: str, h: EncodedColumn, form: Form) -> bool:
    """Return whether a value of a file says this text of the original."""
    if isinstance(held, str):
        if h.is_text:
            return held == text if form == "dta" else held.rstrip(" ") == text.rstrip(" ")
        return text == (held and f".{held}")
    if held != held:
        return text == ""
    if not h.counts:
        return is_number(text) and Decimal(text.strip()) == Decimal(repr(held))
    start = datetime(1582, 10, 14) if form == "sav" else datetime(1960, 1, 1)
    if h.counts == "days":
        moment = start + (timedelta(seconds=held) if form == "sav" else timedelta(days=held))
        return text == moment.date().isoformat()
    moment = start + timedelta(milliseconds=held if form == "dta" else round(held * 1000))
    return text == _short_time(moment.isoformat(" ", "microseconds"))


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
    notes: list[str] = []
    for name, values in columns.items():
        notes += value_notes(name, values, file, has_zones=True)
        notes += merged_note(name, values, as_text(one_array(plain_values(values)).unique()), file)
    return tuple(notes)


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
    refuse_zero_bytes(name, texts)
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
