"""What a mechanism is: parameters, one fit for many replicates, one draw per replicate.

The random swap (:mod:`engine.mechanisms.random_swap`) draws over cells and shares pairs between candidates; every other
published mechanism is one :class:`Mechanism` that draws over records.  Both end in releases that the same measures
measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np

from engine.errors import UsageError, did_you_mean
from engine.microdata import Microdata
from engine.records import ReleasedTable
from engine.streams import derive, generator

KINDS = ("decimal", "whole", "choice", "names", "text", "truth")


_MOST_DIGITS = 18


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``kind``, its default as text (None: it must be given), its legal range and its meaning.

    ``low`` and ``high`` bound decimals and whole numbers (inclusive); ``choices`` lists the words of a choice.
    """

    name: str
    kind: str
    default: str | None
    meaning: str
    low: str | None = None
    high: str | None = None
    choices: tuple[str, ...] = ()

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

    def _number(self, text: str) -> str:
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        whole = self.kind == "whole"
        if value.is_finite() and not -_MOST_DIGITS <= value.adjusted() <= _MOST_DIGITS:
            value = Decimal("nan") if value else Decimal(0)  # written out it would fill the memory
        if not value.is_finite() or (whole and value != int(value)):
            raise UsageError(f"{self.name} == {text!r}, must be {'a whole number' if whole else 'a number'}.")
        if (self.low is not None and value < Decimal(self.low)) or (
            self.high is not None and value > Decimal(self.high)
        ):
            legal = f"between {self.low} and {self.high}" if self.low and self.high else f"at least {self.low}"
            raise UsageError(f"{self.name} == {text}, must be {legal}.")
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


class Drawn(NamedTuple):
    """One replicate: its ``tables`` (one or more), ``status`` (a code of :mod:`engine.evaluation`), and ``diagnostics``
    by name.

    ``touched[d, i]`` says whether record ``i`` took part in table ``d``, even if its value came back equal.
    """

    tables: list[ReleasedTable]
    status: int
    touched: np.ndarray
    diagnostics: dict[str, float | str]


@dataclass(frozen=True)
class Setting:
    """A mechanism's parameters on given data: values by name, the texts that identify them, and the plan's key
    attributes.

    ``keys`` and ``numeric`` are what the mechanism works on: attribute places, and raw numeric columns.
    """

    data: Microdata
    values: Mapping[str, Any]
    texts: tuple[tuple[str, str], ...]
    keys: tuple[int, ...]
    numeric: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism.

    ``prepare(setting)`` checks the data and does once what all replicates share (distances, fits); ``draw(prepared,
    derived)`` draws one replicate from its derived key.  ``rate`` says in words what its amount counts (records,
    initiators, targets), ``when`` when to use it, ``changes`` the attributes that may change (default: the keys),
    ``fit`` names the parameters that ``prepare`` depends on (candidates that agree on them share one fit).
    """

    name: str
    title: str
    source: str
    when: str
    rate: str
    prepare: Callable[[Setting], Any]
    draw: Callable[[Any, Setting, bytes], Drawn]
    parameters: tuple[Parameter, ...] = ()
    fit: tuple[str, ...] = ()
    many_tables: bool = False
    check: Callable[[Mapping[str, Any]], None] | None = field(default=None)
    changes: Callable[[Setting], Sequence[int]] | None = field(default=None)

    def parameter(self, name: str) -> Parameter:
        """The parameter called ``name``."""
        for one in self.parameters:
            if one.name == name:
                return one
        raise UsageError(
            f"mechanism '{self.name}' has no parameter '{name}'.{did_you_mean(name, [p.name for p in self.parameters])}"
        )

    def canonical(self, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """All parameters as canonical texts in declared order, defaults filled in."""
        for name in given:
            self.parameter(name)
        texts = []
        for one in self.parameters:
            text = given.get(one.name, one.default)
            if text is None:
                raise UsageError(f"mechanism '{self.name}' needs the parameter '{one.name}': {one.meaning}")
            texts.append((one.name, one.canonical(text)))
        if self.check:
            self.check({name: self.parameter(name).value(text) for name, text in texts})
        return tuple(texts)

    def setting(
        self, data: Microdata, given: Mapping[str, str], keys: Sequence[int], numeric: Sequence[str] = ()
    ) -> Setting:
        """The parameters on given data."""
        texts = self.canonical(given)
        values = {name: self.parameter(name).value(text) for name, text in texts}
        return Setting(data, values, texts, tuple(keys), tuple(numeric))


def shared_stream(derived: bytes) -> np.random.Generator:
    """The generator of what all tables of a replicate share."""
    return generator(derive(derived, "shared"))


def table_stream(derived: bytes, table: int) -> np.random.Generator:
    """The generator of one table of a replicate; ten tables begin with the five of a smaller release."""
    return generator(derive(derived, "table", (table,)))
