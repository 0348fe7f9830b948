"""Reading processes that are forked from one that has loaded what they need, so that each starts in a few milliseconds.

A reader of SPSS, Stata and SAS files (:mod:`engine.data.io.labelled_readers`) is a new process that loads libraries,
which takes longer than reading a small file.  Tests that are not about how it starts fork it instead: it is a process
of its own all the same, with the same pipes and limits.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from engine.data.io import labelled_readers as reader_process

_PID, _PATH = 8, 4096  # bytes of a process's number, and most of the folder that it works in


class ForkedReader:
    """A reading process as :class:`subprocess.Popen` shows it, as far as the engine looks."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it has ended, and its parent need not wait for it
            os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> ForkedReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stdout.close()
        with suppress(BrokenPipeError):
            self.stdin.close()


Started = Callable[[], ForkedReader]


@contextmanager
def loaded() -> Iterator[Started | None]:
    """What starts a reading process as long as the one with the libraries runs; None where nothing can be forked."""
    if sys.platform == "win32":
        yield None
        return
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-m", "tests.forked_readers", str(theirs.fileno())]
    root = str(Path(__file__).resolve().parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "OPENBLAS_NUM_THREADS": "1",
    }

    def started() -> ForkedReader:
        (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
        socket.send_fds(ours, [os.fsencode(os.getcwd())], [in_read, out_write])
        pid = int.from_bytes(ours.recv(_PID), "little")
        os.close(in_read)
        os.close(out_write)
        return ForkedReader(pid, os.fdopen(in_write, "wb"), os.fdopen(out_read, "rb"))

    with ours, theirs, subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment) as running:
        theirs.close()
        yield started
        ours.close()
        running.wait(20)


def _serve(asked: socket.socket) -> None:
    """Fork a reader for every pair of pipes that comes, until nobody is there to send one."""
    for name in ("pandas", "pyarrow.compute", "pyreadstat"):
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # readers that ended are not waited for
    while True:
        folder, pipes, _, _ = socket.recv_fds(asked, _PATH, 2)
        if not folder:
            return
        child = os.fork()
        if child == 0:
            asked.close()
            os.chdir(folder)
            for number, pipe in enumerate(pipes):
                os.dup2(pipe, number)
                os.close(pipe)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                reader_process.main()
            finally:
                os._exit(0)
        for pipe in pipes:
            os.close(pipe)
        asked.sendall(child.to_bytes(_PID, "little"))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
