"""Definition of a mechanism: parameters, one fit for many replicates, one draw per replicate.

Every published mechanism is one :class:`Mechanism` that draws a replicate over records.  One whose replicates are drawn
faster over the cells of a table, many candidates at once, also has a :class:`BatchedDraw`: the random swap does
(:mod:`engine.mechanisms.random_swap`).  Both end in releases that the same measures measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.spec import ReleaseSpec, Structure, multi_kind


class Drawn(NamedTuple):
    """One replicate: its ``tables`` (one or more), ``status`` (a code of :mod:`engine.frontier.summary`), and
    ``diagnostics`` by name.

    ``touched[d, i]`` says whether record ``i`` took part in table ``d``, even if its value came back equal.
    """

    tables: list[ReleasedTable]
    status: int
    touched: np.ndarray
    diagnostics: dict[str, float | str]


class PreparedCells(Protocol):
    """The cells of a table made ready for one structure."""

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of cells in the order of drawing, shape ``(pairs, 2)``; fewer than ``wanted`` when none is left."""
        ...


@dataclass(frozen=True)
class BatchedDraw:
    """A draw of pairs of cells that all candidates of one structure share.

    ``prepare(structure, table)`` does once what all replicates share.  ``stream(key, structure, table)`` gives the
    derived key of a replicate by its number; a smaller rate takes the beginning of a larger one's pairs.
    ``records(derived, pairs, cell_of_record)`` chooses the records, shape ``(pairs, 2)``.
    """

    prepare: Callable[[Structure, ContingencyTable], PreparedCells]
    streams: Callable[[bytes, Structure, ContingencyTable], Callable[[int], bytes]]
    records: Callable[[bytes, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism.

    ``prepare(setting)`` checks the data and does once what all replicates share (distances, fits); ``draw(prepared,
    setting, derived)`` draws one replicate from its derived key.  ``rate`` says in words what its amount counts
    (records, initiators, targets), ``when`` when to use it, ``fit`` names the parameters that ``prepare`` depends on
    (candidates that agree on them share one fit).  ``changes(setting)`` gives the places of the attributes that may
    change (default: the keys); where a parameter lists these attributes, ``altered_by`` names it.  One that publishes
    ``many_tables`` together calls their number ``D``.

    ``by_roles`` marks a mechanism whose candidates are the specs and rates of the plan's space, not a grid of
    parameters; ``batched`` draws many of its candidates at once.  ``partners_differ`` says that every record it touches
    has changed on all attributes that it exchanges, ``redraws_levels`` that it draws the levels of each key for itself,
    where others move all keys as one, ``redrawable`` that whoever guesses the key can draw its pairs again and undo it.
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
    by_roles: bool = False
    batched: BatchedDraw | None = None
    partners_differ: bool = False
    redraws_levels: bool = False
    redrawable: bool = False
    altered_by: str = ""

    def parameter(self, name: str) -> Parameter:
        """The parameter called ``name``."""
        for one in self.parameters:
            if one.name == name:
                return one
        raise UsageError(
            f"mechanism '{self.name}' has no parameter '{name}'.{did_you_mean(name, [p.name for p in self.parameters])}"
        )

    def altered(self, spec: ReleaseSpec) -> tuple[str, ...]:
        """Names of the attributes that a scenario may change."""
        return names_in(dict(spec.params).get(self.altered_by, "")) or spec.attributes.names_having("S")

    def altered_in(self, grid: Iterable[tuple[str, Sequence[str]]], keys: Sequence[str]) -> frozenset[str]:
        """Names of the attributes that some candidate of a grid may change: those named, else the ``keys``."""
        named = (names_in(text) for name, values in grid if name == self.altered_by for text in values)
        return frozenset(name for names in named for name in names) or frozenset(keys)

    def n_tables(self, spec: ReleaseSpec) -> int:
        """How many tables a scenario publishes together."""
        return int(dict(spec.params).get("D", "1") or 1) if self.many_tables else 1

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

    def draw_replicate(self, prepared: Any, setting: Setting, derived: bytes) -> Drawn:
        """What ``draw`` gives, refused (:class:`UsageError`) unless it is a :class:`Drawn` whose ``touched`` fits its
        tables and the records."""
        drawn = self.draw(prepared, setting, derived)
        if not isinstance(drawn, Drawn):
            raise UsageError(f"mechanism '{self.name}': draw returned {_kind(drawn)}, must return a Drawn.")
        got, wanted = _kind(drawn.touched), f"an array of bool, shape {(len(drawn.tables), setting.data.n_records)}"
        if got != wanted:
            raise UsageError(f"mechanism '{self.name}': touched is {got}, must be {wanted} (tables by records).")
        return drawn

    def stream(self, key: bytes, spec: ReleaseSpec, table: ContingencyTable, replicate: int) -> bytes:
        """The derived key of one replicate of a scenario; everything about its randomness follows from it."""
        if self.batched is not None:
            return self.batched.streams(key, spec.structure(multi_kind(table)), table)(replicate)
        attributes = tuple((a.name, a.levels, a.kinds) for a in table.domain.attributes)
        return derive(key, spec.mechanism, (attributes, spec.canonical(), replicate))

    def setting(
        self, data: Microdata, given: Mapping[str, str], keys: Sequence[int], numeric: Sequence[str] = ()
    ) -> Setting:
        """The parameters on given data."""
        texts = self.canonical(given)
        values = {name: self.parameter(name).value(text) for name, text in texts}
        return Setting(data, values, texts, tuple(keys), tuple(numeric))


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"an object of type {type(value).__name__}"


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text that joins them by +."""
    return tuple(filter(None, text.split("+")))


def shared_stream(derived: bytes) -> np.random.Generator:
    """The generator of what all tables of a replicate share."""
    return generator(derive(derived, "shared"))


def table_stream(derived: bytes, table: int) -> np.random.Generator:
    """The generator of one table of a replicate; ten tables begin with the five of a smaller release."""
    return generator(derive(derived, "table", (table,)))
