"""Measure how long the processes of a sweep take until they have loaded what they need."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.common.errors import EngineError


class StartTime(NamedTuple):
    """Processor seconds until the process of a sweep, and until one of its workers, has loaded what it needs; and how
    many seconds passed by the clock for each of them, on the machine as busy as it then was."""

    sweep: float
    worker: float
    slowdown: float


@cache
def start_time() -> StartTime:
    """Measure it with a process that fills a tiny study in memory; measured once."""
    began = time.perf_counter()
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "engine.sweeps.start_time"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        raise EngineError(
            "the process that measures how long a sweep takes to start did not run; let this program start "
            f"{Path(sys.executable or 'python').name}"
        ) from None
    passed = time.perf_counter() - began
    worker, whole = json.loads(ended.stdout)
    return StartTime(whole, worker, max(1.0, passed / whole))


def main() -> None:
    """Fill a tiny study in memory and write processor seconds: until a run was measured, and of everything."""
    from engine.plan import edit_plan
    from engine.plan.coding import code
    from engine.plan.samples import load
    from engine.sweeps.candidates import scenarios_of
    from engine.sweeps.evaluator import Evaluator, question_of
    from engine.sweeps.groups import group
    from engine.sweeps.sweep import open_sweep

    raw, plan = load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.1"], replicates=2)
    data = code(raw, plan)
    groups = group(scenarios_of(plan, data)[0], data.table)
    Evaluator(question_of(plan, data), bytes(16)).run(groups[0], [1])
    worker = time.process_time()
    open_sweep(raw, plan, None).run(workers=1)
    sys.stdout.write(json.dumps([worker, time.process_time()]))


if __name__ == "__main__":
    gc.disable()  # a command looks for garbage only after it has loaded everything
    main()
    gc.freeze()  # as where a command ends: to search for garbage then takes a third of a second
