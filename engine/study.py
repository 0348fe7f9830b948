"""The study file: plan, results and decisions in one SQLite database; never microdata, never the study key.

Tables (open to any SQLite reader): ``about`` (name, value), ``scenario`` (one row per release spec), ``realisation``
(one wide row per run, a column per measure; status 0 ok, 1 failed, 2 noop), ``fresh`` (the same for re-evaluations on
fresh replicates), ``run`` (the one writer's lease and progress), ``decision``, ``aggregate`` (what was worked out from
all realisations, so that it need not be worked out again; emptied in the transaction that changes any of them).  Every
change is one transaction, so a study killed at any moment is whole and can be resumed.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine import __version__
from engine.database import connected, spoken
from engine.errors import EngineError, UsageError, did_you_mean
from engine.evaluation import FAILED, Results
from engine.measures import MeasureCall, call
from engine.places import hostname, is_network_path, process_is_alive
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.scenarios import Choice, Progress, Scenario, Scenarios, params_text
from engine.spec import ReleaseSpec, ids_of
from engine.streams import STREAM_VERSION

FORMAT = 1
_APPLICATION_ID = 0x53574150  # "SWAP"
_STALE = 60.0  # seconds after which a silent writer on another host counts as gone

_AGGREGATE = "create table if not exists aggregate (name text primary key, value blob) without rowid"
_SCHEMA = (
    "create table about (name text primary key, value text) without rowid",
    "create table scenario (id integer primary key, label text unique, mechanism text, rate text, rule text,"
    " roles text, params text)",
    "create table run (one integer primary key check (one = 1), state text, pid integer, host text, beat real,"
    " started real, done integer, total integer, cancel integer, message text)",
    "create table note (scenario integer, replicate integer, measure integer, text text,"
    " primary key (scenario, replicate, measure)) without rowid",
    "create table decision (id integer primary key, at real, scenario integer, replicate integer, rule text, why text,"
    " state text, record text)",
    _AGGREGATE,
)
_CHUNK = 50_000  # rows read at once: Python's own objects for all of them would take many times the memory


class StoredResults(Results):
    """Realisations that are read from the study when somebody looks at one of them; ``n`` is how many there are."""

    def __init__(self, n: int, read: Callable[[], Results]) -> None:
        object.__setattr__(self, "_n", n)
        object.__setattr__(self, "_read", read)

    def __len__(self) -> int:
        return int(self.__dict__["_n"])

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in {f.name for f in fields(Results)}:
            raise AttributeError(name)
        read = self.__dict__["_read"]()
        for f in fields(Results):
            object.__setattr__(self, f.name, getattr(read, f.name))
        return np.asarray(getattr(read, name))


def _json(value: Any) -> str:
    """JSON with null in place of a figure that is not defined."""
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and v != v else v for k, v in value.items()}
    return json.dumps(value)


class Study:
    """An open study file.  Make one with :meth:`create` or :meth:`open`; use it as a context manager or close it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection

    # -- opening -----------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Study:
        """A new study; refuses a path that exists.  ``about`` describes data, key (keyed values only) and the measures
        in the order of the values' columns, ``original`` the unaltered data."""
        path = Path(path)
        if path.exists():
            raise UsageError(f"'{path.name}' exists already; choose another path")
        if not path.parent.is_dir():
            raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
        aside = path.with_name(f".{path.name}.{os.getpid()}.part")
        with spoken(path):
            try:
                db = sqlite3.connect(aside, isolation_level=None)
                db.execute(f"pragma application_id = {_APPLICATION_ID}")
                for statement in _SCHEMA:
                    db.execute(statement)
                values = {
                    **about,
                    "format": FORMAT,
                    "stream_version": STREAM_VERSION,
                    "version": __version__,
                    "created": time.time(),
                    "plan": plan_to_toml(plan),
                    "original": original,
                }
                db.execute("begin")
                db.executemany("insert into about values (?, ?)", [(k, _json(v)) for k, v in values.items()])
                db.execute("insert into run values (1, 'new', 0, '', 0, 0, 0, 0, 0, '')")
                columns = "".join(f", m{i} real" for i in range(len(about["measures"])))
                for table in ("realisation", "fresh"):
                    db.execute(
                        f"create table {table} (scenario integer, replicate integer, status integer, changed "
                        f"integer{columns},"
                        " primary key (scenario, replicate)) without rowid"
                    )
                db.execute("commit")
                db.close()
                os.replace(aside, path)
            finally:
                with suppress(OSError):
                    aside.unlink()
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Study:
        """Open an existing study for reading and writing; other files are refused in one sentence."""
        path = Path(path)
        if not path.exists():
            raise EngineError(
                f"study '{path.name}' does not exist; make it with `frontier sweep DATA --study {path.name}`"
            )
        if path.is_dir():
            raise EngineError(f"'{path.name}' is a folder, not a study")
        with spoken(path):
            with open(path, "rb") as file:
                if file.read(16) != b"SQLite format 3\x00":
                    raise EngineError(f"'{path.name}' is no study; a study is made by `frontier sweep`")
            db = connected(path)
            try:
                if db.execute("pragma application_id").fetchone()[0] != _APPLICATION_ID:
                    raise EngineError(f"'{path.name}' is a database but no study; a study is made by `frontier sweep`")
                # a write-ahead log lets readers go on beside the writer, but needs shared memory, which network drives
                # lack
                with suppress(sqlite3.OperationalError):
                    db.execute("pragma journal_mode = " + ("delete" if is_network_path(path) else "wal"))
                db.execute("pragma synchronous = normal")
                study = cls(path, db)
                found = study.about.get("format")
                if found != FORMAT:
                    raise EngineError(f"study '{path.name}' has format {found}, this version reads format {FORMAT}")
            except BaseException:
                db.close()
                raise
        return study

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        with spoken(self.path):
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise

    def has_table(self, name: str) -> bool:
        """Whether a table is there: some are made when they are first needed."""
        with spoken(self.path):
            return bool(self._db.execute("select 1 from sqlite_master where name = ?", (name,)).fetchone())

    def read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""
        with spoken(self.path):
            return self._db.execute(query, values).fetchall()

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
            self._forget(db)
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
            self.__dict__["scenarios"] = Scenarios(self.names, rows, list(new.values()))

    def _read_scenarios(self) -> Scenarios:
        rows = self._db.execute("select id, label, mechanism, rate, rule, roles, params from scenario order by id")
        return Scenarios(self.names, rows.fetchall())

    @cached_property
    def scenarios(self) -> Scenarios:
        """All scenarios, by place."""
        with spoken(self.path):
            return self._read_scenarios()

    def reuse(self, scenarios: Scenarios) -> None:
        """Take scenarios that were read from this study before, if they are still all: they may be a million."""
        with spoken(self.path):
            last = self._db.execute("select max(id) from scenario").fetchone()[0]
        if len(scenarios) == (-1 if last is None else last) + 1:
            self.__dict__["scenarios"] = scenarios

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """The scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``."""
        label, slash, replicate = text.strip().partition("/")
        place = self.scenarios.place_of(label)
        if place is None:
            near = did_you_mean(label, self.scenarios.column("label"))
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
            self._forget(db)
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

    def results(self, table: str = "realisation") -> Results:
        """All realisations, ordered by scenario and replicate; undefined figures are NaN."""
        with spoken(self.path):
            n = self._db.execute(f"select count(*) from {table}").fetchone()[0]
            cursor = self._db.execute(f"select {self._columns} from {table} order by scenario, replicate")
            data = np.empty((n, 4 + len(self.measures)))
            at = 0
            while at < n and (rows := cursor.fetchmany(min(_CHUNK, n - at))):
                data[at : at + len(rows)] = rows
                at += len(rows)
        whole = data[:at, :4].astype(np.int64)
        return Results(whole[:, 0], whole[:, 1], whole[:, 2], whole[:, 3], data[:at, 4:])

    @property
    def version(self) -> int:
        """A number that changes whenever another process or connection changes the study."""
        with spoken(self.path):
            return int(self._db.execute("pragma data_version").fetchone()[0])

    def remember(
        self, name: str, work: Callable[[], dict[str, np.ndarray]], since: int, *, as_writer: bool = False
    ) -> dict[str, np.ndarray]:
        """What ``work`` makes of the realisations: kept in the study from the first time on until realisations change.

        ``since`` is the :attr:`version` when what ``work`` rests on was read, or before; nothing is kept when
        it has changed.  While another process adds realisations nothing is kept; the writer itself keeps what it worked
        out last.
        """
        name = f"{__version__} {name}"
        with spoken(self.path):
            known = self._db.execute("select 1 from sqlite_master where name = 'aggregate'").fetchone()
            row = known and self._db.execute("select value from aggregate where name = ?", (name,)).fetchone()
            if row:
                with np.load(io.BytesIO(row[0])) as stored:
                    return dict(stored)
        made = work()
        if as_writer or self.progress.state != "running":
            blob = io.BytesIO()
            np.savez(blob, **made)  # type: ignore[arg-type]  # the stubs take the names for options
            # a study that may not be written to, or is being written to, is as good without
            with suppress(EngineError), self.transaction() as db:
                if self.version == since:
                    db.execute(_AGGREGATE)
                    db.execute("insert or replace into aggregate values (?, ?)", (name, blob.getbuffer()))
        return made

    @staticmethod
    def _forget(db: sqlite3.Connection) -> None:
        """Drop what was worked out from realisations, in the transaction that changes them."""
        db.execute(_AGGREGATE)
        db.execute("delete from aggregate")

    def stamp(self) -> tuple[int, int]:
        """A cheap value that changes whenever the study does (SQLite's data version and the sweep's progress)."""
        with spoken(self.path):
            done = self._db.execute("select done from run").fetchone()[0]
            decisions = self._db.execute("select count(*) from decision").fetchone()[0]
        return int(done), int(decisions)

    # -- the one writer ----------------------------------------------------------------------------------------------

    def take(self, total: int, done: int) -> None:
        """Become the writer; refused while another process is."""
        with self.transaction() as db:
            state, pid, host, beat = db.execute("select state, pid, host, beat from run").fetchone()
            here = host == hostname()
            if (
                state == "running"
                and pid != os.getpid()
                and (process_is_alive(pid) if here else time.time() - beat < _STALE)
            ):
                raise EngineError(
                    f"another sweep (process {pid}{'' if here else ' on ' + host}) is writing '{self.path.name}'; "
                    "wait for it or cancel it"
                )
            db.execute(
                "update run set state='running', pid=?, host=?, beat=?, started=?, done=?, total=?, cancel=0, "
                "message=''",
                (os.getpid(), hostname(), time.time(), time.time(), done, total),
            )

    def beat(self, done: int, total: int | None = None) -> bool:
        """Report progress, and how much there is to do if that has changed; returns whether somebody asked to
        cancel."""
        with self.transaction() as db:
            db.execute("update run set beat=?, done=?, total=coalesce(?, total)", (time.time(), done, total))
            return bool(db.execute("select cancel from run").fetchone()[0])

    def release(self, state: str, message: str = "") -> None:
        """Stop being the writer and say how it ended."""
        with self.transaction() as db:
            db.execute(
                "update run set state=?, message=?, beat=? where pid=?", (state, message, time.time(), os.getpid())
            )

    def cancel(self) -> None:
        """Ask the writer to stop after what it is doing; what is done stays."""
        with self.transaction() as db:
            db.execute("update run set cancel=1")

    @property
    def progress(self) -> Progress:
        """How far the sweep is.  A writer that died is reported as cancelled: its work can be resumed."""
        with spoken(self.path):
            state, pid, host, beat, started, done, total, message = self._db.execute(
                "select state, pid, host, beat, started, done, total, message from run"
            ).fetchone()
        if state == "running":
            alive = process_is_alive(pid) if host == hostname() else time.time() - beat < _STALE
            state = "running" if alive else "cancelled"
        return Progress(state, done, total, started, message)

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
            db.execute("delete from note where measure >= ?", (first,))
        return list(range(first, first + len(calls)))

    def update_results(
        self, columns: Sequence[int], rows: Iterable[Sequence[Any]], notes: Iterable[Sequence[Any]], table: str
    ) -> None:
        """Fill columns of realisations: rows are ``(values..., scenario, replicate)``."""
        with self.transaction() as db:
            self._forget(db)
            setting = ", ".join(f"m{k} = ?" for k in columns)
            db.executemany(f"update {table} set {setting} where scenario = ? and replicate = ?", rows)
            db.executemany("insert or replace into note values (?, ?, ?, ?)", notes)

    def finish_measures(self, plan: Plan, calls: Sequence[MeasureCall], original: dict[str, float]) -> None:
        """Let further measures count, in one step."""
        with self.transaction() as db:
            self._forget(db)
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
