"""A column as an SPSS or Stata file holds it: name, numbers or text, labels and missing codes that fit, a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import as_text, is_number, nan_mask, numbers
from engine.data.io.arrow_columns import clock_times, one_array, plain_values, refuse_zero_bytes, value_notes
from engine.data.microdata import ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class _Rule:
    """Bytes of a name, how it begins, what its signs are, words it must not be, and whether capitals are told apart."""

    most_bytes: int
    begins: Callable[[str], bool]
    others: str
    reserved: frozenset[str]
    cased: bool


Form = Literal["sav", "dta"]
"""Formats of SPSS and Stata files."""
_STATA_WORDS = (
    "_all _b byte _coef _cons double float if in int long _n _N _pi _pred _rc _skip strL using with "
    + " ".join(f"str{i}" for i in range(1, 2046))
).split()
_RULES: dict[str, _Rule] = {
    "sav": _Rule(
        64,
        str.isalpha,
        r"[\w.@#$]",
        frozenset(("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")),
        cased=False,
    ),
    "dta": _Rule(32, lambda sign: not sign.isdigit(), r"[A-Za-z0-9_]", frozenset(_STATA_WORDS), cased=True),
}


def short_names(names: Sequence[str], form: Form) -> dict[str, str]:
    """The name of each column in a file of the form "sav" or "dta": its own where the format takes it.

    A name that is too long, holds other signs or differs from an earlier one only in capitals is made anew: foreign
    signs become ``_``, and a number at the end keeps it apart.  The same names always give the same answer.
    """
    rule = _RULES[form]

    def folded(name: str) -> str:
        return name if rule.cased else name.upper()

    fits = re.compile(f"(?:{rule.others})+")
    short: dict[str, str] = {}
    used = set(rule.reserved)
    for name in names:
        good = fits.fullmatch(name) and rule.begins(name[0]) and not name.endswith(".")
        if good and len(name.encode()) <= rule.most_bytes and folded(name) not in used:
            short[name] = name
            used.add(folded(name))
    for name in names:
        if name not in short:
            short[name] = _shortened(name, rule, used)
            used.add(folded(short[name]))
    return {name: short[name] for name in names}


def _shortened(name: str, rule: _Rule, used: Collection[str]) -> str:
    text = "".join(sign if re.fullmatch(rule.others, sign) else "_" for sign in name).rstrip(".") or "_"
    if not rule.begins(text[0]):
        text = "v" + text
    number = 0
    while True:
        end = str(number) if number else ""
        short = _cut_name(text, rule.most_bytes - len(end)) + end
        if (short if rule.cased else short.upper()) not in used:
            return short
        number = max(2, number + 1)


def _cut_name(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")


_LEAST_LABELLED, _MOST_LABELLED = -2_147_483_647, 2_147_483_620


def stata_labels(value: float) -> bool:
    """Return whether Stata can label a number."""
    return float(value).is_integer() and _LEAST_LABELLED <= value <= _MOST_LABELLED


def spss_missing(about: ColumnLabels, values: np.ndarray, is_text: bool, width: int = 8) -> tuple[list[Any], int]:
    """Missing codes of a column as SPSS declares them, three codes or one range and one code, and how many codes and
    ranges are left over.

    Codes that occur in ``values`` come first.  Neighbours become a range where no other value lies between.  A text
    code has at most 8 bytes, and none is longer than the column (``width`` bytes).
    """
    if is_text:
        present = set(values.tolist())
        texts = [code for code in about.missing if len(code.encode()) <= min(8, width)]
        texts.sort(key=lambda code: code not in present)
        return texts[:3], len(about.missing) - len(texts[:3]) + len(about.missing_ranges)
    codes = sorted({float(code) for code in about.missing if is_number(code) and isfinite(float(code))})
    n_others = sum(not (is_number(code) and isfinite(float(code))) for code in about.missing)
    ranges = [{"lo": low, "hi": high} for low, high in about.missing_ranges]
    codes = [code for code in codes if not any(r["lo"] <= code <= r["hi"] for r in ranges)]
    if len(codes) <= (3 if not ranges else 1) and len(ranges) < 2:
        return [*ranges, *codes], n_others
    ends = [*codes, *(end for r in ranges for end in (r["lo"], r["hi"]))]
    low, high = min(ends), max(ends)
    others = {float(value) for value in values[~np.isnan(values)].tolist()}
    others |= {float(raw) for raw, _ in about.values if is_number(raw)}
    if all(
        value in codes or any(r["lo"] <= value <= r["hi"] for r in ranges) for value in others if low <= value <= high
    ):
        return [{"lo": low, "hi": high}], n_others
    codes.sort(key=lambda code: code not in others)
    declared = [*ranges[:1], *codes[:1]] if ranges else codes[:3]
    return declared, len(ranges) + len(codes) - len(declared) + n_others


_SPSS_DAYS, _DAYS_1960 = 141_428, 3_653
TAG = re.compile(r"\.[a-z]")
_LABEL_BYTES = {"sav": (256, 120), "dta": (80, 32_000)}  # of a column, of a value
_TEXT_BYTES = {"sav": 32_767, "dta": 2_045}
_DATES = {
    "sav": ("DATE11", "DATETIME20"),
    "dta": ("%td", "%tc"),
}
_FIRST_SHOWN = {"sav": date(1582, 10, 15), "dta": date(100, 1, 1)}
_EPOCH = date(1970, 1, 1)
_YEAR_1, _YEAR_10000 = -719_162, 2_932_897  # days from 1970
_RANGES = {"sav": (5e-324, 1.79e308), "dta": (5e-324, 8.98e307)}
_TIME_FORMAT = re.compile(r"[AEJS]?DATE|YMDHMS|MOYR|QYR|WKYR|%-?[td]", re.IGNORECASE)
_FORMATS = {
    "sav": re.compile(r"(F|COMMA|DOT|DOLLAR|PCT|E|N|TIME|DTIME|A)\d+(\.\d+)?"),
    "dta": re.compile(r"%-?0?\d+(\.\d+)?(g|f|e)c?"),
}


@dataclass(frozen=True)
class EncodedColumn:
    """A column as a format holds it: numbers (with special missings as letters) or text, and what was lost.

    ``column`` is its name in the plan, ``name`` that in the file; ``counts`` says what its numbers count ("days",
    "moments" or nothing), and ``notes`` what the file says otherwise than the column.
    """

    column: str
    name: str
    values: Any
    about: ColumnLabels
    is_text: bool
    format: str
    tags: tuple[str, ...] = ()
    counts: str = ""
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Bytes of the longest text."""
        return max((len(text.encode()) for text in set(self.values.tolist())), default=0) if self.is_text else 8


def fitting(about: ColumnLabels, form: Form) -> tuple[ColumnLabels, bool]:
    """Labels no longer than the form can hold, and whether some were cut."""
    label_bytes, value_bytes = _LABEL_BYTES[form]
    label = _cut(about.label, label_bytes)
    values = tuple((raw, _cut(text, value_bytes)) for raw, text in about.values)
    fitted = replace(about, label=label, values=values)
    return fitted, fitted != about


def _cut(text: str, limit: int) -> str:
    text = text.replace("\0", " ")  # a label ends there for the library
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore").rstrip() + "…"


def encode(column: str, name: str, values: Any, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    """The column called ``column`` in the plan and ``name`` in a file of the form "sav" or "dta".

    Values are never altered to fit: what the form cannot hold is an :class:`EngineError` that names ``file``.  Text
    that is written exactly as numbers are (as all columns of a CSV file are text) becomes numbers.
    """
    import pyarrow as pa

    values = one_array(plain_values(values))
    arrow_type = values.type
    notes = value_notes(column, values, file)
    if pa.types.is_duration(arrow_type):
        values, arrow_type = values.cast(pa.int64()), pa.int64()
    if pa.types.is_null(arrow_type):
        return EncodedColumn(column, name, np.full(len(values), np.nan), about, False, "")
    if pa.types.is_boolean(arrow_type):
        return EncodedColumn(column, name, _floats(values.cast(pa.int8())), _of_truths(about), False, "")
    if pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):
        encoded = _time(column, name, values, about, form, file)
    elif pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        encoded = _numbers(column, name, values, about, form, file)
    else:
        encoded = _text(column, name, values, about, form, file)
    return replace(encoded, notes=(*notes, *encoded.notes))


def _of_truths(about: ColumnLabels) -> ColumnLabels:
    """The labels of a column of truth values, which become 1 and 0."""
    number = {"true": "1", "false": "0"}
    values = tuple((number.get(raw, raw), label) for raw, label in about.values)
    missing = tuple(number.get(code, code) for code in about.missing)
    return replace(about, values=values or (("0", "false"), ("1", "true")), missing=missing)


def _text(column: str, name: str, values: pa.Array, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    """Text, or the numbers that it holds."""
    import pyarrow as pa

    coded = values.dictionary_encode()
    text = as_text(coded.dictionary)
    refuse_zero_bytes(column, text)
    is_string = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    plain = about.notation_of(text).is_plain
    numeric = _as_numbers(text, about) if is_string and plain else None
    if numeric is not None:
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if form == "dta" and any(TAG.fullmatch(t) for t in text.to_pylist()):
            return _tagged(column, name, text.to_pylist(), codes, about)
        if not any(TAG.fullmatch(t) for t in text.to_pylist()) and _in_range(numeric, form):
            return EncodedColumn(column, name, np.append(numeric, np.nan)[codes], about, False, _format(about, form))
    longest = max((len(t.encode()) for t in text.to_pylist()), default=0)
    if longest > _TEXT_BYTES[form]:
        raise EngineError(
            f"column '{column}' has a text of {longest:,} bytes, and {file} can hold {_TEXT_BYTES[form]:,}; leave the "
            "column out or release it as CSV or Parquet"
        )
    text_values = [*text.to_pylist(), ""]
    texts = np.array(text_values, dtype=object)[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    notes = []
    if not plain:
        notes.append(f"'{column}': its numbers are texts in {file}, written as they are in the data.")
    if form != "dta" and any(t.endswith(" ") for t in text_values):
        notes.append(f"'{column}': blanks at the end of its texts are lost in {file}, which fills texts with blanks.")
    return EncodedColumn(column, name, texts, about, True, "", notes=tuple(notes))


def _in_range(numbers: np.ndarray, form: Form) -> bool:
    """Return whether a file of the form can hold numbers of this size."""
    least, most = _RANGES[form]
    sizes = np.abs(numbers[~np.isnan(numbers) & (numbers != 0)])
    return not len(sizes) or bool(least <= sizes.min() and sizes.max() <= most)


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


def _tagged(column: str, name: str, text_values: list[str], codes: np.ndarray, about: ColumnLabels) -> EncodedColumn:
    """Numbers with Stata's special missings, which the library takes as lone letters among floats."""
    values = [t[1] if TAG.fullmatch(t) else float(t) if t else np.nan for t in text_values]
    tags = tuple(sorted({v for v in values if isinstance(v, str)} | {c[1] for c in about.missing if TAG.fullmatch(c)}))
    held = np.array([*values, np.nan], dtype=object)[codes]
    return EncodedColumn(column, name, held, about, False, _format(about, "dta"), tags)


def _numbers(column: str, name: str, values: pa.Array, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    import pyarrow as pa

    floats = _floats(values)
    present = floats[~np.isnan(floats)]
    if pa.types.is_integer(values.type) and len(present) and np.abs(present).max() >= 2**53:
        raise EngineError(
            f"column '{column}' has whole numbers of more than 15 digits, which {file} cannot hold exactly; release it "
            "as CSV or Parquet, or as text"
        )
    if pa.types.is_decimal(values.type) and not exact_decimals(values.unique().drop_null()):
        raise EngineError(
            f"column '{column}' has decimal numbers of more than 15 digits, which {file} cannot hold exactly; release "
            "it as CSV or Parquet, or as text"
        )
    if np.isinf(present).any():
        raise EngineError(f"column '{column}' has infinite numbers, which {file} cannot hold; recode them first")
    if not _in_range(present, form):
        least, most = _RANGES[form]
        raise EngineError(
            f"column '{column}' has numbers of a size that {file} cannot hold (from {least:.1g} to {most:.1g}, or 0); "
            "release it as CSV or Parquet, or scale it"
        )
    notes = []
    if nan_mask(values.drop_null()).any():
        notes.append(f"'{column}': values that are not a number (NaN) are missing in {file}.")
    if _TIME_FORMAT.match(about.format):
        notes.append(f"'{column}' counts time as the format {about.format} does; {file} shows the numbers themselves.")
    tags = tuple(sorted(code[1] for code in about.missing if TAG.fullmatch(code))) if form == "dta" else ()
    if form == "dta" and pa.types.is_integer(values.type) and not values.null_count and not tags:
        for dtype, low, high in (
            (np.int8, -127, 100),
            (np.int16, -32_767, 32_740),
            (np.int32, -(2**31) + 1, 2**31 - 28),
        ):
            if len(present) and low <= present.min() and present.max() <= high:
                floats = floats.astype(dtype)
                break
    form_of = _format(about, form) or (_whole_format(present) if form == "sav" else "")
    return EncodedColumn(column, name, floats, about, False, form_of, tags, notes=tuple(notes))


def exact_decimals(values: pa.Array) -> bool:
    """Return whether floating-point numbers have the digits of all these decimal ones."""
    return all(Decimal(repr(float(value))) == value for value in values.to_pylist())


def _whole_format(present: np.ndarray) -> str:
    """SPSS shows two decimals unless told otherwise; whole numbers need none."""
    if not len(present) or (np.mod(present, 1) != 0).any():
        return ""
    return f"F{min(40, max(8, len(str(int(present.min()))), len(str(int(present.max())))))}.0"


def _floats(values: pa.Array) -> np.ndarray:
    return numbers(values) + 0.0  # one nought, not two


def _time(column: str, name: str, values: pa.Array, about: ColumnLabels, form: Form, file: str) -> EncodedColumn:
    """Dates and date-times as each format counts them; of a time zone the clock times."""
    import pyarrow as pa

    is_day = pa.types.is_date(values.type)
    try:
        if is_day:
            milliseconds = _floats(values.cast(pa.date32()).cast(pa.int32())) * 86_400_000.0
        else:
            milliseconds = _floats(clock_times(values).cast(pa.timestamp("ms")).cast(pa.int64()))
    except pa.ArrowInvalid:
        raise EngineError(
            f"column '{column}' has times finer than a millisecond, or of no year that can be written, which {file} "
            "cannot hold exactly; round them, or release the column as CSV or Parquet"
        ) from None
    days = milliseconds[~np.isnan(milliseconds)] / 86_400_000
    if len(days) and not (days.min() >= _YEAR_1 and days.max() < _YEAR_10000):
        raise EngineError(f"column '{column}' has dates outside the years 1 to 9999; recode them first")
    notes = []
    if len(days) and days.min() < (_FIRST_SHOWN[form] - _EPOCH).days:
        notes.append(
            f"'{column}' has dates before {_FIRST_SHOWN[form].isoformat()}, which programs that open {file} may not "
            "show; they are there as numbers."
        )
    start = _SPSS_DAYS if form == "sav" else _DAYS_1960
    if is_day and form != "sav":
        counted = milliseconds / 86_400_000 + start
    else:
        counted = (milliseconds / 1000 + start * 86_400.0) * (1000 if form == "dta" else 1)
    kind = _DATES[form][0 if is_day else 1]
    counts = "days" if is_day else "moments"
    return EncodedColumn(column, name, counted, about, False, kind, counts=counts, notes=tuple(notes))


def _format(about: ColumnLabels, form: Form) -> str:
    """The file's own format where it came from the same family of programs."""
    return about.format if _FORMATS[form].fullmatch(about.format) and not about.format.startswith("A") else ""
