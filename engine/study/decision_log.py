"""The decision log of a study: entries of who did what, when and why, chained by hashes and never overwritten.

Each entry's digest covers its content and the digest before it, so that a changed, removed or inserted entry shows.
Entries hold no record, key, rate of a public file or path: they travel in the analyst's bundle.

Somebody who tries keys until a good release comes up chooses among runs by their luck.  So the first entry, written
before anything is drawn, holds a digest of the study key (:func:`engine.common.streams.key_commitment`): no other key
fits it.

The chain shows what was changed inside the log, but a person who may write the file can cut off its end, or write a
whole chain anew.  The seal, a keyed digest of the log's length and last entry, cannot be made without the study key,
which is not in the study: with the key one sees that the log was cut or changed, and which entries were added without
it.  An earlier copy of the whole study, seal included, is beyond it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import derive, key_check, key_commitment
from engine.common.untrusted import from_json, is_whole
from engine.study.keys import key_path, read_key
from engine.study.study import Study

ENTRY = "key_commitment"
"""Its name in the details of the log's first entry."""
FIXED = "The study key was fixed before the sweep: the first entry of the log holds its digest."
_NOT_FIXED = (
    "The log holds no digest of the study key, so nothing shows that the key was fixed before the sweep: the study was"
    " begun by an earlier version."
)


def commitment_of(study: Study) -> str | None:
    """The commitment in a study's log; None in a log that was begun without one."""
    if not study.database.has_table("log"):
        return None
    row = next(iter(study.database.rows("select detail from log where number = 1")), None)
    try:
        detail = None if row is None else from_json(row[0])
    except ValueError:  # whoever reads the log says so
        return None
    try:
        return commitment_in(detail) if isinstance(detail, dict) else None
    except ValueError:
        raise study.database.damaged("the digest of its key in the decision log cannot be read") from None


def commitment_in(detail: Mapping[str, object]) -> str | None:
    """The commitment in the details of a log's first entry; ValueError for one that is no digest."""
    digest = detail.get(ENTRY)
    if digest is None:
        return None
    if not (isinstance(digest, str) and digest.isascii()):
        raise ValueError(ENTRY)
    return digest


def check_key(study: Study, key: bytes) -> None:
    """Refuse a key that is not the one that was fixed before the sweep."""
    check_commitment(commitment_of(study), key, f"study '{study.name}'")


def check_commitment(digest: str | None, key: bytes, where: str) -> None:
    """Refuse a key that does not fit the commitment in a decision log, where there is one; ``where`` names the study or
    the bundle that holds the log."""
    if digest is not None and not hmac.compare_digest(digest, key_commitment(key)):
        raise UsageError(
            f"the key is not the one that was fixed before the sweep of {where}: its digest is not the one in the first"
            " entry of the decision log; name the right file",
            Remedy.KEY_FILE,
        )


def commitment_words(study: Study) -> str:
    """Return a sentence on whether the key was fixed before the sweep, for whoever reads the log."""
    return _NOT_FIXED if commitment_of(study) is None else FIXED


WHOLE = "The decision log is the one that was sealed with the study key."

_SEAL_TABLE = "create table if not exists log_seal (one integer primary key check (one = 1), length integer, seal text)"


def key_at_hand(study: Study) -> bytes | None:
    """The study's key, where this program was given it or its file lies beside the study; else None."""
    if study.key is not None or study.in_memory:
        return study.key
    try:
        key = read_key(key_path(study.path))
    except EngineError:  # it lies elsewhere: :func:`seal_words` says so
        return None
    return key if study.about.get("key_check") == key_check(key) else None


def sealed_length(study: Study, key: bytes) -> int | None:
    """Number of entries that the seal covers, None without a seal; :class:`EngineError` for a log that it does not
    fit."""
    if not study.database.has_table("log_seal"):
        return None
    row = next(iter(study.database.rows("select length, seal from log_seal")), None)
    if row is None:
        return None
    length, seal = row
    if not (is_whole(length) and isinstance(seal, str) and seal.isascii()):
        raise study.database.damaged("the seal of its decision log cannot be read")
    end = next(iter(study.database.rows("select digest from log where number = ?", (length,))), None)
    if end is None:
        n_entries = study.database.rows("select count(*) from log")[0][0]
        raise EngineError(
            f"the decision log was cut: {length} entries were sealed with the study key, and {n_entries} are there. "
            "Restore the study from a copy"
        )
    if not hmac.compare_digest(_keyed(key, length, str(end[0])), seal):
        raise EngineError(
            f"the decision log was changed: its first {length} entries are not those that were sealed with the study "
            "key. Restore the study from a copy"
        )
    result: int | None = length
    return result


def put_seal(db: sqlite3.Connection, key: bytes, length: int, end: str) -> None:
    """Seal the log as it is, in the transaction that adds its last entry (number ``length``, digest ``end``)."""
    db.execute(_SEAL_TABLE)
    db.execute("insert or replace into log_seal values (1, ?, ?)", (length, _keyed(key, length, end)))


def check_seal(study: Study) -> None:
    """Refuse (:class:`EngineError`) a log that was cut or changed, or whose study has got another key than it was begun
    with, as far as the key is at hand to tell."""
    key = key_at_hand(study) if study.database.has_table("log") else None
    if key is not None:
        check_key(study, key)
        sealed_length(study, key)


def seal_words(study: Study) -> str:
    """Return a sentence on what the seal says of the log; a log that it does not fit is refused."""
    if not study.database.has_table("log"):
        return "The decision log is empty."
    n = int(study.database.rows("select count(*) from log")[0][0])
    key = key_at_hand(study)
    if key is None:
        return "The study key is not beside the study, so whether the decision log was cut or changed was not checked."
    length = sealed_length(study, key)
    if length is None:
        return "The decision log has no seal: it was begun by an earlier version, or its seal was removed."
    if length < n:
        which = f"Entry {n}" if n == length + 1 else f"Entries {length + 1} to {n}"
        return f"{which} of the decision log came without the study key; the earlier ones are those that were sealed."
    return WHOLE


def _keyed(key: bytes, length: int, end: str) -> str:
    """HMAC-BLAKE2b over length and last digest, under a key that serves nothing else."""
    return hmac.new(derive(key, "decision log"), f"{length}:{end}".encode(), hashlib.blake2b).hexdigest()


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
    one meanwhile, it is refused.  Where the study key is at hand, the log is sealed (:func:`put_seal`); one that does
    not fit its seal is refused, and ``unsealed`` in the detail tells the first and last entry that came
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
