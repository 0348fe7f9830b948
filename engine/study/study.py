"""The study file: plan, results and decisions in one SQLite database, without microdata and without the study key.

Tables (open to any SQLite reader): ``about`` (name, value), ``scenario`` (one row per release spec), ``realisation``
(one wide row per run, a column per measure; status 0 ok, 1 failed, 2 noop), ``fresh`` (the same for re-evaluations on
fresh replicates), ``note`` (what a run's measures said), ``run`` (the one writer's lease and progress), ``decision``,
``aggregate`` (what was worked out from all realisations, so that it need not be worked out again; emptied in the
transaction that changes any of them).  Every change is one transaction, so a study killed at any moment is whole and
can be resumed.  Rows carry their check sums in a column ``crc`` (:mod:`engine.common.untrusted`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from engine.common import __version__
from engine.common.errors import EngineError, UsageError
from engine.common.streams import STREAM_VERSION, key_check
from engine.measures import MeasureCall
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.release.scenarios import Progress, Scenario, Scenarios
from engine.study import lease, runs, subject
from engine.study.database import Connection, Database, new_in_memory, write_new
from engine.study.keys import key_path, read_key, write_key
from engine.study.lease import Lease, WriterTask
from engine.study.runs import AggregateCache, Runs, ScenarioTable
from engine.study.subject import Choices, Notes, Subject

_SCHEMA = (
    subject.SCHEMA,
    runs.SCENARIOS,
    *lease.SCHEMA,
    subject.NOTES,
    subject.CHOICES,
    runs.AGGREGATE,
)


class Study:
    """An open study, in a file or in memory.  Make one with :meth:`create`, :meth:`create_in_memory` or :meth:`open`;
    use it as a context manager or close it.

    It consists of parts, one for each kind of content: ``subject`` (plan, measures, figures of the unaltered data),
    ``scenario_table``, ``runs``, ``notes``, ``choices``, ``cache`` (arrays computed from all runs), ``lease`` (the one
    writer, and its progress), and ``database``, on which they rest.
    """

    def __init__(self, path: Path | None, connection: Connection) -> None:
        self.key: bytes | None = None
        """The study key, in memory only, where this process was given it (:mod:`engine.study.decision_log`)."""
        self.database = Database(path, connection)
        self.subject = Subject(self.database)
        self.lease = Lease(self.database)
        self.cache = AggregateCache(self.database, self.subject, self.lease)
        self.scenario_table = ScenarioTable(self.database, self.subject, self.lease, self.cache)
        self.runs = Runs(self.database, self.subject, self.lease, self.cache)
        self.notes = Notes(self.database, self.subject)
        self.choices = Choices(self.database, self.subject)
        self._kept: Scenarios | None = None

    # -- opening -----------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Study:
        """Make a new study file; refuses a path that exists.  ``about`` describes data, key (keyed values only) and the
        measures in the order of the values' columns, ``original`` the unaltered data."""
        write_new(Path(path), _contents(plan, about, original))
        return cls.open(path)

    @classmethod
    def create_in_memory(cls, plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Study:
        """Make a new study that has no file and ends when it is closed (:meth:`save` gives it one); arguments as those
        of :meth:`create`."""
        return cls(None, new_in_memory(_contents(plan, about, original)))

    @classmethod
    def open(cls, path: str | Path) -> Study:
        """Open an existing study for reading and writing; other files are refused in one sentence."""
        path = Path(path)
        study = cls(path, Database.connection_to(path))
        try:
            study.subject.check()
            _ = study.progress
        except BaseException:
            study.close()
            raise
        return study

    def save(self, path: str | Path, key_file: str | Path | None = None) -> None:
        """Write a copy of the study to a new file, and its key to a file of its own: ``key_file``, else beside it.

        Refuses a path that exists, a key file that holds another key, and a study whose key this process was not given:
        without it the file could be read, but not be gone on with.
        """
        if self.key is None:
            raise UsageError(f"study '{self.name}' was opened without its key; give its key before it is saved")
        if Path(path).exists():  # before a key is written that would serve nothing
            raise UsageError(f"'{Path(path).name}' exists already; choose another path")
        write_key(key_path(path, key_file), self.key)
        self.database.copy_to(Path(path))

    def close(self) -> None:
        """Close the study; what was in memory only is gone."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- what it is about --------------------------------------------------------------------------------------------

    def given_key(self) -> bytes | None:
        """The study key that this process was given, else that of the file beside the study; None where neither is the
        key that the study was made with."""
        if self.key is not None:
            return self.key
        path = key_path(self.path)
        key = read_key(path) if path.exists() else None
        return key if key is not None and self.about["key_check"] == key_check(key) else None

    @property
    def in_memory(self) -> bool:
        """True for a study without a file."""
        return self.database.in_memory

    @property
    def is_closed(self) -> bool:
        """True once it was closed."""
        return self.database.is_closed

    @property
    def name(self) -> str:
        """The name of the file, without its folder; :data:`~engine.study.database.IN_MEMORY` where there is none."""
        return self.database.name

    @property
    def path(self) -> Path:
        """The study's file; :class:`UsageError` for a study in memory."""
        return self.database.path

    @property
    def about(self) -> dict[str, Any]:
        """Facts on data, key check and version, by name (:attr:`Subject.about`)."""
        return self.subject.about

    @property
    def plan(self) -> Plan:
        """The plan that the study runs."""
        return self.subject.plan

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names in domain order."""
        return self.subject.names

    @property
    def measures(self) -> tuple[MeasureCall, ...]:
        """The study's measures, in the order of the values' columns."""
        return self.subject.measures

    @property
    def original(self) -> dict[str, float]:
        """Each measure on the unaltered data, by its text."""
        return self.subject.original

    @property
    def scenarios(self) -> Scenarios:
        """All scenarios, by index."""
        return self.scenario_table.all()

    @property
    def n_scenarios(self) -> int:
        """Number of scenarios, without reading them."""
        return self.scenario_table.count()

    def keep_scenarios(self) -> None:
        """Store all scenarios as columns, from which maps read them, unless they are; for the process that writes."""
        if self._kept is not self.scenarios:
            self.cache.get("scenario", self.scenarios.arrays, self.database.data_version, as_writer=True)
            self._kept = self.scenarios

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """Return the scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``
        (:meth:`ScenarioTable.find`)."""
        return self.scenario_table.find(text)

    @property
    def progress(self) -> Progress:
        """Progress of the sweep (:attr:`Lease.progress`)."""
        return self.lease.progress

    # -- changes that concern several parts --------------------------------------------------------------------------

    def acquire_lease(self, total: int = 0, done: int = 0, task: WriterTask = WriterTask.SWEEP) -> None:
        """Become the writer (:meth:`Lease.acquire`); what others have changed before is read anew."""
        self.lease.acquire(total, done, task)
        self.subject.refresh()
        self.scenario_table.refresh()

    def grow(self, plan: Plan) -> None:
        """Replace the plan that was read from here by one that asks for more of the same, or that says more beside it.

        Refused where the plan was changed since it was read, which would undo that change; and, if it asks for other
        runs, while another process is the writer.
        """
        known = self.plan
        self.subject.refresh()  # whatever comes of it, the next look is at the file
        other_runs = (plan.space, plan.mechanisms) != (known.space, known.mechanisms)
        with self.lease.change() if other_runs else self.database.transaction() as db:
            if plan_from_toml(self.about["plan"]) != known:
                raise EngineError(
                    f"the plan of study '{self.name}' was changed meanwhile; look at it and make the change again"
                )
            self.subject.put(db, {"plan": plan_to_toml(plan)})

    def finish_measures(self, calls: Sequence[MeasureCall], original: dict[str, float]) -> None:
        """Add measures whose columns are filled to the measures that count, in one step; other changes of the plan made
        meanwhile stay."""
        with self.lease.change() as db:
            for table in runs.TABLES:
                runs.invalidate(db, table)
            about, plan = self.about, plan_from_toml(self.about["plan"])
            values = {
                "measures": [*about["measures"], *map(str, calls)],
                "original": {**about["original"], **original},
                "plan": plan_to_toml(replace(plan, measures=(*plan.measures, *map(str, calls)))),
            }
            self.subject.put(db, values)
        self.subject.refresh()


def _contents(plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Callable[[sqlite3.Connection], None]:
    """Return the function that fills the database of a new study."""
    values = {
        **about,
        "format": subject.FORMAT,
        "stream_version": STREAM_VERSION,
        "version": __version__,
        "created": time.time(),
        "plan": plan_to_toml(plan),
        "original": original,
    }

    def fill(db: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            db.execute(statement)
        subject.put_about(db, values)
        for table in runs.TABLES:
            db.execute(runs.table_of_runs(table, len(about["measures"])))

    return fill


_TABLE = "create table if not exists pin (label text primary key, name text, note text, at real) without rowid"
LONGEST = 60
"""Most characters of a pin's name."""


@dataclass(frozen=True)
class Pin:
    """A pinned scenario: its label in the study, a name given by a person (may be empty), and a note."""

    label: str
    name: str
    note: str


def pins(study: Study) -> list[Pin]:
    """All pins in the order in which they were set."""
    if not study.database.has_table("pin"):
        return []
    rows = study.database.rows("select label, name, note from pin order by at, label")
    if not all(isinstance(text, str) for row in rows for text in row):
        raise study.database.damaged("a pin cannot be read")
    return [Pin(*row) for row in rows]


def pin(study: Study, label: str, name: str = "", note: str = "") -> Pin:
    """Pin a scenario, or rename and annotate one that is pinned."""
    scenario, _ = study.find(label)
    name, note = name.strip(), note.strip()
    if len(name) > LONGEST:
        raise UsageError(f"the name of a pin has {len(name)} characters, must have at most {LONGEST}")
    same = [p.label for p in pins(study) if name and p.name == name and p.label != scenario.label]
    if same:
        raise UsageError(f"{same[0]} is already called '{name}'; choose another name")
    with study.database.transaction() as db:
        db.execute(_TABLE)
        db.execute(
            "insert into pin values (?, ?, ?, ?) on conflict (label) do update set name = excluded.name,"
            " note = excluded.note",
            (scenario.label, name, note, time.time()),
        )
    return Pin(scenario.label, name, note)


def unpin(study: Study, label: str) -> None:
    """Take a pin away; nothing happens when there is none."""
    with study.database.transaction() as db:
        db.execute(_TABLE)
        db.execute("delete from pin where label = ?", (label,))
