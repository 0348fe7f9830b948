"""The ``frontier`` command with a look at its stack every few milliseconds of processor time, in it and in its workers.

``python -m benchmarks._sampled FOLDER ARGUMENTS`` writes a file for each process into the folder: seconds of processor
time by phase.  Processes that are spawned import this module anew, and those that are forked begin anew; each adds what
every thread took since the last look to the phase of where it is now: a compiled call that lasted longer than the
interval counts as a whole.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import sys
import threading
import time
from collections import defaultdict
from multiprocessing import util
from pathlib import Path
from types import FrameType

EVERY = 0.002
"""Seconds of processor time between looks."""
START, COMPILED, AROUND, FIGURES, LISTING, STORING, MAP, HANDING_OUT, REST = (
    "start of processes",
    "preparing, draws, exchanges and sums",
    "around that call",
    "figures from sums",
    "listing",
    "storing",
    "map",
    "handing out",
    "the rest",
)
PREFIXES = {
    "engine.sweeps.realisations": COMPILED,
    "engine.sweeps.evaluator": AROUND,
    "engine.mechanisms": AROUND,
    "engine.release.spec": AROUND,
    "engine.release.batch": AROUND,
    "engine.measures": FIGURES,
    "engine.release": LISTING,
    "engine.sweeps.groups": LISTING,
    "engine.sweeps.candidates": LISTING,
    "engine.study.map_reader": MAP,
    "engine.frontier": MAP,
    "engine.study": STORING,
    "engine.sweeps.runner": STORING,
    "engine.sweeps.workers": HANDING_OUT,
    "multiprocessing": HANDING_OUT,
    "concurrent": HANDING_OUT,
}
"""The phase of a frame of these modules, the longest name first; the innermost frame that has one decides."""
LOADS = ("importlib", "_frozen_importlib", "_frozen_importlib_external", "numba", "llvmlite")
"""Modules in whose calls, however deep, code is loaded."""
FOLDER = "FRONTIER_BENCHMARK_PROFILE"

_ORDERED = sorted(PREFIXES, key=len, reverse=True)
_PHASES: dict[str, str | None] = {}


def _phase_of(module: str) -> str | None:
    """The phase of a frame of a module on its own, None where it has none."""
    if module.split(".", 1)[0] in LOADS:
        return START
    prefix = next((one for one in _ORDERED if module == one or module.startswith(f"{one}.")), None)
    return None if prefix is None else PREFIXES[prefix]


def phase(frame: FrameType | None) -> str:
    """The phase of a stack: that of its innermost frame that has one; loading code counts as such wherever it is."""
    innermost = None
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module not in _PHASES:
            _PHASES[module] = _phase_of(module)
        found = _PHASES[module]
        if found == START:
            return START
        innermost = innermost or found
        frame = frame.f_back
    return innermost or REST


class _Sampler:
    """Seconds of this process by phase."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.begin(time.process_time())

    def begin(self, spent: float = 0.0) -> None:
        """Start anew, with what was ``spent`` before anybody could look."""
        self._seconds: dict[str, float] = defaultdict(float)
        self._seconds[START] = spent
        self._main = threading.get_ident()
        self._last = {self._main: time.thread_time()}
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        util.Finalize(self, self.write, exitpriority=1000)

    def _look(self, _signal: int, frame: FrameType | None) -> None:
        for thread, where in sys._current_frames().items():
            at = time.clock_gettime(time.pthread_getcpuclockid(thread))
            # The main thread is in this function; what it was called in the middle of is what it does.
            taken = at - self._last.get(thread, 0.0)
            if taken > 0:
                self._seconds[phase(frame if thread == self._main else where)] += taken
            self._last[thread] = at

    def write(self) -> None:
        """Write what was found; what threads took that are none of Python's, or after the last look, is told apart."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        whole = {**self._seconds, "other threads": max(0.0, time.process_time() - sum(self._seconds.values()))}
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(whole), encoding="utf-8")


def _start() -> _Sampler:
    sampler = _Sampler(Path(os.environ[FOLDER]))
    os.register_at_fork(after_in_child=sampler.begin)
    return sampler


if __name__ == "__mp_main__":
    _start()
elif __name__ == "__main__":
    os.environ[FOLDER] = sys.argv[1]
    atexit.register(_start().write)
    sys.argv[1:] = sys.argv[2:]
    runpy.run_module("engine", run_name="__main__")
