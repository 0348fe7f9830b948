"""Write released columns as SPSS, Stata and SAS transport files with labels and missing codes, without traces.

Values are never altered to fit: what a format cannot hold is refused in one sentence.  What it can hold only in part
(a column's name, an over-long label, a declaration of missing codes) is done as far as it goes and said in a note,
which belongs into the codebook.  Times of writing and the library's name are overwritten in the headers, so that equal
columns give equal bytes.  SPSS, Stata and SAS have no empty value of text beside "": a null becomes "".

A file is written aside, read back value by value and only then given its name: the library does not notice a full disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import aside
from engine.common.raw_values import is_number
from engine.data.io.arrow_columns import one_length
from engine.data.io.column_names import Form, short_names
from engine.data.io.encoded_column import TAG, EncodedColumn, encode, fitting
from engine.data.io.read_back import check_labelled
from engine.data.io.sas_formats import formats_program
from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

    Columns = Mapping[str, pa.Array | pa.ChunkedArray]


def write_sav(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write SPSS (.sav); returns notes, one sentence for each thing that the file says otherwise than ``labels``."""
    import pyreadstat

    frame, encoded, notes = _frame(path, columns, labels or {}, "sav")
    value_labels = {h.name: _value_labels(h) for h in encoded if h.about.values}
    lost = [h.name for h in encoded if len(value_labels.get(h.name, ())) < len(h.about.values)]
    missing = {h.name: _spss_missing(h) for h in encoded if h.about.missing or h.about.missing_ranges}
    with aside(path) as temporary:
        _write(
            temporary,
            Path(path).name,
            pyreadstat.write_sav,
            frame,
            column_labels=_column_labels(encoded),
            variable_value_labels={name: pairs for name, pairs in value_labels.items() if pairs},
            missing_ranges={name: codes for name, codes in missing.items() if codes},
            variable_measure={h.name: h.about.measure for h in encoded if h.about.measure},
            variable_format={h.name: h.format for h in encoded if h.format},
            row_compress=True,
        )
        with temporary.open("r+b") as file:
            file.seek(4)
            file.write(b"@(#) SPSS DATA FILE".ljust(60))
            file.seek(92)
            file.write(b"01 Jan 7000:00:00")
        check_labelled(temporary, Path(path).name, "sav", {h.name: h.values for h in encoded})
    return (*notes, *(f"'{name}' is a number: labels of values that are none are in the codebook." for name in lost))


def write_dta(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write Stata 14 and later (.dta); returns notes as :func:`write_sav` does.

    Special missings ``.a`` to ``.z`` stay what they are.  Stata has no list of other missing codes: they stay values
    with their labels, and the load script turns them into special missings where that is wanted.
    """
    import pyreadstat

    frame, encoded, notes = _frame(path, columns, labels or {}, "dta")
    limits = []
    value_labels: dict[str, dict[Any, str]] = {}
    for h in encoded:
        if h.is_text and h.about.values:
            limits.append(f"'{h.name}' is text, and Stata labels numbers only: its value labels are in the codebook.")
            continue
        pairs = {value: label for value, label in _value_labels(h).items() if isinstance(value, str) or value % 1 == 0}
        if len(pairs) < len(h.about.values):
            limits.append(f"'{h.name}': Stata labels whole numbers only; the other value labels are in the codebook.")
        if pairs:
            value_labels[h.name] = {v if isinstance(v, str) else int(v): label for v, label in pairs.items()}
        if any(not TAG.fullmatch(code) for code in h.about.missing) or h.about.missing_ranges:
            limits.append(f"'{h.name}': its missing codes are plain values in Stata; the load script can mark them.")
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
        check_labelled(temporary, Path(path).name, "dta", {h.name: h.values for h in encoded})
    return (*notes, *limits)


def write_xpt(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write a SAS transport file of version 5 (.xpt) and beside it ``NAME_formats.sas``; returns notes.

    The format has names of eight signs and no value labels.  The program beside it gives the columns their names,
    labels and formats back; :func:`engine.data.io.column_names.short_names` says which name became which.
    """
    import pyreadstat

    path = Path(path)
    frame, encoded, notes = _frame(path, columns, labels or {}, "xpt")
    short = short_names(list(columns), "xpt")
    program = formats_program(path.name, short, labels or {}, {h.name for h in encoded if h.is_text})
    with aside(path) as temporary, aside(path.with_name(f"{path.stem}_formats.sas")) as beside:
        _write(
            temporary,
            path.name,
            pyreadstat.write_xport,
            frame,
            file_format_version=5,
            table_name="RELEASE",
            column_labels=_column_labels(encoded),
            variable_format={h.name: h.format for h in encoded if h.format},
        )
        _overwrite(temporary, path.name, rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00")
        _overwrite(temporary, path.name, rb"bsd4\.2", b"SAS   ")
        check_labelled(temporary, path.name, "xpt", {h.name: h.values for h in encoded})
        beside.write_text(program, encoding="utf-8", newline="\n")
    return notes


def _frame(
    path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels], form: Form
) -> tuple[Any, list[EncodedColumn], tuple[str, ...]]:
    """The columns as the library takes them, and notes on names and labels."""
    import pandas as pd

    one_length(columns)
    file, notes, encoded = Path(path).name, [], []
    names = short_names(list(columns), form)
    for name, values in columns.items():
        if names[name] != name:
            notes.append(f"'{name}' is called '{names[name]}' in {file}.")
        about, cut = fitting(labels.get(name, NO_LABELS), form)
        if cut:
            notes.append(f"'{names[name]}': labels longer than {file} can hold were cut; the codebook has them whole.")
        encoded.append(encode(name, names[name], values, about, form, file))
    return pd.DataFrame({h.name: h.values for h in encoded}), encoded, tuple(notes)


def _column_labels(encoded: Sequence[EncodedColumn]) -> dict[str, str]:
    return {h.name: h.about.label for h in encoded if h.about.label}


def _value_labels(column: EncodedColumn) -> dict[Any, str]:
    """Labels by value as the column holds it; special missings by their letter."""
    if column.is_text:
        return dict(column.about.values)
    labels: dict[Any, str] = {}
    for raw, label in column.about.values:
        if is_number(raw):
            labels[float(raw)] = label
        elif column.tags and TAG.fullmatch(raw) and raw[1] in column.tags:
            labels[raw[1]] = label
    return labels


def _spss_missing(column: EncodedColumn) -> list[Any]:
    """Missing codes as SPSS declares them: three values, or one range and one value; neighbours become a range."""
    about = column.about
    if column.is_text:
        codes: list[Any] = [code for code in about.missing if len(code.encode()) <= 8]
        if len(codes) > 3:
            raise _too_many(column)
        return codes
    codes = [float(code) for code in about.missing if is_number(code)]
    ranges = [{"lo": low, "hi": high} for low, high in about.missing_ranges]
    codes = [code for code in codes if not any(r["lo"] <= code <= r["hi"] for r in ranges)]
    if len(ranges) > 1 or (ranges and len(codes) > 1):
        raise _too_many(column)
    if not ranges and len(codes) > 3:
        codes.sort()
        present = column.values[~np.isnan(column.values)]
        between = set(present[(present >= codes[0]) & (present <= codes[-1])].tolist())
        labelled = {float(raw) for raw, _ in about.values if is_number(raw) and codes[0] <= float(raw) <= codes[-1]}
        if not (between | labelled) <= set(codes):
            raise _too_many(column)
        return [{"lo": codes[0], "hi": codes[-1]}]
    return [*ranges, *codes]


def _too_many(column: EncodedColumn) -> EngineError:
    return EngineError(
        f"column '{column.name}' declares more missing codes than SPSS can hold (three values, or one range and one "
        "value); declare fewer or recode some"
    )


def _write(temporary: Path, file: str, write: Any, frame: Any, **options: Any) -> None:
    """Let the library write ``file`` at the path ``temporary``; it gets its name later."""
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        write(frame, str(temporary), **{name: value for name, value in options.items() if value})
    except (ReadstatError, PyreadstatError) as error:
        # Only the reader's own short sentences; the other kind of error may quote a path or a value.
        reason = str(error) if isinstance(error, ReadstatError) else "a name or value does not fit the format"
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
