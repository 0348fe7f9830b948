"""Clocks, processes, figures beside their targets, and the section that a benchmark prints."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TextIO, TypeVar

ROOT = Path(__file__).resolve().parents[1]
HEADING = f"{'benchmark':15} {'figure':62} {'found':>9}  {'target':13} verdict"
T = TypeVar("T")


def timed(action: Callable[[], T], repeats: int = 3, clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """The least seconds of some runs, which is the time without interruptions, and the result of the last."""
    times = []
    for _ in range(repeats):
        start = clock()
        result = action()
        times.append(clock() - start)
    return min(times), result


def seconds(action: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """The least seconds of some runs."""
    return timed(action, repeats, clock)[0]


class Ended(NamedTuple):
    """An ended process: CPU seconds with those of its children, seconds by the clock, and its output."""

    busy: float
    clock: float
    out: str
    err: str


def processor_of_children() -> float:
    """CPU seconds of all ended processes that this one has started, with theirs."""
    spent = os.times()
    return spent.children_user + spent.children_system


def environment() -> dict[str, str]:
    """Variables of a process that finds the project and keeps its bytecode."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(ROOT)}


def process(*arguments: str) -> Ended:
    """Run Python with these arguments and raise an error if it fails."""
    before, began = processor_of_children(), time.perf_counter()
    ended = subprocess.run([sys.executable, *arguments], env=environment(), capture_output=True, text=True)
    clock = time.perf_counter() - began
    if ended.returncode:
        raise RuntimeError(f"{arguments[:3]} ended with {ended.returncode}: {ended.stderr.splitlines()[-1:]}")
    return Ended(processor_of_children() - before, clock, ended.stdout, ended.stderr)


@dataclass(frozen=True)
class Judged:
    """A figure beside its target; ``off`` is its share of the allowed: above one the target is missed."""

    figure: str
    value: float
    target: str
    off: float


_JUDGED: list[Judged] = []


def word(
    figure: str, value: float, *, most: float | None = None, least: float | None = None, either: float | None = None
) -> str:
    """ "met" or "MISSED", repeated in the table of targets, in which figures of one name share a row.

    Exactly one is given: ``most`` or ``least`` bounds the value, ``either`` a ratio that should be one.
    """
    if most is not None:
        target, off = f"<= {most:g}", value / most
    elif least is not None:
        target, off = f">= {least:g}", least / value if value else float("inf")
    elif either is not None:
        target, off = f"{1 / either:.2g} to {either:g}", max(value, 1 / value if value else float("inf")) / either
    else:
        raise TypeError(f"{figure} has no target")
    _JUDGED.append(Judged(figure, value, target, off))
    return "met" if off <= 1 else "MISSED"


def rows(benchmark: str) -> list[str]:
    """Rows of the table of targets for figures judged since the last call: the worst of each name, with counts."""
    kinds: dict[tuple[str, str], list[Judged]] = {}
    for one in _JUDGED:
        kinds.setdefault((one.figure, one.target), []).append(one)
    _JUDGED.clear()
    lines = []
    for (figure, target), alike in kinds.items():
        worst = max(alike, key=attrgetter("off"))
        met = sum(one.off <= 1 for one in alike)
        verdict = "met" if met == len(alike) else "MISSED"
        many = f"  {met} of {len(alike)}, the worst is shown" if len(alike) > 1 else ""
        lines.append(f"{benchmark:15} {figure:62} {worst.value:9.4g}  {target:13} {verdict}{many}")
    return lines


class _Both(io.StringIO):
    """Text that is shown as it comes, and kept."""

    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        self._screen.write(text)
        self._screen.flush()
        return super().write(text)


def in_own_process(name: str, small: bool = False) -> tuple[str, list[str]]:
    """Run a benchmark in a process of its own, so that memory is not counted for the next."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured_with_rows, name, small).result()


def measured_with_rows(name: str, small: bool = False) -> tuple[str, list[str]]:
    """The section of a benchmark that is run, and its rows of the table of targets."""
    return measured(name, small), rows(name)


def measured(name: str, small: bool = False) -> str:
    """Run a benchmark, show its output, and return its section; ``small`` runs its smallest case."""
    module = importlib.import_module(f"benchmarks.{name}")
    title = (module.__doc__ or name).strip().split("\n\n")[0].replace("\n", " ")
    print(f"== {name}: {title}\n")
    text, began, before = _Both(sys.stdout), time.perf_counter(), sum(os.times()[:4])
    with redirect_stdout(text):
        module.main(small)
    clock, busy = time.perf_counter() - began, sum(os.times()[:4]) - before
    took = f"Took {clock:.0f} s by the clock, {busy:.0f} s of the processors."
    print(f"\n{took}\n")
    shown = text.getvalue().strip("\n")  # a heading over columns begins with spaces
    return f"## {name}\n\n{title}\n\n```\n{shown}\n```\n\n{took}\n"
