"""The study file: plan, results and decisions in one SQLite database; never microdata, never the study key.

Tables (open to any SQLite reader): ``about`` (name, value), ``scenario`` (one row per release spec), ``realisation``
(one wide row per run, a column per measure; status 0 ok, 1 failed, 2 noop), ``fresh`` (the same for re-evaluations on
fresh replicates), ``run`` (the one writer's lease and progress), ``decision``, ``aggregate`` (what was worked out from
all realisations, so that it need not be worked out again; emptied in the transaction that changes any of them).  Every
change is one transaction, so a study killed at any moment is whole and can be resumed.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine import __version__, kept, lease
from engine.database import spoken, write_new
from engine.errors import EngineError, UsageError, did_you_mean
from engine.evaluation import FAILED, Results, count_place
from engine.measures import MeasureCall, call
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.scenarios import Choice, Scenario, Scenarios, params_text
from engine.spec import ReleaseSpec, ids_of
from engine.streams import STREAM_VERSION

FORMAT = 1

_SCHEMA = (
    "create table about (name text primary key, value text) without rowid",
    "create table scenario (id integer primary key, label text unique, mechanism text, rate text, rule text,"
    " roles text, params text)",
    *lease.SCHEMA,
    "create table note (scenario integer, replicate integer, measure integer, text text,"
    " primary key (scenario, replicate, measure)) without rowid",
    "create table decision (id integer primary key, at real, scenario integer, replicate integer, rule text, why text,"
    " state text, record text)",
    kept.TABLE,
)
_CHUNK = 50_000  # rows read at once: Python's own objects for all of them would take many times the memory


def _json(value: Any) -> str:
    """JSON with null in place of a figure that is not defined."""
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and v != v else v for k, v in value.items()}
    return json.dumps(value)


class Study(lease.Leased):
    """An open study file.  Make one with :meth:`create` or :meth:`open`; use it as a context manager or close it."""

    key: bytes | None = None
    """The study key, kept in memory where this process was given it (:mod:`engine.log_seal`)."""

    # -- opening -----------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Study:
        """A new study; refuses a path that exists.  ``about`` describes data, key (keyed values only) and the measures
        in the order of the values' columns, ``original`` the unaltered data."""
        path = Path(path)
        values = {
            **about,
            "format": FORMAT,
            "stream_version": STREAM_VERSION,
            "version": __version__,
            "created": time.time(),
            "plan": plan_to_toml(plan),
            "original": original,
        }
        columns = "".join(f", m{i} real" for i in range(len(about["measures"])))

        def fill(db: sqlite3.Connection) -> None:
            for statement in _SCHEMA:
                db.execute(statement)
            db.executemany("insert into about values (?, ?)", [(k, _json(v)) for k, v in values.items()])
            for table in ("realisation", "fresh"):
                db.execute(
                    f"create table {table} (scenario integer, replicate integer, status integer, changed"
                    f" integer{columns}, primary key (scenario, replicate)) without rowid"
                )

        write_new(path, fill)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Study:
        """Open an existing study for reading and writing; other files are refused in one sentence."""
        path = Path(path)
        study = cls(path, cls.connection_to(path))
        try:
            found = study.about.get("format")
            if found != FORMAT:
                raise EngineError(f"study '{path.name}' has format {found}, this version reads format {FORMAT}")
        except BaseException:
            study.close()
            raise
        return study

    # -- what it is about --------------------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, Any]:
        """Everything said about data, key check and version."""
        with spoken(self.path):
            return {name: json.loads(value) for name, value in self._db.execute("select name, value from about")}

    @cached_property
    def plan(self) -> Plan:
        """The plan that the study runs."""
        return plan_from_toml(self.about["plan"])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in domain order."""
        return tuple(self.about["attributes"])

    @cached_property
    def measures(self) -> tuple[MeasureCall, ...]:
        """The study's measures, in the order of the values' columns."""
        return tuple(call(text) for text in self.about["measures"])

    @property
    def original(self) -> dict[str, float]:
        """Each measure on the unaltered data, by its text."""
        return {name: float("nan") if value is None else value for name, value in self.about["original"].items()}

    def measure_place(self, text: str) -> int:
        """Column of a measure asked for by its text, or by its bare name when that is unambiguous."""
        texts = [str(measure) for measure in self.measures]
        wanted = str(call(text))
        if wanted in texts:
            return texts.index(wanted)
        same = [i for i, measure in enumerate(self.measures) if measure.measure.name == text.strip()]
        if len(same) == 1:
            return same[0]
        raise UsageError(f"the study has no measure '{text}'.{did_you_mean(text, texts)}")

    # -- scenarios and results ---------------------------------------------------------------------------------------

    def add_scenarios(self, specs: Sequence[ReleaseSpec]) -> None:
        """Add those specs that the study does not hold yet; labels given once never change."""
        with self.transaction() as db:
            kept.forget(db, "scenario")
            taken = {s.label: s.spec.digest() for s in self._read_scenarios()}
            at, known = len(taken), set(taken.values())
            new = {digest: spec for spec in specs if (digest := spec.digest()) not in known}
            rows = [
                (at + i, label, spec.mechanism, spec.rate, spec.rule, spec.attributes.roles, params_text(spec.params))
                for i, (spec, label) in enumerate(zip(new.values(), ids_of(new, taken), strict=True))
            ]
            db.executemany("insert into scenario values (?, ?, ?, ?, ?, ?, ?)", rows)
        self.__dict__.pop("scenarios", None)
        if at == 0:
            self.__dict__["scenarios"] = Scenarios.of_rows(self.names, rows, list(new.values()))

    def _read_scenarios(self) -> Scenarios:
        with spoken(self.path):
            rows = self._db.execute("select id, label, mechanism, rate, rule, roles, params from scenario order by id")
            return Scenarios.of_rows(self.names, rows)

    @cached_property
    def scenarios(self) -> Scenarios:
        """All scenarios, by place."""

        arrays = self.remember("scenario", lambda: self._read_scenarios().arrays(), self.version)
        return Scenarios(self.names, arrays)

    @property
    def n_scenarios(self) -> int:
        """How many scenarios there are, without reading them."""
        last = self.read("select max(id) from scenario")[0][0]
        return 0 if last is None else int(last) + 1

    def reuse(self, scenarios: Scenarios) -> None:
        """Take scenarios that were read from this study before, if they are still all: they may be a million."""
        if len(scenarios) == self.n_scenarios:
            self.__dict__["scenarios"] = scenarios

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """The scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``."""
        label, slash, replicate = text.strip().partition("/")
        place = self.scenarios.place_of(label)
        if place is None:
            near = did_you_mean(label, self.scenarios.labels())
            raise UsageError(f"the study has no candidate '{text}'.{near}")
        if not slash:
            return self.scenarios[place], None
        if replicate.isdecimal():
            return self.scenarios[place], int(replicate)
        raise UsageError(f"candidate '{text}': the replicate '{replicate}' must be a whole number, such as {label}/1.")

    def add_results(
        self, rows: Iterable[Sequence[Any]], notes: Iterable[Sequence[Any]] = (), table: str = "realisation"
    ) -> int:
        """Add realisations ``(scenario, replicate, status, changed, values...)``; those already held stay as they are.

        ``notes`` are ``(scenario, replicate, measure, text)``: what a measure had to say beside its figure.  Returns
        how many realisations were not held before.
        """
        with self.transaction() as db:
            kept.forget(db, table)
            marks = ", ".join("?" * (4 + len(self.measures)))
            before = db.total_changes
            db.executemany(f"insert or ignore into {table} ({self._columns}) values ({marks})", rows)
            added = db.total_changes - before
            db.executemany("insert or ignore into note values (?, ?, ?, ?)", notes)
        return added

    def stored(self, replicates: int) -> int:
        """Number of realisations among the first so many replicates of every scenario."""
        return int(self.read("select count(*) from realisation where replicate <= ?", (replicates,))[0][0])

    @property
    def _columns(self) -> str:
        """The columns that count; measures being added, or given up half-way, may have left more."""
        return ", ".join(["scenario, replicate, status, changed", *(f"m{k}" for k in range(len(self.measures)))])

    def notes(self, place: int) -> list[tuple[int, int, str]]:
        """What measures said about a scenario's runs: (replicate, column of the measure, text)."""
        with spoken(self.path):
            return self._db.execute(
                "select replicate, measure, text from note where scenario = ? order by replicate, measure", (place,)
            ).fetchall()

    def n_failed(self) -> int:
        """Number of failed runs."""
        with spoken(self.path):
            return int(self._db.execute("select count(*) from realisation where status = ?", (FAILED,)).fetchone()[0])

    def held(self, table: str = "realisation", before: int = 0) -> np.ndarray:
        """How many replicates from ``before`` + 1 on, without a gap, each scenario has, by place.

        Workers finish in any order, so a killed sweep may leave later replicates without earlier ones; those are made
        again and are equal.
        """
        with spoken(self.path):
            counts = np.zeros(len(self.scenarios), np.int64)
            for place, n, last in self._db.execute(
                f"select scenario, count(*), max(replicate) from {table} where replicate > ? group by scenario",
                (before,),
            ):
                counts[place] = n if n == last - before else -1
            for place in np.flatnonzero(counts < 0).tolist():
                rows = self._db.execute(f"select replicate from {table} where scenario = ?", (place,))
                have = {replicate - before for (replicate,) in rows}
                counts[place] = next(r for r in range(1, len(have) + 2) if r not in have) - 1
        return counts

    def results(self, table: str = "realisation", *, as_writer: bool = False) -> Results:
        """All realisations, ordered by scenario and replicate; undefined figures are NaN.

        Kept as columns, since reading a million rows takes seconds; ``as_writer`` as in :meth:`remember`.
        """
        return Results(
            **self.remember(f"{table} runs", lambda: self._read_results(table), self.version, as_writer=as_writer)
        )

    def _read_results(self, table: str) -> dict[str, np.ndarray]:
        with spoken(self.path):
            n = self._db.execute(f"select count(*) from {table}").fetchone()[0]
            cursor = self._db.execute(f"select {self._columns} from {table} order by scenario, replicate")
            data = np.empty((n, 4 + len(self.measures)))
            at = 0
            while at < n and (rows := cursor.fetchmany(min(_CHUNK, n - at))):
                data[at : at + len(rows)] = rows
                at += len(rows)
        whole = data[:at, :4].astype(np.int64)
        names = ("scenario", "replicate", "status", "changed")
        return {**{name: whole[:, k] for k, name in enumerate(names)}, "values": data[:at, 4:]}

    def remember(
        self, name: str, work: Callable[[], dict[str, np.ndarray]], since: int, *, as_writer: bool = False
    ) -> dict[str, np.ndarray]:
        """What ``work`` makes of the table that ``name`` begins with, and of the scenarios: kept in the study from the
        first time on until these change.

        ``since`` is the :attr:`version` when what ``work`` rests on was read, or before; nothing is kept when
        it has changed.  While another process adds realisations nothing is kept; the writer itself keeps what it worked
        out last.
        """
        found = self.recall(name)
        if found is not None:
            return found
        made = work()
        if as_writer or self.progress.state != "running":
            # a study that may not be written to, or is being written to, is as good without: a reader waits for nobody
            with suppress(EngineError), self.transaction(wait=as_writer) as db:
                if self.version == since:
                    kept.keep(db, name, made)
        return made

    def recall(self, name: str) -> dict[str, np.ndarray] | None:
        """What is remembered under a name; None where nothing is, or no longer."""
        with spoken(self.path):
            return kept.recall(self._db, name)

    def stamp(self) -> tuple[int, int]:
        """A cheap value that changes whenever the study does (SQLite's data version and the sweep's progress)."""
        with spoken(self.path):
            done = self._db.execute("select done from run").fetchone()[0]
            decisions = self._db.execute("select count(*) from decision").fetchone()[0]
        return int(done), int(decisions)

    # -- plan growth and decisions -----------------------------------------------------------------------------------

    def grow(self, plan: Plan) -> None:
        """Replace the plan by one that asks for more of the same."""
        with self.transaction() as db:
            db.execute("update about set value=? where name='plan'", (json.dumps(plan_to_toml(plan)),))
        self.__dict__.pop("plan", None)

    def begin_measures(self, calls: Sequence[MeasureCall]) -> list[int]:
        """Make room for further measures and return their columns; they count only after :meth:`finish_measures`."""
        first = len(self.measures)
        with self.transaction() as db:
            have = {name for _, name, *_ in db.execute("pragma table_info(realisation)")}
            for k in range(first, first + len(calls)):
                for table in ("realisation", "fresh"):
                    if f"m{k}" not in have:
                        db.execute(f"alter table {table} add column m{k} real")
            db.execute("delete from note where measure >= ? or measure <= ?", (first, count_place(first)))
        return list(range(first, first + len(calls)))

    def update_results(
        self, columns: Sequence[int], rows: Iterable[Sequence[Any]], notes: Iterable[Sequence[Any]], table: str
    ) -> None:
        """Fill columns of realisations: rows are ``(values..., scenario, replicate)``."""
        with self.transaction() as db:
            kept.forget(db, table)
            setting = ", ".join(f"m{k} = ?" for k in columns)
            db.executemany(f"update {table} set {setting} where scenario = ? and replicate = ?", rows)
            db.executemany("insert or replace into note values (?, ?, ?, ?)", notes)

    def finish_measures(self, plan: Plan, calls: Sequence[MeasureCall], original: dict[str, float]) -> None:
        """Let further measures count, in one step."""
        with self.transaction() as db:
            for table in ("realisation", "fresh"):
                kept.forget(db, table)
            values = {
                "measures": [*map(str, self.measures), *map(str, calls)],
                "original": {**self.about["original"], **original},
                "plan": plan_to_toml(plan),
            }
            db.executemany("update about set value = ? where name = ?", [(_json(v), k) for k, v in values.items()])
        for name in ("plan", "measures"):
            self.__dict__.pop(name, None)

    def decide(self, scenario: Scenario, replicate: int, rule: str, why: str, record: dict[str, Any]) -> Choice:
        """Record a choice; earlier ones stay."""
        at = time.time()
        with self.transaction() as db:
            db.execute(
                "insert into decision (at, scenario, replicate, rule, why, state, record) values (?, ?, ?, ?, ?, "
                "'draft', ?)",
                (at, scenario.place, replicate, rule, why, json.dumps(record)),
            )
        return Choice(at, scenario.label, replicate, rule, why, "draft", record)

    @property
    def decisions(self) -> list[Choice]:
        """All recorded choices, oldest first."""
        with spoken(self.path):
            rows = self._db.execute(
                "select at, label, replicate, decision.rule, why, state, record from decision join scenario on"
                " scenario.id = decision.scenario order by decision.id"
            ).fetchall()
        return [
            Choice(at, label, rep, rule, why, state, json.loads(record))
            for at, label, rep, rule, why, state, record in rows
        ]
