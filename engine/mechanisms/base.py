"""Definition of a mechanism: parameters, one fit for many replicates, one draw per replicate.

The random swap (:mod:`engine.mechanisms.random_swap`) draws over cells and shares pairs between candidates; every other
published mechanism is one :class:`Mechanism` that draws over records.  Both end in releases that the same measures
measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable


class Drawn(NamedTuple):
    """One replicate: its ``tables`` (one or more), ``status`` (a code of :mod:`engine.frontier.summary`), and
    ``diagnostics`` by name.

    ``touched[d, i]`` says whether record ``i`` took part in table ``d``, even if its value came back equal.
    """

    tables: list[ReleasedTable]
    status: int
    touched: np.ndarray
    diagnostics: dict[str, float | str]


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
