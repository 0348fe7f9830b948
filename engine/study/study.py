"""The study file: plan, results and decisions in one SQLite database, without microdata and without the study key.

Tables (open to any SQLite reader): ``about`` (name, value), ``scenario`` (one row per release spec), ``realisation``
(one wide row per run, a column per measure; status 0 ok, 1 failed, 2 noop), ``fresh`` (the same for re-evaluations on
fresh replicates), ``note`` (what a run's measures said), ``run`` (the one writer's lease and progress), ``decision``,
``aggregate`` (what was worked out from all realisations, so that it need not be worked out again; emptied in the
transaction that changes any of them).  Every change is one transaction, so a study killed at any moment is whole and
can be resumed.  Rows carry their check sums in a column ``crc`` (:mod:`engine.common.stored_values`); studies of format
1, made by earlier versions, have none and stay as they are.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.stored_values import from_json, is_number, is_whole, sum_of
from engine.common.streams import STREAM_VERSION
from engine.common.version import __version__
from engine.measures import MeasureCall
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.release.scenarios import Choice, Scenario, Scenarios, params_text
from engine.release.spec import ReleaseSpec, ids_of
from engine.study import aggregate_cache, lease, notes, runs
from engine.study.about import ABOUT, FORMATS, put_about
from engine.study.database import Connection, new_in_memory, write_new
from engine.study.keys import key_path, write_key

_SCHEMA = (
    ABOUT,
    "create table scenario (id integer primary key, label text unique, mechanism text, rate text, rule text,"
    " roles text, params text, crc integer)",
    *lease.SCHEMA,
    notes.SCHEMA,
    "create table decision (id integer primary key, at real, scenario integer, replicate integer, rule text, why text,"
    " state text, record text, crc integer)",
    aggregate_cache.SCHEMA,
)


class Study(runs.Runs):
    """An open study, in a file or in memory.  Make one with :meth:`create`, :meth:`create_in_memory` or :meth:`open`;
    use it as a context manager or close it."""

    def __init__(self, path: Path | None, connection: Connection) -> None:
        super().__init__(path, connection)
        self.key: bytes | None = None
        """The study key, in memory only, where this process was given it (:mod:`engine.study.log_seal`)."""
        self._scenarios: Scenarios | None = None

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
        study = cls(path, cls.connection_to(path))
        try:
            study.check_kind()
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
        self.copy_to(Path(path))

    # -- scenarios and results ---------------------------------------------------------------------------------------

    def acquire_lease(self, total: int = 0, done: int = 0, task: str = lease.SWEEP) -> None:
        """Become the writer, as :meth:`engine.study.lease.Leased.acquire_lease`; what others have changed before is
        read anew."""
        super().acquire_lease(total, done, task)
        self._reread_about()
        if self._scenarios is not None and len(self._scenarios) != self.n_scenarios:
            self._scenarios = None

    def add_scenarios(self, specs: Sequence[ReleaseSpec]) -> None:
        """Add those specs that the study does not hold yet; labels given once never change."""
        with self.change() as db:
            taken = {s.label: s.spec.digest() for s in self._read_scenarios()}
            at, known = len(taken), set(taken.values())
            new = {digest: spec for spec in specs if (digest := spec.digest()) not in known}
            rows = [
                (at + i, label, spec.mechanism, spec.rate, spec.rule, spec.attributes.roles, params_text(spec.params))
                for i, (spec, label) in enumerate(zip(new.values(), ids_of(new, taken), strict=True))
            ]
            if rows:
                aggregate_cache.invalidate(db, "scenario")
            full = [(*row, sum_of(row)) for row in rows] if self.has_sums else rows
            marks = ", ".join("?" * (7 + self.has_sums))
            db.executemany(f"insert into scenario values ({marks})", full)
        self._scenarios = Scenarios.of_rows(self.names, rows, list(new.values())) if at == 0 else None

    def _read_scenarios(self) -> Scenarios:
        with self.errors_in_words():
            rows = self._db.execute("select * from scenario order by id")
            try:
                return Scenarios.of_rows(self.names, rows, sums=self.has_sums)
            except ValueError as error:
                raise self.damaged(str(error)) from None

    @property
    def scenarios(self) -> Scenarios:
        """All scenarios, by index."""
        if self._scenarios is None:
            arrays = self.cached("scenario", lambda: self._read_scenarios().arrays(), self.data_version)
            self._scenarios = Scenarios(self.names, arrays)
        return self._scenarios

    def reuse(self, scenarios: Scenarios) -> None:
        """Use scenarios that were read from this study before, unless it has grown since: they may be a million."""
        if len(scenarios) == self.n_scenarios:
            self._scenarios = scenarios

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """Return the scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``;
        :class:`UsageError` where there is none."""
        if not isinstance(text, str):
            raise UsageError(f"a candidate is of type {type(text).__name__}, must be an id such as 'x7f3'")
        label, slash, replicate = text.strip().partition("/")
        index = self.scenarios.index_of(label)
        if index is None:
            near = did_you_mean(label, self.scenarios.labels())
            raise UsageError(f"the study has no candidate '{text}'.{near}")
        if not slash:
            return self.scenarios[index], None
        if replicate.isdecimal():
            return self.scenarios[index], int(replicate)
        raise UsageError(f"candidate '{text}': the replicate '{replicate}' must be a whole number, such as {label}/1.")

    # -- plan growth and decisions -----------------------------------------------------------------------------------

    def grow(self, plan: Plan) -> None:
        """Replace the plan that was read from here by one that asks for more of the same, or that says more beside it.

        Refused where the plan was changed since it was read, which would undo that change; and, if it asks for other
        runs, while another process is the writer.
        """
        known = self.plan
        self._reread_about()  # whatever comes of it, the next look is at the file
        other_runs = (plan.space, plan.mechanisms) != (known.space, known.mechanisms)
        with self.change() if other_runs else self.transaction() as db:
            if plan_from_toml(self.about["plan"]) != known:
                raise EngineError(
                    f"the plan of study '{self.name}' was changed meanwhile; look at it and make the change again"
                )
            self.put_about(db, {"plan": plan_to_toml(plan)})

    def finish_measures(self, calls: Sequence[MeasureCall], original: dict[str, float]) -> None:
        """Add measures whose columns are filled to the measures that count, in one step; other changes of the plan made
        meanwhile stay."""
        with self.change() as db:
            for table in runs.TABLES:
                aggregate_cache.invalidate(db, table)
            about, plan = self.about, plan_from_toml(self.about["plan"])
            values = {
                "measures": [*about["measures"], *map(str, calls)],
                "original": {**about["original"], **original},
                "plan": plan_to_toml(replace(plan, measures=(*plan.measures, *map(str, calls)))),
            }
            self.put_about(db, values)
        self._reread_about()

    def decide(self, scenario: Scenario, replicate: int, rule: str, why: str, record: dict[str, Any]) -> Choice:
        """Record the choice of a scenario's ``replicate`` by a ``rule`` (in words), with the reason ``why``; earlier
        ones stay."""
        at, text = time.time(), json.dumps(record)
        row = {"at": at, "scenario": scenario.index, "replicate": replicate, "rule": rule, "why": why, "state": "draft"}
        row |= {"record": text, **({"crc": sum_of([at, text])} if self.has_sums else {})}
        with self.transaction() as db:
            db.execute(
                f"insert into decision ({', '.join(row)}) values ({', '.join('?' * len(row))})", tuple(row.values())
            )
        return Choice(at, scenario.label, replicate, rule, why, "draft", record)

    @property
    def n_decisions(self) -> int:
        """Number of recorded choices, without reading them."""
        return int(self.rows("select count(*) from decision")[0][0])

    @property
    def decisions(self) -> list[Choice]:
        """All recorded choices, oldest first."""
        rows = self.rows(
            f"select at, label, replicate, decision.rule, why, state, record{', decision.crc' if self.has_sums else ''}"
            " from decision left join scenario on scenario.id = decision.scenario order by decision.id"
        )
        for at, *_, record, crc in rows if self.has_sums else ():
            if crc != sum_of([at, record]):  # the decision log covers the rest
                raise self.damaged("the figures of a recorded choice do not fit their check sum")
        return [self._choice(*row[:7]) for row in rows]

    def _choice(self, at: Any, label: Any, replicate: Any, *texts: Any) -> Choice:
        """A stored choice, if it is one."""
        try:
            record = from_json(texts[3])
        except ValueError:
            record = None
        sound = all(isinstance(text, str) for text in (label, *texts)) and isinstance(record, dict)
        if not (sound and is_number(at) and is_whole(replicate)):
            raise self.damaged("a recorded choice cannot be read")
        rule, why, state, _ = texts
        return Choice(float(at), label, replicate, rule, why, state, record)


def _contents(plan: Plan, about: dict[str, Any], original: dict[str, float]) -> Callable[[sqlite3.Connection], None]:
    """What fills the database of a new study."""
    values = {
        **about,
        "format": FORMATS[-1],
        "stream_version": STREAM_VERSION,
        "version": __version__,
        "created": time.time(),
        "plan": plan_to_toml(plan),
        "original": original,
    }

    def fill(db: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            db.execute(statement)
        put_about(db, values)
        for table in runs.TABLES:
            db.execute(runs.table_of_runs(table, len(about["measures"])))

    return fill
