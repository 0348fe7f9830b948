"""Scripts run where no kernel is compiled, in processes forked from one that has loaded what they need.

Whether kernels are compiled is settled when they are imported, so plain Python needs another process; to load NumPy,
SciPy and hypothesis there takes far longer than what tests have it do.  Each script still has a process of its own.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import subprocess
import sys
import traceback
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from engine.common import compiled

ROOT = Path(__file__).resolve().parents[1]
LOADED = ("tests.engine.mechanisms.test_random_swap", "tests.engine.mechanisms.test_targeted", "tests.numeric_data")


def plain(script: str) -> Any:
    """The JSON that ``script`` prints where no kernel is compiled; warnings are errors."""
    if not hasattr(os, "fork"):
        return _alone(script, "0")
    running = _server()
    assert running.stdin and running.stdout
    running.stdin.write(json.dumps(script) + "\n")
    running.stdin.flush()
    error, printed = json.loads(running.stdout.readline())
    assert not error, error
    return json.loads(printed.splitlines()[-1])


def compiled_and_plain(script: str) -> tuple[Any, Any]:
    """The JSON that ``script`` prints with compiled kernels, and without."""
    if not compiled.COMPILED:
        return _alone(script, "1"), plain(script)
    with redirect_stdout(io.StringIO()) as printed:
        exec(script, {})
    return json.loads(printed.getvalue().splitlines()[-1]), plain(script)


def _alone(script: str, numba: str) -> Any:
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, cwd=ROOT, env=_environment(numba), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def _environment(numba: str) -> dict[str, str]:
    # a process with threads of its own cannot be forked safely
    return {**os.environ, "PYTHONPATH": str(ROOT), "FRONTIER_NUMBA": numba, "OPENBLAS_NUM_THREADS": "1"}


@cache
def _server() -> subprocess.Popen[str]:
    """The process that is forked for each script, as long as this one runs."""
    command = [sys.executable, "-W", "error", "-m", "tests.plain_python"]
    running = subprocess.Popen(
        command, cwd=ROOT, env=_environment("0"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def end() -> None:
        running.communicate()

    atexit.register(end)
    return running


def _serve() -> None:
    """Fork for every script that comes, as a line of JSON, and answer what went wrong and what was printed."""
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            printed = io.StringIO()
            error = ""
            try:
                with redirect_stdout(printed):
                    exec(json.loads(line), {"__name__": "__main__"})
            except BaseException:
                error = traceback.format_exc()
            os.write(1, (json.dumps([error, printed.getvalue()]) + "\n").encode())
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print(json.dumps(["the process of the script was killed", ""]), flush=True)


if __name__ == "__main__":
    _serve()
