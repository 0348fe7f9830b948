"""The SQLite file behind a study, with one clear sentence for each of its errors.

Studies that were cut short: pages that neither the file nor the journal beside it holds.

SQLite takes such pages for empty ones while it plays a journal back, so this is looked at before it opens the file.
The file itself is not read here: whoever closes a file gives up all locks that the process has on it.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.os_support import FULL, aside, is_network_path
from engine.common.untrusted import kind_of

_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_LOCK_BYTE = 1 << 30
"""The page of this byte is never written."""


def is_cut_short(path: Path) -> bool:
    """Return whether the file lacks pages that the log or the journal beside it builds on."""
    for read, ending in ((_logged, "-wal"), (_journalled, "-journal")):
        try:
            with Path(f"{path}{ending}").open("rb") as file:
                found = read(file)  # before the size of the study, which only grows by what is in it
        except OSError:
            continue
        if found is not None:
            page, wanted, pages = found
            in_file = path.stat().st_size // page
            lock = _LOCK_BYTE // page + 1
            return any(number not in pages and number != lock for number in range(in_file + 1, wanted + 1))
    return False


def _logged(file: BinaryIO) -> tuple[int, int, set[int]] | None:
    """Bytes of a page, pages that the study has by the last transaction in a write-ahead log, and those in it; None
    where it holds no transaction."""
    header = file.read(_WAL_HEADER)
    if len(header) < _WAL_HEADER or struct.unpack(">I", header[:4])[0] not in _WAL_MAGIC:
        return None
    page, salt = struct.unpack(">I", header[8:12])[0], header[16:24]
    pages, begun, wanted = set[int](), set[int](), 0
    while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
        number, committed = struct.unpack(">II", frame[:8])
        if len(file.read(page)) < page:
            break
        begun.add(number)
        if committed:
            pages, wanted = pages | begun, committed
            begun = set()
    return (page, wanted, pages) if wanted and page else None


def _journalled(file: BinaryIO) -> tuple[int, int, set[int]] | None:
    """Bytes of a page, pages that the study had before the transaction of a rollback journal, and those in it; None
    where it holds none."""
    header = file.read(28)
    if len(header) < 28 or header[:8] != _JOURNAL_MAGIC:
        return None
    wanted, sector, page = struct.unpack(">III", header[16:28])
    if not page or not sector:
        return None
    pages, place = set[int](), sector
    while True:
        file.seek(place)
        record = file.read(4)
        if len(record) < 4 or len(file.read(page + 4)) < page + 4:
            return page, wanted, pages
        if record == _JOURNAL_MAGIC[:4]:  # a further header, of what was added later
            place += sector
            continue
        pages.add(struct.unpack(">I", record)[0])
        place += page + 8


_APPLICATION_ID = 0x53574150  # "SWAP"
PATIENCE = 30
"""Seconds that a writer waits for another one."""
IN_MEMORY = "in memory"
"""The name of a study that has no file, in messages."""
_PAGE = 8192  # bytes of a page of a new file: half as many pages are logged and copied as with SQLite's own
_LITTLE_ROOM = 2**20  # bytes: with less room a complaint about writing is one about room

_READING = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ)


class Connection(sqlite3.Connection):
    """Connection to a study; ``unwritten`` is the error for which nothing can be written, None where it can."""

    unwritten: sqlite3.Error | None = None


def damaged(name: str, what: str) -> EngineError:
    """The error for a study that holds what this program never writes."""
    return EngineError(
        f"study '{name}' is damaged: {what}; restore it from a copy, or sweep it anew with the same key file, "
        "which gives the same figures"
    )


@contextmanager
def errors_in_words(path: Path | None) -> Iterator[None]:
    """Raise what SQLite complains of as an :class:`EngineError` of one clear sentence; ``path`` is None of a study in
    memory."""
    try:
        yield
    except sqlite3.Error as error:
        raise _sentence(path, error) from None
    except UnicodeDecodeError:  # of a complaint that quotes what it cannot read
        raise damaged(_name_of(path), "a name in it cannot be read") from None


def _name_of(path: Path | None) -> str:
    return IN_MEMORY if path is None else path.name


def _sentence(path: Path | None, error: sqlite3.Error) -> EngineError:
    # the low byte is the kind; what the module itself complains of has none
    text, kind, name = str(error), getattr(error, "sqlite_errorcode", 0) & 0xFF, _name_of(path)
    if kind == sqlite3.SQLITE_FULL or (kind == sqlite3.SQLITE_IOERR and _room(path) < _LITTLE_ROOM):
        return EngineError(
            f"study '{name}' could not be written: {FULL}; free some space and run the same command again, "
            "nothing is lost"
        )
    if kind == sqlite3.SQLITE_IOERR:
        done = "read" if getattr(error, "sqlite_errorcode", 0) in _READING else "written"
        return EngineError(
            f"study '{name}' could not be {done} where it lies ({text}); see to the disk, its limits or the "
            "network drive and run the same command again, what was stored before is kept"
        )
    if kind == sqlite3.SQLITE_READONLY:
        return EngineError(f"study '{name}' is read-only; copy it to a folder you may write to")
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return EngineError(f"study '{name}' is locked by another program; wait for it or close it")
    if kind == sqlite3.SQLITE_CANTOPEN:
        return EngineError(f"study '{name}' cannot be opened: its folder does not exist or may not be written to")
    if kind == sqlite3.SQLITE_NOTADB:
        return EngineError(f"'{name}' is no study, or a damaged one ({text}); a study is made by a sweep", Remedy.SWEEP)
    if text.startswith("Could not decode"):  # and goes on with what it could not
        text = "a text in it cannot be read"
    return damaged(name, text)


def _room(path: Path | None) -> int:
    """Bytes that are left where a file lies; enough of them where nobody knows."""
    if path is None:
        return _LITTLE_ROOM
    try:
        return shutil.disk_usage(path.absolute().parent).free
    except OSError:
        return _LITTLE_ROOM


def connected(path: Path) -> Connection:
    """Return a connection that can be read, also where nothing can be written: on a full disk, in a folder that may not
    be written to.

    A database with a write-ahead log wants a file of shared memory beside it.  Where that cannot be made, it is read as
    a file that does not change if nobody has left a log, else with the log, shared with nobody.
    """
    db = _connection(str(path))
    try:
        _look(db)
    except sqlite3.OperationalError as error:
        db.close()
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        db = _unwritten(path)
        if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            db.unwritten = error
    except BaseException:
        db.close()
        raise
    return db


def _connection(address: str, uri: bool = False) -> Connection:
    return sqlite3.connect(
        address, uri=uri, isolation_level=None, timeout=PATIENCE, check_same_thread=False, factory=Connection
    )


def _unwritten(path: Path) -> Connection:
    """A connection that writes nothing."""
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        db = _connection(str(path))
        db.execute("pragma locking_mode = exclusive")
    else:
        db = _connection(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    try:
        _look(db)
    except BaseException:
        db.close()
        raise
    return db


def _check_length(path: Path, db: sqlite3.Connection) -> None:
    """Refuse a file without a log beside it that is shorter than it says."""
    log = Path(f"{path}-wal")
    if not (log.exists() and log.stat().st_size):
        pages, page = (db.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
        if path.stat().st_size < pages * page and not (log.exists() and log.stat().st_size):
            raise damaged(path.name, "it was cut short")


def _look(db: sqlite3.Connection) -> None:
    db.execute("select count(*) from sqlite_master").fetchone()


@contextmanager
def _new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database that becomes the file ``path`` at the end of the block, whole or not at all.  Refuses a path
    that exists, also one that another process has taken meanwhile."""
    exists = UsageError(
        f"'{path.name}' exists already; choose another path or, if another process has just made it, run the same "
        "command again to go on with it"
    )
    if path.exists():
        raise exists
    if not path.parent.is_dir():
        raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
    with errors_in_words(path):
        try:
            with aside(path, replace=False) as part:
                db = sqlite3.connect(part, isolation_level=None)
                try:
                    db.execute("pragma journal_mode = memory")  # it has no name yet, so nobody needs its journal
                    yield db
                finally:
                    db.close()
        except FileExistsError:
            raise exists from None


def write_new(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a new study file, which ``fill`` fills in one transaction: it appears whole or not at all.  Refuses a path
    that exists, also one that another process has taken meanwhile."""
    with _new_file(path) as db:
        _fill(db, fill)


def new_in_memory(fill: Callable[[sqlite3.Connection], None]) -> Connection:
    """Return a connection to a new study in memory, which ``fill`` fills in one transaction; it ends with the
    connection."""
    db = _connection(":memory:")
    _fill(db, fill)
    return db


def _fill(db: sqlite3.Connection, fill: Callable[[sqlite3.Connection], None]) -> None:
    db.execute(f"pragma page_size = {_PAGE}")
    db.execute(f"pragma application_id = {_APPLICATION_ID}")
    db.execute("begin")
    fill(db)
    db.execute("commit")


class Database:
    """An open study as SQLite sees it: a file or, with ``path`` None, in memory.  Use it as a context manager or close
    it."""

    def __init__(self, path: Path | None, connection: Connection) -> None:
        self._path = path
        self.connection = connection
        self._is_closed = False
        # A connection that nobody holds any more is closed with this object: of one left open, Python 3.13 warns.
        weakref.finalize(self, connection.close).atexit = False

    @property
    def is_closed(self) -> bool:
        """True once it was closed."""
        return self._is_closed

    @property
    def in_memory(self) -> bool:
        """True for a study without a file."""
        return self._path is None

    @property
    def name(self) -> str:
        """The name of the file, without its folder; :data:`IN_MEMORY` where there is none."""
        return _name_of(self._path)

    @property
    def path(self) -> Path:
        """The study's file; :class:`UsageError` for a study in memory."""
        if self._path is None:
            raise UsageError("the study is in memory and has no file; save it to one first")
        return self._path

    @staticmethod
    def connection_to(path: Path) -> Connection:
        """Return a connection to an existing study; :class:`EngineError` for any other file."""
        if not path.exists():
            raise UsageError(
                f"study '{path.name}' does not exist; make it by a sweep", Remedy.NEW_STUDY, study=path.name
            )
        if kind := kind_of(path, follow=True):
            raise EngineError(f"'{path.name}' is {kind}, not a study; a study is made by a sweep", Remedy.SWEEP)
        if path.stat().st_size == 0:
            raise EngineError(f"'{path.name}' is no study; a study is made by a sweep", Remedy.SWEEP)
        for ending in ("-wal", "-journal", "-shm"):
            with suppress(FileNotFoundError):  # SQLite takes them away too
                if kind := kind_of(path.with_name(path.name + ending), follow=True):
                    raise EngineError(f"'{path.name}{ending}' is {kind}, must be a file; take it away")
        if is_cut_short(path):
            raise damaged(path.name, "it was cut short, and its journal does not hold what is missing")
        with errors_in_words(path):
            # Its first bytes are SQLite's to look at: whoever closes a file gives up all locks that the process has on
            # it, also those of a connection in another thread.
            db = connected(path)
            try:
                if db.execute("pragma application_id").fetchone()[0] != _APPLICATION_ID:
                    raise EngineError(
                        f"'{path.name}' is a database but no study; a study is made by a sweep", Remedy.SWEEP
                    )
                if db.execute("select 1 from sqlite_master where type not in ('table', 'index')").fetchone():
                    raise EngineError(f"'{path.name}' is no study: it holds more than tables and their indices")
                _check_length(path, db)
                # a write-ahead log lets readers go on beside the writer, but needs shared memory, which network drives
                # lack
                with suppress(sqlite3.OperationalError):
                    db.execute("pragma journal_mode = " + ("delete" if is_network_path(path) else "wal"))
                db.execute("pragma synchronous = normal")
            except BaseException:
                db.close()
                raise
        return db

    def copy_to(self, path: Path) -> None:
        """Write everything into a new file, which appears whole or not at all.  Refuses a path that exists."""
        with _new_file(path) as db, self.errors_in_words():
            self.connection.backup(db)

    def close(self) -> None:
        """Close the connection; what was in memory only is gone."""
        self._is_closed = True
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Raise what SQLite complains of as an :class:`EngineError` of one clear sentence."""
        if self._is_closed:
            raise EngineError(f"study '{self.name}' is closed; open it again")
        with errors_in_words(self._path):
            yield

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """Transaction, all or nothing; :class:`EngineError` where another process writes and does not end soon, or
        without ``wait`` at once."""
        with self.errors_in_words():
            if self.connection.unwritten is not None:
                raise self.connection.unwritten
            if not wait:
                self.connection.execute("pragma busy_timeout = 0")
            try:
                self.connection.execute("begin immediate")
            finally:
                if not wait:
                    self.connection.execute(f"pragma busy_timeout = {1000 * PATIENCE}")
            try:
                yield self.connection
                self.connection.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self.connection.execute("rollback")
                raise

    def columns_of(self, table: str) -> list[str]:
        """The names of a table's columns, none where there is no such table: some are made when they are first
        needed."""
        return [name for _, name, *_ in self.rows(f"pragma table_info({table})")]

    def has_table(self, name: str) -> bool:
        """True where the table is there."""
        return bool(self.columns_of(name))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query; for the modules of :mod:`engine.study`, which alone speak SQL."""
        with self.errors_in_words():
            return self.connection.execute(query, values).fetchall()

    def damaged(self, what: str) -> EngineError:
        """The error for content of it that this program never writes."""
        return damaged(self.name, what)

    @property
    def data_version(self) -> int:
        """Number that changes whenever another process or connection changes the study."""
        with self.errors_in_words():
            return int(self.connection.execute("pragma data_version").fetchone()[0])
