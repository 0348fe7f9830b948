"""Read SAS, Stata and SPSS files as dictionary-coded columns with their labels.

Numbers that are all whole become integers; dates and date-times become such values, whatever the format's own way of
counting them; times of day stay seconds.  SPSS user-missing values stay values and are declared missing; a Stata or SAS
special missing becomes the text ``.a`` to ``.z``, declared missing, and its column text.  Files are read in chunks, so
memory is a small multiple of the coded table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError, NoRecords
from engine.common.raw_values import as_text, index_codes
from engine.data.io.chunks import check_names, join_chunks
from engine.data.io.truncation import refuse_cut
from engine.data.labels import MEASURES, ColumnLabels
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa

_CELLS = 2_000_000  # values read at a time
_SPSS_DAYS = 141_428  # from 1582-10-14 to 1970-01-01
_DAYS_1960 = 3_653  # from 1960-01-01 to 1970-01-01
_SPSS_DATE = re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE)\d", re.IGNORECASE)
_SPSS_TIME = re.compile(r"(DATETIME|YMDHMS)\d", re.IGNORECASE)
_SAS_DATE = re.compile(r"(DATE|MMDDYY|DDMMYY|YYMMDD|E8601DA|B8601DA|WORDDATE|WEEKDATE|NLDATE|JULIAN)", re.IGNORECASE)
_SAS_TIME = re.compile(r"(DATETIME|E8601DT|B8601DT|DATEAMPM|NLDATM|MDYAMPM)", re.IGNORECASE)
_SAS_WIDTH = re.compile(r"\d*\.?\d*$")  # a format is named without its width, which may follow: SEXF8.
_ENCODINGS = ("utf-8", "windows-1252", "latin1")


def read_statistical(path: Path, beat: Callable[[], None] = lambda: None) -> RawTable:
    """The records of a .sav, .zsav, .por, .dta, .sas7bdat or .xpt file; ``beat`` is called after every chunk.

    The library may crash on a damaged file: :func:`engine.data.io.reader_process.read_apart` calls this in a process of
    its own.

    Value labels of a SAS file come from a catalogue beside it: one that is called like it, else formats.sas7bcat.
    A file that is corrupt, encrypted, in an unknown encoding, without records or with two columns of one name is an
    :class:`EngineError`; special missings that mix with whole and broken numbers are read as far as the library can.
    """
    import pyreadstat

    extension = path.suffix.lower()
    read = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }[extension]
    _refuse_encrypted(path)
    refuse_cut(path, extension)
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    if extension in (".sav", ".zsav", ".dta", ".sas7bdat"):
        options["user_missing"] = True
    meta, options = _describe(path, read, {**options, "metadataonly": True})
    del options["metadataonly"]
    names = list(meta.column_names)
    if None in names:
        raise unreadable(path)
    check_names(path.name, names)
    if not names:
        raise EngineError(f"file '{path.name}' has no columns")
    if extension == ".sas7bdat":
        _label_from_catalogue(path, meta)
    types = meta.readstat_variable_types or {}
    chunks: dict[str, list[tuple[pa.Array, np.ndarray]]] = {name: [] for name in names}
    n_records = 0
    for chunk in _chunks(path, read, options, len(names)):
        if list(chunk) != names:
            raise unreadable(path)
        beat()
        for name in names:
            chunks[name].append(_encoded(chunk.pop(name), types.get(name) == "string"))
        n_records += len(chunks[names[0]][-1][1])
    if meta.number_rows is not None and n_records != meta.number_rows >= 0:
        raise EngineError(
            f"file '{path.name}' is cut short: it says that it holds {meta.number_rows:,} records, and {n_records:,} "
            "are there; write or copy it again"
        )
    if n_records == 0:
        raise NoRecords(f"file '{path.name}' has columns but no records")
    columns = {}
    for name in names:
        about = _about(meta, name)
        columns[name] = _column(name, chunks.pop(name), about, _time_unit(about.format, extension))
    return RawTable(columns, n_records, path.name)


def unreadable(path: Path) -> EngineError:
    """The error for a file that the library cannot read; its own message may quote a value and is not shown."""
    return EngineError(
        f"file '{path.name}' is no readable {path.suffix.lower()} file (corrupt, cut short or of an unknown "
        "version); write or copy it again"
    )


def _refuse_encrypted(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"\x1c\x00\x00\x00\x00\x00\x00\x00") or b"ENCRYPTEDSAV" in head:
        raise EngineError(
            f"file '{path.name}' is encrypted with a password; open it in SPSS and save it without one, then delete "
            "that copy"
        )


def _describe(path: Path, read: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The file's description, and the options with the encoding that reads it."""
    others = () if path.suffix.lower() == ".por" else _ENCODINGS[1:]  # a portable file has an alphabet of its own
    for encoding in (None, *others):
        tried = {**options, "encoding": encoding} if encoding else options
        try:
            return _read(path, read, **tried)[1], tried
        except _Encoding:
            continue
    raise EngineError(f"file '{path.name}' holds text in an unknown encoding; save it as UTF-8 (Unicode)")


def _label_from_catalogue(path: Path, meta: Any) -> None:
    """Give a SAS file's columns the value labels of the formats that they name."""
    import pyreadstat

    beside = (path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat"))
    catalogue = next((file for file in beside if file.is_file()), None)
    if catalogue is None:
        return
    sets = _describe(catalogue, pyreadstat.read_sas7bcat, {"output_format": "dict"})[0].value_labels
    by_name = {name.upper(): labels for name, labels in sets.items()}
    formats = meta.original_variable_types or {}
    named = {column: by_name.get(_SAS_WIDTH.sub("", form or "").upper()) for column, form in formats.items()}
    meta.variable_value_labels = {column: labels for column, labels in named.items() if labels}


class _Encoding(Exception):
    """The text of a file is in another encoding than it says."""


def _read(path: Path, read: Any, **options: Any) -> Any:
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        return read(str(path), **options)
    except (UnicodeDecodeError, UnicodeError):
        raise _Encoding from None
    except (ReadstatError, PyreadstatError, ValueError, OverflowError, MemoryError) as error:
        message = str(error).casefold()
        if "convert" in message and ("charset" in message or "string" in message or "encoding" in message):
            raise _Encoding from None
        if isinstance(error, MemoryError):
            raise
        raise unreadable(path) from None


def _chunks(path: Path, read: Any, options: dict[str, Any], n_columns: int) -> Iterator[dict[str, Any]]:
    rows = max(1000, _CELLS // n_columns)
    start = 0
    while True:
        try:
            chunk = _read(path, read, row_offset=start, row_limit=rows, **options)[0]
        except _Encoding:
            if options.get("encoding") or path.suffix.lower() == ".por":
                raise EngineError(
                    f"file '{path.name}' holds text in an unknown encoding; save it as UTF-8 (Unicode)"
                ) from None
            # Only a value, not a label, was in another encoding: read on as the most common one.
            options = {**options, "encoding": _ENCODINGS[1]}
            continue
        n = len(next(iter(chunk.values())))
        if n:
            yield dict(chunk)
        if n < rows:
            return
        start += n


def _encoded(values: Sequence[Any], is_text: bool) -> tuple[pa.Array, np.ndarray]:
    """A chunk's distinct values and codes; NaN and None are null (-1), special missings of numbers text such as .a."""
    import pyarrow as pa

    if is_text:
        array = pa.array(values, pa.string())
    else:
        try:
            numbers = pa.array(values, pa.float64(), from_pandas=True).to_numpy(zero_copy_only=False)
            array = pa.array(numbers + 0.0, from_pandas=True)  # one nought, not two
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.array([_value_text(value) for value in values], pa.string())
    coded = array.dictionary_encode()
    return coded.dictionary, index_codes(coded.indices.fill_null(-1))


def _value_text(value: Any) -> str | None:
    """One value of a numeric column that holds special missings."""
    if isinstance(value, str):
        return f".{value.lower()}"
    if value is None or np.isnan(value):
        return None
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _column(
    name: str, chunks: list[tuple[pa.Array, np.ndarray]], about: ColumnLabels, time_unit: tuple[float, int] | None
) -> RawColumn:
    """One column from its chunks; ``time_unit`` says how a number counts time: seconds per unit and days up to 1970."""
    import pyarrow as pa

    if any(pa.types.is_string(values.type) for values, _ in chunks):
        chunks = [(as_text(values).cast(pa.string()), codes) for values, codes in chunks]
    joined = join_chunks(name, chunks)
    values = joined.values
    if pa.types.is_floating(values.type):
        values = (
            _in_time(values, time_unit)
            if time_unit and not about.missing and not about.values
            else _as_integers(values)
        )
    about = replace(about, missing=tuple(dict.fromkeys((*about.missing, *_tags(values)))))
    return RawColumn(name, values, joined.codes, about)


def _tags(values: pa.Array) -> list[str]:
    import pyarrow as pa

    if not pa.types.is_string(values.type):
        return []
    return [text for text in values.to_pylist() if re.fullmatch(r"\.[a-z_]", text)]


def _as_integers(values: pa.Array) -> pa.Array:
    """Integers where every number is whole and exactly held."""
    import pyarrow as pa

    numbers = values.to_numpy(zero_copy_only=False)
    if len(numbers) and (np.abs(numbers) < 2**53).all() and (np.mod(numbers, 1) == 0).all():
        return pa.array(numbers.astype(np.int64))
    return values


def _in_time(values: pa.Array, time_unit: tuple[float, int]) -> pa.Array:
    """Dates, or date-times to the millisecond; numbers as they are when one lies outside the years 1 to 9999."""
    import pyarrow as pa

    unit, epoch = time_unit
    seconds = values.to_numpy(zero_copy_only=False) * unit - epoch * 86_400.0
    if not len(seconds) or not (np.abs(seconds + 86_400.0 * 719_162 - 157_788_000_000) < 157_700_000_000).all():
        return _as_integers(values)
    if (np.mod(seconds, 86_400) == 0).all():
        return pa.array((seconds // 86_400).astype(np.int32), pa.int32()).cast(pa.date32())
    return pa.array(np.round(seconds * 1000).astype(np.int64), pa.int64()).cast(pa.timestamp("ms"))


def _time_unit(form: str, extension: str) -> tuple[float, int] | None:
    """Seconds per unit and days from the format's own beginning to 1970, of a date or date-time format."""
    if extension in (".sav", ".zsav", ".por"):
        return (1.0, _SPSS_DAYS) if _SPSS_DATE.match(form) or _SPSS_TIME.match(form) else None
    if extension == ".dta":
        day, moment = form.startswith(("%td", "%d", "%-td")), form.startswith(("%tc", "%-tc"))
    else:
        moment = _SAS_TIME.match(form) is not None
        day = not moment and _SAS_DATE.match(form) is not None
    return (86_400.0, _DAYS_1960) if day else (0.001 if extension == ".dta" else 1.0, _DAYS_1960) if moment else None


def _about(meta: Any, name: str) -> ColumnLabels:
    measure = (meta.variable_measure or {}).get(name) or ""
    missing, ranges = [], []
    for entry in (meta.missing_ranges or {}).get(name, ()):
        low, high = (entry["lo"], entry["hi"]) if isinstance(entry, dict) else (entry, entry)
        if isinstance(low, str) or low == high:
            missing.append(_key(low))
        else:
            ranges.append((float(low), float(high)))
    missing += [f".{tag.lower()}" for tag in (meta.missing_user_values or {}).get(name, ())]
    text = (meta.readstat_variable_types or {}).get(name) == "string"
    pairs: dict[str, str] = {}
    for value, label in (meta.variable_value_labels or {}).get(name, {}).items():
        pairs.setdefault(_key(value, text), label)
    return ColumnLabels(
        label=(meta.column_names_to_labels or {}).get(name) or "",
        values=tuple(pairs.items()),
        missing=tuple(dict.fromkeys(missing)),
        missing_ranges=tuple(ranges),
        format=(meta.original_variable_types or {}).get(name) or "",
        measure=measure if measure in MEASURES else "",
    )


def _key(value: Any, text: bool = True) -> str:
    """A labelled value as :func:`engine.common.raw_values.texts` reads it; a lone letter beside numbers is a special
    missing."""
    if isinstance(value, str):
        return value.rstrip() if text else f".{value.lower()}"
    return str(int(value)) if float(value).is_integer() else as_number_text(float(value))


def as_number_text(value: float) -> str:
    """A number as :func:`engine.common.raw_values.as_text` writes it."""
    import pyarrow as pa

    return str(as_text(pa.array([value]))[0].as_py())
