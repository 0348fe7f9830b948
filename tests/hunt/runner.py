"""Tries cases: lays down the files, runs the command, and looks at what it said, did and left."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path

from tests.hunt import fork
from tests.hunt.case import Case, Content, Link, Outcome, Pipe, Ran, Sparse

PATIENCE = 20.0
"""Seconds after which a command hangs."""
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|^Exception ignored|Fatal Python error|\.py:\d+: \w*Warning\b", re.MULTILINE
)
_MEMORY = "the machine has too little memory"
_PASSING = ("*/.*", ".*", "*.tmp", "*.part", "*~", "*-journal", "*-wal", "*-shm")
"""What no command leaves, not even one that ends well, unless the case says that it writes it."""

Try = Callable[[Sequence[str], Path, Path, float], fork.End]


def in_a_fork(main: fork.Main) -> Try:
    """Tries commands with ``main`` in forks of this process, where there are forks."""
    if not hasattr(os, "fork"):
        return fork.run_process
    fork.adopt()
    return lambda argv, folder, logs, seconds: fork.run(main, argv, folder, logs, seconds)


def try_all(cases: Iterable[Case], how: Try, patience: float = PATIENCE) -> Iterator[Outcome]:
    """The outcome of every case, in order."""
    for number, case in enumerate(cases):
        yield try_one(case, how, patience, number)


def try_one(case: Case, how: Try, patience: float = PATIENCE, number: int = 0) -> Outcome:
    """The outcome of one case; what seems to hang is tried once more, since a machine may have been busy."""
    outcome = _once(case, how, patience, number)
    return _once(case, how, patience, number) if outcome.verdict == "hang" else outcome


def _once(case: Case, how: Try, patience: float, number: int) -> Outcome:
    with ExitStack() as stack:
        # A path of letters only, and short: a finding must not hang on where the hunt happened to run.
        place = Path(tempfile.mkdtemp(prefix="hunt"))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        folder, logs = place / "work", place / "logs"
        folder.mkdir()
        logs.mkdir()
        lay(case.files, folder)
        end = how(case.argv, folder, logs, patience)
        verdict, detail = judge(case, end, folder, logs)
        return Outcome(case.kind, case.name, verdict, detail, end.seconds, number, tuple(case.argv))


def lay(files: Mapping[str, Content], folder: Path) -> None:
    """Write the files of a case."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case Link(target):
                path.symlink_to(target)
            case Pipe():
                os.mkfifo(path)
            case Sparse(size):
                with path.open("wb") as file:
                    file.truncate(size)
            case _:
                path.write_bytes(content)


def judge(case: Case, end: fork.End, folder: Path, logs: Path) -> tuple[str, str]:
    """A verdict, and what shows it."""
    said = end.out + end.err
    if end.code is None:
        return "hang", end.err[-3000:]
    if end.code < 0:
        return "crash", f"signal {-end.code}\n{end.err[-3000:]}"
    if _TRACE.search(end.err) or end.code == 70:
        return "traceback", end.err[-3000:]
    if _MEMORY in said:
        return "memory", said[-1000:]
    if end.code and not said.strip():
        return "silent", f"exit code {end.code}"
    left = left_behind(case, end, folder, logs)
    if left:
        return "left", f"exit code {end.code}: {'; '.join(left)}\n{said[-1000:]}"
    wrong = case.check(Ran(end.code, end.out, end.err, folder)) if case.check else ""
    if wrong:
        return "wrong", f"{wrong}\n{said[-1000:]}"
    return ("refused", end.err.strip() or end.out.strip()) if end.code else ("accepted", "")


def left_behind(case: Case, end: fork.End, folder: Path, logs: Path) -> list[str]:
    """What the command left that it should not have, or did to files that are not its own, in words."""
    found = ["a process is left"] if end.lingering else []
    allowed = [*case.writes]
    for name, content in case.files.items():
        path = folder / name
        if any(fnmatch(name, pattern) for pattern in allowed):
            continue
        if not os.path.lexists(path):
            found.append(f"'{name}' is gone")
        elif isinstance(content, bytes) and (not path.is_file() or path.read_bytes() != content):
            found.append(f"'{name}' was changed")
    for name in sorted(_names(folder) - _laid(case)):
        if any(fnmatch(name, pattern) for pattern in allowed):
            continue
        if end.code or any(fnmatch(name, pattern) for pattern in _PASSING):
            found.append(f"'{name}' is left")
    found += [f"'{name}' is left among the passing files" for name in sorted(_names(logs / "tmp"))]
    return found


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} if folder.is_dir() else set()


def _laid(case: Case) -> set[str]:
    laid = set()
    for name in case.files:
        path = Path(name)
        laid |= {path.as_posix(), *(parent.as_posix() for parent in path.parents)}
    return laid
