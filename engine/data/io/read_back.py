"""Read back a written file, value by value and in chunks, before it gets its name.

The library that writes labelled files does not notice a full disk or a limit on the size of files.  A file that holds
anything else than what was to be written is an :class:`EngineError`, and is removed by whoever wrote it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import FULL, arrow_file, is_full
from engine.common.raw_values import as_text, is_number
from engine.data.io.arrow_columns import clock_times, one_array, plain_values
from engine.data.io.column_names import Form
from engine.data.io.encoded_column import EncodedColumn
from engine.data.io.truncation import refuse_cut

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
) -> None:
    """Refuse a file of the form "sav" or "dta" that does not hold ``encoded``, or says other values than the
    ``originals`` do as text.

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
