"""Candidates that a person has pinned in a study, with names and notes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from engine.common.errors import UsageError
from engine.study.study import Study

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
