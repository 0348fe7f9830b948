"""Raw values as text and as numbers, the notation of numbers in texts, and equal numbers among many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


_NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \t]*\z"
_NUMBER_RE = re.compile(_NUMBER.replace(r"\z", r"\Z"))
_FEW = 10_000  # up to here plain Python is as fast, and spares the import of what some pyarrow calls bring along


def as_text(values: pa.Array) -> pa.Array:
    """Each value as text, shape kept: text unchanged, whole floats without a point (5.0 is "5"), negative zero as zero,
    dates as ISO 8601."""
    import pyarrow as pa

    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values
    if holds_bytes(values.type):
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], pa.string())
    written = values.cast(pa.string())
    if not pa.types.is_floating(values.type):
        return written
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(written, "-0"), "0", written)


def holds_bytes(kind: pa.DataType) -> bool:
    """Return whether values of a type are bytes, of any or of one length as UUIDs are."""
    import pyarrow as pa

    return any(
        is_kind(kind) for is_kind in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    )


def n_written(values: pa.Array) -> int:
    """Number of distinct values as text has them, of distinct ``values``: zero and negative zero are one."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return len(values)
    figures = values.to_numpy(zero_copy_only=False)
    return len(values) - max(0, int(np.count_nonzero(figures == 0)) - 1)


def texts(values: pa.Array) -> list[str]:
    """:func:`as_text` as a Python list; ``values`` must not hold nulls (a raw column's distinct values never do)."""
    result: list[str] = as_text(values).to_pylist()
    return result


def numbers(values: pa.Array) -> np.ndarray:
    """Each value as a float, NaN where it is no number; shape ``(len(values),)``.

    Text counts as a number when it is written in ASCII digits with an optional sign, point and exponent: "1,234",
    "nan", "1_000" and dates do not.
    """
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_decimal(kind):
        values, kind = values.cast(pa.string()), pa.float64()  # the nearest float, which Arrow's own cast can miss
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        result: np.ndarray = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return result
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.full(len(values), np.nan)
    if len(values) <= _FEW:
        return np.array([float(text) if is_number(text) else np.nan for text in values.to_pylist()], dtype=float)
    import pyarrow.compute as pc

    numeric = pc.match_substring_regex(values, _NUMBER)
    digits = pc.ascii_trim_whitespace(pc.if_else(numeric, values, pa.scalar(None, kind)))
    result = digits.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return result


def is_number(text: str) -> bool:
    """Return whether one text counts as a number, by the rule of :func:`numbers`."""
    return _NUMBER_RE.match(text) is not None


def nan_mask(values: pa.Array) -> np.ndarray:
    """A mask of the values that are a floating-point NaN (a missing value, not a number); shape ``(len(values),)``."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return np.zeros(len(values), dtype=bool)
    import pyarrow.compute as pc

    result: np.ndarray = pc.is_nan(values).to_numpy(zero_copy_only=False)
    return result


def text_mask(values: pa.Array, wanted: Sequence[str]) -> np.ndarray:
    """A mask of the values that read, as text, like one of ``wanted``; shape ``(len(values),)``."""
    if not wanted or not len(values):
        return np.zeros(len(values), dtype=bool)
    if len(values) <= _FEW:
        known = set(wanted)
        return np.array([text in known for text in texts(values)], dtype=bool)
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_string()
    result: np.ndarray = pc.is_in(as_text(values).cast(kind), pa.array(wanted, kind)).to_numpy(zero_copy_only=False)
    return result


def without_blanks(values: pa.Array) -> pa.Array:
    """Texts without blanks at their ends; any other values as they are."""
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    if len(values) <= _FEW:
        return pa.array([text.strip() for text in values.to_pylist()], values.type)
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(values)


def smallest(codes: np.ndarray, n_values: int) -> np.ndarray:
    """``codes`` (-1 for null) as the smallest signed integers that hold ``n_values`` codes."""
    for kind in (np.int8, np.int16):
        if n_values <= np.iinfo(kind).max:
            return codes.astype(kind)
    return codes.astype(np.int32)


def index_codes(indices: pa.Array) -> np.ndarray:
    """The 32-bit indices of a dictionary-coded array without nulls, as a NumPy view.

    Read from the buffer itself: ``to_numpy`` would import pandas, which takes longer than reading a small file.
    """
    if not len(indices):
        return np.zeros(0, dtype=np.int32)
    return np.frombuffer(indices.buffers()[1], dtype=np.int32, count=len(indices), offset=4 * indices.offset)


_ONE_SPACE = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'", "−": "-"})
_POINTS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_DIGIT = re.compile(r"\d")
_FIRST = 1000  # values that are looked at before all of them are


@dataclass(frozen=True)
class Notation:
    """The ``decimal`` sign of a column's numbers and the one between ``thousands``, "" where there is none.

    ``clear`` is false where the same texts can be read in two ways, as "1,234" can: then they are no numbers.
    """

    decimal: str = "."
    thousands: str = ""
    clear: bool = True

    def numbers(self, values: pa.Array) -> np.ndarray:
        """Each value as a float, NaN where it is no number; shape ``(len(values),)``.  Only texts have a notation."""
        if self.is_plain or not _are_texts(values):
            return numbers(values)
        return self.read(values.to_pylist())

    @property
    def name(self) -> Literal["comma", "point"]:
        """The name of the decimal sign."""
        return "comma" if self.decimal == "," else "point"

    @property
    def signs(self) -> str:
        """The signs in words."""
        return f"a decimal {self.name}" + (f" and '{self.thousands}' between thousands" if self.thousands else "")

    @property
    def words(self) -> str:
        """The signs in words, with an example."""
        sign = self.thousands or self.decimal
        return f"{self.signs}: '1{sign}234' is {'1234' if self.thousands else '1 and 234 thousandths'}"

    @property
    def is_plain(self) -> bool:
        """Return whether texts are numbers as programs write them, if they are numbers at all."""
        return self in (PLAIN, UNCLEAR)

    def read(self, texts: Sequence[str]) -> np.ndarray:
        """Each text as a float, NaN where it is no number in this notation."""
        fits = _form(self.decimal, self.thousands).fullmatch
        figures = np.full(len(texts), np.nan)
        for i, text in enumerate(texts):
            plain = text
            if fits(plain) or fits(plain := text.translate(_ONE_SPACE).strip()):
                figures[i] = float(plain.replace(self.thousands, "").replace(self.decimal, "."))
        return figures


PLAIN = Notation()
"""A decimal point and nothing between thousands, as programs write numbers."""
UNCLEAR = Notation(clear=False)


@cache
def _form(decimal: str, thousands: str) -> re.Pattern[str]:
    d, t = re.escape(decimal), re.escape(thousands)
    return re.compile(rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:{t}[0-9]{{3}})+|[0-9]+)(?:{d}[0-9]+)?")


def notation_of(values: pa.Array) -> Notation:
    """The notation in which all distinct ``values`` that hold a digit are numbers.

    :data:`PLAIN` where they are so plainly, or some are no numbers at all; :data:`UNCLEAR` where they are other numbers
    in another notation, or one notation does not fit all of them.
    """
    if not _are_texts(values):
        return PLAIN
    odd = np.isnan(numbers(values))
    if not odd.any():
        return PLAIN
    # one by one: filtering would load all of Arrow's functions
    written = _with_digits([values[i].as_py() for i in np.flatnonzero(odd)[:_FIRST].tolist()])
    if not written or not _each_a_number(written):
        return PLAIN
    every = values.to_pylist()
    written = _with_digits([text for text, is_odd in zip(every, odd, strict=True) if is_odd])
    fitting = _fitting([*written, *(text for text, is_odd in zip(every, odd, strict=True) if not is_odd)])
    if not fitting:
        return UNCLEAR if _each_a_number(written) else PLAIN
    (chosen, first), *others = fitting
    return chosen if all(np.array_equal(first, figures) for _, figures in others) else UNCLEAR


def readings(values: pa.Array) -> tuple[Notation, ...]:
    """The notations in which all distinct ``values`` that hold a digit are numbers, where they are other numbers in
    each; none where one notation is clear or none fits."""
    if could_be_thousands(values):
        return PLAIN, Notation(",", ".")
    if notation_of(values).clear:
        return ()
    return tuple(notation for notation, _ in _fitting(_with_digits(values.to_pylist())))


def _are_texts(values: pa.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _each_a_number(written: Sequence[str]) -> bool:
    """Return whether each text is a number in some notation."""
    readings = [Notation(decimal, sign).read(written) for decimal in ".," for sign in ", .'" if sign != decimal]
    return not np.isnan(readings).all(axis=0).any()


def _with_digits(written: Sequence[str]) -> list[str]:
    return [text for text in written if _DIGIT.search(text)]


def _fitting(written: Sequence[str]) -> list[tuple[Notation, np.ndarray]]:
    """The notations in which all texts are numbers, with these."""
    signs = {sign.translate(_ONE_SPACE) for sign in set("".join(written))}
    found = []
    for decimal in ".,":
        for thousands in sorted(signs.intersection(", .'") - {decimal}) or [""]:
            notation = Notation(decimal, thousands)
            if np.isnan(notation.read(written[:_FIRST])).any():
                continue
            if not np.isnan(figures := notation.read(written)).any():
                found.append((notation, figures))
    return found


def numbers_of_texts(texts: Sequence[str]) -> list[float]:
    """Each text as a float in the notation of all, NaN where it is no number."""
    if not any(map(_DIGIT.search, texts)):
        return [nan] * len(texts)
    import pyarrow as pa

    values = pa.array(texts, pa.string())
    figures: list[float] = notation_of(values).numbers(values).tolist()
    return figures


def could_be_thousands(values: pa.Array) -> bool:
    """Return whether plain numbers may be whole ones with a point between thousands, as "1.234" beside "12.345" may."""
    if not _are_texts(values):
        return False
    first = [text for text in _with_digits(values.slice(0, _FIRST).to_pylist()) if "." in text]
    if not all(_POINTS.fullmatch(text.strip()) for text in first):
        return False
    if not first and len(values) > _FIRST:
        return False
    written = _with_digits(values.to_pylist())
    pointed = [text for text in written if "." in text]
    fits = all(_POINTS.fullmatch(text.strip()) for text in pointed)
    return len(pointed) > 1 and fits and all(len(text.strip(" +-")) < 4 for text in written if "." not in text)


def written_unclearly(column: str) -> str:
    """The words on a ``column`` whose notation is not clear."""
    return (
        f"the numbers of column '{column}' can be read in several ways, as '1,234' and '1.234' can (1234, or 1 and 234 "
        f'thousandths); say in the plan which is right, as [[column]] with name = "{column}" and decimal = "," (or '
        'decimal = "." and thousands = ","), or write them with a decimal point and nothing between thousands'
    )


_SPARSE = 8  # places of such a table for each number; a longer one leaves a processor's cache
_SHORT = 1 << 16  # places that a table may have however few the numbers


def fit_a_table(top: int, n: int) -> bool:
    """Return whether ``n`` numbers below ``top`` are best looked up in a table."""
    return top <= max(_SHORT, _SPARSE * n)


def first_places(numbers: np.ndarray) -> np.ndarray:
    """For each number, 0 or more, the place of the first one that equals it."""
    top = int(numbers.max(initial=0)) + 1
    if not fit_a_table(top, len(numbers)):
        _, first, same = np.unique(numbers, return_index=True, return_inverse=True)
        return np.asarray(first[same])
    places = np.empty(top, np.int64)
    places[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # of equal ones the last that is written stays
    return np.asarray(places[numbers])


def in_use(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of ``n`` codes that occur, in order, and for each of ``codes`` its place among them."""
    used = np.zeros(n, bool)
    used[codes] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[codes]
