"""What a sweep is estimated to take, and what its process takes; and the time left that it tells."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._targets import word
from engine.plan import AnalysisPlan, Plan, plan_to_toml, read_plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.sweeps.probe import Estimate, estimate
from engine.sweeps.runner import TimeLeft
from engine.sweeps.sweep import sweep

FACTOR = 1.5
"""How far an estimate may be from what is taken, either way."""
EARLY = 0.1
"""The share of the runs after which the time left must be right."""
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
    """Seconds that a sweep's process took, and what it told of its progress: moments, shares that were done, seconds
    left (-1 while nobody can tell)."""

    clock: float
    progress: list[tuple[float, float, float]]

    def time_left(self) -> float | None:
        """The worst ratio of the time left to the true one, from :data:`EARLY` on; None where less than
        :data:`_SMALLEST` was left by then."""
        last, ratios = self.progress[-1][0], []
        for moment, share, left in self.progress:
            if share >= EARLY and left >= 0 and last - moment > _SMALLEST:
                ratios.append(max(left, _SMALLEST) / (last - moment))
        return max(ratios, key=lambda ratio: abs(math.log(ratio)), default=None)


def swept(sample: str, plan: Plan, folder: Path) -> Taken:
    """Run the sweep of a plan as a process of its own."""
    (folder / "plan.toml").write_text(plan_to_toml(plan), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.estimate", sample, str(folder)]
    began = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    progress = [tuple(map(float, line.split())) for line in ended.stdout.splitlines()]
    return Taken(time.perf_counter() - began, progress)  # type: ignore[arg-type]


def child(sample: str, folder: Path) -> None:
    """Sweep a plan; print what is told of its progress, as :class:`Taken` holds it."""
    raw, plan = load(sample)[0], read_plan(folder / "plan.toml")
    latest = TimeLeft(-1.0)

    def time_left(left: TimeLeft | None) -> None:
        nonlocal latest
        latest = left or latest

    def progress(done: int, total: int) -> None:
        print(time.perf_counter(), done / total, latest.seconds)

    sweep(raw, plan, folder / "estimate.study", on_progress=progress, on_time_left=time_left).close()


def judged(what: str, ratio: float | None) -> str:
    """A ratio with its judgement."""
    if ratio is None:
        return "    - (it was over)"
    return f"{ratio:5.2f} {word(f'{what}, beside what was told', ratio, either=FACTOR):6}"


def print_ratios(name: str, estimated: Estimate, taken: Taken) -> None:
    """Print what was estimated beside what was taken, and the ratios."""
    print(f"{name}: {estimated.runs:,} runs")
    ratio = taken.clock / estimated.seconds
    told = f"estimated {estimated.seconds:6.1f} s, taken {taken.clock:6.1f} s"
    print(f"  {'by the clock':40} {told}, ratio {judged('by the clock', ratio)}", flush=True)
    left = "time left, told / true, worst after 10 %"
    print(f"  {left:73} ratio {judged(left, taken.time_left())}\n", flush=True)


def main() -> None:
    """Print what was estimated of each plan and what it took, and each ratio beside its target."""
    print(f"target of every ratio: within {FACTOR} either way\n")
    for name, (sample, plan) in plans().items():
        began = time.perf_counter()
        raw = load(sample)[0]
        data = code(raw, plan)
        estimated = estimate(plan, data, read=time.perf_counter() - began)
        with TemporaryDirectory() as folder:
            taken = swept(sample, plan, Path(folder))
        print_ratios(name, estimated, taken)


if __name__ == "__main__":
    if sys.argv[1:]:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
