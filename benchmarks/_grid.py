"""A Dask cluster on this machine, each part a process of its own whose processor time is read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 120.0  # seconds until a part that does not start is given up


@dataclass(frozen=True)
class Grid:
    """A scheduler and its workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    def spent(self) -> tuple[float, float]:
        """Processor seconds that the scheduler and that all workers have taken."""
        return processor_seconds(self.scheduler.pid), sum(processor_seconds(worker.pid) for worker in self.workers)


def processor_seconds(pid: int) -> float:
    """Processor seconds of a process."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def idle_seconds() -> float:
    """Seconds for which the processors of this machine had nothing to do."""
    import psutil

    return float(psutil.cpu_times().idle)


@contextmanager
def grid(workers: int, folder: Path) -> Iterator[Grid]:
    """A cluster with so many workers of one thread, as long as the context lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    log = folder / "grid.log"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", *arguments, "--no-dashboard"]
        with open(log, "ab") as file:
            return subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT)

    parts = [start("distributed.cli.dask_scheduler", "--host", address)]
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            _wait(until, log)
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        parts += [start("distributed.cli.dask_worker", address, *options) for _ in range(workers)]
        while log.read_bytes().count(b"Registered to") < workers:
            _wait(until, log)
        yield Grid(address, parts[0], parts[1:])
    finally:
        for part in reversed(parts):
            part.kill()
            part.wait()


def _wait(until: float, log: Path) -> None:
    if time.monotonic() > until:
        raise SystemExit(f"the cluster did not start:\n{log.read_text(errors='replace')[-2000:]}")
    time.sleep(0.1)
