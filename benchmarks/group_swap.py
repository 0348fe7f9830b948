"""Speed of conditional group swapping and of noise, as ratios to the slow twins that follow the text record by record.

``python benchmarks/group_swap.py`` prints seconds for 20,000 records in six strata: 15 propensity models of six
parameters, three pairs, 300 records a direction; then noise on four columns.  The twin would take minutes on these, so
its models are timed on 600 records of one pair, its draws and its noise on 2,000, and scaled up (its time is
proportional to records; its draws, which pick one record after the other, also to how many move).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.noise import NOISE
from engine.release.records import ReleasedTable
from tests.numeric_data import numbered
from tests.twins import group_swap as twin
from tests.twins import noise as noise_twin

N, STRATA, MOVED, TARGET = 20_000, 6, 300, 20
NUMBERS = ("a", "b", "c", "d")


def made() -> Microdata:
    """Strata that differ in four numbers and an attribute of two levels."""
    rng = np.random.default_rng(20)
    g = rng.integers(0, STRATA, N)
    y = rng.normal(size=(N, 4)) + rng.normal(size=(STRATA, 4))[g] / 2
    return numbered({"G": g, "B": rng.random(N) < 0.3 + g / 20}, dict(zip(NUMBERS, y.T, strict=True)))


def seconds(action: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least of some runs, and what the last one gave."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = action()
        times.append(time.perf_counter() - start)
    return min(times), found


def report(name: str, ours: float, theirs: float) -> None:
    word = "" if theirs >= TARGET * ours else f"  below the target of {TARGET}"
    print(f"{name:28s} engine {ours:8.4f} s   twin {theirs:9.2f} s   ratio {theirs / ours:7.0f}{word}")


def main() -> None:
    data, derived = made(), derive(bytes(16), "benchmark")
    setting = CGS.setting(data, {"strata": "G", "n_swap": str(MOVED)}, (0,), NUMBERS)
    fit, prepared = seconds(lambda: CGS.prepare(setting))
    draw, _ = seconds(lambda: CGS.draw(prepared, setting, derived))
    table = ReleasedTable(data)
    x = np.column_stack([data.codes[1], *(table.numeric(name) for name in NUMBERS)]).astype(float)
    part = np.flatnonzero(data.codes[0] < 2)[:600]
    slow, _ = seconds(lambda: twin.propensities(x[part].tolist(), (data.codes[0][part] == 1).tolist(), 0.0), 1)
    # Every record is in a model with each of the other strata.
    report("models of 15 pairs", fit, slow * N * (STRATA - 1) / len(part))
    weights = np.random.default_rng(1).random(2000).tolist()
    rng = np.random.default_rng(2)
    one, _ = seconds(lambda: twin.successive(weights, 30, rng), 1)
    report("one table", draw, one * N / 2000 * MOVED / 30)
    adding = NOISE.setting(data, {}, (0,), NUMBERS)
    covariance, ready = seconds(lambda: NOISE.prepare(adding))
    add, _ = seconds(lambda: NOISE.draw(ready, adding, derived))
    rows = x[:2000, 1:].tolist()
    normals = rng.standard_normal((2000, 4)).tolist()
    slow, _ = seconds(lambda: noise_twin.noisy(rows, normals, 0.15, True), 1)
    report("noise, with its covariance", covariance + add, slow * N / 2000)


if __name__ == "__main__":
    main()
