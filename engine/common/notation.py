"""The notation of numbers in the texts of a column: the decimal sign, and the one between groups of three digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from engine.common.raw_values import numbers

if TYPE_CHECKING:
    import pyarrow as pa

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
