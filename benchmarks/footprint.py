"""What the program takes besides computing: seconds to start, memory of the dashboard, time for very many columns.

Start-up is that of whole processes, the median of several; memory is what the system counts as the server's own and
shared pages (resident set), with the processes that it started.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks._harness import process, seconds, word
from engine.data.io.readers import read_table
from engine.plan import check_plan, dependencies, first_plan, plan_from_toml, plan_to_toml, propose
from engine.plan.coding import code
from engine.sweeps.candidates import counted
from tests.conftest import find_chromium

HELP, SWEEP = 0.12, 2.0
"""Seconds of `frontier --help`, and of a sweep of `czech`, by the clock."""
IDLE, LARGE = 250, 900
"""Megabytes of a server that shows its first page, and of one that shows a million candidates."""
COLUMNS, PAIRED = (25_000, 50_000, 100_000), (750, 1_500, 3_000)
RECORDS = 50
STEEPEST = 2.4
"""Twice the columns may take so many times as long: proportion, and what the machine's own noise adds."""


def start_up(folder: Path, small: bool) -> None:
    """Print the time of processes that have next to nothing to do."""
    plan = folder / "czech.toml"
    process("-m", "engine", "plan", "init", "czech", "--out", str(plan))
    print(f"{'':44}{'clock':>8}{'CPU':>8}{'at most':>9}")
    for name, limit, times in (("frontier --help", HELP, 9), ("frontier sweep czech", SWEEP, 5)):
        runs = []
        for k in range(1 if small else times):
            sweep = ("sweep", "czech", "--plan", str(plan), "--study", str(folder / f"{k}.study"))
            runs.append(process("-m", "engine", *(("--help",) if limit == HELP else sweep)))
        clock, busy = median(run.clock for run in runs), median(run.busy for run in runs)
        print(f"{name:44}{clock:7.2f}s{busy:7.2f}s{limit:8.2f}s  {word(f'{name}, seconds', clock, most=limit)}")
    print()


def _megabytes() -> float:
    """Memory of the server that this process started, with its own processes."""
    import psutil

    found = [
        child.memory_info().rss
        for child in psutil.Process().children(recursive=True)
        if not any(part in child.name() for part in ("chrom", "node"))
    ]
    return sum(found) / 2**20


def dashboard(home: Path, candidates: int) -> None:
    """Print the memory of a server that shows its first page, and of one that shows a large study's map."""
    if find_chromium() is None:
        print("the dashboard's memory is left out: no Chromium was found\n")
        return
    os.environ["FRONTIER_HOME"] = str(home)
    from benchmarks import _browser
    from benchmarks.dashboard import large
    from frontier_app.session import workspace

    at = workspace.create()
    large(at, candidates)
    at.note(data="czech", study="study-1.study")
    with _browser.served(home) as address, _browser.window() as page:
        started = _megabytes()
        page.goto(address)
        page.get_by_test_id("stHeading").first.wait_for()
        page.wait_for_timeout(2000)
        idle = _megabytes()
        page.goto(f"{'/'.join(address.split('/')[:3])}/explore?w={at.token}")
        page.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?.range")
        page.wait_for_timeout(2000)
        shown = _megabytes()
    print(f"{'':44}{'memory':>9}{'at most':>10}")
    print(f"{'the server alone':44}{started:6.0f} MB")
    verdict = word("dashboard with its first page, MB", idle, most=IDLE)
    print(f"{'with its first page shown':44}{idle:6.0f} MB{IDLE:7} MB  {verdict}")
    name = f"with the map of {candidates:,} candidates"
    print(f"{name:44}{shown:6.0f} MB{LARGE:7} MB  {word(f'dashboard {name}, MB', shown, most=LARGE)}\n")


def _table(folder: Path, columns: int, records: int) -> Path:
    """A file of columns with four values each that have nothing to do with each other."""
    codes = np.random.default_rng(columns).integers(0, 4, (records, columns))
    path = folder / f"{columns}.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"c{i}" for i in range(columns)) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in codes.tolist())
    return path


def columns(folder: Path, sizes: Sequence[int], records: int, *, pairs: bool) -> None:
    """Print the time of each step from a file to its plan by the number of columns; ``pairs`` adds the steps that look
    at pairs of columns, without a target: 2 is linear, 4 is every pair."""
    paths = [_table(folder, n, records) for n in sizes]
    raws = [read_table(path) for path in paths]
    plans = [first_plan(raw) for raw in raws]
    texts = [plan_to_toml(plan) for plan in plans]
    steps: dict[str, Callable[[int], object]] = {
        "read": lambda i: read_table(paths[i]),
        "first plan": lambda i: first_plan(raws[i]),
        "plan written": lambda i: plan_to_toml(plans[i]),
        "plan read back": lambda i: plan_from_toml(texts[i]),
        "plan checked": lambda i: check_plan(plans[i], raws[i]),
        "records coded": lambda i: code(raws[i], plans[i]),
    }
    if pairs:
        steps = {
            "dependencies": lambda i: dependencies(raws[i]),
            "proposals": lambda i: propose(raws[i], plans[i], dependencies(raws[i])),
            "swaps counted": lambda i: counted(plans[i], code(raws[i], plans[i])),
        }
    gc.freeze()  # a user has one file in memory, so no search for garbage is to go through all three
    print(f"{f'columns, {records} records':24}" + "".join(f"{n:>10,}" for n in sizes) + "   ratios")
    for name, step in steps.items():
        taken = [seconds(lambda i=i: step(i), repeats=2) for i in range(len(sizes))]  # type: ignore[misc]  # noqa: B023
        ratios = [b / a for a, b in pairwise(taken)]
        told = "  ".join(f"{ratio:.1f}" for ratio in ratios)
        verdict = "" if pairs else word("steps from file to plan, twice the columns ÷ once", max(ratios), most=STEEPEST)
        print(f"{name:24}" + "".join(f"{one:9.2f}s" for one in taken) + f"   {told}  {verdict}".rstrip())
    print()


def main(small: bool = False) -> None:
    """Measure and print; at most :data:`STEEPEST` for twice the columns."""
    part = 100 if small else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start_up(folder, small)
        dashboard(folder / "home", 1_000_000 // part)
        columns(folder, [n // part for n in COLUMNS], RECORDS, pairs=False)
        columns(folder, [n // part for n in PAIRED], 2_000 // part, pairs=True)
