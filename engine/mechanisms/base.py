"""Definition of a mechanism: parameters, one fit for many replicates, one draw per replicate.

Every published mechanism is one :class:`Mechanism` that draws a replicate over records.  One whose replicates are drawn
faster over the cells of a table, many candidates at once, also has a :class:`BatchedDraw`: the random swap does
(:mod:`engine.mechanisms.random_swap`).  Both end in releases that the same measures measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.registry import call_registered, check_fields, described
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.release.parameter import Amount, Parameter, Setting
from engine.release.reader_view import as_seen, is_original
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec, Structure, structure_of


class Drawn(NamedTuple):
    """One replicate: its ``tables`` (one or more), ``status`` (a code of :mod:`engine.release.scenarios`), and
    ``diagnostics`` by name.

    ``touched[d, i]`` says whether record ``i`` took part in table ``d``, even if its value came back equal.
    """

    tables: list[ReleasedTable]
    status: RunStatus
    touched: np.ndarray
    diagnostics: dict[str, float | str]


class Told(Protocol):
    """The account that a draw of pairs of cells gives beside them."""

    def diagnostics(self, n_pairs: int, wanted: int) -> dict[str, float | str]:
        """Diagnostics by name of the first ``n_pairs`` pairs, of which so many were ``wanted``."""
        ...


class PreparedCells(Protocol):
    """The cells of a table made ready for one structure."""

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of cells in the order of drawing, shape ``(pairs, 2)``; fewer than ``wanted`` when none is left."""
        ...

    def draw_told(self, derived: bytes, wanted: int) -> tuple[np.ndarray, Told | None]:
        """The same pairs, and what there is to tell of partners turned down."""
        ...


@dataclass(frozen=True)
class BatchedDraw:
    """A draw of pairs of cells that all candidates of one structure share.

    ``preparing(table)`` does, structure after structure, what all replicates of one share; it holds until the next
    structure.  ``streams(key, structure, table)`` gives the derived key of a replicate by its number; a smaller rate
    takes the beginning of a larger one's pairs.
    ``records(derived, pairs, cell_of_record)`` chooses the records, shape ``(pairs, 2)``.
    """

    preparing: Callable[[ContingencyTable], Callable[[Structure], PreparedCells]]
    streams: Callable[[bytes, Structure, ContingencyTable], Callable[[int], bytes]]
    records: Callable[[bytes, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism.

    ``prepare(setting)`` checks the data and does once what all replicates share (distances, fits); ``draw(prepared,
    setting, derived)`` draws one replicate from its derived key.  ``rate`` says in words what its amount counts
    (records, initiators, targets), ``amounts`` names the parameters that give it: of each group the first that does not
    leave it to the next, and of several groups one amount each; without any, ``whole`` is the amount of every
    candidate.  ``when`` says when to use it, ``fit`` names the parameters that ``prepare`` depends on
    (candidates that agree on them share one fit).  ``changes(setting)`` gives the positions of the attributes that may
    change (default: the keys); where parameters list these attributes, ``altered_by`` names them, joined by +.  One
    that publishes ``many_tables`` together calls their number ``D``.

    ``by_roles`` marks a mechanism whose candidates are the specs and rates of the plan's space, not a grid of
    parameters; ``batched`` draws many of its candidates at once.  ``partners_differ`` says that every record it touches
    has changed on all attributes that it exchanges, ``exchanges`` that it moves the values of all altered attributes as
    one and makes none, ``agree_by`` names the parameter with the attributes on which partners agree, joined by + (after
    a | further lists, any of which may do), ``redraws_levels`` that it draws the levels of each key for itself, where
    others move all keys as one, ``refuses_pairs`` that it makes no pair that an edit rule of the domain refuses,
    ``whole_units`` that it moves units (households) and never a record alone.  ``remarks(prepared, setting, drawn)``
    gives sentences about a candidate after one draw on trial, before it is run.
    """

    name: str
    title: str
    source: str
    when: str
    rate: str
    prepare: Callable[[Setting], Any]
    draw: Callable[[Any, Setting, bytes], Drawn]
    parameters: tuple[Parameter, ...] = ()
    amounts: tuple[tuple[str, ...], ...] = ()
    whole: str = ""
    fit: tuple[str, ...] = ()
    many_tables: bool = False
    check: Callable[[Mapping[str, Any]], None] | None = field(default=None)
    changes: Callable[[Setting], Sequence[int]] | None = field(default=None)
    by_roles: bool = False
    batched: BatchedDraw | None = None
    partners_differ: bool = False
    redraws_levels: bool = False
    exchanges: bool = False
    altered_by: str = ""
    agree_by: str = ""
    refuses_pairs: bool = False
    whole_units: bool = False
    remarks: Callable[[Any, Setting, Drawn], Sequence[str]] | None = None

    def __post_init__(self) -> None:
        check_fields(self, "mechanism")
        for parameter in self.parameters:
            if not isinstance(parameter, Parameter):
                raise UsageError(f"mechanism '{self.name}': parameters holds {described(parameter)}, not a Parameter.")
        if unknown := {*self.fit} - {parameter.name for parameter in self.parameters}:
            raise UsageError(f"mechanism '{self.name}': fit names '{min(unknown)}', which is no parameter of it.")
        if self.agree_by:
            self.parameter(self.agree_by)
        counting = {parameter.name for parameter in self.parameters if parameter.counts}
        if unknown := {name for way in self.amounts for name in way} - counting:
            raise UsageError(f"mechanism '{self.name}': amounts names '{min(unknown)}', no parameter with counts.")

    def parameter(self, name: str) -> Parameter:
        """The parameter called ``name``."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UsageError(
            f"mechanism '{self.name}' has no parameter '{name}'.{did_you_mean(name, [p.name for p in self.parameters])}"
        )

    def amount(self, spec: ReleaseSpec) -> Amount:
        """How much a scenario changes."""
        if self.by_roles:
            return Amount("share", spec.rate, "of records")
        texts = dict(spec.params)
        amounts = [given.amount(texts.get(given.name, given.default or "")) for given in self._giving(texts)]
        if len(amounts) == 1:
            return amounts[0]
        return Amount("word", ", then ".join(map(str, amounts)) or self.whole)

    def settings(self, spec: ReleaseSpec) -> tuple[tuple[str, str], ...]:
        """The parameters of a scenario but those that leave its amount to another one."""
        texts = dict(spec.params)
        giving = {parameter.name for parameter in self._giving(texts)}
        unused = {name for way in self.amounts for name in way} - giving
        return tuple((name, text) for name, text in spec.params if name not in unused)

    def _giving(self, texts: Mapping[str, str]) -> list[Parameter]:
        """The parameter of each group that gives the amount: the first that does not leave it to the next."""
        giving = []
        for way in self.amounts:
            parameters = [self.parameter(name) for name in way]
            set_ones = (p for p in parameters if p.counts and texts.get(p.name, p.default) != p.counts.unset)
            giving.append(next(set_ones, parameters[-1]))
        return giving

    def altered(self, spec: ReleaseSpec) -> tuple[str, ...]:
        """Names of the attributes that a scenario may change."""
        texts = dict(spec.params)
        named = (name for parameter in names_in(self.altered_by) for name in names_in(texts.get(parameter, "")))
        return tuple(named) or spec.attributes.names_having("S")

    def altered_in(self, grid: Iterable[tuple[str, Sequence[str]]], keys: Sequence[str]) -> frozenset[str]:
        """Names of the attributes that some candidate of a grid may change: those named, else the ``keys``."""
        listing = names_in(self.altered_by)
        named = (names_in(text) for name, values in grid if name in listing for text in values)
        return frozenset(name for names in named for name in names) or frozenset(keys)

    def n_tables(self, spec: ReleaseSpec) -> int:
        """The number of tables that a scenario publishes together."""
        return int(dict(spec.params).get("D", "1") or 1) if self.many_tables else 1

    def most_tables(self, grid: Iterable[tuple[str, Sequence[str]]]) -> int:
        """The most tables that a candidate of a grid publishes together; :class:`UsageError` for what is no number."""
        number = next((parameter for parameter in self.parameters if parameter.name == "D"), None)
        if not self.many_tables or number is None:
            return 1
        texts = dict(grid).get("D") or (number.default or "1",)
        return max(int(number.value(number.canonical(text))) for text in texts)

    def canonical(self, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """All parameters as canonical texts in declared order, defaults filled in."""
        for name in values:
            self.parameter(name)
        texts = []
        for parameter in self.parameters:
            text = values.get(parameter.name, parameter.default)
            if text is None:
                raise UsageError(f"mechanism '{self.name}' needs the parameter '{parameter.name}': {parameter.meaning}")
            texts.append((parameter.name, parameter.canonical(text)))
        if self.check:
            self.check({name: self.parameter(name).value(text) for name, text in texts})
        return tuple(texts)

    def check_grid(self, grid: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Refuse a grid of which some combination is illegal on any data."""
        grid = tuple(grid)
        for texts in product(*(values for _, values in grid)):
            self.canonical(dict(zip((name for name, _ in grid), texts, strict=True)))

    def fitted(self, setting: Setting) -> Any:
        """The result of ``prepare``, which all replicates share."""
        return call_registered(f"mechanism '{self.name}'", self.prepare, setting)

    def changed_attributes(self, setting: Setting) -> tuple[int, ...]:
        """Positions of the attributes that may change."""
        if self.changes is None:
            return setting.keys
        owner, n = f"mechanism '{self.name}'", len(setting.data.domain)
        positions = tuple(call_registered(owner, self.changes, setting))
        if not all(isinstance(j, int | np.integer) and 0 <= j < n for j in positions):
            raise UsageError(f"{owner}: changes returned {positions}, must return positions from 0 to {n - 1}.")
        return positions

    def draw_replicate(
        self, prepared: Any, setting: Setting, derived: bytes, original: ReleasedTable | None = None
    ) -> Drawn:
        """The result of ``draw``, refused (:class:`UsageError`) unless it is a :class:`Drawn` that describes releases
        of these records: tables that can be, a status that there is, and every changed record among the touched.

        Where the setting says what leaves, tables are as their reader sees them, and the status is RunStatus.NOOP where
        some table holds the rows of the original; ``original`` caches what all replicates share of it.
        """
        drawn = call_registered(f"mechanism '{self.name}'", self.draw, prepared, setting, derived)
        if problem := _problem(drawn, setting, int(setting.values.get("D", 1)) if self.many_tables else 1):
            raise UsageError(f"mechanism '{self.name}': {problem}.")
        diagnostics = {key: v.item() if isinstance(v, np.generic) else v for key, v in drawn.diagnostics.items()}
        drawn = drawn._replace(diagnostics=diagnostics)
        if setting.beside is None or self.batched is not None:
            return drawn
        original = ReleasedTable(setting.data) if original is None else original
        tables = [as_seen(table, original, setting.beside) for table in drawn.tables]
        unchanged = any(is_original(table, original, setting.beside) for table in tables)
        noop = unchanged and drawn.status != RunStatus.FAILED
        return drawn._replace(tables=tables, status=RunStatus.NOOP if noop else drawn.status)

    def stream(self, key: bytes, spec: ReleaseSpec, table: ContingencyTable, replicate: int) -> bytes:
        """The derived key of one replicate of a scenario; everything about its randomness follows from it."""
        if self.batched is not None:
            return self.batched.streams(key, structure_of(spec, table), table)(replicate)
        attributes = tuple((a.name, a.levels, a.kinds) for a in table.domain.attributes)
        return derive(key, spec.mechanism, (attributes, spec.canonical(), replicate))

    def setting(
        self, data: Microdata, parameters: Mapping[str, str], keys: Sequence[int], numeric: Sequence[str] = ()
    ) -> Setting:
        """The parameters, as texts by name, on these data."""
        texts = self.canonical(parameters)
        values = {name: self.parameter(name).value(text) for name, text in texts}
        return Setting(data, values, texts, tuple(keys), tuple(numeric))


def _problem(drawn: object, setting: Setting, n_tables: int) -> str:
    """The fault of a draw's result; empty where nothing is."""
    if not isinstance(drawn, Drawn):
        return f"draw returned {described(drawn)}, must return a Drawn"
    n = setting.data.n_records
    tables = drawn.tables
    if not isinstance(tables, list | tuple) or not all(isinstance(table, ReleasedTable) for table in tables):
        return f"tables is {described(tables)}, must be a list of ReleasedTable"
    if len(tables) != n_tables:
        return f"draw returned {len(tables)} tables, must return {n_tables}"
    for table in tables:
        if problem := table.problem():
            return problem
    if not isinstance(drawn.status, int | np.integer) or drawn.status not in list(RunStatus):
        codes = ", ".join(f"{status.value} ({status.word})" for status in RunStatus)
        return f"status is {described(drawn.status)}, must be one of {codes}"
    touched, wanted = drawn.touched, f"an array of bool, shape {(n_tables, n)}"
    if not isinstance(touched, np.ndarray) or described(touched) != wanted:
        return f"touched is {described(touched)}, must be {wanted} (tables by records)"
    for table, mask in zip(tables, touched, strict=True):
        if missing := int(np.count_nonzero(table.changed & ~mask)):
            return (
                f"touched is False for {missing:,} records that the draw changed, must be True for all that took part"
            )
    if not isinstance(drawn.diagnostics, dict):
        return f"diagnostics is {described(drawn.diagnostics)}, must be a dict of numbers and texts"
    for name, value in drawn.diagnostics.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float | np.integer | np.floating):
            return f"diagnostics has {described(value)} for {name!r}, must have numbers and texts by name"
    return ""


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text that joins them by +."""
    return tuple(filter(None, text.split("+")))


def shared_stream(derived: bytes) -> np.random.Generator:
    """The generator of what all tables of a replicate share."""
    return generator(derive(derived, "shared"))


def table_stream(derived: bytes, table: int) -> np.random.Generator:
    """The generator of one table of a replicate; ten tables begin with the five of a smaller release."""
    return generator(derive(derived, "table", (table,)))
