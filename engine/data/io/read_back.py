"""Read back a written file, value by value and in chunks, before it gets its name.

The library that writes labelled files does not notice a full disk or a limit on the size of files.  A file that holds
anything else than what was to be written is an :class:`EngineError`, and is removed by whoever wrote it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import arrow_file
from engine.data.io.arrow_columns import one_array, plain_values
from engine.data.io.column_names import Form
from engine.data.io.truncation import refuse_cut

if TYPE_CHECKING:
    import pyarrow as pa

_CELLS = 2_000_000  # values read at a time


def not_whole(file: str, problem: str) -> EngineError:
    """The error for a ``file`` that was not written whole, with the ``problem`` that shows it."""
    return EngineError(
        f"file '{file}' could not be written whole: {problem}; the disk may be full or the size of files limited. "
        "Nothing was kept; free some space and try again"
    )


def check_bytes(temporary: Path, file: str, sha256: bytes) -> None:
    """Refuse a file that does not hold exactly the bytes of this digest."""
    with temporary.open("rb") as back:
        if hashlib.file_digest(back, "sha256").digest() != sha256:
            raise not_whole(file, "it does not hold the bytes that were written")


def check_parquet(temporary: Path, file: str, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
    """Refuse a Parquet file whose columns, read back group by group, are not ``columns`` to the bit."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with arrow_file(temporary) as source, parquet.ParquetFile(source) as back:
            n_records = len(next(iter(columns.values())))
            if back.metadata.num_rows != n_records or back.schema_arrow.names != list(columns):
                raise not_whole(file, f"it holds {back.metadata.num_rows:,} of {n_records:,} records")
            start = 0
            for group in range(back.num_row_groups):
                table = back.read_row_group(group)
                for (name, values), got in zip(columns.items(), table.columns, strict=True):
                    if not _same_bits(values.slice(start, len(got)), got):
                        raise not_whole(file, f"column '{name}' reads back differently")
                start += table.num_rows
    except pa.ArrowException:
        raise not_whole(file, "it cannot be read back") from None


def _same_bits(written: pa.Array | pa.ChunkedArray, read: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    a, b = one_array(plain_values(written)), one_array(read)
    if not a.type.equals(b.type):
        a = a.cast(b.type)
    if pa.types.is_floating(a.type):  # a NaN equals no other, its bits do
        integers = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[a.type.bit_width]
        a, b = a.view(integers), b.view(integers)
    return bool(a.equals(b))


def check_labelled(temporary: Path, file: str, form: Form, columns: Mapping[str, Any]) -> None:
    """Refuse a file of the form "sav", "dta" or "xpt" that does not hold ``columns``, arrays by name in the file.

    Blanks at the end of a text are no part of it in SPSS and SAS.
    """
    import pyreadstat

    read: Any = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}[form]
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    if form != "xpt":
        options["user_missing"] = True
    n_records = len(next(iter(columns.values())))
    rows = max(1000, _CELLS // len(columns))
    refuse_cut(temporary, f".{form}", name=file)
    for start in range(0, max(n_records, 1), rows):
        try:
            chunk = read(str(temporary), row_offset=start, row_limit=rows, **options)[0]
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
            raise not_whole(file, "it cannot be read back") from None
        if list(chunk) != list(columns):
            raise not_whole(file, f"it holds {len(chunk):,} of {len(columns):,} columns")
        for name, values in columns.items():
            written, got = values[start : start + rows], chunk[name]
            if len(got) != len(written):
                if form == "xpt" and _all_blank(columns, start + len(got)):
                    raise EngineError(
                        f"{file} would end with {n_records - start - len(got):,} records that are blank in all "
                        "columns, which a SAS transport file cannot tell from its filling; release a column of numbers "
                        "too, or another format"
                    )
                raise not_whole(file, f"it holds {start + len(got):,} of {n_records:,} records")
            if not _same_values(written, got, form):
                raise EngineError(
                    f"column '{name}' reads back from {file} with other values than were written, so the format cannot "
                    "hold it; leave the column out or release it as CSV or Parquet"
                )


def _all_blank(columns: Mapping[str, Any], start: int) -> bool:
    """Return whether all records from ``start`` on are blank texts."""
    ends = [values[start:] for values in columns.values()]
    return all(values.dtype == object and not any(text.strip(" ") for text in values) for values in ends)


def _same_values(written: np.ndarray, read: list[Any], form: Form) -> bool:
    if written.dtype != object:
        return np.array_equal(written.astype(np.float64), np.array(read, np.float64), equal_nan=True)
    if any(isinstance(value, float) for value in written):  # numbers among special missings
        return all(a == b or (a != a and (b is None or b != b)) for a, b in zip(written, read, strict=True))
    ends = None if form == "dta" else " "
    return all(a.rstrip(ends) == b.rstrip(ends) if ends else a == b for a, b in zip(written, read, strict=True))
