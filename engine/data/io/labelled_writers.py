"""Write released columns as SPSS and Stata files with labels and missing codes, without traces.

Values are never altered to fit: what a format cannot hold is refused in one sentence.  What it can hold only in part
(a column's name, an over-long label, a declaration of missing codes) is done as far as it goes and said in a note,
which belongs into the codebook.  Times of writing and the library's name are overwritten in the headers, so that equal
columns give equal bytes.  SPSS and Stata have no empty value of text beside "": a null becomes "".

A file is written aside, read back value by value and only then given its name: the library does not notice a full disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.common.errors import EngineError
from engine.common.os_support import FULL, aside, is_full
from engine.common.raw_values import is_number
from engine.data.io.arrow_columns import one_length
from engine.data.io.column_names import Form, short_names
from engine.data.io.encoded_column import TAG, EncodedColumn, encode, fitting
from engine.data.io.missing_codes import spss_missing, stata_labels
from engine.data.io.read_back import check_labelled
from engine.data.labels import NO_LABELS, ColumnLabels

MOST_COLUMNS = {"sav": 2**31 - 1, "dta": 32_767}
"""Columns of a file, of the form."""
_MOST_STATA_LABELS = 65_536

if TYPE_CHECKING:
    import pyarrow as pa

    Columns = Mapping[str, pa.Array | pa.ChunkedArray]


def write_sav(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write SPSS (.sav); returns notes, one sentence for each thing that the file says otherwise than ``labels``."""
    import pyreadstat

    file = Path(path).name
    frame, encoded, notes = _frame(path, columns, labels or {}, "sav")
    value_labels = {h.name: _value_labels(h) for h in encoded if h.about.values}
    lost = [h.column for h in encoded if len(value_labels.get(h.name, ())) < len(h.about.values)]
    notes += tuple(f"'{name}': {file} cannot hold some of its value labels; they are in the codebook." for name in lost)
    missing = {}
    for h in encoded:
        missing[h.name], n_undeclared = spss_missing(h.about, h.values, h.is_text, h.width)
        if n_undeclared:
            notes += (
                f"'{h.column}': {n_undeclared} of its missing codes and ranges are not declared in {file}, since SPSS "
                "takes three codes, or a range and one, of at most 8 bytes; the codebook lists all.",
            )
    with aside(path) as temporary:
        _write(
            temporary,
            file,
            pyreadstat.write_sav,
            frame,
            column_labels=_column_labels(encoded),
            variable_value_labels={name: pairs for name, pairs in value_labels.items() if pairs},
            missing_ranges={name: codes for name, codes in missing.items() if codes},
            variable_measure={h.name: h.about.measure for h in encoded if h.about.measure},
            variable_format={h.name: h.format for h in encoded if h.format},
            row_compress=True,
        )
        with temporary.open("r+b") as header:
            header.seek(4)
            header.write(b"@(#) SPSS DATA FILE".ljust(60))
            header.seek(92)
            header.write(b"01 Jan 7000:00:00")
        check_labelled(temporary, file, "sav", encoded, columns)
    return notes


def write_dta(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write Stata 14 and later (.dta); returns notes as :func:`write_sav` does.

    Special missings ``.a`` to ``.z`` stay what they are.  Stata has no list of other missing codes: they stay values
    with their labels.
    """
    import pyreadstat

    frame, encoded, notes = _frame(path, columns, labels or {}, "dta")
    limits = []
    value_labels: dict[str, dict[Any, str]] = {}
    for h in encoded:
        if h.is_text and h.about.values:
            limits.append(f"'{h.column}' is text, and Stata labels numbers only: its value labels are in the codebook.")
        pairs = {
            value if isinstance(value, str) else int(value): label
            for value, label in ({} if h.is_text else _value_labels(h)).items()
            if isinstance(value, str) or stata_labels(value)
        }
        if not h.is_text and len(pairs) < len(h.about.values):
            limits.append(
                f"'{h.column}': Stata labels whole numbers from -2,147,483,647 to 2,147,483,620 only; the other value "
                "labels are in the codebook."
            )
        if len(pairs) > _MOST_STATA_LABELS:
            limits.append(
                f"'{h.column}' has {len(pairs):,} value labels, and Stata takes {_MOST_STATA_LABELS:,}; all are in the "
                "codebook."
            )
        elif pairs:
            value_labels[h.name] = pairs
        if any(not TAG.fullmatch(code) for code in h.about.missing) or h.about.missing_ranges:
            limits.append(f"'{h.column}': its missing codes are plain values in Stata; the codebook lists them.")
    with aside(path) as temporary:
        _write(
            temporary,
            Path(path).name,
            pyreadstat.write_dta,
            frame,
            version=14,
            column_labels=_column_labels(encoded),
            variable_value_labels=value_labels,
            missing_user_values={h.name: list(h.tags) for h in encoded if h.tags},
            variable_format={h.name: h.format for h in encoded if h.format},
        )
        stamp = rb"(<timestamp>\x11)\d\d \w{3} \d{4} \d\d:\d\d"
        _overwrite(temporary, Path(path).name, stamp, rb"\g<1>01 Jan 1970 00:00")
        check_labelled(temporary, Path(path).name, "dta", encoded, columns)
    return (*notes, *limits)


def _frame(
    path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels], form: Form
) -> tuple[Any, list[EncodedColumn], tuple[str, ...]]:
    """The columns as the library takes them, and notes on names and labels."""
    import pandas as pd

    one_length(columns)
    file, notes, encoded = Path(path).name, [], []
    if len(columns) > MOST_COLUMNS[form]:
        raise EngineError(
            f"the release has {len(columns):,} columns, and {file} can hold {MOST_COLUMNS[form]:,}; release it as CSV "
            "or Parquet"
        )
    names = short_names(list(columns), form)
    for name, values in columns.items():
        if names[name] != name:
            notes.append(f"'{name}' is called '{names[name]}' in {file}.")
        about, cut = fitting(labels.get(name, NO_LABELS), form)
        if cut:
            notes.append(f"'{name}': labels longer than {file} can hold were cut; the codebook has them whole.")
        encoded.append(encode(name, names[name], values, about, form, file))
        notes += encoded[-1].notes
    return pd.DataFrame({h.name: h.values for h in encoded}), encoded, tuple(notes)


def _column_labels(encoded: Sequence[EncodedColumn]) -> dict[str, str]:
    return {h.name: h.about.label for h in encoded if h.about.label}


def _value_labels(column: EncodedColumn) -> dict[Any, str]:
    """Labels by value as the column holds it; special missings by their letter."""
    if column.is_text:
        width = column.width
        return {raw: label for raw, label in column.about.values if len(raw.encode()) <= width}
    labels: dict[Any, str] = {}
    for raw, label in column.about.values:
        if is_number(raw) and isfinite(float(raw)):
            labels[float(raw)] = label
        elif column.tags and TAG.fullmatch(raw) and raw[1] in column.tags:
            labels[raw[1]] = label
    return labels


def _write(temporary: Path, file: str, write: Any, frame: Any, **options: Any) -> None:
    """Let the library write ``file`` at the path ``temporary``; it gets its name later."""
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        write(frame, str(temporary), **{name: value for name, value in options.items() if value})
    except (ReadstatError, PyreadstatError) as error:
        # Only the reader's own short sentences; the other kind of error may quote a path or a value.
        reason = str(error) if isinstance(error, ReadstatError) else "a name or value does not fit the format"
        reason = FULL if is_full(temporary.parent) else reason
        raise EngineError(f"file '{file}' could not be written: {reason}") from None


def _overwrite(temporary: Path, name: str, pattern: bytes, new: bytes) -> None:
    """Replace a pattern in the header, which is within the first 4 kB and keeps its length."""
    with temporary.open("r+b") as file:
        head = file.read(4096)
        changed = re.sub(pattern, new, head, flags=re.DOTALL)
        if len(changed) != len(head):
            raise EngineError(f"file '{name}' has a header of an unknown form; it was not released")
        file.seek(0)
        file.write(changed)
