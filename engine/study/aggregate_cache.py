"""Arrays computed from a study and stored in it, so that opening it computes none of them again.

Each lies in the table ``aggregate`` as plain bytes, column after column, behind one line that says what they are:
reading a million figures copies them once.  A name begins with the table that the arrays rest on (``scenario``,
``realisation`` or ``fresh``), and :func:`invalidate` drops them in the very transaction that changes that table, so
nothing stored is ever stale.  The key also tells of which measures the columns are, so arrays of fewer are never taken
for those of all.  Every value carries its check sum, and a list names all of them: where one does not fit, all are
computed again from the runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any
from zlib import crc32

import numpy as np

from engine.common.errors import EngineError
from engine.common.version import __version__
from engine.study.database import Database
from engine.study.lease import Lease
from engine.study.subject import Subject

SCHEMA = "create table if not exists aggregate (name text primary key, value blob) without rowid"
_MOST = 2**28  # bytes up to which a matrix is one value of the table, which takes no more than 10^9
_SAME = b"="  # before the name of an array with the same bits, or of one and its column, as in "mean/2"


class _Beside:
    """A thread that stores arrays, what it was given so far, and the keys that were ``listed`` before."""

    def __init__(self, thread: ThreadPoolExecutor, listed: frozenset[str]) -> None:
        self._thread, self.listed = thread, listed
        self.stored: list[Future[None]] = []

    def store(self, work: Callable[..., None], *args: Any, **options: Any) -> None:
        """Store with a function, after all before it."""
        self.stored.append(self._thread.submit(work, *args, **options))


class AggregateCache:
    """The arrays that a study stores because all its runs are needed to compute them."""

    def __init__(self, database: Database, subject: Subject, lease: Lease) -> None:
        self._database, self._subject, self._lease = database, subject, lease
        self._beside: _Beside | None = None

    def get(
        self, name: str, compute: Callable[[], dict[str, np.ndarray]], since: int, *, as_writer: bool = False
    ) -> dict[str, np.ndarray]:
        """Arrays that ``compute`` makes of the scenarios and of the table that ``name`` begins with: stored in the
        study from the first time on, until these change.

        ``since`` is the :attr:`~engine.study.database.Database.data_version` when what ``compute`` rests on was read,
        or before; nothing is stored when it has changed.  While a process writes nothing is stored; the writer itself
        stores what it computed last.
        """
        if self._beside is None or self._key(name) in self._beside.listed:
            stored = self.load(name)
            if stored is not None:
                return stored
        arrays = compute()
        if as_writer and self._beside is not None:
            self._beside.store(self._store, name, arrays, since, wait=True)
        elif as_writer or self._lease.writer is None:
            self._store(name, arrays, since, wait=as_writer)
        return arrays

    @contextmanager
    def storing_beside(self) -> Iterator[None]:
        """Let a thread store what the writer computes within the block, while the next is computed; whoever leaves the
        block waits for it.  Who reads the study meanwhile waits for a part of it too, so nothing is looked for that was
        not stored before."""
        if sqlite3.threadsafety < 3:  # threads may not share a connection
            yield
            return
        with ThreadPoolExecutor(1, "store") as thread:
            self._beside = _Beside(thread, self._listed())
            try:
                yield
            finally:
                stored, self._beside = self._beside.stored, None
        for future in stored:
            future.result()

    def _listed(self) -> frozenset[str]:
        """The keys under which something is stored."""
        if not self._database.has_table("aggregate"):
            return frozenset()
        rows = self._database.rows("select name from aggregate")
        return frozenset(name.split("/", 1)[0] for (name,) in rows if isinstance(name, str))

    def _store(self, name: str, arrays: dict[str, np.ndarray], since: int, wait: bool) -> None:
        # a study that may not be written to, or is being written to, is as good without: a reader waits for nobody
        with suppress(EngineError), self._database.transaction(wait=wait) as db:
            if self._database.data_version == since:
                store(db, name, arrays, self._measure_texts())

    def _key(self, name: str) -> str:
        return _key(name, self._measure_texts())

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays that are stored under a name; None where none are, or no longer."""
        texts = self._measure_texts()
        with self._database.errors_in_words():
            return load(self._database.connection, name, texts)

    def _measure_texts(self) -> list[str]:
        return [str(measure) for measure in self._subject.measures]


def _key(name: str, measures: Sequence[str]) -> str:
    """The key under which this version of the program stores arrays of these measures: another version might compute
    them otherwise.  A slash ends it, so no name holds one."""
    if "/" in name:
        raise ValueError(f"name == {name!r}, must not hold a slash")
    table, _, content = name.partition(" ")
    digest = "" if table == "scenario" else " " + blake2b("\n".join(measures).encode(), digest_size=6).hexdigest()
    return f"{table} {__version__}{digest} {content}".rstrip()


def load(db: sqlite3.Connection, name: str, measures: Sequence[str] = ()) -> dict[str, np.ndarray] | None:
    """Return the arrays stored under a name for these measures, by their own names (read-only); None where nothing is
    stored, or where it is not what was stored."""
    if not db.execute("select 1 from sqlite_master where name = 'aggregate'").fetchone():
        return None
    key = _key(name, measures)
    # "0" follows "/": everything that begins with the key and a slash, in the order of its columns
    rows = db.execute(
        "select name, value from aggregate where name > ? and name < ? order by name", (f"{key}/", f"{key}0")
    ).fetchall()
    listed = db.execute("select value from aggregate where name = ?", (f"{key}/",)).fetchone()
    if listed is None or listed[0] != _list_of(rows):
        return None
    stored: dict[str, list[np.ndarray | str]] = {}
    for row, value in rows:
        part = value[1:].decode() if value[:1] == _SAME else _unpacked(value)
        stored.setdefault(row.split("/")[1], []).append(part)
    arrays: dict[str, np.ndarray] = {}
    # what others are the same as comes first
    for name, parts in sorted(stored.items(), key=lambda item: any(isinstance(part, str) for part in item[1])):
        known = [_found(arrays, part) if isinstance(part, str) else part for part in parts]
        arrays[name] = known[0] if len(known) == 1 else _joined(known)
    return arrays


def _found(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The array of this name, or its column."""
    name, _, column = name.partition("/")
    return arrays[name][:, int(column)][:, None] if column else arrays[name]


def store(db: sqlite3.Connection, name: str, arrays: dict[str, np.ndarray], measures: Sequence[str] = ()) -> None:
    """Store arrays of up to two dimensions under a name, within a transaction of the caller's."""
    db.execute(SCHEMA)
    key = _key(name, measures)
    by_itself: dict[str, np.ndarray] = {}
    rows: list[tuple[str, bytes]] = []
    for array_name, array in arrays.items():
        parts = _parts_as_stored(array, by_itself)
        if not any(isinstance(part, str) for part in parts):
            by_itself[array_name] = array
        rows += [
            (f"{key}/{array_name}/{k:06}", _SAME + part.encode() if isinstance(part, str) else _packed(part))
            for k, part in enumerate(parts)
        ]
    db.execute("delete from aggregate where name >= ? and name < ?", (f"{key}/", f"{key}0"))
    db.executemany("insert into aggregate values (?, ?)", [(f"{key}/", _list_of(sorted(rows))), *rows])


def _parts_as_stored(array: np.ndarray, by_itself: dict[str, np.ndarray]) -> Sequence[np.ndarray | str]:
    """The parts of an array: itself alone, or each column.  A part that lies in an array stored ``by_itself`` is given
    as its name there: losses of a measure that is better when lower are its figures."""
    if same := next((name for name, before in by_itself.items() if _same_bits(before, array)), None):
        return [same]
    if array.ndim < 2 or array.size <= array.shape[1]:
        return [array]
    columns = [array[:, k : k + 1] for k in range(array.shape[1])]
    for name, before in by_itself.items():
        if before.dtype == array.dtype and before.shape == array.shape:
            same_columns = [_same_bits(before[:, k], array[:, k]) for k in range(array.shape[1])]
            if any(same_columns):
                return [f"{name}/{k}" if same else columns[k] for k, same in enumerate(same_columns)]
    return columns if array.nbytes > _MOST else [array]


def _list_of(rows: Sequence[tuple[str, bytes]]) -> bytes:
    """Names and check sums of rows in their order."""
    return "\n".join(f"{crc32(value):08x} {name}" for name, value in rows if isinstance(value, bytes)).encode()


def invalidate(db: sqlite3.Connection, changed: str) -> None:
    """Drop the arrays that rest on the table ``changed``, in the transaction that changes it; all rest on the
    scenarios."""
    db.execute(SCHEMA)
    if changed == "scenario":
        db.execute("delete from aggregate")
    else:
        db.execute("delete from aggregate where name >= ? and name < ?", (f"{changed} ", f"{changed}!"))


def _bits(array: np.ndarray) -> np.ndarray:
    """The bytes of the figures, column after column; no copy where they lie in memory like that."""
    return np.ascontiguousarray(array.T).reshape(-1).view(np.uint8)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays are the same bits."""
    if a.dtype != b.dtype or a.shape != b.shape or a.size < 2 or a[0].tobytes() != b[0].tobytes():
        return False
    one, other = _bits(a), _bits(b)
    eights = len(one) // 8 * 8
    in_eights = np.array_equal(one[:eights].view(np.uint64), other[:eights].view(np.uint64))
    return in_eights and np.array_equal(one[eights:], other[eights:])


def _packed(array: np.ndarray) -> bytes:
    """A line with type, stored type, and shape; then the figures, column after column, or one of them where all are the
    same bits."""
    stored = array
    if stored.dtype.kind in "iu" and stored.size:  # whole numbers in the fewest bytes that hold them
        fewest = np.result_type(*map(np.min_scalar_type, (stored.min(), stored.max())))
        stored = stored.astype(fewest) if fewest.kind in "iu" else stored  # no floating point number holds them all
    figures, one = _bits(stored), stored.dtype.itemsize
    first = figures[:one]
    if stored.size > 1 and (first == figures[one : 2 * one]).all() and (first == figures.reshape(-1, one)).all():
        figures = first
    line = f"{array.dtype.str} {stored.dtype.str} {','.join(map(str, array.shape))}\n"
    return b"".join((line.encode(), figures.data))


def _unpacked(value: bytes) -> np.ndarray:
    """The array that :func:`_packed` made these bytes of."""
    end = value.index(b"\n") + 1
    dtype, stored, lengths = value[:end].decode().rstrip("\n").split(" ")
    shape = tuple(int(n) for n in lengths.split(",") if n)
    figures = np.frombuffer(value, np.dtype(stored), offset=end).astype(np.dtype(dtype), copy=False)
    figures.flags.writeable = False
    size = int(np.prod(shape, dtype=np.int64))
    return np.broadcast_to(figures, shape) if len(figures) == 1 < size else figures.reshape(shape, order="F")


def _joined(columns: list[np.ndarray]) -> np.ndarray:
    """Columns side by side, each in one piece of memory."""
    matrix = np.empty((len(columns[0]), len(columns)), columns[0].dtype, order="F")
    for k, column in enumerate(columns):
        matrix[:, k] = column[:, 0]
    matrix.flags.writeable = False
    return matrix
