"""The runs and scenarios of a study as rows, each with a check sum, and arrays computed from all of them.

Such arrays lie in the table ``aggregate``, so that opening a study computes none of them again.  A name begins with the
table that the arrays rest on (``scenario``, ``realisation`` or ``fresh``), and :func:`invalidate` drops them in the
transaction that changes that table, so nothing stored is ever stale.  The key also tells of which measures the columns
are, so arrays of fewer are never taken for those of all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from typing import Any, Literal
from zipfile import BadZipFile
from zlib import error

import numpy as np

from engine.common import __version__
from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.untrusted import is_whole, sum_of, sums_of
from engine.common.wording import plural, quoted
from engine.measures import MeasureCall
from engine.release.scenarios import Note, Results, RunStatus, Scenario, Scenarios, params_text, short_ids
from engine.release.spec import ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study.database import Database
from engine.study.lease import Lease
from engine.study.subject import Subject, drop_notes, put_notes

AGGREGATE = "create table if not exists aggregate (name text primary key, value blob) without rowid"
_MOST = 900_000_000  # bytes of a value of the table; what takes more is computed each time


class AggregateCache:
    """The arrays that a study stores because all its runs are needed to compute them."""

    def __init__(self, database: Database, subject: Subject, lease: Lease) -> None:
        self._database, self._subject, self._lease = database, subject, lease

    def get(
        self, name: str, compute: Callable[[], dict[str, np.ndarray]], since: int, *, as_writer: bool = False
    ) -> dict[str, np.ndarray]:
        """Arrays that ``compute`` makes of the scenarios and of the table that ``name`` begins with: stored in the
        study from the first time on, until these change.

        ``since`` is the :attr:`~engine.study.database.Database.data_version` when what ``compute`` rests on was read,
        or before; nothing is stored when it has changed.  While a process writes nothing is stored; the writer itself
        stores what it computed last.
        """
        stored = self.load(name)
        if stored is not None:
            return stored
        arrays = compute()
        if as_writer or self._lease.writer is None:
            # a study that may not be written to, or is being written to, is as good without: a reader waits for nobody
            with suppress(EngineError), self._database.transaction(wait=as_writer) as db:
                if self._database.data_version == since:
                    store(db, name, arrays, self._measure_texts())
        return arrays

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays that are stored under a name; None where none are, or no longer."""
        with self._database.errors_in_words():
            return load(self._database.connection, name, self._measure_texts())

    def _measure_texts(self) -> list[str]:
        return [str(measure) for measure in self._subject.measures]


def _key(name: str, measures: Sequence[str]) -> str:
    """The key under which this version of the program stores arrays of these measures: another version might compute
    them otherwise."""
    table, _, content = name.partition(" ")
    digest = "" if table == "scenario" else " " + blake2b("\n".join(measures).encode(), digest_size=6).hexdigest()
    return f"{table} {__version__} npz{digest} {content}".rstrip()


def load(db: sqlite3.Connection, name: str, measures: Sequence[str] = ()) -> dict[str, np.ndarray] | None:
    """Return the arrays stored under a name for these measures, by their own names (read-only); None where nothing is
    stored, or where it is not what was stored."""
    if not db.execute("select 1 from sqlite_master where name = 'aggregate'").fetchone():
        return None
    row = db.execute("select value from aggregate where name = ?", (_key(name, measures),)).fetchone()
    try:
        with np.load(BytesIO(row[0])) as file:
            arrays = {name: file[name] for name in file.files}  # each with the check sum of its part
    except (TypeError, ValueError, KeyError, OSError, EOFError, NotImplementedError, RuntimeError, BadZipFile, error):
        return None
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def store(db: sqlite3.Connection, name: str, arrays: dict[str, np.ndarray], measures: Sequence[str] = ()) -> None:
    """Store arrays under a name, within a transaction of the caller's."""
    db.execute(AGGREGATE)
    if sum(array.nbytes for array in arrays.values()) < _MOST:
        file = BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        db.execute("insert or replace into aggregate values (?, ?)", (_key(name, measures), file.getbuffer()))


def invalidate(db: sqlite3.Connection, changed: str) -> None:
    """Drop the arrays that rest on the table ``changed``, in the transaction that changes it; all rest on the
    scenarios."""
    db.execute(AGGREGATE)
    if changed == "scenario":
        db.execute("delete from aggregate")
    else:
        db.execute("delete from aggregate where name >= ? and name < ?", (f"{changed} ", f"{changed}!"))


_AT_A_TIME = 50_000  # rows of scenarios made at once


def insert_scenarios(db: sqlite3.Connection, start: int, labels: np.ndarray, specs: ReleaseSpecs) -> None:
    """Add rows to the table from an index on, in a transaction of the caller's; labels are texts of dtype S."""
    for part in specs.parts(_AT_A_TIME):
        procedures = [(one.mechanism, one.rate, one.rule, params_text(one.params)) for one in part.procedures]
        roles = np.ascontiguousarray(part.specs.roles[part.spec_codes])
        columns = (
            range(start, start + len(part)),
            labels[: len(part)].astype(str).tolist(),
            *zip(*(procedures[code] for code in part.procedure_codes.tolist()), strict=True),
        )
        *heads, params = columns
        rows = zip(*heads, roles.view(f"S{roles.shape[1]}").ravel().astype(str).tolist(), params, strict=True)
        db.executemany("insert into scenario values (?, ?, ?, ?, ?, ?, ?, ?)", ((*row, sum_of(row)) for row in rows))
        start, labels = start + len(part), labels[len(part) :]


SCENARIOS = (
    "create table scenario (id integer primary key, label text, mechanism text, rate text, rule text,"
    " roles text, params text, crc integer)"
)

# Made after the first rows: to sort their labels once takes a third of what it takes to find the place of each.
_INDEX = "create unique index scenario_label on scenario (label)"
_MEMORY = 64_000  # KiB while rows are added, since labels of later ones go all over the index


def count_scenarios(database: Database) -> int:
    """Number of scenarios, without reading them."""
    last = database.rows("select max(id) from scenario")[0][0]
    if last is not None and not is_whole(last):
        raise database.damaged("a candidate has no number")
    return 0 if last is None else last + 1


class ScenarioTable:
    """The scenarios of a study, which are read once."""

    def __init__(self, database: Database, subject: Subject, lease: Lease, cache: AggregateCache) -> None:
        self._database, self._subject, self._lease, self._cache = database, subject, lease, cache
        self._scenarios: Scenarios | None = None

    def count(self) -> int:
        """Number of scenarios, without reading them."""
        return count_scenarios(self._database)

    def all(self) -> Scenarios:
        """All scenarios, by index."""
        if self._scenarios is None:
            arrays = self._cache.get("scenario", lambda: self.read().arrays(), self._database.data_version)
            self._scenarios = Scenarios(self._subject.names, arrays)
        return self._scenarios

    def read(self) -> Scenarios:
        """All scenarios, read from their rows rather than from the arrays stored of them."""
        with self._database.errors_in_words():
            rows = self._database.connection.execute("select * from scenario order by id")
            try:
                return Scenarios.of_rows(self._subject.names, rows)
            except ValueError as error:
                raise self._database.damaged(str(error)) from None

    def refresh(self) -> None:
        """Read the scenarios again when they are next asked for, if there are others by now."""
        if self._scenarios is not None and len(self._scenarios) != self.count():
            self._scenarios = None

    def reuse(self, scenarios: Scenarios) -> None:
        """Use scenarios that were read from this study before, unless it has grown since: they may be a million."""
        if len(scenarios) == self.count():
            self._scenarios = scenarios

    def add(self, specs: Sequence[ReleaseSpec]) -> np.ndarray:
        """Add those specs that the study does not hold yet; labels given once never change.  Returns the index of each
        spec in the study."""
        asked = ReleaseSpecs.of(specs, self._subject.names)
        with self._lease.change() as db:
            self.refresh()
            known = self._scenarios
            if known is None:
                known = self._scenarios = self.read()
            start = len(known)
            first = known.specs.joined(asked).first_equal()[start:]
            is_new = first == np.arange(start, start + len(asked))
            numbers = np.concatenate([np.arange(start), start + np.cumsum(is_new) - 1])
            new, indices = asked.take(is_new).compact(), np.asarray(numbers[first])
            if not len(new):
                return indices
            labels = short_ids(new.digests(), known.label_texts)
            invalidate(db, "scenario")
            (usual,) = db.execute("pragma cache_size").fetchone()
            db.execute(f"pragma cache_size = {-_MEMORY}")
            insert_scenarios(db, start, labels, new)
            if not start:
                db.execute(_INDEX)
            db.execute(f"pragma cache_size = {usual}")
        self._scenarios = Scenarios.of_specs(np.concatenate([known.label_texts, labels]), known.specs.joined(new))
        return indices

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """Return the scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``;
        :class:`UsageError` where there is none."""
        if not isinstance(text, str):
            raise UsageError(f"a candidate is of type {type(text).__name__}, must be an id such as 'x7f3'")
        label, slash, replicate = text.strip().partition("/")
        scenarios = self.all()
        index = scenarios.index_of(label)
        if index is None:
            near = did_you_mean(label, scenarios.labels())
            raise UsageError(f"the study has no candidate {quoted(text)}.{near}")
        if not slash:
            return scenarios[index], None
        if replicate.isdecimal():
            return scenarios[index], int(replicate)
        raise UsageError(f"candidate '{text}': the replicate '{replicate}' must be a whole number, such as {label}/1.")


RunTable = Literal["realisation", "fresh"]
"""Runs of the sweep, or re-evaluations on fresh replicates."""
TABLES: tuple[RunTable, ...] = ("realisation", "fresh")
_HEAD = ("scenario", "replicate", "status", "changed")
_VALUES = 900  # values of one statement: SQLite takes 999 in its older versions
_AT_ONCE = 20  # statements whose values are Python's objects at the same time: each object is needed but once
_CHUNK = 50_000  # rows read at once: Python's own objects for all of them would take many times the memory
_SOME_AND_NEIGHBOURS = """
from {table} where scenario in (
    with asked as (select value from json_each(?))
    select value from asked
    union select (select max(scenario) from {table} where scenario < value) from asked
    union select (select min(scenario) from {table} where scenario > value) from asked
)"""


def table_of_runs(name: RunTable, measures: int) -> str:
    """Return the statement that makes a table of runs.  ``crc0`` is the sum of a row; measures that come later bring a
    sum of their own, named after the first of their columns."""
    columns = "".join(f", m{k} real" for k in range(measures))
    return (
        f"create table {name} (scenario integer, replicate integer, status integer, changed integer{columns},"
        " crc0 integer, primary key (scenario, replicate)) without rowid"
    )


class Runs:
    """The runs of a study."""

    def __init__(self, database: Database, subject: Subject, lease: Lease, cache: AggregateCache) -> None:
        self._database, self._subject, self._lease, self._cache = database, subject, lease, cache
        self._in_order: dict[str, int] = {}  # the version of the study in which a table was found to be so

    # -- writing -----------------------------------------------------------------------------------------------------

    def add(
        self,
        rows: np.ndarray | Iterable[Sequence[Any]],
        notes: Iterable[Note] = (),
        table: RunTable = "realisation",
    ) -> int:
        """Add runs ``(scenario, replicate, status, changed, values...)`` and notes on them; runs that the study holds
        already stay as they are.  Returns how many it did not hold before."""
        width = 4 + len(self._subject.measures)
        data = self._matrix(rows, width)
        data = data[np.lexsort((data[:, 1], data[:, 0]))]  # as they lie in the table: each page is looked up once
        sums = self._groups()
        names = [*_HEAD, *(f"m{k}" for k in range(len(self._subject.measures))), *(f"crc{first}" for first, _ in sums)]
        with self._lease.change() as db:
            invalidate(db, table)
            before = db.total_changes
            statement = f"insert or ignore into {table} ({', '.join(names)})"
            at_once = _AT_ONCE * max(1, _VALUES // len(names))
            for part in (data[start : start + at_once] for start in range(0, len(data), at_once)):
                _insert(db, statement, _plain(part, [sums_of(_of_group(part, first, end)) for first, end in sums]))
            added = db.total_changes - before
            put_notes(db, notes, replace=False)
        return added

    def _matrix(self, rows: np.ndarray | Iterable[Sequence[Any]], width: int) -> np.ndarray:
        if not isinstance(rows, np.ndarray):
            rows = list(rows)
            if any(len(row) != width for row in rows):
                raise EngineError(
                    f"runs of other measures than the {width - 4} of study '{self._database.name}' cannot be added"
                )
        return np.array(rows, dtype=float).reshape(-1, width)

    def begin_measures(self, calls: Sequence[MeasureCall]) -> list[int]:
        """Make room for further measures and return their columns; they count only once the study names them."""
        first = len(self._subject.measures)
        columns = list(range(first, first + len(calls)))
        with self._lease.change() as db:
            for table in TABLES:
                have = self._database.columns_of(table)
                for name in [f"m{k}" for k in columns if f"m{k}" not in have]:
                    db.execute(f"alter table {table} add column {name} real")
                if f"crc{first}" not in have:
                    db.execute(f"alter table {table} add column crc{first} integer")
            drop_notes(db, first)
        return columns

    def update(self, columns: Sequence[int], rows: np.ndarray, notes: Iterable[Note], table: RunTable) -> None:
        """Fill columns of runs that the study holds: rows are ``(scenario, replicate, status, changed, values...)``, of
        which the first two say which run it is."""
        keyed = rows[:, [0, 1, *range(4, rows.shape[1])]]
        setting = [f"{name} = ?" for name in (*(f"m{k}" for k in columns), f"crc{columns[0]}")]
        scenario, replicate, _, _, *figures = _plain(rows, [sums_of(keyed)])
        values = zip(*figures, scenario, replicate, strict=True)
        with self._lease.change() as db:
            invalidate(db, table)
            db.executemany(f"update {table} set {', '.join(setting)} where scenario = ? and replicate = ?", values)
            put_notes(db, notes, replace=True)

    # -- reading -----------------------------------------------------------------------------------------------------

    def results(self, table: RunTable = "realisation", *, as_writer: bool = False) -> Results:
        """All runs, ordered by scenario and replicate; undefined figures are NaN.

        Cached as columns, since reading a million rows takes seconds; ``as_writer`` as in
        :meth:`~engine.study.runs.AggregateCache.get`.
        """
        return Results(
            **self._cache.get(
                f"{table} runs", lambda: self._read(table), self._database.data_version, as_writer=as_writer
            )
        )

    def of(self, scenarios: Sequence[int], table: RunTable = "realisation") -> Results:
        """The runs of some scenarios (by index), ordered as in :meth:`results`: a study may hold millions of others."""
        return Results(**self._read(table, [int(index) for index in scenarios]))

    def _read(self, table: RunTable, scenarios: Sequence[int] | None = None) -> dict[str, np.ndarray]:
        """The runs of some scenarios, or all of them.

        With some scenarios those before and after each are read too, for their sums alone: a run that damage has moved
        to another scenario is found there, while its own would only miss it.
        """
        sums, m = self._groups(table), len(self._subject.measures)
        wanted = [*_HEAD, *(f"m{k}" for k in range(m)), *(f"crc{first}" for first, _ in sums)]
        source = f"from {table}" if scenarios is None else _SOME_AND_NEIGHBOURS.format(table=table)
        values = () if scenarios is None else (json.dumps(list(scenarios)),)
        if scenarios is None:
            self._refuse_errors()
        else:
            self._refuse_disorder(table)
        with self._database.errors_in_words():
            n = self._database.connection.execute(f"select count(*) {source}", values).fetchone()[0]
            cursor = self._database.connection.execute(
                f"select {', '.join(wanted)} {source} order by scenario, replicate", values
            )
            heads, figures, at = np.empty((4, n), np.int64), np.empty((n, m), order="F"), 0
            while at < n and (rows := cursor.fetchmany(min(_CHUNK, n - at))):
                data = self._checked(rows, sums)
                heads[:, at : at + len(rows)], figures[at : at + len(rows)] = data[:, :4].T, data[:, 4:]
                at += len(rows)
        heads, figures = heads[:, :at], figures[:at]
        if scenarios is not None:
            asked = np.isin(heads[0], scenarios)
            heads, figures = heads[:, asked], np.asfortranarray(figures[asked])
        return {**dict(zip(_HEAD, heads, strict=True)), "values": figures}

    def _refuse_errors(self) -> None:
        """Have SQLite look at all pages: those of one table are in order too where they are another table's."""
        if self._database.rows("pragma quick_check(1)") != [("ok",)]:
            raise self._database.damaged("SQLite finds errors in it")

    def _refuse_disorder(self, table: RunTable) -> None:
        """Look at every page and every key of the runs, once for what the study holds now: where damage leads to a
        wrong page, runs of a scenario are missed without an error, and those that are found have their right sums."""
        version = self._database.data_version
        if self._in_order.get(table) == version or self._lease.writer is not None:
            return  # while runs are being added all that is read of them is looked at again when they are there
        self._refuse_errors()
        last: tuple[Any, ...] = (-1, 0)
        with self._database.errors_in_words():
            cursor = self._database.connection.execute(f"select scenario, replicate from {table} order by 1, 2")
            while rows := cursor.fetchmany(_CHUNK):
                keys = np.array([last, *rows])
                if keys.dtype.kind != "i" or not _ascend(np.diff(keys, axis=0)):
                    raise self._database.damaged("its runs are not in their order")
                last = rows[-1]
        self._in_order[table] = version

    def _checked(self, rows: Sequence[Sequence[Any]], sums: Sequence[tuple[int, int]]) -> np.ndarray:
        """Rows as figures, each with the sum it was written with, and of a kind that there is."""
        try:
            data = np.array(rows, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise self._database.damaged("a figure of a run is no number") from None
        data, stored_sums = data[:, : 4 + len(self._subject.measures)], data[:, 4 + len(self._subject.measures) :]
        for k, (first, end) in enumerate(sums):
            wrong = np.flatnonzero(np.array(sums_of(_of_group(data, first, end)), float) != stored_sums[:, k])
            if len(wrong):
                names = ", ".join(map(str, self._subject.measures[first:end]))
                raise self._database.damaged(
                    f"the figures of {plural(len(wrong), 'run')} ({names}) do not fit their check sums"
                )
        head = data[:, :4]
        sound = (head == np.floor(head)) & (head >= [0, 1, 0, 0])
        sound &= head < [count_scenarios(self._database), 2**53, len(RunStatus), 2**53]
        if not sound.all():
            raise self._database.damaged("a run names a candidate, replicate or status that does not exist")
        return data

    def _groups(self, table: RunTable = "realisation") -> list[tuple[int, int]]:
        """Columns of measures that share a check sum, as (first, end)."""
        m, have = len(self._subject.measures), self._database.columns_of(table)
        firsts = [k for k in range(max(1, m)) if f"crc{k}" in have]
        if firsts[:1] != [0]:
            raise self._database.damaged("its runs have no check sums")
        return list(zip(firsts, [*firsts[1:], m], strict=True))

    def keys(self, table: RunTable) -> np.ndarray:
        """Scenario and replicate of every run, shape ``(runs, 2)``; a study whose runs are damaged is refused."""
        runs = self._read(table)
        return np.stack([runs[name] for name in _HEAD[:2]], axis=1)

    def count(
        self,
        table: RunTable = "realisation",
        *,
        up_to: int | None = None,
        status: RunStatus | None = None,
        labels: Sequence[str] | None = None,
    ) -> int:
        """Number of runs: those with a replicate ``up_to`` a number, of a status, of the scenarios with these
        labels."""
        conditions: list[str] = []
        values: list[Any] = []
        if up_to is not None:
            conditions.append("replicate <= ?")
            values.append(up_to)
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if labels is not None:
            conditions.append("scenario in (select id from scenario where label in (select value from json_each(?)))")
            values.append(json.dumps(list(labels)))
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return int(self._database.rows(f"select count(*) from {table}{where}", values)[0][0])

    @property
    def n_scenarios(self) -> int:
        """Number of scenarios that have runs of the sweep."""
        return int(self._database.rows("select count(*) from (select distinct scenario from realisation)")[0][0])

    def undefined(self, k: int, table: RunTable = "realisation") -> tuple[int, tuple[int, int]] | None:
        """Number of runs without a figure of a measure (its column), with scenario and replicate of the first; None
        where every run has one."""
        where = f"from {table} where m{k} is null"
        first = self._database.rows(f"select scenario, replicate {where} order by scenario, replicate limit 1")
        return (int(self._database.rows(f"select count(*) {where}")[0][0]), first[0]) if first else None

    def replicates_done(self, table: RunTable = "realisation", before: int = 0) -> np.ndarray:
        """Numbers of replicates from ``before`` + 1 on, without a gap, that scenarios have: shape ``(scenarios,)``.

        Workers finish in any order, so a killed sweep may leave later replicates without earlier ones; those are made
        again and are equal.
        """
        counts = np.zeros(count_scenarios(self._database), np.int64)
        with_gaps: list[int] = []
        with self._database.errors_in_words():
            for index, n, last in self._database.connection.execute(
                f"select scenario, count(*), max(replicate) from {table} where replicate > ? group by scenario",
                (before,),
            ):
                if not is_whole(index, 0, len(counts) - 1) or not is_whole(last):
                    raise self._database.damaged("a run names a candidate or replicate that does not exist")
                if n == last - before:
                    counts[index] = n
                else:
                    with_gaps.append(index)
            for index in with_gaps:
                rows = self._database.connection.execute(f"select replicate from {table} where scenario = ?", (index,))
                have = {replicate - before for (replicate,) in rows}
                counts[index] = next(r for r in range(1, len(have) + 2) if r not in have) - 1
        return counts


def _ascend(steps: np.ndarray) -> bool:
    """True where every key is above the one before, given the steps of scenario and replicate."""
    return bool(((steps[:, 0] > 0) | ((steps[:, 0] == 0) & (steps[:, 1] > 0))).all())


def _of_group(data: np.ndarray, first: int, end: int) -> np.ndarray:
    """Figures that a check sum covers: the run's head with the first measures, else which run it is, and the
    measures."""
    return data[:, [*range(2 if first else 4), *range(4 + first, 4 + end)]]


def _plain(rows: np.ndarray, sums: Sequence[Sequence[int]] = ()) -> list[Sequence[Any]]:
    """Columns for SQLite: whole numbers first, undefined figures as nulls, check sums last."""
    columns: list[Sequence[Any]] = [*rows[:, :4].astype(np.int64).T.tolist(), *rows[:, 4:].T.tolist()]
    for k in (4 + np.flatnonzero(np.isnan(rows[:, 4:]).any(axis=0))).tolist():
        columns[k] = [None if v != v else v for v in columns[k]]
    return [*columns, *sums]


def _insert(db: sqlite3.Connection, statement: str, columns: Sequence[Sequence[Any]]) -> None:
    """Insert rows, given as columns: many with each statement, which takes a third less time than one with each."""
    width, n = len(columns), len(columns[0])
    values: list[Any] = [None] * (width * n)
    for k, column in enumerate(columns):
        values[k::width] = column
    marks, at = f"({', '.join('?' * width)})", 0
    for together in (max(1, _VALUES // width), 1):
        step = together * width
        end = at + (len(values) - at) // step * step
        db.executemany(
            f"{statement} values {', '.join([marks] * together)}", (values[i : i + step] for i in range(at, end, step))
        )
        at = end
