"""Sweeps and exports killed at random moments: what is done stays, and nothing is left by halves.

Each trial is one kill.  A sweep goes on after each, and when it ends, its figures are those of one that nobody killed,
bit for bit; an export is there whole or not at all.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from tests.hunt import fork, runner, stock
from tests.hunt.case import Outcome

ROOT = Path(__file__).resolve().parents[2]
SWEEP = ("sweep", stock.DATA, "--study", stock.STUDY, "--swap-sizes", "1,2", "--rates", "0.01,0.02,0.10")
MORE = ("--replicates", "60")
A_STUDY = 10
"""Kills of one study; then it may end."""
_CLEARED = 15.0
"""Seconds until what a killed export was writing has been cleared away."""
_PATIENCE = 300.0


def sweeps(rng: random.Random, count: int) -> Iterator[Outcome]:
    """Kills of sweeps, alone and with other processes."""
    fork.adopt()
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        wanted = whole(Path(place) / "whole")
        longest = time.monotonic() - began
        for first in range(0, count, A_STUDY):
            folder = laid(Path(place) / f"study-{first}")
            seen: set[tuple[object, ...]] = set()
            for number in range(first, min(count, first + A_STUDY)):
                workers = 2 if number % 5 == 4 else 1
                pause = rng.random() * (longest / 2 if workers == 1 else longest + 2)
                end = killed([*SWEEP, *MORE, "--workers", str(workers)], folder, pause)
                verdict, detail = told(end)
                rows = figures(folder / stock.STUDY)
                if verdict in ("refused", "accepted") and not (seen <= rows <= wanted):
                    verdict, detail = (
                        "left",
                        f"{len(seen - rows)} runs are lost, {len(rows - wanted)} are not as they should be",
                    )
                seen = rows
                yield Outcome(
                    "sweeps", f"kill {number} after {pause:.2f} s: {len(rows)} runs", verdict, detail, pause, number
                )
            end = ended([*SWEEP, *MORE, "--workers", "1"], folder)
            rows = figures(folder / stock.STUDY)
            if end.code or rows != wanted:
                detail = f"exit code {end.code}, {len(wanted - rows)} runs missing, {len(rows - wanted)} others"
                detail += f"\n{end.err[-2000:]}"
                yield Outcome("sweeps", f"end of study {first}", "left", detail, number=first)
            if left := [name for name in os.listdir(folder) if name not in (stock.STUDY, f"{stock.STUDY}.key", "logs")]:
                yield Outcome("sweeps", f"end of study {first}", "left", f"left: {left}", number=first)
            shutil.rmtree(folder)


def exports(rng: random.Random, count: int) -> Iterator[Outcome]:
    """Kills of exports, each in a fork of this process, which has everything loaded."""
    fork.adopt()
    stock.made()
    gc.freeze()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runner.lay(stock.study(), folder)
        (folder / f"{stock.STUDY}.key").chmod(0o600)
        argv = ["export", stock.STUDY, "--data", stock.DATA, "--formats", "csv,parquet", "--out", "out"]
        longest = {}
        for number in range(count):
            tier = ("all", "analyst", "board", "public")[number % 4]
            if tier not in longest:
                end = forked([*argv, "--tier", tier], folder)
                longest[tier] = end.seconds
                yield Outcome("exports", f"{tier}, not killed", *told(end), end.seconds, number)
                shutil.rmtree(folder / "out", ignore_errors=True)
            pause = rng.random() * longest[tier] * 1.1
            both = number % 3 == 2  # the process that clears up is killed as well, as when a machine loses its power
            end = forked([*argv, "--tier", tier], folder, pause, both=both)
            verdict, detail = told(end)
            if trouble := (after_the_next(folder, argv) if both else "") or after_export(folder):
                verdict, detail = "left", trouble
            yield Outcome("exports", f"{tier}, kill {number} after {pause:.2f} s", verdict, detail, pause, number)
            for path in folder.iterdir():
                if path.is_dir() and path.name != "logs":
                    shutil.rmtree(path, ignore_errors=True)


def after_export(folder: Path) -> str:
    """What is wrong with a folder in which an export was killed, in words."""
    own = {*stock.study(), *(f"{stock.STUDY}-{ends}" for ends in ("wal", "shm")), "logs", "out"}
    until = time.monotonic() + _CLEARED
    while (left := sorted(set(os.listdir(folder)) - own)) and time.monotonic() < until:
        time.sleep(0.1)
    if left:
        return f"left: {', '.join(left)}"
    if left := [path.name for path in (folder / "logs" / "tmp").iterdir()]:
        return f"left among the passing files: {', '.join(left)}"
    if not (folder / "out").exists():
        return ""
    end = forked(["verify", "out"], folder)
    return f"half a bundle: {end.out[-1500:]}" if end.code else ""


def after_the_next(folder: Path, argv: Sequence[str]) -> str:
    """What is wrong when an export comes after one of which all processes were killed at once, in words."""
    if (folder / "out").exists():
        return ""
    end = forked([*argv, "--tier", "board"], folder)
    return f"the next export failed: {end.err[-1500:]}" if end.code else ""


def whole(folder: Path) -> set[tuple[object, ...]]:
    """The figures of a sweep that nobody kills."""
    laid(folder)
    end = ended([*SWEEP, *MORE, "--workers", "1"], folder)
    if end.code:
        raise RuntimeError(end.err)
    return figures(folder / stock.STUDY)


def laid(folder: Path) -> Path:
    """A folder with nothing but the study key."""
    folder.mkdir()
    key = folder / f"{stock.STUDY}.key"
    key.write_text(stock.KEY)
    key.chmod(0o600)
    return folder


def forked(argv: Sequence[str], folder: Path, pause: float | None = None, *, both: bool = False) -> fork.End:
    """Run a command in a fork of this process to its end, or kill it after a while, alone or at once with ``both`` what
    it started; what it started must end with it."""
    from engine.cli.main import main

    logs = _logs(folder)
    if pause is None:
        return fork.run(main, argv, folder, logs, _PATIENCE)
    child = fork.start(main, argv, folder, logs, _PATIENCE)
    code = fork.wait(child, pause)
    if code is None:
        for pid in (*(fork.children_of(child) if both else ()), child):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return fork.End(code, *fork.said(logs), pause, fork.reap_all(_CLEARED))


def killed(argv: Sequence[str], folder: Path, pause: float) -> fork.End:
    """Start a command in a process of its own and kill it after a while; what it started must end with it."""
    logs = _logs(folder)
    with (logs / "out").open("wb") as out, (logs / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine", *argv],
            cwd=folder,
            env={**os.environ, **fork.own_places(logs), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            process.wait(_STARTED + pause)
        except subprocess.TimeoutExpired:
            process.kill()
        code = process.wait()
    return fork.End(code, *fork.said(logs), pause, fork.reap_all(_CLEARED))


_STARTED = 0.3
"""Seconds before which nothing has been loaded, so that nothing can be spoilt."""


def ended(argv: Sequence[str], folder: Path) -> fork.End:
    """Run a command to its end."""
    return fork.run_process(argv, folder, _logs(folder), _PATIENCE)


def _logs(folder: Path) -> Path:
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    return logs


def told(end: fork.End) -> tuple[str, str]:
    """A verdict on a command that was killed, or had ended before."""
    if "Traceback" in end.err:
        return "traceback", end.err[-3000:]
    if end.lingering:
        return "left", "a process outlives the one that was killed"
    if end.code and end.code > 0:
        return "wrong", f"it was refused: {end.err[-500:]}"
    return "accepted", ""


def figures(study: Path) -> set[tuple[object, ...]]:
    """Every run of a study with its figures; none where there is no study yet."""
    if not study.exists():
        return set()
    with closing(sqlite3.connect(study)) as db:
        return {tuple(row) for row in db.execute("select * from realisation where status is not null")}
