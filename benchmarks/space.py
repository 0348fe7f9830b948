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
from engine.plan import edit_plan, first_plan
from engine.plan.recode import code
from engine.plan.samples import open_data
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.probe import estimate, probed
from engine.sweeps.space_count import space_or_count
from tests.shared import folder

TARGET, FACTOR = 1.0, 1.5
"""Seconds of the whole process, of the processor and by the clock; how far an estimate may be off, either way."""
PROCESSES = 7
RECORDS = ("small_cells", "hellinger", "distance_linkage")


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


def taken(*arguments: str) -> tuple[float, float, str]:
    """Seconds of the processor and by the clock that a process of Python took, and what it wrote."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = os.times(), time.perf_counter()
    ended = subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True)
    clock, after = time.perf_counter() - began, os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent, clock, ended.stdout


def child(source: str, changes: str) -> None:
    """Estimate as the command does and write what it rounds: seconds of the processor and by the clock."""
    started, began = time.process_time(), time.perf_counter()
    raw, plan = open_data(source)
    plan = edit_plan(plan or first_plan(raw), **json.loads(changes))
    data = code(raw, plan)
    read = time.perf_counter() - began
    specs, total = probed(plan, data, space_or_count(plan, data), scenarios_of(plan, data, listed=False)[0])
    told = estimate(plan, data, specs=specs, total=total, read=read, started=started)
    sys.stdout.write(json.dumps([told.processor, told.seconds]))


def foretold(name: str, case: Case, replicates: int) -> None:
    """Print an estimate beside what the sweep takes."""
    changes = json.dumps({**case.changes, "replicates": replicates})
    told = json.loads(taken("-m", "benchmarks.space", case.source, changes)[2])
    with TemporaryDirectory() as place:
        study = str(Path(place) / "space.study")
        asked = (*case.options(), "--replicates", str(replicates), "--study", study)
        *sweep, _ = taken("-m", "engine", "sweep", case.source, *asked)
    for what, estimated, true in zip(("processor", "clock"), told, sweep, strict=True):
        figure = f"{name}, {replicates} replicate{'s' if replicates > 1 else ''}, {what}"
        verdict = word(f"time of a sweep ÷ its estimate, {what}", true / estimated, either=FACTOR)
        print(f"  {figure:54}{estimated:8.2f} s{true:8.2f} s   {true / estimated:5.2f} {verdict}", flush=True)


def main() -> None:
    """Print the time of the command, and its estimates beside what sweeps take."""
    file = folder() / "data" / "cps8d.csv"
    source = str(file) if file.is_file() else "fair"
    asked = (source, "--all-specs", "--rates", ",".join(RATES))
    runs = [taken("-m", "engine", "space", *asked) for _ in range(PROCESSES)]
    print(next(line for line in runs[0][2].splitlines() if line.startswith("scenarios: ")))
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
    if sys.argv[1:]:
        child(sys.argv[1], sys.argv[2])
    else:
        main()
