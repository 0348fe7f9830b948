"""The time that is told of a sweep before it begins and while it runs, beside the time that it takes, and the time of
counting a complete release space.

Data: CPS-8D where the shared folder holds it, else the sample ``fair``; both have eight attributes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._harness import process, word
from benchmarks._tables import RATES
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan, edit_plan, plan_to_toml, read_plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.sweeps.probe import estimate
from engine.sweeps.runner import TimeLeft
from engine.sweeps.sweep import sweep
from tests.shared import folder

COUNTING, FACTOR = 1.0, 1.5
"""Seconds of the whole process that counts a space; how far an estimate may be off, either way."""
EARLY = 0.1
"""The share of the runs after which the time left must be right."""
_SMALLEST = 1.0  # seconds: less is not told apart on a screen
_COUNTS = ("small_cells", "hellinger")


def loaded(source: str) -> tuple[RawTable, Plan]:
    """The records of a sample or of a file, with the sample's plan or one of all columns."""
    if not Path(source).is_file():
        return load(source)
    raw = read_table(source)
    return raw, Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))


def cases(large: str) -> Iterator[tuple[str, str, Plan]]:
    """Sweeps that are foretold: names, sources and plans; the first is the smallest."""
    czech, fair = loaded("czech")[1], loaded("fair")[1]
    analysis = AnalysisPlan("binary", f"{czech.names[0]} ~ {czech.names[1]}", "logistic")
    two = {"rates": RATES[1:], "replicates": 20}
    cases: tuple[tuple[str, str, Plan, dict[str, Any]], ...] = (
        ("czech, all roles", "czech", czech, {"all_specs": True, "rates": RATES, "replicates": 5}),
        ("all roles, three rates", large, loaded(large)[1], {"all_specs": True, "rates": RATES, "replicates": 5}),
        ("all roles, 1 %", large, loaded(large)[1], {"all_specs": True, "rates": RATES[:1], "replicates": 20}),
        ("counts", "fair", fair, {**two, "measures": _COUNTS, "replicates": 1000}),
        ("linkage", "fair", fair, {**two, "measures": (*_COUNTS, "distance_linkage")}),
        ("pmse", "fair", fair, {**two, "measures": (*_COUNTS, "pmse"), "replicates": 10}),
        (
            "analysis",
            "czech",
            replace(czech, analyses=(analysis,)),
            {**two, "measures": (*_COUNTS, "ci_overlap"), "replicates": 100},
        ),
    )
    for name, source, plan, changes in cases:
        yield name, source, edit_plan(plan, **changes)


def child(source: str, place: Path) -> None:
    """Sweep a plan; print moments, the shares that were done, and the seconds left (-1 while none are told)."""
    latest = TimeLeft(-1.0)

    def time_left(left: TimeLeft | None) -> None:
        nonlocal latest
        latest = left or latest

    def progress(done: int, total: int) -> None:
        print(time.perf_counter(), done / total, latest.seconds)

    plan = read_plan(place / "plan.toml")
    sweep(loaded(source)[0], plan, place / "estimate.study", on_progress=progress, on_time_left=time_left).close()


def worst_left(output: str) -> float | None:
    """The worst ratio of the time left to the true one, from :data:`EARLY` on; None where less than
    :data:`_SMALLEST` was left by then."""
    moments = [tuple(map(float, line.split())) for line in output.splitlines()]
    last = moments[-1][0]
    ratios = [
        max(left, _SMALLEST) / (last - moment)
        for moment, share, left in moments
        if share >= EARLY and left >= 0 and last - moment > _SMALLEST
    ]
    return max(ratios, key=lambda ratio: abs(math.log(ratio)), default=None)


def judged(what: str, ratio: float | None) -> str:
    """A ratio with its judgement."""
    return "   - (over)   " if ratio is None else f"{ratio:5.2f} {word(what, ratio, either=FACTOR):6}"


def foretold(name: str, source: str, plan: Plan) -> None:
    """Print the estimate of a sweep beside the time of its process, and the worst of the times left."""
    began = time.perf_counter()
    raw = loaded(source)[0]
    data = code(raw, plan)
    estimated = estimate(plan, data, read=time.perf_counter() - began)
    with TemporaryDirectory() as place:
        (Path(place) / "plan.toml").write_text(plan_to_toml(plan), encoding="utf-8")
        ended = process("-m", "benchmarks.estimate", source, place)
    ratio = judged("time of a sweep ÷ its estimate, clock", ended.clock / estimated.seconds)
    left = judged("time left, told / true, worst after 10 %", worst_left(ended.out))
    print(f"{name:24}{estimated.runs:>12,}{estimated.seconds:>10.2f}s{ended.clock:>8.2f}s  {ratio} {left}", flush=True)


def main(small: bool = False) -> None:
    """Print the time of counting, and estimates beside the time of sweeps."""
    file = folder() / "data" / "cps8d.csv"
    source = str(file) if file.is_file() and not small else "fair"
    command = ("-m", "engine", "space", source, "--all-specs", "--rates", ",".join(RATES))
    runs = [process(*command) for _ in range(1 if small else 7)]
    print(next(line for line in runs[0].out.splitlines() if line.startswith("scenarios: ")))
    for what, taken in (("processor", [run.busy for run in runs]), ("clock", [run.clock for run in runs])):
        verdict = word(f"counting a complete space, {what}, seconds", median(taken), most=COUNTING)
        print(f"  {what:9} median {median(taken):5.2f} s, least {min(taken):5.2f} s  <= {COUNTING:g} s: {verdict}")
    print(f"\n{f'within {FACTOR:g} either way':24}{'runs':>12}{'estimated':>11}{'taken':>9}   ratio        time left")
    for case in list(cases(source))[: 1 if small else None]:
        foretold(*case)


if __name__ == "__main__":
    child(sys.argv[1], Path(sys.argv[2]))
