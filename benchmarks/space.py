"""What counting a complete release space takes as a whole process, and what the time that it tells is worth.

``frontier space --all-specs`` is run as a user calls it, start-up and file included; then sweeps of one, five and
twenty replicates, of a complete space of eight attributes, of a small one and of swaps whose measures need records,
each beside the time that is foretold.  Processor time holds on a machine that others use too; the clock does so only as
far as the machine is as busy in the sweep as it was before.  Data: CPS-8D where the shared folder holds it, else the
sample ``fair``; both have eight attributes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks._tables import RATES
from benchmarks._targets import word
from tests.shared import folder

TARGET, FACTOR = 1.0, 1.5
"""Seconds of the whole process, of the processor and by the clock; how far an estimate may be off, either way."""
PROCESSES = 7
RECORDS = ("small_cells", "hellinger", "distance_linkage")
_COMMAND = """
import json, sys
from engine.sweeps import probe
from engine.cli.main import main
estimate = probe.estimate
def told(*given, **named):
    found = estimate(*given, **named)
    sys.stderr.write(json.dumps([found.seconds]))
    return found
probe.estimate = told
sys.exit(main())
"""
"""``frontier space``, which rounds the time that it tells, with that time as it was estimated."""


class Case(NamedTuple):
    """Sweeps that are foretold: data, changes of the plan, and numbers of replicates."""

    source: str
    changes: dict[str, Any]
    replicates: tuple[int, ...]

    def options(self) -> list[str]:
        """The options of the command that make the same changes."""
        options = []
        for name, value in self.changes.items():
            listed = isinstance(value, tuple)
            text = [] if value is True else [",".join(map(str, value)) if listed else str(value)]
            options += ["--" + name.replace("_", "-"), *text]
        return options


def cases(large: str) -> dict[str, Case]:
    """What is foretold, by name; ``large`` are data of eight attributes."""
    whole = {"all_specs": True}
    return {
        "all roles, three rates": Case(large, {**whole, "rates": RATES}, (1, 5)),
        "all roles, 1 %": Case(large, {**whole, "rates": RATES[:1]}, (20,)),
        "czech, all roles": Case("czech", {**whole, "rates": RATES}, (1, 5, 20)),
        "fair, over records": Case("fair", {"swap_sizes": (1, 2), "rates": RATES[1:], "measures": RECORDS}, (1, 5, 20)),
    }


def taken(*arguments: str) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Seconds of the processor and by the clock that a process of Python took, and how it ended."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = os.times(), time.perf_counter()
    ended = subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True)
    clock, after = time.perf_counter() - began, os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent, clock, ended


def foretold(name: str, case: Case, replicates: int) -> None:
    """Print an estimate beside what the sweep takes."""
    asked = (case.source, *case.options(), "--replicates", str(replicates))
    said = taken("-c", _COMMAND, "space", *asked)[2].stderr
    (estimated,) = json.loads(said[said.rindex("[") :])
    with TemporaryDirectory() as place:
        _, true, _ = taken("-m", "engine", "sweep", *asked, "--study", str(Path(place) / "space.study"))
    figure = f"{name}, {replicates} replicate{'s' if replicates > 1 else ''}"
    verdict = word("time of a sweep ÷ its estimate", true / estimated, either=FACTOR)
    print(f"  {figure:54}{estimated:8.2f} s{true:8.2f} s   {true / estimated:5.2f} {verdict}", flush=True)


def main() -> None:
    """Print the time of the command, and its estimates beside what sweeps take."""
    file = folder() / "data" / "cps8d.csv"
    source = str(file) if file.is_file() else "fair"
    asked = (source, "--all-specs", "--rates", ",".join(RATES))
    runs = [taken("-m", "engine", "space", *asked) for _ in range(PROCESSES)]
    print(next(line for line in runs[0][2].stdout.splitlines() if line.startswith("scenarios: ")))
    for what, seconds in (("processor", [run[0] for run in runs]), ("clock", [run[1] for run in runs])):
        print(
            f"  {what:9} median {median(seconds):5.2f} s, least {min(seconds):5.2f} s  <= {TARGET:g} s: "
            f"{word(f'counting a complete space, {what}, seconds', median(seconds), most=TARGET)}"
        )
    print(f"\ntaken / estimated, within {FACTOR:g} either way{'':17}{'estimated':>11}{'taken':>10}   ratio")
    for name, case in cases(source).items():
        for replicates in case.replicates:
            foretold(name, case, replicates)


if __name__ == "__main__":
    main()
