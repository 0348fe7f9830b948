"""How cost grows with the columns of a file: time for twice the columns over time for the columns.

``python benchmarks/wide.py`` prints seconds of processor time and ratios; 2 is linear, 4 is every pair of columns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import check_plan, dependencies, first_plan, plan_from_toml, plan_to_toml, propose
from engine.plan.coding import code
from engine.sweeps.candidates import counted

SIZES = (750, 1500, 3000)
RECORDS = 2000


def table(folder: Path, columns: int) -> RawTable:
    """Records over columns of four values that have nothing to do with each other."""
    codes = np.random.default_rng(columns).integers(0, 4, (RECORDS, columns))
    path = folder / f"{columns}.csv"
    lines = (",".join(map(str, row)) for row in codes.tolist())
    path.write_text(",".join(f"c{i}" for i in range(columns)) + "\n" + "\n".join(lines) + "\n")
    return read_table(path)


def seconds(what: Callable[[], object]) -> float:
    """Processor time, the less of two."""
    took = []
    for _ in range(2):
        began = time.process_time()
        what()
        took.append(time.process_time() - began)
    return min(took)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        raws = [table(Path(folder), size) for size in SIZES]
        plans = [first_plan(raw) for raw in raws]
        texts = [plan_to_toml(plan) for plan in plans]
        steps: dict[str, Callable[[int], object]] = {
            "read": lambda i: read_table(Path(folder) / f"{SIZES[i]}.csv"),
            "first plan": lambda i: first_plan(raws[i]),
            "plan read back": lambda i: plan_from_toml(texts[i]),
            "plan checked": lambda i: check_plan(plans[i], raws[i]),
            "what decides what": lambda i: dependencies(raws[i]),
            "proposals": lambda i: propose(raws[i], plans[i], dependencies(raws[i])),
            "swaps counted": lambda i: counted(plans[i], code(raws[i], plans[i])),
        }
        print(f"{'':>18} " + " ".join(f"{size:>8,}" for size in SIZES) + "   ratios")
        for name, step in steps.items():
            took = [seconds(lambda i=i: step(i)) for i in range(len(SIZES))]  # type: ignore[misc]  # noqa: B023
            ratios = "  ".join(f"{b / a:.1f}" for a, b in pairwise(took))
            print(f"{name:>18} " + " ".join(f"{one:8.2f}" for one in took) + f"   {ratios}")


if __name__ == "__main__":
    main()
