"""The SQLite file behind a study: opening it where it lies, and one clear sentence for whatever it complains of."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import EngineError


@contextmanager
def spoken(path: Path) -> Iterator[None]:
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


def connected(path: Path) -> sqlite3.Connection:
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
