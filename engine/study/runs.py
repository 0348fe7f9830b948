"""The runs of a study, one row each with a check sum."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from engine.common.errors import EngineError, Remedy
from engine.common.stored_values import is_whole, sums_of
from engine.common.wording import plural
from engine.measures import MeasureCall
from engine.release.results import Note, Results, RunStatus
from engine.study import aggregate_cache
from engine.study.aggregate_cache import AggregateCache
from engine.study.database import Database
from engine.study.lease import Lease
from engine.study.notes import drop_notes, put_notes
from engine.study.scenario_table import count_scenarios
from engine.study.subject import Subject
from engine.study.written_runs import WrittenRuns

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
        self._written = {table: WrittenRuns() for table in TABLES}
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
            aggregate_cache.invalidate(db, table)
            is_empty = db.execute(f"select 1 from {table} limit 1").fetchone() is None
            before = db.total_changes
            statement = f"insert or ignore into {table} ({', '.join(names)})"
            at_once = _AT_ONCE * max(1, _VALUES // len(names))
            for part in (data[start : start + at_once] for start in range(0, len(data), at_once)):
                _insert(db, statement, _plain(part, [sums_of(_of_group(part, first, end)) for first, end in sums]))
            added = db.total_changes - before
            put_notes(db, notes, replace=False, sums=self._subject.has_sums)
        written = self._written[table]
        if is_empty:
            written.begin()
        if added == len(data):
            written.add(data)
        else:
            written.forget()
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
                if self._subject.has_sums and f"crc{first}" not in have:
                    db.execute(f"alter table {table} add column crc{first} integer")
            drop_notes(db, first)
        return columns

    def update(self, columns: Sequence[int], rows: np.ndarray, notes: Iterable[Note], table: RunTable) -> None:
        """Fill columns of runs that the study holds: rows are ``(scenario, replicate, status, changed, values...)``, of
        which the first two say which run it is."""
        keyed = rows[:, [0, 1, *range(4, rows.shape[1])]]
        setting = [f"m{k} = ?" for k in columns] + ([f"crc{columns[0]} = ?"] if self._subject.has_sums else [])
        scenario, replicate, _, _, *figures = _plain(rows, [sums_of(keyed)] if self._subject.has_sums else [])
        values = zip(*figures, scenario, replicate, strict=True)
        self._written[table].forget()
        with self._lease.change() as db:
            aggregate_cache.invalidate(db, table)
            db.executemany(f"update {table} set {', '.join(setting)} where scenario = ? and replicate = ?", values)
            put_notes(db, notes, replace=True, sums=self._subject.has_sums)

    # -- reading -----------------------------------------------------------------------------------------------------

    def results(self, table: RunTable = "realisation", *, as_writer: bool = False) -> Results:
        """All runs, ordered by scenario and replicate; undefined figures are NaN.

        Cached as columns, since reading a million rows takes seconds; ``as_writer`` as in
        :meth:`~engine.study.aggregate_cache.AggregateCache.get`.
        """
        arrays = self._cache.get(
            f"{table} runs", lambda: self._all(table), self._database.data_version, as_writer=as_writer
        )
        if as_writer:
            self._written[table].forget()  # from now on they are cached
        return Results(**arrays)

    def _all(self, table: RunTable) -> dict[str, np.ndarray]:
        """All runs: as this process has written them, if it is the one that did, else read."""
        written = self._written[table]
        columns = written.columns(len(self._subject.measures)) if len(written) == self.count(table) else None
        if columns is None:
            return self._read(table)
        heads, values = columns
        return {**dict(zip(_HEAD, heads, strict=True)), "values": values}

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
        self._refuse_gaps(table, figures)
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
        """Columns of measures that share a check sum, as (first, end); none in a study without sums."""
        if not self._subject.has_sums:
            return []
        m, have = len(self._subject.measures), self._database.columns_of(table)
        firsts = [k for k in range(max(1, m)) if f"crc{k}" in have]
        if firsts[:1] != [0]:
            raise self._database.damaged("its runs have no check sums")
        return list(zip(firsts, [*firsts[1:], m], strict=True))

    def keys(self, table: RunTable) -> np.ndarray:
        """Scenario and replicate of every run, shape ``(runs, 2)``; a study whose runs are damaged is refused."""
        runs = self._read(table)
        return np.stack([runs[name] for name in _HEAD[:2]], axis=1)

    def gaps(self, table: RunTable, k: int) -> list[tuple[int, int]]:
        """Runs (scenario, replicate) that lack a measure although it was added: it has no figure there, nobody noted
        why, and other runs of the scenario have one.  Earlier versions let fresh runs be made meanwhile."""
        if self._subject.has_sums:
            return []  # nobody else writes meanwhile
        return self._database.rows(
            f"select scenario, replicate from {table} as run where m{k} is null and not exists (select 1 from note"
            f" where scenario = run.scenario and replicate = run.replicate and measure = {k}) and exists (select 1 from"
            f" realisation as other where other.scenario = run.scenario and m{k} is not null)"
        )

    def _refuse_gaps(self, table: RunTable, values: np.ndarray) -> None:
        for k in np.flatnonzero(np.isnan(values).any(axis=0)).tolist():
            if missing := self.gaps(table, k):
                name, kind = self._subject.measures[k], "fresh runs" if table == "fresh" else "runs"
                study = self._database.name
                raise EngineError(
                    f"{len(missing):,} {kind} of study '{study}' lack {name}: they were made while it was being added; "
                    "adding it again fills the gap",
                    Remedy.ADD_MEASURE,
                    study=study,
                    measure=str(name),
                )

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
