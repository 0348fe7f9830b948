"""The parameters of a mechanism, the values they take on given data, and the amount of change that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

from engine.common.errors import UsageError
from engine.data.microdata import Microdata
from engine.release.spec import ReleaseSpec, percent

AmountKind = Literal["share", "count", "number", "word"]


class Counts(NamedTuple):
    """The amount that a parameter gives: its kind, the ``unit`` behind its number (of a word the word itself), and the
    text with which the parameter leaves the amount to the next one."""

    kind: AmountKind
    unit: str = ""
    unset: str | None = None


@dataclass(frozen=True)
class Amount:
    """How much a candidate changes: the canonical ``text`` of its number, or a word, and the ``unit`` behind it."""

    kind: AmountKind
    text: str
    unit: str = ""

    @property
    def short(self) -> str:
        """The number or the word alone: ``"10 %"``, ``"5"``, ``"c = 0.15"``, ``"all sensitive records"``."""
        if self.kind == "share":
            return percent(self.text)
        return f"{int(self.text):,}" if self.kind == "count" else self.text

    @property
    def share(self) -> str:
        """The share as a decimal; empty where the amount is none."""
        return self.text if self.kind == "share" else ""

    @property
    def order(self) -> tuple[str, float, str]:
        """A key that sorts amounts of one unit by size, and words last."""
        number = float(self.text.rpartition(" ")[2]) if self.kind != "word" else float("inf")
        return self.unit, number, self.text

    def __str__(self) -> str:
        return f"{self.short} {self.unit}".rstrip()


ParameterKind = Literal["decimal", "whole", "choice", "names", "text", "truth"]
"""What a parameter's text is: a number, a whole one, one of its choices, names joined by +, any text, or yes or no."""
_MOST_DIGITS = 18


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``kind``, its default as text (None: it must be given), its legal range and its meaning.

    ``low`` and ``high`` bound decimals and whole numbers (inclusive); ``choices`` lists the words of a choice.
    ``label`` is what a page calls it, ``symbol`` the sign of the literature; by default both follow from the name.
    ``counts`` is there where the parameter says how much is changed.
    """

    name: str
    kind: ParameterKind
    default: str | None
    meaning: str
    low: str | None = None
    high: str | None = None
    choices: tuple[str, ...] = ()
    label: str = ""
    symbol: str = ""
    counts: Counts | None = None

    def canonical(self, text: str) -> str:
        """The one text of equal values: ``"0.10"`` is ``"0.1"``; refuses what is out of range."""
        text = str(text).strip()
        if self.kind in ("decimal", "whole"):
            return self._number(text)
        if self.kind == "truth":
            word = {"1": "yes", "true": "yes", "yes": "yes", "0": "no", "false": "no", "no": "no"}.get(text.lower())
            if word is None:
                raise UsageError(f"{self.name} == {text!r}, must be yes or no.")
            return word
        if self.kind == "choice" and text not in self.choices:
            raise UsageError(f"{self.name} == {text!r}, must be one of {', '.join(self.choices)}.")
        if self.kind == "names":
            return "+".join(part.strip() for part in text.split("+") if part.strip())
        return text

    def amount(self, text: str) -> Amount:
        """The amount that a canonical text gives; of a parameter that ``counts``."""
        assert self.counts is not None
        kind, unit, _ = self.counts
        if kind == "word":
            return Amount(kind, unit)
        return Amount(kind, f"{self.symbol or self.name} = {text}" if kind == "number" else text, unit)

    @property
    def wanted(self) -> str:
        """Noun for a legal number."""
        return "a whole number" if self.kind == "whole" else "a number"

    def _number(self, text: str) -> str:
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        must_be_whole = self.kind == "whole"
        if value.is_finite() and not -_MOST_DIGITS <= value.adjusted() <= _MOST_DIGITS:
            value = Decimal("nan") if value else Decimal(0)  # written out it would fill the memory
        if not value.is_finite() or (must_be_whole and value != int(value)):
            raise UsageError(f"{self.name} == {text!r}, must be {self.wanted}.")
        if (self.low is not None and value < Decimal(self.low)) or (
            self.high is not None and value > Decimal(self.high)
        ):
            legal = f"between {self.low} and {self.high}" if self.low and self.high else f"at least {self.low}"
            is_percent = (self.name, self.low, self.high) == ("rate", "0", "1") and 1 < value <= 100
            hint = f" Did you mean {value / 100:f}?" if is_percent else ""
            raise UsageError(f"{self.name} == {text}, must be {legal}.{hint}")
        plain = format(value.normalize(), "f")
        return "0" if Decimal(plain) == 0 else plain

    def value(self, canonical: str) -> Any:
        """The value of a canonical text: float, int, bool, tuple of names or text."""
        if self.kind == "decimal":
            return float(canonical)
        if self.kind == "whole":
            return int(canonical)
        if self.kind == "truth":
            return canonical == "yes"
        return tuple(filter(None, canonical.split("+"))) if self.kind == "names" else canonical


@dataclass(frozen=True)
class Setting:
    """A mechanism's parameters on given data: values by name, the texts that identify them, and the plan's key
    attributes.

    ``keys`` and ``numeric`` are what the mechanism works on: attribute places, and raw numeric columns.  A mechanism
    whose candidates are roles and rates finds these in ``spec``.  ``beside`` are the columns that leave with the
    attributes; where they are given, a release is taken as its reader sees it
    (:func:`engine.release.reader_view.as_seen`).  ``rows_are_cells`` says that nothing leaves beside them, and none is
    finer than its levels.
    """

    data: Microdata
    values: Mapping[str, Any]
    texts: tuple[tuple[str, str], ...]
    keys: tuple[int, ...]
    numeric: tuple[str, ...] = ()
    spec: ReleaseSpec | None = None
    beside: tuple[str, ...] | None = None
    rows_are_cells: bool = False

    def __getitem__(self, name: str) -> Any:
        return self.values[name]
