"""A column as SPSS, Stata or a SAS transport file holds it: numbers or text, labels that fit, a format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import as_text, is_number, numbers
from engine.data.io.arrow_columns import one_array, plain
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
class Held:
    """A column as a format holds it: numbers (with special missings as letters) or text, and what was lost."""

    name: str
    values: Any
    about: ColumnLabels
    is_text: bool
    format: str
    tags: tuple[str, ...] = ()


def fitting(about: ColumnLabels, form: str) -> tuple[ColumnLabels, bool]:
    """Labels no longer than the form can hold, and whether some were cut."""
    most, most_value = _LABEL_BYTES[form]
    label = _cut(about.label, most)
    values = tuple((raw, _cut(text, most_value)) for raw, text in about.values) if most_value else about.values
    fitting = ColumnLabels(label, values, about.missing, about.missing_ranges, about.format, about.measure)
    return fitting, fitting != about


def _cut(text: str, most: int) -> str:
    data = text.encode()
    return text if len(data) <= most else data[: most - 3].decode(errors="ignore").rstrip() + "…"


def hold(shown: str, name: str, values: Any, about: ColumnLabels, form: str, file: str) -> Held:
    """The column ``shown``, called ``name`` in a file of the form "sav", "dta" or "xpt".

    Values are never altered to fit: what the form cannot hold is an :class:`EngineError` that names ``file``.  Text
    that is written exactly as numbers are (as all columns of a CSV file are text) becomes numbers.
    """
    import pyarrow as pa

    values = one_array(plain(values))
    kind = values.type
    if pa.types.is_null(kind):
        return Held(name, np.full(len(values), np.nan), about, False, "")
    if pa.types.is_boolean(kind):
        about = about if about.values else ColumnLabels(about.label, (("0", "false"), ("1", "true")))
        return Held(name, _floats(values.cast(pa.int8())), about, False, "")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _time(name, values, about, form)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(shown, name, values, about, form, file)
    coded = values.dictionary_encode()
    text = as_text(coded.dictionary)
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    numeric = _as_numbers(text, about) if is_string else None
    if numeric is not None:
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if form == "dta" and any(TAG.fullmatch(t) for t in text.to_pylist()):
            return _tagged(name, text.to_pylist(), codes, about)
        if not any(TAG.fullmatch(t) for t in text.to_pylist()):
            return Held(name, np.append(numeric, np.nan)[codes], about, False, _format(about, form))
    longest = max((len(t.encode()) for t in text.to_pylist()), default=0)
    if longest > _TEXT_BYTES[form]:
        raise EngineError(
            f"column '{shown}' has a text of {longest:,} bytes, and {file} can hold {_TEXT_BYTES[form]:,}; leave the "
            "column out or release it as CSV or Parquet"
        )
    spoken = [*text.to_pylist(), ""]
    texts = np.array(spoken, dtype=object)[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return Held(name, texts, about, True, "")


def _as_numbers(text: pa.Array, about: ColumnLabels) -> np.ndarray | None:
    """Numbers behind texts that are written exactly as numbers are; "" is none.  None where one is not so written.

    "007" and "1.50" are such: as numbers they would read back differently, so their column stays text.
    """
    import pyarrow as pa

    if not len(text):
        return np.zeros(0)
    spoken = text.to_pylist()
    tags = {t for t in spoken if TAG.fullmatch(t) and t in about.missing}
    told = [t for t in spoken if t and t not in tags]
    if not told or not all(is_number(t) for t in told):
        return None
    parsed = numbers(pa.array(told))
    whole = np.abs(parsed) < 2**53
    whole[whole] = np.mod(parsed[whole], 1) == 0
    same = [str(int(x)) if w else as_text(pa.array([x]))[0].as_py() for x, w in zip(parsed, whole, strict=True)]
    if same != told:
        return None
    values = dict(zip(told, parsed.tolist(), strict=True))
    return np.array([values.get(t, np.nan) for t in spoken])


def _tagged(name: str, spoken: list[str], codes: np.ndarray, about: ColumnLabels) -> Held:
    """Numbers with Stata's special missings, which the library takes as lone letters among floats."""
    values = [t[1] if TAG.fullmatch(t) else float(t) if t else np.nan for t in spoken]
    tags = tuple(sorted({v for v in values if isinstance(v, str)} | {c[1] for c in about.missing if TAG.fullmatch(c)}))
    return Held(name, np.array([*values, np.nan], dtype=object)[codes], about, False, _format(about, "dta"), tags)


def _numbers(shown: str, name: str, values: pa.Array, about: ColumnLabels, form: str, file: str) -> Held:
    import pyarrow as pa

    floats = _floats(values)
    known = floats[~np.isnan(floats)]
    if pa.types.is_integer(values.type) and len(known) and np.abs(known).max() >= 2**53:
        raise EngineError(
            f"column '{shown}' has whole numbers of more than 15 digits, which {file} cannot hold exactly; release it "
            "as CSV or Parquet, or as text"
        )
    if np.isinf(known).any():
        raise EngineError(f"column '{shown}' has infinite numbers, which {file} cannot hold; recode them first")
    tags = tuple(sorted(code[1] for code in about.missing if TAG.fullmatch(code))) if form == "dta" else ()
    if form == "dta" and pa.types.is_integer(values.type) and not values.null_count and not tags:
        for kind, low, high in (
            (np.int8, -127, 100),
            (np.int16, -32_767, 32_740),
            (np.int32, -(2**31) + 1, 2**31 - 28),
        ):
            if len(known) and low <= known.min() and known.max() <= high:
                return Held(name, floats.astype(kind), about, False, _format(about, form))
    form_of = _format(about, form) or (_whole_format(known) if form == "sav" else "")
    return Held(name, floats, about, False, form_of, tags)


def _whole_format(known: np.ndarray) -> str:
    """SPSS shows two decimals unless told otherwise; whole numbers need none."""
    if not len(known) or (np.mod(known, 1) != 0).any():
        return ""
    return f"F{min(40, max(8, len(str(int(known.min()))), len(str(int(known.max())))))}.0"


def _floats(values: pa.Array) -> np.ndarray:
    import pyarrow as pa

    result: np.ndarray = values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return result


def _time(name: str, values: pa.Array, about: ColumnLabels, form: str) -> Held:
    """Dates and date-times as each format counts them."""
    import pyarrow as pa

    if pa.types.is_date(values.type):
        days = _floats(values.cast(pa.date32()).cast(pa.int32()))
        counted = (days + _SPSS_DAYS) * 86_400.0 if form == "sav" else days + _DAYS_1960
        return Held(name, counted, about, False, _DATES[form][0])
    seconds = _floats(values.cast(pa.timestamp("ms")).cast(pa.int64())) / 1000
    start = _SPSS_DAYS if form == "sav" else _DAYS_1960
    return Held(name, (seconds + start * 86_400.0) * (1000 if form == "dta" else 1), about, False, _DATES[form][1])


def _format(about: ColumnLabels, form: str) -> str:
    """The file's own format where it came from the same family of programs."""
    return about.format if _FORMATS[form].fullmatch(about.format) and not about.format.startswith("A") else ""
