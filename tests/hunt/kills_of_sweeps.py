"""Whoever writes a study is killed at a statement to its database: while the study is made, filled, given another
measure, run again on fresh replicates.

Each trial is one kill.  Then the study must open, the same command must go on, and what the study holds at the end is
what it holds when nobody is killed, bit for bit.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forked
from tests.hunt.case import Outcome

STUDY = "s.study"
STAGES = {
    "sweep": ("sweep", "czech", "--study", STUDY, "--swap-sizes", "1,2", "--replicates", "12", "--workers", "1"),
    "measure": ("measure", STUDY, "--data", "czech", "--measures", "r1_share", "--workers", "1"),
    "recheck": ("recheck", STUDY, "--data", "czech", "--replicates", "6"),
}
"""The commands that write runs, in the order in which a study meets them."""
_KILLING = """
import os, signal, sqlite3, sys

at, seen, connect = int(sys.argv[1]), 0, sqlite3.connect

def look(statement):
    global seen
    seen += 1
    if seen == at:
        os.kill(os.getpid(), signal.SIGKILL)

def watched(*given, **more):
    db = connect(*given, **more)
    db.set_trace_callback(look)
    return db

sqlite3.connect = watched
# A callback waits for the interpreter while SQLite holds the connection; a second thread that works on the connection
# holds the interpreter and waits for the connection.  So nothing is stored by a thread of its own.
sqlite3.threadsafety = 1
import engine.sweeps.workers
engine.sweeps.workers.BATCH_SIZE = 60
engine.sweeps.workers.BATCH_STEPS = 0
from engine.cli.main import main
code = main(sys.argv[2:])
print(seen)
sys.exit(code)
"""


@dataclass(frozen=True)
class Stage:
    """A command, the folder as it finds it, what the study holds after it, and how many statements it takes."""

    name: str
    before: Path
    after: dict[str, Any]
    statements: int


def trials(rng: random.Random, count: int) -> Iterator[Outcome]:
    """That many kills, of every stage in turn."""
    with tempfile.TemporaryDirectory() as place:
        stages = list(prepared(Path(place)))
        for number in range(count):
            stage = stages[number % len(stages)]
            at = rng.randrange(1, stage.statements + 1)
            yield one_kill(stage, at, Path(place) / f"kill-{number}", number)


def prepared(place: Path) -> Iterator[Stage]:
    """Every stage, gone through once by nobody disturbed."""
    folder = place / "whole"
    folder.mkdir()
    (folder / f"{STUDY}.key").write_text("0123456789abcdef" * 2 + "\n")
    (folder / f"{STUDY}.key").chmod(0o600)
    for name in STAGES:
        before = shutil.copytree(folder, place / f"before-{name}")
        ended = run(name, 0, folder)
        if ended.returncode:
            raise RuntimeError(ended.stderr)
        yield Stage(name, before, held(folder / STUDY), int(ended.stdout.split()[-1]))


def one_kill(stage: Stage, at: int, folder: Path, number: int) -> Outcome:
    """Kill a stage at its ``at``-th statement, look, and go on."""
    shutil.copytree(stage.before, folder)
    found = [run(stage.name, at, folder), command(folder, "status", STUDY), command(folder, "show", STUDY)]
    found.append(run(stage.name, 0, folder))
    verdict, detail = "accepted", ""
    if any("Traceback" in ended.stderr for ended in found):
        verdict, detail = "traceback", "\n".join(ended.stderr[-1500:] for ended in found)
    elif found[-1].returncode:
        verdict, detail = "wrong", f"it does not go on: {found[-1].stderr[-500:]}"
    else:
        now = held(folder / STUDY)
        if wrong := [name for name in stage.after if now[name] != stage.after[name]]:
            verdict, detail = "left", f"other than undisturbed: {', '.join(wrong)}"
        # a file that was being made under a name of its own is no study yet, and harms none
        elif left := [
            path.name
            for path in folder.iterdir()
            if path.name not in (STUDY, f"{STUDY}.key") and not (path.name[0] == "." and path.suffix == ".part")
        ]:
            verdict, detail = "left", f"left: {left}"
    shutil.rmtree(folder)
    return Outcome(
        "writers", f"{stage.name}, killed at statement {at} of {stage.statements}", verdict, detail, 0, number
    )


def run(name: str, at: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a stage, and let it be killed at a statement; 0 is none."""
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
