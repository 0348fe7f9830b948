"""Runs commands of ``frontier`` in forks of this process, so that each starts in a millisecond with everything loaded.

POSIX only; elsewhere every command is a process of its own, which takes a second.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY = 4 << 30
"""Bytes that a command may take beyond what is loaded."""
_LINGER = 5.0
"""Seconds that a helper process may outlive its command."""


@dataclass(frozen=True)
class End:
    """How a command ended: its exit code (negative: the signal), or None if it had to be killed."""

    code: int | None
    out: str
    err: str
    seconds: float
    lingering: bool
    """Whether a process that it started was still there some seconds later; it has been killed."""


Main = Callable[[Sequence[str]], int]


def run(main: Main, argv: Sequence[str], folder: Path, logs: Path, seconds: float) -> End:
    """Run ``main(argv)`` in a fork that works in ``folder``; what it prints goes through files in ``logs``."""
    began = time.monotonic()
    child = start(main, argv, folder, logs, seconds)
    code = wait(child, seconds)
    if code is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    took = time.monotonic() - began
    lingering = reap_all(0.0 if code is None else _LINGER)
    return End(code, *said(logs), took, lingering and code is not None)


def start(main: Main, argv: Sequence[str], folder: Path, logs: Path, seconds: float) -> int:
    """Start ``main(argv)`` in a fork; its number, which is that of its process group too."""
    child = os.fork()
    if child == 0:
        _be_the_command(main, argv, folder, logs / "out", logs / "err", seconds)
    return child


def said(logs: Path) -> tuple[str, str]:
    """What a command has printed, and what of errors."""
    return _text(logs / "out"), _text(logs / "err")


def run_process(argv: Sequence[str], folder: Path, logs: Path, seconds: float) -> End:
    """Run ``python -m engine`` as a process of its own."""
    began = time.monotonic()
    out, err = logs / "out", logs / "err"
    with out.open("wb") as to_out, err.open("wb") as to_err:
        environment = {**os.environ, **own_places(logs), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        command = [sys.executable, "-m", "engine", *argv]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
    return End(code, *said(logs), time.monotonic() - began, False)


def own_places(logs: Path) -> dict[str, str]:
    """Variables under which a command keeps its private and its passing files in ``logs``."""
    home, passing = logs / "home", logs / "tmp"
    home.mkdir(exist_ok=True)
    passing.mkdir(exist_ok=True)
    return {"FRONTIER_HOME": str(home), "TMPDIR": str(passing), "TEMP": str(passing), "TMP": str(passing)}


def adopt() -> None:
    """Become the parent of what commands leave behind, so that it is seen (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _be_the_command(main: Main, argv: Sequence[str], folder: Path, out: Path, err: Path, seconds: float) -> None:
    code = 70
    try:
        os.setsid()
        for number, where in ((1, out), (2, err)):
            to = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(to, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        faulthandler.enable(sys.__stderr__ if sys.stderr is None else sys.stderr)
        faulthandler.dump_traceback_later(max(0.1, seconds - 0.5), file=sys.stderr)
        os.environ.update(own_places(out.parent))
        tempfile.tempdir = None  # this process has looked for the folder of passing files already
        os.chdir(folder)
        _limit_memory()
        code = main(list(argv))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        gc.collect()  # a process that ends closes what nobody closed
        os._exit(code & 0xFF)


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))


def wait(child: int, seconds: float) -> int | None:
    """The exit code of a child, or None if it has not ended by then."""
    until, pause = time.monotonic() + seconds, 0.001
    while (left := until - time.monotonic()) > 0:
        got, status = os.waitpid(child, os.WNOHANG)
        if got:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, 0.05)
    return None


def reap_all(patience: float) -> bool:
    """Wait for adopted processes; whether any had to be killed."""
    until, killed = time.monotonic() + patience, False
    while True:
        try:
            got, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return killed
        if got:
            continue
        if time.monotonic() >= until:
            killed = True
            for child in _children():
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def _children() -> list[int]:
    return children_of(os.getpid())


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that have not ended (Linux only)."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except FileNotFoundError:  # it has just ended
        return []


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace") if file.exists() else ""
