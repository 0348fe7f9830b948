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
from functools import lru_cache
from typing import Any, get_args

from engine.common.errors import EngineError, Remedy
from engine.common.os_support import hostname, is_running, process_birth
from engine.common.stored_values import is_number, is_whole
from engine.release.scenarios import Progress, SweepState
from engine.study.database import Database

_STALE = 60.0  # seconds after which a silent writer counts as gone where its process cannot be looked at
_LONG_STALE = 600.0  # the same where a process has its number, and nobody knows whether it is the one

SCHEMA = (
    "create table run (one integer primary key check (one = 1), state text, pid integer, host text, beat real,"
    " started real, done integer, total integer, cancel integer, message text, born text, task text)",
    "insert into run values (1, 'new', 0, '', 0, 0, 0, 0, 0, '', '', '')",
)
SWEEP, MEASURE, RECHECK = "sweep", "measure", "recheck"
TASKS = {SWEEP: "sweep", MEASURE: "process that adds measures", RECHECK: "process that makes fresh runs"}
"""Names of the tasks, in words that follow "a" or "another"."""
_STATES = get_args(SweepState)


@dataclass(frozen=True)
class Writer:
    """The writer of a study: its task (one of :data:`TASKS`), its process and host, when it was last heard of (seconds
    since 1970), and whether it was asked to stop."""

    task: str
    pid: int
    host: str
    beat: float
    asked: bool

    def __str__(self) -> str:
        return f"{TASKS[self.task]} (process {self.pid}{'' if self.host == hostname() else ' on ' + self.host})"


class Leased(Database):
    """A study with its one writer's lease and progress."""

    def acquire_lease(self, total: int = 0, done: int = 0, task: str = SWEEP) -> None:
        """Become the writer; :class:`EngineError` while another process is.  Only a sweep (``task``) changes the
        progress: ``done`` of ``total`` runs."""
        with self.change() as db:
            have = self.columns_of("run")
            for name in ("born", "task"):  # a study of an earlier version
                if name not in have:
                    db.execute(f"alter table run add column {name} text default ''")
            now = time.time()
            db.execute(
                "update run set pid=?, host=?, born=?, beat=?, task=?, cancel=0",
                (os.getpid(), hostname(), _own_birth(os.getpid()), now, task),
            )
            if task == SWEEP:
                db.execute("update run set state='running', started=?, done=?, total=?, message=''", (now, done, total))
            else:  # a sweep that was killed said so to nobody
                db.execute("update run set state='cancelled' where state='running'")

    @contextmanager
    def change(self, *, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """Transaction that changes scenarios, runs or measures; :class:`EngineError` while another process is the
        writer."""
        with self.transaction(wait=wait) as db:
            other = self._holder(self._run())
            if other is not None:
                raise EngineError(
                    f"another {other} is writing '{self.name}'; wait for it or cancel it",
                    Remedy.CANCEL,
                    study=self.name,
                )
            yield db

    def beat(self, done: int | None = None, total: int | None = None) -> bool:
        """Show that the writer is there, and how far the sweep is and how much there is to do if that has changed;
        returns whether somebody asked to cancel."""
        with self.change() as db:
            db.execute(
                "update run set beat=?, done=coalesce(?, done), total=coalesce(?, total)", (time.time(), done, total)
            )
            return bool(self._run()["cancel"])

    def release_lease(self, state: SweepState | None = None, message: str = "") -> None:
        """Stop being the writer; a sweep says how it ended."""
        with self.transaction() as db:
            if not self._is_mine(self._run()):
                return
            if state is not None:
                db.execute("update run set state=?, message=?", (state, message))
            db.execute("update run set beat=?", (time.time(),))
            if "task" in self.columns_of("run"):
                db.execute("update run set task='', born=''")

    def cancel(self) -> None:
        """Ask the writer to stop after what it is doing; what is done stays."""
        with self.transaction() as db:
            db.execute("update run set cancel=1")

    @property
    def writer(self) -> Writer | None:
        """The writer, which may be this process; None where there is none."""
        run = self._run()
        return self._as_writer(run) if self._is_mine(run) and _task_of(run) else self._holder(run)

    @property
    def asked_to_stop(self) -> bool:
        """True where the writer was asked to stop."""
        return bool(self._run()["cancel"])

    @property
    def progress(self) -> Progress:
        """Progress of the sweep.  One that died is reported as cancelled: its work can be resumed."""
        run = self._run()
        state = run["state"]
        if state == "running" and not self._is_mine(run) and self._holder(run) is None:
            state = "cancelled"
        return Progress(state, run["done"], run["total"], run["started"], run["message"])

    def _run(self) -> dict[str, Any]:
        """The one row on writer and progress, by column."""
        names = self.columns_of("run")
        rows = self.rows("select * from run")
        run = dict(zip(names, rows[0], strict=True)) if len(rows) == 1 else {}
        texts = ("state", "host", "message", *(name for name in ("born", "task") if name in run))
        sound = (
            all(isinstance(run.get(name), str) for name in texts)
            and all(is_whole(run.get(name)) for name in ("pid", "done", "total", "cancel"))
            and all(is_number(run.get(name)) for name in ("beat", "started"))
            and run["state"] in _STATES
            and run.get("task", "") in ("", *TASKS)
        )
        if not sound:
            raise self.damaged("its progress holds values that no sweep writes")
        return run

    def _is_mine(self, run: dict[str, Any]) -> bool:
        """Whether this process wrote last."""
        here = run["pid"] == os.getpid() and run["host"] == hostname()
        return here and run.get("born", "") in ("", _own_birth(os.getpid()))

    def _holder(self, run: dict[str, Any]) -> Writer | None:
        """Another process that is the writer and has not died."""
        if not _task_of(run) or self._is_mine(run):
            return None
        born, silent = run.get("born", ""), time.time() - run["beat"]
        here = run["host"] == hostname()
        if here and born and _system(born) == _system(_own_birth(os.getpid())):
            alive = is_running(run["pid"], born)
        elif here and not born:
            alive = is_running(run["pid"], "") and silent < _LONG_STALE
        else:
            alive = silent < _STALE
        return self._as_writer(run) if alive else None

    @staticmethod
    def _as_writer(run: dict[str, Any]) -> Writer:
        return Writer(_task_of(run), run["pid"], run["host"], run["beat"], bool(run["cancel"]))


@lru_cache(maxsize=1)
def _own_birth(pid: int) -> str:
    return process_birth(pid)


def _task_of(run: dict[str, Any]) -> str:
    """What the last writer does; empty once it has ended its work."""
    return str(run.get("task") or (SWEEP if run["state"] == "running" else ""))


def _system(born: str) -> str:
    """The running system in which a process was started, as far as it is told."""
    return born.rpartition(" ")[0]
