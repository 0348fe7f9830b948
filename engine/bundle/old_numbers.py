"""Search released files for the original ids of records and the original numbers of households.

A column that holds them record by record is found whatever they look like.  Elsewhere they are searched as words: those
of eight signs and more, one of which is enough where it holds a letter; numbers alone, which might be any others, are
found by several in one file.  Those with blanks or letters beyond A to Z are searched as whole fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.bundle.export_source import ExportSource
from engine.common.raw_values import texts

LONG = 8
"""The fewest signs of a number that is searched as a word."""
_WORD = re.compile(rb"[0-9A-Za-z_.:-]{8,}")
_BETWEEN_FIELDS = b",;\"'<>\t\r\n"
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
        """A released column that shows them in more than half of the records that have one, if there is one."""
        original = self.source.raw.columns[self.column]
        code_of = {text: code for code, text in enumerate(texts(original.values))}
        for name in self.source.columns:
            column = self.source.raw.columns[name]
            if name in self.source.data.single_uses or len(column.values) < len(code_of) / 2:
                continue
            same = np.array([code_of.get(text, -1) for text in texts(column.values)] + [-1])[column.codes]
            known = original.codes >= 0  # no number is shown where there is none
            if known.any() and np.mean(same[known] == original.codes[known]) > 0.5:
                return name
        return None

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


def old_numbers_of(source: ExportSource) -> tuple[OldNumbers, ...]:
    """The original ids and numbers of households of an export."""
    return tuple(
        OldNumbers(source, column, _WHAT[use]) for column, use in source.data.single_uses.items() if use in _WHAT
    )
