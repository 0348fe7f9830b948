"""Notes on the runs of a study."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from engine.common.stored_values import is_whole, sum_of
from engine.release.results import Note, NoteKind
from engine.study.database import Database
from engine.study.subject import Subject

SCHEMA = (
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
            note = note_of(row, sums=self._subject.has_sums)
            if note is None:
                raise self._database.damaged("a note on a run does not fit its check sum")
            notes.append(note)
        return notes


def stored_measure(kind: NoteKind, measure: int | None) -> int:
    """The value of the column ``measure`` for a note of this kind on this measure."""
    if measure is None:
        return _DIAGNOSTICS
    return measure if kind is NoteKind.FIGURE else _DIAGNOSTICS - 1 - measure


def put_notes(db: sqlite3.Connection, notes: Iterable[Note], *, replace: bool, sums: bool) -> None:
    """Write notes, in a transaction of the caller's; ``replace`` says which of two on the same figure stays, ``sums``
    whether rows carry check sums."""
    rows: list[tuple[Any, ...]] = [
        (int(note.scenario), int(note.replicate), stored_measure(note.kind, note.measure), note.text) for note in notes
    ]
    if sums:
        rows = [(*row, sum_of(row)) for row in rows]
    marks = ", ".join("?" * (4 + sums))
    db.executemany(f"insert or {'replace' if replace else 'ignore'} into note values ({marks})", rows)


def drop_notes(db: sqlite3.Connection, first: int) -> None:
    """Drop the notes on measures from column ``first`` on, in a transaction of the caller's."""
    db.execute("delete from note where measure >= ? or measure <= ?", (first, stored_measure(NoteKind.COUNT, first)))


def note_of(row: tuple[Any, ...], *, sums: bool) -> Note | None:
    """The note that a row of the table holds; None where it holds none."""
    scenario, replicate, stored, text, *crc = row
    sound = is_whole(scenario) and is_whole(replicate) and is_whole(stored, -(2**31)) and isinstance(text, str)
    if not sound or (sums and crc != [sum_of([scenario, replicate, stored, text])]):
        return None
    if stored == _DIAGNOSTICS:
        return Note(scenario, replicate, NoteKind.DIAGNOSTICS, None, text)
    if stored < _DIAGNOSTICS:
        return Note(scenario, replicate, NoteKind.COUNT, _DIAGNOSTICS - 1 - stored, text)
    return Note(scenario, replicate, NoteKind.FIGURE, stored, text)
