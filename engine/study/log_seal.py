"""The seal of the decision log: a keyed digest of its length and its last entry.

The chain of the log shows what was changed inside it, but whoever may write the file can cut off its end, or write a
whole chain anew.  The seal cannot be made without the study key, which is not in the study: whoever has the key sees
that the log was cut or changed, and which entries were added without it.  An earlier copy of the whole study, seal
included, is beyond it.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3

from engine.common.errors import EngineError
from engine.common.stored_values import is_whole
from engine.common.streams import derive, key_check
from engine.study.key_commitment import check_key
from engine.study.keys import key_path, read_key
from engine.study.study import Study

WHOLE = "The decision log is the one that was sealed with the study key."

_TABLE = "create table if not exists log_seal (one integer primary key check (one = 1), length integer, seal text)"


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
    db.execute(_TABLE)
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
