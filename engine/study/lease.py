"""The lease of a study: one process writes at a time, reports its progress and can be asked to stop.

A sweep, measures being added and fresh runs each take the lease; nothing else may change scenarios or runs meanwhile.
Pins, choices and the decision log lie in tables of their own, are changed in one transaction each, and need none.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, get_args

from engine.common.errors import EngineError, Remedy
from engine.common.processes import hostname, is_running, process_birth
from engine.common.untrusted import is_number, is_whole
from engine.release.scenarios import Progress, SweepState
from engine.study.database import Database

_STALE = 60.0  # seconds after which a silent writer counts as gone where its process cannot be looked at
_LONG_STALE = 600.0  # the same where a process has its number, and nobody knows whether it is the one

SCHEMA = (
    "create table run (one integer primary key check (one = 1), state text, pid integer, host text, beat real,"
    " started real, done integer, total integer, cancel integer, message text, born text, task text, ends real)",
    "insert into run values (1, 'new', 0, '', 0, 0, 0, 0, 0, '', '', '', 0)",
)


class WriterTask(StrEnum):
    """Task of the writer of a study."""

    SWEEP = "sweep"
    MEASURE = "measure"
    RECHECK = "recheck"


_TASK_NAMES = {
    WriterTask.SWEEP: "sweep",
    WriterTask.MEASURE: "process that adds measures",
    WriterTask.RECHECK: "process that makes fresh runs",
}
"""Names of the tasks, in words that follow "a" or "another"."""
_STATES = get_args(SweepState)


@dataclass(frozen=True)
class Writer:
    """The writer of a study: its task, its process and host, when it was last heard of (seconds since 1970), and
    whether it was asked to stop."""

    task: WriterTask
    pid: int
    host: str
    beat: float
    asked_to_stop: bool

    def __str__(self) -> str:
        return f"{_TASK_NAMES[self.task]} (process {self.pid}{'' if self.host == hostname() else ' on ' + self.host})"


class Lease:
    """The lease of a study's one writer, and the progress of its sweep: the one row of the table ``run``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, total: int = 0, done: int = 0, task: WriterTask = WriterTask.SWEEP) -> None:
        """Become the writer; :class:`EngineError` while another process is.  Only a sweep (``task``) changes the
        progress: ``done`` of ``total`` runs.  For :meth:`engine.study.study.Study.acquire_lease`, which then reads anew
        what others have changed."""
        with self.change() as db:
            now = time.time()
            db.execute(
                "update run set pid=?, host=?, born=?, beat=?, task=?, cancel=0",
                (os.getpid(), hostname(), _own_birth(os.getpid()), now, task.value),
            )
            if task is WriterTask.SWEEP:
                db.execute(
                    "update run set state='running', started=?, done=?, total=?, message='', ends=0", (now, done, total)
                )
            else:  # a sweep that was killed said so to nobody
                db.execute("update run set state='cancelled' where state='running'")

    @contextmanager
    def change(self, *, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """Transaction that changes scenarios, runs or measures; :class:`EngineError` while another process is the
        writer."""
        with self._database.transaction(wait=wait) as db:
            other = _other_writer(self._row())
            if other is not None:
                name = self._database.name
                raise EngineError(
                    f"another {other} is writing '{name}'; wait for it or cancel it", Remedy.CANCEL, study=name
                )
            yield db

    def beat(self, done: int | None = None, total: int | None = None, left: float | None = None) -> bool:
        """Show that the writer is there, and how far the sweep is, how much there is to do and how many seconds are
        ``left``, if that has changed; returns whether somebody asked to cancel."""
        now = time.time()
        ends = None if left is None else now + left
        with self.change() as db:
            db.execute(
                "update run set beat=?, done=coalesce(?, done), total=coalesce(?, total), ends=coalesce(?, ends)",
                (now, done, total, ends),
            )
            return self.asked_to_stop

    def release(self, state: SweepState | None = None, message: str = "") -> None:
        """Stop being the writer; a sweep says how it ended."""
        with self._database.transaction() as db:
            if not _is_mine(self._row()):
                return
            if state is not None:
                db.execute("update run set state=?, message=?", (state, message))
            db.execute("update run set beat=?, task='', born=''", (time.time(),))

    def cancel(self) -> None:
        """Ask the writer to stop after what it is doing; what is done stays."""
        with self._database.transaction() as db:
            db.execute("update run set cancel=1")

    @property
    def writer(self) -> Writer | None:
        """The writer, which may be this process; None where there is none."""
        row = self._row()
        return (_writer_in(row) if _is_mine(row) else None) or _other_writer(row)

    @property
    def asked_to_stop(self) -> bool:
        """True where the writer was asked to stop."""
        return bool(self._row()["cancel"])

    @property
    def progress(self) -> Progress:
        """Progress of the sweep.  One that died is reported as cancelled: its work can be resumed."""
        row = self._row()
        state = row["state"]
        if state == "running" and not _is_mine(row) and _other_writer(row) is None:
            state = "cancelled"
        return Progress(state, row["done"], row["total"], row["started"], row["message"], row["ends"])

    def _row(self) -> dict[str, Any]:
        """The one row on writer and progress, by column."""
        names = self._database.columns_of("run")
        rows = self._database.rows("select * from run")
        row = dict(zip(names, rows[0], strict=True)) if len(rows) == 1 else {}
        texts = ("state", "host", "message", "born", "task")
        sound = (
            all(isinstance(row.get(name), str) for name in texts)
            and all(is_whole(row.get(name)) for name in ("pid", "done", "total", "cancel"))
            and all(is_number(row.get(name)) for name in ("beat", "started", "ends"))
            and row["state"] in _STATES
            and row["task"] in ("", *WriterTask)
        )
        if not sound:
            raise self._database.damaged("its progress holds values that no sweep writes")
        return row


def _is_mine(row: dict[str, Any]) -> bool:
    """Return whether this process wrote last."""
    here = row["pid"] == os.getpid() and row["host"] == hostname()
    return here and row["born"] in ("", _own_birth(os.getpid()))


def _other_writer(row: dict[str, Any]) -> Writer | None:
    """Another process that is the writer and has not died."""
    writer = _writer_in(row)
    if writer is None or _is_mine(row):
        return None
    born, silent = row["born"], time.time() - row["beat"]
    here = row["host"] == hostname()
    if here and born and _system(born) == _system(_own_birth(os.getpid())):
        alive = is_running(row["pid"], born)
    elif here and not born:
        alive = is_running(row["pid"], "") and silent < _LONG_STALE
    else:
        alive = silent < _STALE
    return writer if alive else None


def _writer_in(row: dict[str, Any]) -> Writer | None:
    """The writer that the row names, dead or alive; None once it has ended its work."""
    task = row["task"] or (WriterTask.SWEEP if row["state"] == "running" else "")
    if not task:
        return None
    return Writer(WriterTask(task), row["pid"], row["host"], row["beat"], bool(row["cancel"]))


@lru_cache(maxsize=1)
def _own_birth(pid: int) -> str:
    return process_birth(pid)


def _system(born: str) -> str:
    """The running system in which a process was started, as far as it is told."""
    return born.rpartition(" ")[0]
