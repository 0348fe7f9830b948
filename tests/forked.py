"""Python processes that are forked from one that has loaded the engine, so that each starts in a few milliseconds.

A test that kills a sweep, or lets several work at once, needs processes; that each of them loads the engine anew takes
longer than what it does.  One that is started here is a process of its own all the same, with its own number, folder,
environment and pipes.  For tests that are not about how a process starts.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
FORKS = "forkserver" in multiprocessing.get_all_start_methods()
"""Whether this system forks processes; elsewhere each loads what it needs."""


class Forked:
    """A process as :class:`subprocess.Popen` shows it, as far as tests look."""

    def __init__(self, process: BaseProcess, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self._process, self.stdout, self.stderr = process, stdout, stderr

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        assert self.stdout and self.stderr
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as pool:
            read = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return read[0].result(), read[1].result()

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()


Started = subprocess.Popen[str] | Forked


def start(words: Sequence[str], to: IO[bytes] | None = None, folder: Path = ROOT, **environment: str) -> Started:
    """Start ``python words...`` in a folder; what it prints goes to a file, or else into two pipes."""
    if not FORKS:
        return start_anew(words, to, folder, **environment)
    streams: list[IO[str]] = []
    if to is not None:
        outs = [Connection(os.dup(to.fileno()), readable=False)]
    else:
        pairs = [multiprocessing.Pipe(duplex=False) for _ in range(2)]
        outs = [theirs for _, theirs in pairs]
        for ours, _ in pairs:
            streams.append(os.fdopen(os.dup(ours.fileno()), encoding="utf-8"))
            ours.close()
    process = loaded().Process(target=_be, args=(list(words), folder, {**os.environ, **environment}, outs))  # type: ignore[attr-defined]
    with no_main():
        process.start()
    for theirs in outs:
        theirs.close()
    return Forked(process, *(streams or (None, None)))


def start_anew(
    words: Sequence[str], to: IO[bytes] | None = None, folder: Path = ROOT, **environment: str
) -> subprocess.Popen[str]:
    """The same with a process that loads everything itself."""
    out, err = (to, subprocess.STDOUT) if to else (subprocess.PIPE, subprocess.PIPE)
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=env, stdout=out, stderr=err, text=True, encoding="utf-8"
    )


def run(words: Sequence[str], folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Let ``python words...`` come to its end, within five minutes."""
    process = start(words, None, folder, **environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode is not None
    return subprocess.CompletedProcess(list(words), process.returncode, out, err)


@cache
def loaded() -> BaseContext:
    """What starts processes that are forked from :mod:`tests.forked_engine`."""
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.forked_engine"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


@contextmanager
def no_main() -> Iterator[None]:
    """Processes that are started here do not load first what runs the tests."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _be(words: list[str], folder: Path, environment: dict[str, str], outs: list[Connection]) -> None:
    """Be ``python words...``, in a process that was forked."""
    os.chdir(folder)
    told = {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]} if "NUMBA_CACHE_DIR" in os.environ else {}
    os.environ.clear()
    os.environ.update(told | environment)  # the engine names the folder when it is loaded
    for number, out in ((1, outs[0]), (2, outs[-1])):
        os.dup2(out.fileno(), number)
    for out in outs:
        out.close()
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if words[0] == "-m":
        sys.argv = list(words[1:])
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), vars(main))
    else:
        sys.argv = list(words)
        runpy.run_path(words[0], run_name="__main__")
