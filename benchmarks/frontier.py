"""Speed of the frontier, as ratios to one ``np.argsort`` of as many numbers in the same run.

``python benchmarks/frontier.py`` prints two tables: the engine beside moocore and paretoset (where they are installed;
a dash where they would take too long), and the engine beside the literal twin, which is quadratic and therefore shown
at a small size only.  Absolute times drift from run to run and machine to machine; the ratios are what to compare.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.frontier.maxima import Floats
from engine.frontier.undominated import undominated
from tests.twins import frontier as twin

try:
    is_nondominated = import_module("moocore").is_nondominated
except ImportError:
    is_nondominated = None

try:
    paretoset = import_module("paretoset").paretoset
except ImportError:
    paretoset = None

TARGETS = {"trade-off": 0.6, "all on it": 5.0}
"""Largest ratios wanted with two columns and a million rows."""
PARETOSET_MOST = 10**9


def uniform(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    return rng.random((rows, columns))


def on_front(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Nothing dominates anything: the columns of every row add up to one."""
    parts = rng.exponential(size=(rows, columns))
    losses = parts / parts.sum(axis=1, keepdims=True)
    losses[:, -1] = 1.0 - losses[:, :-1].sum(axis=1)
    return losses


def trade_off(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Anti-correlated columns: what is good in one is bad in another, at a varying distance from the best possible."""
    return on_front(rng, rows, columns) * (1.0 + rng.exponential(0.2, (rows, 1)))


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "uniform": uniform,
    "trade-off": trade_off,
    "all on it": on_front,
}


def seconds(action: Callable[[], object], repeats: int) -> float:
    """The least of some runs: what the machine can do when nothing interrupts."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(20050101)
    print(f"NumPy {np.__version__}; ratios to one np.argsort of N numbers in this run")
    print(
        f"{'columns':>7} {'N':>9} {'data':<10} {'frontier':>9} {'argsort':>10} {'engine':>8} {'moocore':>8} "
        f"{'paretoset':>9}  target"
    )
    for columns, sizes in ((2, (10**5, 10**6)), (3, (10**5, 10**6)), (4, (10**5,))):
        for size in sizes:
            for name, make in SHAPES.items():
                if columns == 4 and name == "all on it":
                    continue  # moocore alone would take most of the minute
                losses = make(rng, size, columns)
                numbers = losses[:, 0].copy()
                unit = seconds(lambda: np.argsort(numbers), 7)  # noqa: B023
                mask = undominated(losses)
                ours = seconds(lambda: undominated(losses), 5 if columns == 2 else 2) / unit  # noqa: B023
                if is_nondominated is None or (columns > 2 and size > 10**5):
                    theirs = "-"
                else:
                    other = is_nondominated(losses, keep_weakly=True)
                    if not np.array_equal(mask, other):
                        raise SystemExit(f"moocore disagrees on {name}, {columns} columns, {size} rows")
                    theirs = f"{seconds(lambda: is_nondominated(losses, keep_weakly=True), 1) / unit:.2f}"  # noqa: B023
                # it takes time in proportion to the points times those on the frontier
                if paretoset is None or int(mask.sum()) * size > PARETOSET_MOST:
                    its = "-"
                else:
                    if not np.array_equal(mask, paretoset(losses, distinct=False)):
                        raise SystemExit(f"paretoset disagrees on {name}, {columns} columns, {size} rows")
                    its = f"{seconds(lambda: paretoset(losses, distinct=False), 1) / unit:.2f}"  # noqa: B023
                target = TARGETS.get(name) if columns == 2 and size == 10**6 else None
                verdict = "" if target is None else f"<= {target}: {'met' if ours <= target else 'MISSED'}"
                print(
                    f"{columns:>7} {size:>9,} {name:<10} {int(mask.sum()):>9,} {unit * 1e3:>7.2f} ms {ours:>8.2f} "
                    f"{theirs:>8} {its:>9}  {verdict}"
                )
    print("\nbeside the literal twin, seconds for 500 rows")
    for columns in (2, 3, 4):
        losses = trade_off(rng, 500, columns)
        rows = losses.tolist()
        if undominated(losses).tolist() != twin.undominated(rows):
            raise SystemExit(f"the twin disagrees with {columns} columns")
        slow = seconds(lambda: twin.undominated(rows), 1)  # noqa: B023
        fast = seconds(lambda: undominated(losses), 5)  # noqa: B023
        print(f"{columns:>7} columns: twin {slow:.3f}, engine {fast:.5f}, {slow / fast:,.0f} times faster")


if __name__ == "__main__":
    main()
