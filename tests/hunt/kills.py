"""Whoever writes a study or exports it is killed at a statement to the database, or at a step on the disk.

Each trial is one kill.  Then the study must open, the same command must go on, and what the study holds at the end is
what it holds when nobody is killed, bit for bit; an export is there whole or not at all.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forked
from tests.hunt import stock

STUDY = stock.STUDY
STAGES = {
    "sweep": ("sweep", "czech", "--study", STUDY, "--swap-sizes", "1,2", "--replicates", "12", "--workers", "1"),
    "measure": ("measure", STUDY, "--data", "czech", "--measures", "r1_share", "--workers", "1"),
    "recheck": ("recheck", STUDY, "--data", "czech", "--replicates", "6"),
    "export": ("export", STUDY, "--data", "czech", "--out", "out", "--tier", "board"),
}
"""The commands that write, in the order in which a study meets them."""
_CLEARED = 15.0
"""Seconds until what a killed export was writing has been cleared away."""
_KILLING = """
import os, signal, sqlite3, sys

at, on_disk, seen, connect = int(sys.argv[1]), sys.argv[2] == "export", 0, sqlite3.connect

def look(*_):
    global seen
    seen += 1
    if seen == at:
        os.kill(os.getpid(), signal.SIGKILL)

def watched(*given, **more):
    db = connect(*given, **more)
    db.set_trace_callback(look)
    return db

def heard(event, given):
    if event in ("os.rename", "os.mkdir", "os.remove") or event == "open" and given[1] and "r" not in str(given[1]):
        look()

sqlite3.connect = watched
# A callback waits for the interpreter while SQLite holds the connection; a second thread that works on the connection
# holds the interpreter and waits for the connection.  So nothing is stored by a thread of its own.
sqlite3.threadsafety = 1
import engine.sweeps.workers
engine.sweeps.workers.BATCH_SIZE = 60
engine.sweeps.workers.BATCH_STEPS = 0
from engine.cli.main import main
if on_disk:
    sys.addaudithook(heard)
code = main(sys.argv[2:])
print(seen)
sys.exit(code)
"""


@dataclass(frozen=True)
class Stage:
    """A command, the folder as it finds it, what the study holds after it, and how many steps it takes."""

    name: str
    before: Path
    after: dict[str, Any]
    steps: int


def prepared(place: Path) -> Iterator[Stage]:
    """Every stage, gone through once by nobody disturbed."""
    folder = place / "whole"
    folder.mkdir()
    (folder / f"{STUDY}.key").write_text(stock.KEY)
    (folder / f"{STUDY}.key").chmod(0o600)
    for name in STAGES:
        if name == "export":
            command(folder, "choose", STUDY, "--max-risk", "0.5", "--why", "fits", "--by", "A")
        before = shutil.copytree(folder, place / f"before-{name}")
        ended = run(name, 0, folder)
        if ended.returncode:
            raise RuntimeError(ended.stderr)
        yield Stage(name, before, held(folder / STUDY), int(ended.stdout.split()[-1]))


def trouble(stage: Stage, at: int, folder: Path) -> str:
    """What is wrong after a stage was killed at a step and went on, in words; empty where all is well."""
    shutil.copytree(stage.before, folder)
    found = [run(stage.name, at, folder), command(folder, "status", STUDY), command(folder, "show", STUDY)]
    if stage.name == "export":
        if (folder / "out").exists():
            found.append(command(folder, "verify", "out"))
            shutil.rmtree(folder / "out")
        until = time.monotonic() + _CLEARED
        while _left(folder) and time.monotonic() < until:
            time.sleep(0.1)
        if left := _left(folder):
            return f"left: {left}"
    found.append(run(stage.name, 0, folder))
    if any("Traceback" in ended.stderr for ended in found):
        return "\n".join(ended.stderr[-1500:] for ended in found)
    if wrong := [ended for ended in found[3:] if ended.returncode]:
        return f"it does not go on: {wrong[0].stdout[-500:]}{wrong[0].stderr[-500:]}"
    now = held(folder / STUDY)
    if others := [name for name in stage.after if now[name] != stage.after[name] and (stage.name, name) != _LOGGED]:
        return f"other than undisturbed: {', '.join(others)}"
    # a file that was being made under a name of its own is no study yet, and harms none
    left = [name for name in _left(folder) if not (name.startswith(".") and name.endswith(".part"))]
    return f"left: {left}" if left else ""


_LOGGED = ("export", "log")
"""What differs rightly: the log names both exports."""


def _left(folder: Path) -> list[str]:
    own = {"out", STUDY, f"{STUDY}.key", f"{STUDY}-wal", f"{STUDY}-shm"}
    return sorted(path.name for path in folder.iterdir() if path.name not in own)


def run(name: str, at: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a stage, and let it be killed at a step; 0 is none."""
    return forked.run(["-c", _KILLING, str(at), *STAGES[name]], folder)


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return forked.run(["-m", "engine", *words], folder)


def held(study: Path) -> dict[str, Any]:
    """What a study holds, row by row; the times at which things were done aside."""
    asked = {
        "runs": "select * from realisation",
        "fresh runs": "select * from fresh",
        "notes": "select * from note order by scenario, replicate, measure",
        "scenarios": "select * from scenario",
        "about": "select name, value from about where name not in ('created', 'version')",
        "sweep": "select state, done, total, task from run",
        "log": "select event, detail from log group by event order by event",
    }
    with closing(sqlite3.connect(study)) as db:
        return {name: db.execute(query).fetchall() for name, query in asked.items()}
