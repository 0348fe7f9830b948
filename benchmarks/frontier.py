"""Speed of the frontier, as ratios of processor time within one run.

Two columns are in units of one ``np.argsort`` of as many numbers, three to five beside moocore, where it is installed
(Kung, Luccio and Preparata's method in C). Runs of the engine and of moocore take turns, and the least of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from benchmarks._harness import word
from engine.frontier.undominated import undominated

try:
    is_nondominated = import_module("moocore").is_nondominated
except ImportError:
    is_nondominated = None

Floats, Mask = NDArray[np.float64], NDArray[np.bool_]
TARGETS = {"trade-off": 1.4, "all on it": 8.6}
"""Largest ratios to one ``np.argsort`` wanted with two columns and a million rows."""
MOOCORE = 1.5
"""Largest ratio to moocore wanted with three to five columns and 10^5 rows."""


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


def anti_correlated(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Normal columns that sum to little beside their own spread."""
    parts = rng.normal(size=(rows, columns))
    return 0.2 * (parts - parts.mean(axis=1, keepdims=True)) + rng.normal(0.0, 0.1, (rows, 1))


def correlated(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """What is good in one column is good in the others."""
    return rng.random((rows, 1)) + 0.1 * rng.random((rows, columns))


def nearly_one(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Measures that say nearly the same: columns differ by less than the billionth part."""
    return rng.random((rows, 1)) + 1e-9 * rng.random((rows, columns))


def tied(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Trade-offs of which two decimals are told, as a table of percentages has them."""
    return np.round(trade_off(rng, rows, columns), 2)


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "trade-off": trade_off,
    "tied": tied,
    "all on it": on_front,
    "uniform": uniform,
    "anti-correlated": anti_correlated,
    "correlated": correlated,
    "nearly one": nearly_one,
}
LARGE = ("trade-off", "tied", "uniform")
"""Data of a million rows: the others would take minutes of moocore's time."""


def seconds_in_turn(actions: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The least processor time of each action, all run in turn: what the machine can do when nothing interrupts."""
    least = [float("inf")] * len(actions)
    for _ in range(repeats):
        for i, action in enumerate(actions):
            start = time.process_time()
            action()
            least[i] = min(least[i], time.process_time() - start)
    return least


def judged(what: str, ratio: float, target: float | None) -> str:
    """A target beside what became of it."""
    return "" if target is None else f"<= {target}: {word(what, ratio, most=target)}"


def two_columns(rng: np.random.Generator, sizes: Sequence[int]) -> None:
    """In units of a sort, since a sort is what the frontier of two columns takes at most."""
    print("two columns: ratios to one np.argsort of N numbers")
    print(f"{'N':>9} {'data':<15} {'frontier':>9} {'argsort':>11} {'engine':>8} {'moocore':>8}  target")
    for size in sizes:
        for name in ("uniform", "trade-off", "all on it"):
            losses = SHAPES[name](rng, size, 2)
            numbers = losses[:, 0].copy()
            mask = undominated(losses)
            unit, ours, theirs = measured(losses, mask, 5, lambda: np.argsort(numbers))  # noqa: B023
            target = TARGETS.get(name) if size == 10**6 else None
            beside = "-" if theirs is None else f"{theirs / unit:.2f}"
            print(
                f"{size:>9,} {name:<15} {int(mask.sum()):>9,} {unit * 1e3:>8.2f} ms {ours / unit:>8.2f} {beside:>8}  "
                f"{judged(f'two columns, 10^6 rows, {name}: ÷ np.argsort', ours / unit, target)}"
            )


def more_columns(rng: np.random.Generator, sizes: Sequence[int]) -> None:
    """In units of moocore."""
    print("\nthree and more columns: ratios to moocore")
    print(f"{'columns':>7} {'N':>9} {'data':<15} {'frontier':>9} {'engine':>12} {'moocore':>12} {'ratio':>6}  target")
    for columns in (3, 4, 5):
        for size in sizes:
            for name in SHAPES if size < 10**6 else LARGE:
                losses = SHAPES[name](rng, size, columns)
                mask = undominated(losses)
                _, ours, theirs = measured(losses, mask, {10**4: 15, 10**5: 5, 10**6: 2}[size])
                told, ratio, verdict = "-", "-", ""
                if theirs is not None:
                    told, ratio = f"{theirs * 1e3:.2f} ms", f"{ours / theirs:.2f}"
                    target = MOOCORE if size == 10**5 else None
                    verdict = judged(f"{columns} columns: ÷ moocore", ours / theirs, target)
                print(
                    f"{columns:>7} {size:>9,} {name:<15} {int(mask.sum()):>9,} {ours * 1e3:>9.2f} ms {told:>12} "
                    f"{ratio:>6}  {verdict}".rstrip()
                )


def measured(
    losses: Floats, mask: Mask, repeats: int, unit: Callable[[], object] = bool
) -> tuple[float, float, float | None]:
    """Seconds of a unit, of the engine and, where it is installed and agrees, of moocore."""
    if is_nondominated is None:
        own, ours = seconds_in_turn((unit, lambda: undominated(losses)), repeats)
        return own, ours, None
    if not np.array_equal(mask, is_nondominated(losses, keep_weakly=True)):
        raise SystemExit(f"moocore disagrees on a table of {losses.shape[0]} rows and {losses.shape[1]} columns")
    actions = (unit, lambda: undominated(losses), lambda: is_nondominated(losses, keep_weakly=True))
    own, ours, theirs = seconds_in_turn(actions, repeats)
    return own, ours, theirs


def main(small: bool = False) -> None:
    """Measure and print."""
    rng = np.random.default_rng(20050101)
    other = "moocore is not installed" if is_nondominated is None else f"moocore {version('moocore')}"
    print(f"NumPy {np.__version__}, {other}; processor time")
    sizes = (10**4, 10**5, 10**6)[: 1 if small else 3]
    two_columns(rng, sizes)
    more_columns(rng, sizes)
