"""The decision log of a study: entries of who did what, when and why, chained by hashes and never overwritten.

Each entry's digest covers its content and the digest before it, so that a changed, removed or inserted entry shows.
Entries hold no record, key, rate of a public file or path: they travel in the analyst's bundle.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.common.errors import EngineError
from engine.common.stored_values import from_json, is_whole
from engine.study.log_seal import key_at_hand, put_seal, sealed_length
from engine.study.study import Study

Event = Literal[
    "plan",
    "changed",
    "locked",
    "deviation",
    "chosen",
    "withheld",
    "rechecked",
    "attacked",
    "submitted",
    "approved",
    "returned",
    "released",
    "exporting",
    "exported",
    "blocked",
]
EVENTS: dict[Event, str] = {
    "plan": "the plan was recorded",
    "changed": "the plan was changed",
    "locked": "the plan was approved and locked",
    "deviation": "the study departs from the approved plan",
    "chosen": "a candidate was recommended",
    "withheld": "it was decided to release nothing",
    "rechecked": "finalists were run on fresh replicates",
    "attacked": "the recommended release was attacked",
    "submitted": "the recommendation was submitted to the board",
    "approved": "the board approved the release",
    "returned": "the board returned the recommendation",
    "released": "the release was published",
    "exporting": "a bundle was about to be written",
    "exported": "a bundle was written",
    "blocked": "an export was refused",
}
"""Events of the log, in words."""

_TABLE = (
    "create table if not exists log (number integer primary key, at text, by text, event text, detail text,"
    " previous text, digest text)"
)
START = "0" * 64
"""Stands for the digest before the first entry."""
_CHANGE = re.compile(r"([a-z_]+(?:\.[a-z_]+)?): (.*)", re.DOTALL)
_UNREADABLE = "an entry of the decision log cannot be read"


@dataclass(frozen=True)
class LoggedChange:
    """One change of the plan in the log: the plan's ``entry`` (``publish.include``; empty where an attribute was added,
    left out or coded differently), and how it changed in words."""

    entry: str
    words: str

    @classmethod
    def read(cls, sentence: str) -> LoggedChange:
        """The change that the log holds as a sentence, ``ENTRY: WORDS`` or words alone."""
        match = _CHANGE.fullmatch(sentence)
        return cls(match[1], match[2]) if match else cls("", sentence)

    @property
    def section(self) -> str:
        """The section of the plan that the entry stands in."""
        return self.entry.partition(".")[0]


@dataclass(frozen=True)
class Entry:
    """One entry: ``number`` from 1 on, ``at`` in ISO form (UTC), ``by`` whom (may be empty), one of :data:`EVENTS`,
    what belongs to it, the ``previous`` digest and its own (hexadecimal)."""

    number: int
    at: str
    by: str
    event: Event
    detail: Mapping[str, Any]
    previous: str
    digest: str

    @property
    def changes(self) -> tuple[LoggedChange, ...]:
        """Changes of the plan that the entry names."""
        return tuple(LoggedChange.read(str(sentence)) for sentence in self.detail.get("what", ()))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return {**vars(self), "detail": dict(self.detail)}


def entry_digest(number: int, at: str, by: str, event: str, detail: Mapping[str, Any], previous: str) -> str:
    """SHA-256 over an entry's content and the digest before it, in a form that any program can make again: the JSON
    list [number, at, by, event, detail, previous] with sorted keys, no spaces, ASCII."""
    content = json.dumps([number, at, by, event, detail, previous], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def append(
    study: Study, event: Event, detail: Mapping[str, Any] | None = None, *, by: str = "", after: str | None = None
) -> Entry:
    """Add an entry; an event outside :data:`EVENTS` is a programming error.

    ``after`` is the digest of the entry that this one rests on (:data:`START` for none): where somebody else has added
    one meanwhile, it is refused.  Where the study key is at hand, the log is sealed (:mod:`engine.study.log_seal`); one
    that does not fit its seal is refused, and ``unsealed`` in the detail tells the first and last entry that came
    without.
    """
    if event not in EVENTS:
        raise ValueError(f"event {event!r}, must be one of {', '.join(EVENTS)}")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    key = key_at_hand(study)
    with study.database.transaction() as db:
        db.execute(_TABLE)
        last = db.execute("select number, digest from log order by number desc limit 1").fetchone() or (0, START)
        if not (is_whole(last[0]) and isinstance(last[1], str)):
            raise study.database.damaged(_UNREADABLE)
        if after is not None and last[1] != after:
            raise EngineError("somebody else has added to the decision log meanwhile; look at it and do it again")
        number = last[0] + 1
        sealed = last[0] if key is None else sealed_length(study, key) or 0
        unsealed = {"unsealed": [sealed + 1, last[0]]} if sealed < last[0] else {}
        text = json.dumps({**(detail or {}), **unsealed}, sort_keys=True)
        plain = json.loads(text)
        digest = entry_digest(number, at, by, event, plain, last[1])
        db.execute("insert into log values (?, ?, ?, ?, ?, ?, ?)", (number, at, by, event, text, last[1], digest))
        if key is not None:
            put_seal(db, key, number, digest)
    return Entry(number, at, by, event, plain, last[1], digest)


def entries(study: Study) -> list[Entry]:
    """All entries, oldest first."""
    if not study.database.has_table("log"):
        return []
    rows = study.database.rows("select number, at, by, event, detail, previous, digest from log order by number")
    return [_entry(study, *row) for row in rows]


def _entry(study: Study, number: Any, *texts: Any) -> Entry:
    """A stored entry, if it is one."""
    at, by, stored_event, stored_detail, previous, digest = texts
    try:
        detail = from_json(stored_detail)
    except ValueError:
        detail = None
    if not (is_whole(number) and all(isinstance(text, str) for text in texts) and isinstance(detail, dict)):
        raise study.database.damaged(_UNREADABLE)
    event = next((known for known in EVENTS if known == stored_event), None)
    if event is None:
        raise study.database.damaged(
            f"entry {number} of the decision log names an event that this version does not know"
        )
    return Entry(number, at, by, event, detail, previous, digest)


def verify(log: Sequence[Entry]) -> None:
    """Refuse a log whose chain is broken, naming the first entry that does not fit."""
    previous = START
    for place, entry in enumerate(log, 1):
        content = (entry.number, entry.at, entry.by, entry.event, entry.detail, entry.previous)
        if entry.number != place or entry.previous != previous or entry.digest != entry_digest(*content):
            raise EngineError(
                f"the decision log is broken at entry {place}: it, or one before it, was changed, removed or inserted"
            )
        previous = entry.digest
