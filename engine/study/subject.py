"""The subject of a study (plan, measures, figures of the unaltered data), its recorded choices, and notes on runs."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.untrusted import from_json, is_number, is_texts, is_whole, sum_of
from engine.measures import MeasureCall, call
from engine.plan import Plan, plan_from_toml
from engine.release.scenarios import Choice, Note, NoteKind, Scenario
from engine.study.database import Database

FORMAT = 2
"""The format that is read and written."""
SCHEMA = "create table about (name text primary key, value text, crc integer) without rowid"
_TABLES = ("about", "scenario", "realisation", "fresh", "run", "note", "decision")
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "plan": (lambda value: isinstance(value, str), "a plan"),
    "attributes": (is_texts, "a list of names"),
    "measures": (is_texts, "a list of measures"),
    "streamed": (is_texts, "a list of columns"),
    "levels": (lambda value: isinstance(value, list) and all(map(is_whole, value)), "a list of numbers"),
    "original": (
        lambda value: isinstance(value, dict) and all(figure is None or is_number(figure) for figure in value.values()),
        "figures by measure",
    ),
    "created": (is_number, "a time"),
    "stream_version": (is_whole, "a number"),
    "n_records": (is_whole, "a number of records"),
    "n_cells": (is_whole, "a number of cells"),
    **{
        name: (lambda value: isinstance(value, str), "a text")
        for name in ("source", "version", "fingerprint", "files", "key_check")
    },
}
"""Facts of a study, by name: the check of its value, and what the value has to be."""


class _About(dict[str, Any]):
    """Facts of a study, by name; a name that is missing is that of a damaged study."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def __missing__(self, name: str) -> Any:
        raise self._database.damaged(f"it does not say its '{name}'")


class Subject:
    """Subject of a study; plan and measures are parsed once, until :meth:`refresh`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._plan: Plan | None = None
        self._measures: tuple[MeasureCall, ...] | None = None

    def refresh(self) -> None:
        """Parse plan and measures again when they are next asked for."""
        self._plan = self._measures = None

    def _format(self) -> int:
        rows = self._database.rows("select value from about where name = 'format'")
        try:
            return int(from_json(rows[0][0]))
        except (IndexError, ValueError, TypeError, OverflowError):
            raise self._database.damaged("it does not say its format") from None

    def check(self) -> None:
        """Refuse (:class:`EngineError`) a file of another format, one without its tables, and one whose values about
        itself are not of their kind."""
        version = self._format()
        if version != FORMAT:
            raise EngineError(f"study '{self._database.name}' has format {version}, this version reads format {FORMAT}")
        for table in _TABLES:
            if not self._database.has_table(table):
                raise self._database.damaged(f"its table '{table}' is missing")
        _ = self.about, self.measures

    @property
    def about(self) -> dict[str, Any]:
        """Facts on data, key check and version, by name; each value fits its check sum and is of its
        kind."""
        about = _About(self._database)
        for name, value, crc in self._database.rows("select name, value, crc from about"):
            if crc != sum_of([name, value]):
                raise self._database.damaged(f"its '{name}' does not fit its check sum")
            try:
                about[name] = from_json(value)
            except ValueError:
                raise self._database.damaged(f"its '{name}' cannot be read") from None
        for name, (fits, what) in _KINDS.items():
            if name in about and not fits(about[name]):
                raise self._database.damaged(f"its '{name}' is not {what}")
        return about

    def put(self, db: sqlite3.Connection, values: Mapping[str, Any]) -> None:
        """Replace values of :attr:`about`, in a transaction of the caller's."""
        put_about(db, values)

    @property
    def plan(self) -> Plan:
        """The plan that the study runs."""
        if self._plan is None:
            self._plan = plan_from_toml(self.about["plan"])
        return self._plan

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in domain order."""
        return tuple(self.about["attributes"])

    @property
    def measures(self) -> tuple[MeasureCall, ...]:
        """The study's measures, in the order of the values' columns."""
        if self._measures is None:
            self._measures = tuple(call(text) for text in self.about["measures"])
        return self._measures

    @property
    def original(self) -> dict[str, float]:
        """Each measure on the unaltered data, by its text."""
        about = self.about
        figures = {name: float("nan") if value is None else float(value) for name, value in about["original"].items()}
        for name in about["measures"]:
            if name not in figures:
                raise self._database.damaged(f"it has no figure of the unaltered data for '{name}'")
        return figures

    def measure_index(self, text: str) -> int:
        """Column of the measure with this text, or with this bare name when that is unambiguous; :class:`UsageError`
        where there is none."""
        texts = [str(measure) for measure in self.measures]
        wanted = str(call(text))
        if wanted in texts:
            return texts.index(wanted)
        same = [i for i, measure in enumerate(self.measures) if measure.measure.name == text.strip()]
        if len(same) == 1:
            return same[0]
        raise UsageError(f"the study has no measure '{text}'.{did_you_mean(text, texts)}")


def put_about(db: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    """Write what a study tells about itself, in a transaction of the caller's."""
    rows = [(name, _json(value)) for name, value in values.items()]
    db.executemany(
        "insert or replace into about (name, value, crc) values (?, ?, ?)", [(*row, sum_of(row)) for row in rows]
    )


def _json(value: Any) -> str:
    """JSON with null in place of a figure that is not defined."""
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and v != v else v for k, v in value.items()}
    return json.dumps(value)


CHOICES = (
    "create table decision (id integer primary key, at real, scenario integer, replicate integer, rule text, why text,"
    " state text, record text, crc integer)"
)


class Choices:
    """The recorded choices of a study; none is ever overwritten."""

    def __init__(self, database: Database, subject: Subject) -> None:
        self._database, self._subject = database, subject

    def record(self, scenario: Scenario, replicate: int, rule: str, why: str, record: dict[str, Any]) -> Choice:
        """Record the choice of a scenario's ``replicate`` by a ``rule`` (in words), with the reason ``why``; earlier
        ones stay."""
        at, text = time.time(), json.dumps(record)
        row = {"at": at, "scenario": scenario.index, "replicate": replicate, "rule": rule, "why": why, "state": "draft"}
        row |= {"record": text, "crc": sum_of([at, text])}
        with self._database.transaction() as db:
            db.execute(
                f"insert into decision ({', '.join(row)}) values ({', '.join('?' * len(row))})", tuple(row.values())
            )
        return Choice(at, scenario.label, replicate, rule, why, "draft", record)

    def count(self) -> int:
        """Number of recorded choices, without reading them."""
        return int(self._database.rows("select count(*) from decision")[0][0])

    def all(self) -> list[Choice]:
        """All recorded choices, oldest first."""
        rows = self._database.rows(
            "select at, label, replicate, decision.rule, why, state, record, decision.crc"
            " from decision left join scenario on scenario.id = decision.scenario order by decision.id"
        )
        for at, *_, record, crc in rows:
            if crc != sum_of([at, record]):  # the decision log covers all else
                raise self._database.damaged("the figures of a recorded choice do not fit their check sum")
        return [self._read(*row[:7]) for row in rows]

    def _read(self, at: Any, label: Any, replicate: Any, *texts: Any) -> Choice:
        """A stored choice, if it is one."""
        try:
            record = from_json(texts[3])
        except ValueError:
            record = None
        sound = all(isinstance(text, str) for text in (label, *texts)) and isinstance(record, dict)
        if not (sound and is_number(at) and is_whole(replicate)):
            raise self._database.damaged("a recorded choice cannot be read")
        rule, why, state, _ = texts
        return Choice(float(at), label, replicate, rule, why, state, record)


NOTES = (
    "create table note (scenario integer, replicate integer, measure integer, text text, crc integer,"
    " primary key (scenario, replicate, measure)) without rowid"
)
_DIAGNOSTICS = -1  # what stands in the column ``measure`` of diagnostics; of a count it is -2 less the measure's column


class Notes:
    """The notes on a study's runs."""

    def __init__(self, database: Database, subject: Subject) -> None:
        self._database, self._subject = database, subject

    def of(self, scenario: int) -> list[Note]:
        """The notes on the runs of a scenario (its index), by replicate."""
        return self._read("scenario = ? order by replicate, measure", scenario)

    def on(self, k: int | None, kind: NoteKind = NoteKind.FIGURE) -> list[Note]:
        """The notes of a kind on a measure (its column; None: on the run), of all runs."""
        return self._read("measure = ?", stored_measure(kind, k))

    def warning_on(self, scenario: int) -> str:
        """The first warning of the mechanism on a run of a scenario (its index); empty where there is none."""
        told = (json.loads(note.text) for note in self.of(scenario) if note.kind is NoteKind.DIAGNOSTICS)
        return next((str(run["warning"]) for run in told if run.get("warning")), "")

    def _read(self, where: str, value: int) -> list[Note]:
        notes = []
        for row in self._database.rows(f"select * from note where {where}", (value,)):
            note = note_of(row)
            if note is None:
                raise self._database.damaged("a note on a run does not fit its check sum")
            notes.append(note)
        return notes


def stored_measure(kind: NoteKind, measure: int | None) -> int:
    """The value of the column ``measure`` for a note of this kind on this measure."""
    if measure is None:
        return _DIAGNOSTICS
    return measure if kind is NoteKind.FIGURE else _DIAGNOSTICS - 1 - measure


def put_notes(db: sqlite3.Connection, notes: Iterable[Note], *, replace: bool) -> None:
    """Write notes, in a transaction of the caller's; ``replace`` says which of two on the same figure stays."""
    rows: list[tuple[Any, ...]] = [
        (int(note.scenario), int(note.replicate), stored_measure(note.kind, note.measure), note.text) for note in notes
    ]
    rows = [(*row, sum_of(row)) for row in rows]
    db.executemany(f"insert or {'replace' if replace else 'ignore'} into note values (?, ?, ?, ?, ?)", rows)


def drop_notes(db: sqlite3.Connection, first: int) -> None:
    """Drop the notes on measures from column ``first`` on, in a transaction of the caller's."""
    db.execute("delete from note where measure >= ? or measure <= ?", (first, stored_measure(NoteKind.COUNT, first)))


def note_of(row: tuple[Any, ...]) -> Note | None:
    """The note that a row of the table holds; None where it holds none."""
    scenario, replicate, stored, text, crc = row
    sound = is_whole(scenario) and is_whole(replicate) and is_whole(stored, -(2**31)) and isinstance(text, str)
    if not sound or crc != sum_of([scenario, replicate, stored, text]):
        return None
    if stored == _DIAGNOSTICS:
        return Note(scenario, replicate, NoteKind.DIAGNOSTICS, None, text)
    if stored < _DIAGNOSTICS:
        return Note(scenario, replicate, NoteKind.COUNT, _DIAGNOSTICS - 1 - stored, text)
    return Note(scenario, replicate, NoteKind.FIGURE, stored, text)
