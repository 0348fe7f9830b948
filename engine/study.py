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
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from engine import __version__
from engine.errors import EngineError, UsageError, did_you_mean
from engine.evaluation import FAILED, Results
from engine.measures import MeasureCall, call
from engine.places import hostname, is_network_path, process_is_alive
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.spec import AttributeSpec, ReleaseSpec, short_ids
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


@dataclass(frozen=True)
class Scenario:
    """A release spec in a study: its place, its short label (such as ``x7f3``) and what it is."""

    place: int
    label: str
    spec: ReleaseSpec


class Scenarios(Sequence[Scenario]):
    """Scenarios by place, made when they are looked at: a study may hold hundreds of thousands."""

    def __init__(self, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows
        self._attributes = {roles: AttributeSpec(names, roles) for roles in {row[5] for row in rows}}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Scenario]:
        return map(self._made, self._rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    @overload
    def __getitem__(self, place: int) -> Scenario: ...

    @overload
    def __getitem__(self, place: slice) -> list[Scenario]: ...

    def __getitem__(self, place: int | slice) -> Scenario | list[Scenario]:
        if isinstance(place, slice):
            return [self._made(row) for row in self._rows[place]]
        return self._made(self._rows[place])

    def mechanism(self, place: int) -> str:
        """The mechanism of one scenario, without making it."""
        return str(self._rows[place][2])

    def _made(self, row: tuple[Any, ...]) -> Scenario:
        place, label, mechanism, rate, rule, roles, params = row
        # what is stored was checked when it was added, and checking takes most of the time to make a spec
        spec = object.__new__(ReleaseSpec)
        vars(spec).update(
            attributes=self._attributes[roles], rate=rate, rule=rule, mechanism=mechanism, params=_params(params)
        )
        return Scenario(place, label, spec)


@dataclass(frozen=True)
class Progress:
    """State of the sweep that fills a study: ``state`` is new, running, cancelled, finished or failed."""

    state: str
    done: int
    total: int
    started: float
    message: str = ""


@dataclass(frozen=True)
class Choice:
    """A recorded decision: scenario and realisation, the rule in words, the reason given, and when."""

    at: float
    label: str
    replicate: int
    rule: str
    why: str
    state: str
    record: dict[str, Any]


def _params(text: str) -> tuple[tuple[str, str], ...]:
    """A mechanism's parameters as they are stored; the random swap, of which there are very many, has none."""
    return () if len(text) < 3 else tuple((name, value) for name, value in json.loads(text))


def _json(value: Any) -> str:
    """JSON with null in place of a figure that is not defined."""
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and v != v else v for k, v in value.items()}
    return json.dumps(value)


@contextmanager
def _spoken(path: Path) -> Iterator[None]:
    """Turn SQLite's complaints into one clear sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "full" in text or "disk I/O" in text:
            raise EngineError(
                f"study '{path.name}' could not be written: {text}; free some space and run the same command again, "
                "nothing is lost"
            ) from None
        if "readonly" in text:
            raise EngineError(f"study '{path.name}' is read-only; copy it to a folder you may write to") from None
        if "locked" in text:
            raise EngineError(f"study '{path.name}' is locked by another program; wait for it or close it") from None
        if "unable to open" in text:
            raise EngineError(
                f"study '{path.name}' cannot be opened: its folder does not exist or may not be written to"
            ) from None
        raise EngineError(f"study '{path.name}' could not be used: {text}") from None
    except sqlite3.DatabaseError as error:
        raise EngineError(
            f"'{path.name}' is no study, or a damaged one ({error}); a study is made by `frontier sweep`"
        ) from None


def _connected(path: Path) -> sqlite3.Connection:
    """A connection that can be read.

    A study with a write-ahead log in a folder that may not be written to cannot be opened the usual way; when nobody is
    writing it (there is no log), it is read as a file that does not change.
    """
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        db.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        if Path(f"{path}-wal").exists() or os.access(path.parent, os.W_OK):
            raise
        address = f"{path.absolute().as_uri()}?immutable=1"
        db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    return db


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
        with _spoken(path):
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
        with _spoken(path):
            with open(path, "rb") as file:
                if file.read(16) != b"SQLite format 3\x00":
                    raise EngineError(f"'{path.name}' is no study; a study is made by `frontier sweep`")
            db = _connected(path)
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
        with _spoken(self.path):
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise

    # -- what it is about --------------------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, Any]:
        """Everything said about data, key check and version."""
        with _spoken(self.path):
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
            known = {s.spec: s.label for s in self._read_scenarios()}
            taken = {label: spec.digest() for spec, label in known.items()}
            new = [spec for spec in dict.fromkeys(specs) if spec not in known]
            at = len(known)
            rows = [
                (at + i, label, spec.mechanism, spec.rate, spec.rule, spec.attributes.roles, json.dumps(spec.params))
                for i, (spec, label) in enumerate(zip(new, short_ids(new, taken), strict=True))
            ]
            db.executemany("insert into scenario values (?, ?, ?, ?, ?, ?, ?)", rows)
        self.__dict__.pop("scenarios", None)

    def _read_scenarios(self) -> Scenarios:
        rows = self._db.execute("select id, label, mechanism, rate, rule, roles, params from scenario order by id")
        return Scenarios(self.names, rows.fetchall())

    @cached_property
    def scenarios(self) -> Scenarios:
        """All scenarios, by place."""
        with _spoken(self.path):
            return self._read_scenarios()

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """The scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``."""
        label, slash, replicate = text.strip().partition("/")
        for scenario in self.scenarios:
            if scenario.label == label:
                if not slash:
                    return scenario, None
                if replicate.isdecimal():
                    return scenario, int(replicate)
                raise UsageError(
                    f"candidate '{text}': the replicate '{replicate}' must be a whole number, such as {label}/1."
                )
        raise UsageError(
            f"the study has no candidate '{text}'.{did_you_mean(label, [s.label for s in self.scenarios])}"
        )

    def add_results(
        self, rows: Iterable[Sequence[Any]], notes: Iterable[Sequence[Any]] = (), table: str = "realisation"
    ) -> None:
        """Add realisations ``(scenario, replicate, status, changed, values...)``; those already held stay as they are.

        ``notes`` are ``(scenario, replicate, measure, text)``: what a measure had to say beside its figure.
        """
        with self.transaction() as db:
            self._forget(db)
            marks = ", ".join("?" * (4 + len(self.measures)))
            db.executemany(f"insert or ignore into {table} ({self._columns}) values ({marks})", rows)
            db.executemany("insert or ignore into note values (?, ?, ?, ?)", notes)

    @property
    def _columns(self) -> str:
        """The columns that count; measures being added, or given up half-way, may have left more."""
        return ", ".join(["scenario, replicate, status, changed", *(f"m{k}" for k in range(len(self.measures)))])

    def notes(self, place: int) -> list[tuple[int, int, str]]:
        """What measures said about a scenario's runs: (replicate, column of the measure, text)."""
        with _spoken(self.path):
            return self._db.execute(
                "select replicate, measure, text from note where scenario = ? order by replicate, measure", (place,)
            ).fetchall()

    def n_failed(self) -> int:
        """Number of failed runs."""
        with _spoken(self.path):
            return int(self._db.execute("select count(*) from realisation where status = ?", (FAILED,)).fetchone()[0])

    def held(self) -> np.ndarray:
        """How many replicates from the first on, without a gap, each scenario has, by place.

        Workers finish in any order, so a killed sweep may leave later replicates without earlier ones; those are made
        again and are equal.
        """
        with _spoken(self.path):
            counts = np.zeros(len(self.scenarios), np.int64)
            for place, n, last in self._db.execute(
                "select scenario, count(*), max(replicate) from realisation group by scenario"
            ):
                counts[place] = n if n == last else -1
            for place in np.flatnonzero(counts < 0).tolist():
                have = {
                    r for (r,) in self._db.execute("select replicate from realisation where scenario = ?", (place,))
                }
                counts[place] = next(r for r in range(1, len(have) + 2) if r not in have) - 1
        return counts

    def results(self, table: str = "realisation") -> Results:
        """All realisations, ordered by scenario and replicate; undefined figures are NaN."""
        with _spoken(self.path):
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
        with _spoken(self.path):
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
        with _spoken(self.path):
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
        with _spoken(self.path):
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

    def beat(self, done: int) -> bool:
        """Report progress; returns whether somebody asked to cancel."""
        with self.transaction() as db:
            db.execute("update run set beat=?, done=?", (time.time(), done))
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
        with _spoken(self.path):
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
        with _spoken(self.path):
            rows = self._db.execute(
                "select at, scenario, replicate, rule, why, state, record from decision order by id"
            ).fetchall()
        labels = [scenario.label for scenario in self.scenarios]
        return [
            Choice(at, labels[place], rep, rule, why, state, json.loads(record))
            for at, place, rep, rule, why, state, record in rows
        ]
