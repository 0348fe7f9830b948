"""Who writes a study: one process at a time, which says how far it is and hears when it is asked to stop."""

from __future__ import annotations

import os
import time

from engine.database import Database, spoken
from engine.errors import EngineError
from engine.places import hostname, process_is_alive
from engine.scenarios import Progress

_STALE = 60.0  # seconds after which a silent writer on another host counts as gone

SCHEMA = (
    "create table run (one integer primary key check (one = 1), state text, pid integer, host text, beat real,"
    " started real, done integer, total integer, cancel integer, message text)",
    "insert into run values (1, 'new', 0, '', 0, 0, 0, 0, 0, '')",
)


class Leased(Database):
    """A study file with its one writer's lease and progress."""

    def take(self, total: int, done: int) -> None:
        """Become the writer; refused while another process is."""
        with self.transaction() as db:
            state, pid, host, beat = db.execute("select state, pid, host, beat from run").fetchone()
            here = host == hostname()
            if (
                state == "running"
                and pid != os.getpid()
                and (process_is_alive(pid) if here else time.time() - beat < _STALE)
            ):
                raise EngineError(
                    f"another sweep (process {pid}{'' if here else ' on ' + host}) is writing '{self.path.name}'; "
                    "wait for it or cancel it"
                )
            db.execute(
                "update run set state='running', pid=?, host=?, beat=?, started=?, done=?, total=?, cancel=0, "
                "message=''",
                (os.getpid(), hostname(), time.time(), time.time(), done, total),
            )

    def beat(self, done: int, total: int | None = None) -> bool:
        """Report progress, and how much there is to do if that has changed; returns whether somebody asked to
        cancel."""
        with self.transaction() as db:
            db.execute("update run set beat=?, done=?, total=coalesce(?, total)", (time.time(), done, total))
            return bool(db.execute("select cancel from run").fetchone()[0])

    def release(self, state: str, message: str = "") -> None:
        """Stop being the writer and say how it ended."""
        with self.transaction() as db:
            db.execute(
                "update run set state=?, message=?, beat=? where pid=?", (state, message, time.time(), os.getpid())
            )

    def cancel(self) -> None:
        """Ask the writer to stop after what it is doing; what is done stays."""
        with self.transaction() as db:
            db.execute("update run set cancel=1")

    @property
    def progress(self) -> Progress:
        """How far the sweep is.  A writer that died is reported as cancelled: its work can be resumed."""
        with spoken(self.path):
            state, pid, host, beat, started, done, total, message = self._db.execute(
                "select state, pid, host, beat, started, done, total, message from run"
            ).fetchone()
        if state == "running":
            alive = process_is_alive(pid) if host == hostname() else time.time() - beat < _STALE
            state = "running" if alive else "cancelled"
        return Progress(state, done, total, started, message)
