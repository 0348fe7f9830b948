"""What a sweep is estimated to take, and what its process takes: processor time, the clock, and the time left it tells.

Processor time holds on a machine that others use too.  The clock says something of the estimate only as far as the
machine is as busy in the sweep as it was in the probe: so the load is measured in each, as seconds by the clock for one
of the processor, and the last ratio is what the clock's would be if both were the same.  Where the workers are threads
there is no such ratio: a thread also waits while another one is in Python, which no measure of the sweep's own tells
from a busy machine.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._targets import word
from engine.plan import AnalysisPlan, Plan, plan_to_toml, read_plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.sweeps.evaluator import Question, question_of
from engine.sweeps.probe import Estimate, estimate
from engine.sweeps.runner import TimeLeft
from engine.sweeps.sweep import sweep
from engine.sweeps.workers import default_workers, threads_pay

FACTOR = 1.5
"""How far an estimate may be from what is taken, either way."""
EARLY = 0.1
"""The share of the runs after which the time left must be right."""
SAME_LOAD = "  the same, were the load the same"
_SMALLEST = 1.0  # seconds: less is not told apart on a screen


def plans() -> dict[str, tuple[str, Plan]]:
    """Plans by what they measure, each with its sample."""
    fair, czech = load("fair")[1], load("czech")[1]
    counts, analysis = (
        ("small_cells", "hellinger"),
        AnalysisPlan("binary", f"{czech.names[0]} ~ {czech.names[1]}", "logistic"),
    )
    space = replace(fair.space, rates=("0.02", "0.1"), replicates=20)
    return {
        "counts": ("fair", replace(fair, measures=counts, space=replace(space, replicates=1000))),
        "linkage": ("fair", replace(fair, measures=(*counts, "distance_linkage"), space=space)),
        "pmse": ("fair", replace(fair, measures=(*counts, "pmse"), space=replace(space, replicates=10))),
        "analysis": (
            "czech",
            replace(
                czech, analyses=(analysis,), measures=(*counts, "ci_overlap"), space=replace(space, replicates=100)
            ),
        ),
    }


@dataclass
class Taken:
    """Seconds that a sweep's process took, by the clock and of the processor with its workers', and what it told of its
    progress: moments, shares that were done, seconds left (-1 while nobody can tell), and the load."""

    clock: float
    processor: float
    progress: list[tuple[float, float, float, float]]

    @property
    def load(self) -> float:
        """The mean load while runs were drawn and measured."""
        loads = [load for *_, left, load in self.progress if left >= 0]
        return sum(loads) / len(loads)

    def time_left(self, *, same_load: bool) -> float | None:
        """The worst ratio of the time left to the true one, from :data:`EARLY` on; None where less than
        :data:`_SMALLEST` was left by then.  ``same_load`` asks what it would be, had the load stayed as it was."""
        last, ratios = self.progress[-1][0], []
        for at, (moment, share, left, load_then) in enumerate(self.progress):
            if share >= EARLY and left >= 0 and last - moment > _SMALLEST:
                true = last - moment
                if same_load:
                    later = pairwise(self.progress[at:])
                    true = sum((after[0] - before[0]) * load_then / after[3] for before, after in later)
                ratios.append(max(left, _SMALLEST) / max(true, _SMALLEST))
        return max(ratios, key=lambda ratio: abs(math.log(ratio)), default=None)


def swept(sample: str, plan: Plan, folder: Path) -> Taken:
    """Run the sweep of a plan as a process of its own."""
    (folder / "plan.toml").write_text(plan_to_toml(plan), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.estimate", sample, str(folder)]
    began, before = time.perf_counter(), _children()
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    clock, processor = time.perf_counter() - began, _children() - before
    progress = [tuple(map(float, line.split())) for line in ended.stdout.splitlines()]
    return Taken(clock, processor, progress)  # type: ignore[arg-type]


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def child(sample: str, folder: Path) -> None:
    """Sweep a plan; print what is told of its progress, as :class:`Taken` holds it."""
    raw, plan = load(sample)[0], read_plan(folder / "plan.toml")
    latest = TimeLeft(-1.0)

    def time_left(left: TimeLeft | None) -> None:
        nonlocal latest
        latest = left or latest

    def progress(done: int, total: int) -> None:
        print(time.perf_counter(), done / total, latest.seconds, latest.load)

    sweep(raw, plan, folder / "estimate.study", on_progress=progress, on_time_left=time_left).close()


def judged(what: str, ratio: float | None) -> str:
    """A ratio with its judgement."""
    if ratio is None:
        return "    - (it was over)"
    return f"{ratio:5.2f} {word(f'{what}, beside what was told', ratio, either=FACTOR):6}"


def in_threads(runs: int, question: Question) -> bool:
    """Whether a sweep of so many runs has several threads."""
    workers = default_workers(runs, question)
    return workers > 1 and threads_pay(runs, question, workers)


def print_ratios(name: str, estimated: Estimate, taken: Taken, *, threads: bool) -> None:
    """Print what was estimated beside what was taken, and the ratios; of ``threads`` none that needs their load."""
    clock = taken.clock / estimated.seconds
    load = "workers are threads" if threads else f"{taken.load:.2f} in the sweep"
    print(f"{name}: {estimated.runs:,} runs; load {estimated.load:.2f} when estimated, {load}")
    rows = [
        ("processor time", estimated.processor, taken.processor, taken.processor / estimated.processor),
        ("by the clock", estimated.seconds, taken.clock, clock),
    ]
    left = [("time left, told / true, worst after 10 %", False)]
    if not threads:
        same = clock * estimated.load / taken.load
        rows.append(("by the clock, were the load the same", estimated.seconds, taken.clock, same))
        left.append((SAME_LOAD, True))
    for what, said, found, ratio in rows:
        print(f"  {what:40} estimated {said:6.1f} s, taken {found:6.1f} s, ratio {judged(what, ratio)}", flush=True)
    for what, same_load in left:
        print(f"  {what:50} {'':22} ratio {judged(what.strip(), taken.time_left(same_load=same_load))}")
    print(flush=True)


def main() -> None:
    """Print what was estimated of each plan and what it took, and each ratio beside its target."""
    print(f"target of every ratio: within {FACTOR} either way; load: seconds by the clock for one of the processor\n")
    for name, (sample, plan) in plans().items():
        began = time.perf_counter()
        raw = load(sample)[0]
        data = code(raw, plan)
        estimated = estimate(plan, data, read=time.perf_counter() - began)
        with TemporaryDirectory() as folder:
            taken = swept(sample, plan, Path(folder))
        print_ratios(name, estimated, taken, threads=in_threads(estimated.runs, question_of(plan, data)))


if __name__ == "__main__":
    if sys.argv[1:]:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
