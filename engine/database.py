"""The SQLite file behind a study: opening it where it lies, and one clear sentence for whatever it complains of."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from engine.errors import EngineError, UsageError
from engine.places import is_network_path
from engine.untrusted import open_plain

_APPLICATION_ID = 0x53574150  # "SWAP"
PATIENCE = 30
"""Seconds that a writer waits for another one."""


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
    db = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
    try:
        db.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        if Path(f"{path}-wal").exists() or os.access(path.parent, os.W_OK):
            raise
        address = f"{path.absolute().as_uri()}?immutable=1"
        db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    except BaseException:
        db.close()
        raise
    return db


def write_new(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new file, filled in one transaction: it appears whole or not at all.  Refuses a path that exists."""
    if path.exists():
        raise UsageError(f"'{path.name}' exists already; choose another path")
    if not path.parent.is_dir():
        raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with spoken(path):
        try:
            db = sqlite3.connect(aside, isolation_level=None)
            try:
                db.execute(f"pragma application_id = {_APPLICATION_ID}")
                db.execute("begin")
                fill(db)
                db.execute("commit")
            finally:
                db.close()
            os.replace(aside, path)
        finally:
            with suppress(OSError):
                aside.unlink()


class Database:
    """An open study file as SQLite sees it.  Use it as a context manager or close it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        # A connection that nobody holds any more is closed with this object: of one left open, Python 3.13 warns.
        weakref.finalize(self, connection.close).atexit = False

    @staticmethod
    def connection_to(path: Path) -> sqlite3.Connection:
        """A connection to an existing study; other files are refused in one sentence."""
        if not path.exists():
            raise EngineError(
                f"study '{path.name}' does not exist; make it with `frontier sweep DATA --study {path.name}`"
            )
        if path.is_dir():
            raise EngineError(f"'{path.name}' is a folder, not a study")
        with spoken(path):
            with open_plain(path, follow=True) as file:
                if file.read(16) != b"SQLite format 3\x00":
                    raise EngineError(f"'{path.name}' is no study; a study is made by `frontier sweep`")
            db = connected(path)
            try:
                if db.execute("pragma application_id").fetchone()[0] != _APPLICATION_ID:
                    raise EngineError(f"'{path.name}' is a database but no study; a study is made by `frontier sweep`")
                if db.execute("select 1 from sqlite_master where type not in ('table', 'index')").fetchone():
                    raise EngineError(f"'{path.name}' is no study: it holds more than tables and their indices")
                # a write-ahead log lets readers go on beside the writer, but needs shared memory, which network drives
                # lack
                with suppress(sqlite3.OperationalError):
                    db.execute("pragma journal_mode = " + ("delete" if is_network_path(path) else "wal"))
                db.execute("pragma synchronous = normal")
            except BaseException:
                db.close()
                raise
        return db

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; refused where another process is writing and does not end soon, or without ``wait`` at
        once."""
        with spoken(self.path):
            if not wait:
                self._db.execute("pragma busy_timeout = 0")
            try:
                self._db.execute("begin immediate")
            finally:
                if not wait:
                    self._db.execute(f"pragma busy_timeout = {1000 * PATIENCE}")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise

    def has_table(self, name: str) -> bool:
        """Whether a table is there: some are made when they are first needed."""
        with spoken(self.path):
            return bool(self._db.execute("select 1 from sqlite_master where name = ?", (name,)).fetchone())

    def read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""
        with spoken(self.path):
            return self._db.execute(query, values).fetchall()

    @property
    def version(self) -> int:
        """A number that changes whenever another process or connection changes the study."""
        with spoken(self.path):
            return int(self._db.execute("pragma data_version").fetchone()[0])
