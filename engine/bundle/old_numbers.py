"""Search released files for the original ids of records and the original numbers of households.

A column that holds them record by record is found whatever they look like: in most records, or in more of them than
chance explains.  So is a column of which each value goes with one of them in the same order, as numbers do to which
something was added.  Elsewhere they are searched as words: those of eight signs and more, one of which is enough where
it holds a letter; numbers alone, which might be any others, are found by several in one file.  Those with blanks or
letters beyond A to Z are searched as whole fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from engine.bundle.export_source import ExportSource
from engine.common.raw_values import numbers, texts
from engine.data.microdata import RawColumn

if TYPE_CHECKING:
    import pyarrow as pa

LONG = 8
"""The fewest signs of a number that is searched as a word."""
_WORD = re.compile(rb"[0-9A-Za-z_.:-]{8,}")
_BETWEEN_FIELDS = b",;\"'<>\t\r\n"
_FEWEST = 20  # records or numbers from which agreement is no accident
_ERRORS = 6.0  # standard errors beyond what unrelated columns agree on
_ALIKE = 0.95
_SEVERAL = 3  # numbers without a letter in one file, from which they are no accident
_WHAT = {"id": "the original ids of records", "unit": "the original numbers of households"}


@dataclass(frozen=True)
class OldNumbers:
    """The original numbers of one kind (``what``, in words) of an export."""

    source: ExportSource
    column: str
    what: str

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Those that are long enough to be searched as words, and are no value of a released column."""
        own = self.source.columns
        long = {text for text in texts(self.source.raw.columns[self.column].values) if len(text) >= LONG}
        long -= {str(number) for number in range(10 ** (LONG - 1), self.source.data.n_records + 1)}  # may be new ones
        for name in own if long else ():
            if name not in self.source.data.single_uses:
                long -= set(texts(self.source.raw.columns[name].values))
        return frozenset(text.encode() for text in long)

    def column_with(self) -> str | None:
        """A released column that shows them in more than half of the records that have one, or in more than chance
        explains; if there is one."""
        original = self.source.raw.columns[self.column]
        code_of = {text: code for code, text in enumerate(texts(original.values))}
        known = original.codes >= 0  # no number is shown where there is none
        number, n_known = original.codes[known], int(known.sum())
        for name, column in self._released():
            shown = np.array([code_of.get(text, -1) for text in texts(column.values)] + [-1])[column.codes][known]
            agree = shown == number
            if 2 * np.count_nonzero(agree) > n_known or _beyond_chance(shown, number, agree):
                return name
        return None

    def column_in_order(self) -> str | None:
        """A released column whose values stand in the order of the numbers, each with a value of its own, up to one in
        twenty; if there is one."""
        original = self.source.raw.columns[self.column]
        numbers_seen, first = np.unique(original.codes, return_index=True)
        first = first[numbers_seen >= 0]
        first = first[np.argsort(_ranks(original.values)[original.codes[first]])]
        for name, column in self._released():
            if len(first) <= _FEWEST or len(column.values) < _ALIKE * len(first):
                continue
            codes = column.codes[first]
            steps = np.diff(_ranks(column.values)[codes[codes >= 0]])
            if max(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)) > _ALIKE * (len(first) - 1):
                return name
        return None

    def _released(self) -> Iterator[tuple[str, RawColumn]]:
        """The released columns that are not renumbered."""
        for name in self.source.columns:
            if name not in self.source.data.single_uses:
                yield name, self.source.raw.columns[name]

    @cached_property
    def _forms(self) -> tuple[re.Pattern[bytes], ...]:
        """Their forms in a file: words, and fields of the signs that those which are no words hold."""
        others = [word for word in self.words if not _WORD.fullmatch(word)]
        signs = {sign for word in others for sign in word} - set(_BETWEEN_FIELDS)
        forms = [_WORD] if len(others) < len(self.words) else []
        if signs:
            forms.append(re.compile(b"[" + b"".join(re.escape(bytes([sign])) for sign in sorted(signs)) + b"]{8,}"))
        return tuple(forms)

    def found_in(self, content: bytes) -> bool:
        """Return whether a piece of a file holds some of them as words or fields."""
        found = {word for form in self._forms for word in form.findall(content)} & self.words
        return len(found) >= _SEVERAL or any(not word.isdigit() for word in found)


def _beyond_chance(shown: np.ndarray, number: np.ndarray, agree: np.ndarray) -> bool:
    """Return whether two columns of numbers agree in more records than unrelated ones with their values would, and not
    by a few of their values alone."""
    n = np.count_nonzero(agree)
    if n < _FEWEST or len(np.unique(number[agree])) < _FEWEST:
        return False
    known = shown[shown >= 0]
    size = int(max(number.max(), known.max())) + 1
    of_number, of_shown = np.bincount(number, minlength=size), np.bincount(known, minlength=size)
    expected = float(of_number @ of_shown) / len(number)
    return bool(n > expected + _ERRORS * (expected + 1) ** 0.5)


def _ranks(values: pa.Array) -> np.ndarray:
    """The rank of each value: of numbers as such, else of their texts."""
    as_numbers = numbers(values)
    order = np.argsort(np.array(texts(values)) if np.isnan(as_numbers).any() else as_numbers, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def old_numbers_of(source: ExportSource) -> tuple[OldNumbers, ...]:
    """The original ids and numbers of households of an export."""
    data = source.data
    # of a number that several columns make together, a part that many households share names none of them
    return tuple(
        OldNumbers(source, column, _WHAT[use])
        for column, use in data.single_uses.items()
        if use in _WHAT
        if data.units is None or column not in data.unit_columns or 2 * source.raw.n_values(column) > len(data.units)
    )
