"""The commitment to the study key in the first entry of the decision log, written before anything is drawn.

Whoever could try keys until a good release comes up would choose among runs by their luck.  So the log begins with a
digest of the key (:func:`engine.common.streams.key_commitment`), which the chain of the log covers: no other key fits
it.  It says nothing about other studies of the same data.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from engine.common.errors import Remedy, UsageError
from engine.common.stored_values import from_json
from engine.common.streams import key_commitment
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
