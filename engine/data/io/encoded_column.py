"""A column as SPSS, Stata or a SAS transport file holds it: numbers or text, labels that fit, a format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import as_text, is_number, numbers
from engine.data.io.arrow_columns import one_array, plain_values
from engine.data.io.column_names import Form
from engine.data.labels import ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

_SPSS_DAYS, _DAYS_1960 = 141_428, 3_653
TAG = re.compile(r"\.[a-z]")
_LABEL_BYTES = {"sav": (256, 120), "dta": (80, 32_000), "xpt": (40, 0)}  # of a column, of a value
_TEXT_BYTES = {"sav": 32_767, "dta": 2_045, "xpt": 200}
_DATES = {
    "sav": ("DATE11", "DATETIME20"),
    "dta": ("%td", "%tc"),
    "xpt": ("DATE9", "DATETIME20"),
}
_FORMATS = {
    "sav": re.compile(r"(F|COMMA|DOT|DOLLAR|PCT|E|N|TIME|DTIME|A)\d+(\.\d+)?"),
    "dta": re.compile(r"%-?0?\d+(\.\d+)?(g|f|e)c?"),
    "xpt": re.compile(r"(F|COMMA|DOLLAR|BEST|TIME|E)?\d+(\.\d+)?", re.IGNORECASE),
}


@dataclass(frozen=True)
class EncodedColumn:
    """A column as a format holds it: numbers (with special missings as letters) or text, and what was lost."""

    name: str
    values: Any
    about: ColumnLabels
    is_text: bool
    format: str
    tags: tuple[str, ...] = ()


def fitting(about: ColumnLabels, form: Form) -> tuple[ColumnLabels, bool]:
    """Labels no longer than the form can hold, and whether some were cut."""
    label_bytes, value_bytes = _LABEL_BYTES[form]
    label = _cut(about.label, label_bytes)
    values = tuple((raw, _cut(text, value_bytes)) for raw, text in about.values) if value_bytes else about.values
    fitting = ColumnLabels(label, values, about.missing, about.missing_ranges, about.format, about.measure)
    return fitting, fitting != about


def _cut(text: str, limit: int) -> str:
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore").rstrip() + "…"


def encode(column: str, name: str, values: Any, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    """The column called ``column`` in the plan and ``name`` in a file of the form "sav", "dta" or "xpt".

    Values are never altered to fit: what the form cannot hold is an :class:`EngineError` that names ``file``.  Text
    that is written exactly as numbers are (as all columns of a CSV file are text) becomes numbers.
    """
    import pyarrow as pa

    values = one_array(plain_values(values))
    arrow_type = values.type
    if pa.types.is_null(arrow_type):
        return EncodedColumn(name, np.full(len(values), np.nan), about, False, "")
    if pa.types.is_boolean(arrow_type):
        about = about if about.values else ColumnLabels(about.label, (("0", "false"), ("1", "true")))
        return EncodedColumn(name, _floats(values.cast(pa.int8())), about, False, "")
    if pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):
        return _time(name, values, about, form)
    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        return _numbers(column, name, values, about, form, file)
    coded = values.dictionary_encode()
    text = as_text(coded.dictionary)
    is_string = pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)
    numeric = _as_numbers(text, about) if is_string else None
    if numeric is not None:
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if form == "dta" and any(TAG.fullmatch(t) for t in text.to_pylist()):
            return _tagged(name, text.to_pylist(), codes, about)
        if not any(TAG.fullmatch(t) for t in text.to_pylist()):
            return EncodedColumn(name, np.append(numeric, np.nan)[codes], about, False, _format(about, form))
    longest = max((len(t.encode()) for t in text.to_pylist()), default=0)
    if longest > _TEXT_BYTES[form]:
        raise EngineError(
            f"column '{column}' has a text of {longest:,} bytes, and {file} can hold {_TEXT_BYTES[form]:,}; leave the "
            "column out or release it as CSV or Parquet"
        )
    text_values = [*text.to_pylist(), ""]
    texts = np.array(text_values, dtype=object)[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return EncodedColumn(name, texts, about, True, "")


def _as_numbers(text: pa.Array, about: ColumnLabels) -> np.ndarray | None:
    """Numbers behind texts that are written exactly as numbers are; NaN for "", None if one text is no such number.

    "007" and "1.50" would read back differently as numbers, so their column stays text.
    """
    import pyarrow as pa

    if not len(text):
        return np.zeros(0)
    text_values = text.to_pylist()
    tags = {t for t in text_values if TAG.fullmatch(t) and t in about.missing}
    numerals = [t for t in text_values if t and t not in tags]
    if not numerals or not all(is_number(t) for t in numerals):
        return None
    parsed = numbers(pa.array(numerals))
    is_whole = np.abs(parsed) < 2**53
    is_whole[is_whole] = np.mod(parsed[is_whole], 1) == 0
    same = [str(int(x)) if w else as_text(pa.array([x]))[0].as_py() for x, w in zip(parsed, is_whole, strict=True)]
    if same != numerals:
        return None
    values = dict(zip(numerals, parsed.tolist(), strict=True))
    return np.array([values.get(t, np.nan) for t in text_values])


def _tagged(name: str, text_values: list[str], codes: np.ndarray, about: ColumnLabels) -> EncodedColumn:
    """Numbers with Stata's special missings, which the library takes as lone letters among floats."""
    values = [t[1] if TAG.fullmatch(t) else float(t) if t else np.nan for t in text_values]
    tags = tuple(sorted({v for v in values if isinstance(v, str)} | {c[1] for c in about.missing if TAG.fullmatch(c)}))
    return EncodedColumn(
        name, np.array([*values, np.nan], dtype=object)[codes], about, False, _format(about, "dta"), tags
    )


def _numbers(column: str, name: str, values: pa.Array, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    import pyarrow as pa

    floats = _floats(values)
    present = floats[~np.isnan(floats)]
    if pa.types.is_integer(values.type) and len(present) and np.abs(present).max() >= 2**53:
        raise EngineError(
            f"column '{column}' has whole numbers of more than 15 digits, which {file} cannot hold exactly; release it "
            "as CSV or Parquet, or as text"
        )
    if np.isinf(present).any():
        raise EngineError(f"column '{column}' has infinite numbers, which {file} cannot hold; recode them first")
    tags = tuple(sorted(code[1] for code in about.missing if TAG.fullmatch(code))) if form == "dta" else ()
    if form == "dta" and pa.types.is_integer(values.type) and not values.null_count and not tags:
        for dtype, low, high in (
            (np.int8, -127, 100),
            (np.int16, -32_767, 32_740),
            (np.int32, -(2**31) + 1, 2**31 - 28),
        ):
            if len(present) and low <= present.min() and present.max() <= high:
                return EncodedColumn(name, floats.astype(dtype), about, False, _format(about, form))
    form_of = _format(about, form) or (_whole_format(present) if form == "sav" else "")
    return EncodedColumn(name, floats, about, False, form_of, tags)


def _whole_format(present: np.ndarray) -> str:
    """SPSS shows two decimals unless told otherwise; whole numbers need none."""
    if not len(present) or (np.mod(present, 1) != 0).any():
        return ""
    return f"F{min(40, max(8, len(str(int(present.min()))), len(str(int(present.max())))))}.0"


def _floats(values: pa.Array) -> np.ndarray:
    import pyarrow as pa

    result: np.ndarray = values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return result


def _time(name: str, values: pa.Array, about: ColumnLabels, form: Form) -> EncodedColumn:
    """Dates and date-times as each format counts them."""
    import pyarrow as pa

    if pa.types.is_date(values.type):
        days = _floats(values.cast(pa.date32()).cast(pa.int32()))
        counted = (days + _SPSS_DAYS) * 86_400.0 if form == "sav" else days + _DAYS_1960
        return EncodedColumn(name, counted, about, False, _DATES[form][0])
    seconds = _floats(values.cast(pa.timestamp("ms")).cast(pa.int64())) / 1000
    start = _SPSS_DAYS if form == "sav" else _DAYS_1960
    return EncodedColumn(
        name, (seconds + start * 86_400.0) * (1000 if form == "dta" else 1), about, False, _DATES[form][1]
    )


def _format(about: ColumnLabels, form: Form) -> str:
    """The file's own format where it came from the same family of programs."""
    return about.format if _FORMATS[form].fullmatch(about.format) and not about.format.startswith("A") else ""
