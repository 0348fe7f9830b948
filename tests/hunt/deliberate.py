"""A command that misbehaves on purpose: ``python -m tests.hunt.deliberate`` prints what the runner makes of each way.

A check that cannot fail shows nothing; this shows that the runner's can.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from tests.hunt import fork, runner
from tests.hunt.case import Case, Pipe

PATIENCE = 1.0
WAYS = {
    "a sentence": "refused",
    "all is well": "accepted",
    "a traceback": "traceback",
    "a warning": "traceback",
    "no word": "silent",
    "for ever": "hang",
    "a pipe": "hang",
    "a signal": "crash",
    "all memory": "memory",
    "a new file": "left",
    "a file of its own": "refused",
    "a hidden file": "left",
    "a passing file": "left",
    "an input changed": "left",
    "an input removed": "left",
    "a process": "left",
    "a wrong figure": "wrong",
}
"""What the command is asked to do, and the verdict that it deserves."""


def misbehave(argv: Sequence[str]) -> int:
    """What ``argv`` asks for; exit code 1 where a command would refuse."""
    code = 1
    match argv[0]:
        case "a sentence":
            print("frontier: 'x' is not a number", file=sys.stderr)
        case "a traceback":
            raise IndexError("list index out of range")
        case "a warning":
            warnings.warn("something is old", DeprecationWarning, stacklevel=1)
        case "no word":
            pass
        case "for ever":
            time.sleep(60)
        case "a pipe":
            Path("pipe").read_bytes()
        case "a signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "all memory":
            raise SystemExit(_take_all())
        case "a new file" | "a file of its own":
            Path("new.study").write_text("")
            print("frontier: half a study is there", file=sys.stderr)
        case "a hidden file":
            Path(".release.csv").write_text("")
            code = 0
        case "a passing file":
            Path(tempfile.gettempdir(), "passing").write_text("")
            code = 0
        case "an input changed":
            Path("input").write_bytes(b"other")
            code = 0
        case "an input removed":
            Path("input").unlink()
            code = 0
        case "a process":
            subprocess.Popen(["sleep", "60"], start_new_session=True)
            code = 0
        case "a wrong figure":
            print("0.7")
            code = 0
        case _:
            code = 0
    return code


def _take_all() -> int:
    try:
        taken = bytearray(2 * fork.MEMORY)
    except MemoryError:
        print("frontier: the machine has too little memory for this", file=sys.stderr)
        return 1
    return len(taken) and 0


def _case(way: str) -> Case:
    return Case(
        "deliberate",
        way,
        {"input": b"same", "pipe": Pipe()},
        [way],
        writes=("new.study",) if way == "a file of its own" else (),
        check=lambda ran: "not 0.5" if "0.7" in ran.out else "",
    )


if __name__ == "__main__":
    how = runner.in_a_fork(misbehave)
    print(json.dumps({one.name: one.verdict for one in runner.try_all(map(_case, WAYS), how, PATIENCE)}))
