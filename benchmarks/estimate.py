"""What a sweep is estimated to take and what it takes by the clock, with a worker for each core."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.plan import AnalysisPlan, Plan
from engine.plan.recode import code
from engine.plan.samples import load
from engine.sweeps.probe import estimate
from engine.sweeps.sweep import sweep

FACTOR = 1.5
"""How far an estimate may be from the wall time, either way, where measures look at records."""


def plans() -> dict[str, tuple[str, Plan]]:
    """Plans by what they measure, each with its sample."""
    fair, czech = load("fair")[1], load("czech")[1]
    counts, analysis = (
        ("small_cells", "hellinger"),
        AnalysisPlan("binary", f"{czech.names[0]} ~ {czech.names[1]}", "logistic"),
    )
    space = replace(fair.space, rates=("0.02", "0.1"), replicates=20)
    return {
        "counts": ("fair", replace(fair, measures=counts, space=replace(space, replicates=300))),
        "linkage": ("fair", replace(fair, measures=(*counts, "distance_linkage"), space=replace(space, replicates=4))),
        "pmse": ("fair", replace(fair, measures=(*counts, "pmse"), space=replace(space, replicates=4))),
        "analysis": ("czech", replace(czech, analyses=(analysis,), measures=(*counts, "ci_overlap"), space=space)),
    }


def main() -> None:
    """Print estimate and wall time of each plan; their ratio means something on a quiet machine only."""
    if hasattr(os, "getloadavg"):
        print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; a ratio means something from 0 to 0.5")
    print(f"{'measures':>10} {'runs':>7} {'estimate':>9} {'wall':>8} {'ratio':>6}   target: within {FACTOR} either way")
    for name, (sample, plan) in plans().items():
        raw = load(sample)[0]
        runs, told = estimate(plan, code(raw, plan))
        with TemporaryDirectory() as folder:
            began = time.perf_counter()
            sweep(raw, plan, Path(folder) / "estimate.study").close()
            took = time.perf_counter() - began
        print(f"{name:>10} {runs:7,} {told:8.1f}s {took:7.1f}s {took / told:6.2f}", flush=True)


if __name__ == "__main__":
    main()
