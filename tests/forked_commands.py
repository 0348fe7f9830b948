"""Commands of ``frontier`` in forked processes (:mod:`tests.forked`) that are killed, limited or timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import forked

_COMMAND = """
import os, sys
os.setsid()  # a group of its own, which can be killed as a whole
largest = int(sys.argv.pop(1))
if largest:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.dont_write_bytecode = True  # a module compiled under the limit would be cut, and stay so
from engine.cli.main import main
try:
    sys.exit(main(sys.argv[1:]))
finally:
    sys.stderr.write(chr(0) + str(sum(os.times()[:4])))
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), what it printed, and the seconds that a processor
    worked for it and the processes that it waited for (0 where it was killed)."""

    returncode: int | None
    stdout: str
    stderr: str
    worked: float


def start(argv: Sequence[str], *, largest: int = 0) -> forked.Started:
    """Start ``frontier`` with these arguments in this folder, in a process group of its own; no file that it writes may
    become larger than so many bytes (0: any size)."""
    return forked.start(["-c", _COMMAND, str(largest), *argv], None, Path.cwd())


def end(process: forked.Started, seconds: float = 120) -> Ended:
    """Wait for the end of a command; one that takes longer is killed, which is an error."""
    out, err = process.communicate(timeout=seconds)
    err, _, worked = err.partition("\0")
    return Ended(process.returncode, out, err, float(worked or 0))


def run(argv: Sequence[str], *, seconds: float = 120, largest: int = 0) -> Ended:
    """Start a command and wait for its end."""
    return end(start(argv, largest=largest), seconds)
