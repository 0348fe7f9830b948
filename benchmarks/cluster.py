"""What a Dask cluster costs and how far it scales: processor time measured here, hundreds of workers simulated.

All processes are on this machine, so what is measured is the processor time of scheduler, workers and the process that
fills the study; by the clock more workers than processors gain nothing.  The simulation is told these costs and checked
against the measured sweeps, then asked what hundreds of machines would do.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._cluster_simulation import Costs, Simulated, simulate
from benchmarks._grid import Grid, grid, idle_seconds
from benchmarks._tables import CALLS, KEY, RATES
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import AttributePlan, DataPlan, Plan, SpacePlan
from engine.plan.samples import load
from engine.sweeps import cluster as cluster_batches
from engine.sweeps.evaluator import Outcome
from engine.sweeps.runner import Runner
from engine.sweeps.sweep import open_executor, open_sweep
from engine.sweeps.workers import Executor, TaskBatch
from tests.shared import folder as shared

REPLICATES = 60
MANY = 10_000_000
SIZES = (1, 8, 64, 512)
ATTRIBUTES = 6
"""Of CPS-8D; all of them would take minutes.  Runs are cheaper then, and so harder on whoever stores them."""
DEAR = (35e-6, 1e-3, 20e-3)
"""Seconds a run takes with all eight attributes of CPS-8D, on larger tables, and where measures look at records."""
_STILL = 3.0  # seconds in which nothing is asked of the cluster, to see what its parts take all the same


@dataclass(frozen=True)
class Measured:
    """A sweep on a cluster: runs, messages, and processor seconds of its parts; ``cores`` is what they had of this
    machine, of which others may have used the rest."""

    workers: int
    runs: int
    messages: int
    wall: float
    writer: float
    scheduler: float
    working: float
    cores: float
    rows: np.ndarray

    @property
    def share(self) -> float:
        """The share of all processor time that went into candidates."""
        return self.working / (self.working + self.scheduler + self.writer)


class _Counted:
    """An executor whose messages are counted from the moment at which the first is made."""

    def __init__(self, executor: Executor, parts: Grid) -> None:
        self._executor, self._parts = executor, parts
        self.messages = 0
        self.began: tuple[float, ...] = ()

    @property
    def workers(self) -> int:
        return self._executor.workers

    def now(self) -> tuple[float, ...]:
        return time.monotonic(), time.process_time(), *self._parts.spent(), idle_seconds()

    def since(self, before: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(now - then for now, then in zip(self.now(), before, strict=True))

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        self.began, self.messages = self.now(), 0
        for outcome in self._executor.run(batches):
            self.messages += len(outcome.rows) > 0
            yield outcome


def measured(raw: RawTable, plan: Plan, workers: int, *, joined: bool = True) -> Measured:
    """Sweep on a cluster with so many workers; the first replicate, in which processes load, does not count, nor what
    the parts of a cluster take when nothing is asked of them."""
    was, cluster_batches.SECONDS = cluster_batches.SECONDS, cluster_batches.SECONDS if joined else 0.0
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
            folder = Path(made)
            opened = open_sweep(raw, plan, folder / "s.study", key=KEY)
            with (
                opened.listed() as study,
                grid(workers, folder) as parts,
                open_executor(opened.question, opened.key, 0, cluster=parts.address) as executor,
            ):
                study.acquire_lease(0, 0)
                counted = _Counted(executor, parts)
                runner = Runner(study, opened.question, counted, {})
                runner.total = len(study.scenarios) * (1 + REPLICATES)
                runner.bring(None, 1)
                still = counted.now()
                time.sleep(_STILL)
                still = counted.since(still)
                runner.bring(None, 1 + REPLICATES)
                wall, writer, scheduler, working, idle = counted.since(counted.began)
                cores = (writer + scheduler + working + idle) / wall
                scheduler, working = (
                    part - unasked * wall / still[0]
                    for part, unasked in zip((scheduler, working), still[2:4], strict=True)
                )
                results = study.runs.results()
                study.lease.release("finished")
            rows = np.column_stack([results.scenario, results.replicate, results.values])
            runs = int((results.replicate > 1).sum())
            return Measured(workers, runs, counted.messages, wall, writer, scheduler, working, cores, rows)
    finally:
        cluster_batches.SECONDS = was


def costs_of(short: Measured, long: Measured) -> Costs:
    """Costs of a message and of a row, from two sweeps of the same runs in many and in few messages."""
    messages = short.messages - long.messages
    message = max(0.0, (short.writer - long.writer) / messages)
    scheduling = max(0.0, (short.scheduler - long.scheduler) / messages)
    return Costs(
        run=long.working / long.runs,
        message=message,
        row=max(0.0, long.writer - message * long.messages) / long.runs,
        scheduling=scheduling,
        row_scheduling=max(0.0, long.scheduler - scheduling * long.messages) / long.runs,
        row_bytes=8.0 * (4 + len(CALLS)),
    )


def scaling(raw: RawTable, plan: Plan) -> tuple[Costs, int]:
    """Sweeps on 1 to 8 workers; their costs, and the runs of a batch before any are joined."""
    processors = os.cpu_count() or 1
    short = measured(raw, plan, 1, joined=False)
    sweeps = [measured(raw, plan, workers) for workers in (1, 2, 4, 8)]
    print(f"\n{sweeps[0].runs:,} runs, processor time in µs a run; messages of a batch, then of a second")
    print("workers messages  worker scheduler  writer share of work  ÷ one")
    for sweep in (short, *sweeps):
        each = [part / sweep.runs * 1e6 for part in (sweep.working, sweep.scheduler, sweep.writer)]
        worker, scheduler, writer = each
        beside = sweep.share / sweeps[0].share
        over = "  more than processors" if sweep.workers > processors else ""
        print(
            f"{sweep.workers:7} {sweep.messages:8,} {worker:7.1f} {scheduler:9.2f} {writer:7.2f} {sweep.share:13.1%} "
            f"{beside:6.2f}{over}"
        )
    same = all(np.array_equal(short.rows, sweep.rows, equal_nan=True) for sweep in sweeps)
    print("the same bits" if same else "DIFFERENT figures")
    costs = costs_of(short, sweeps[0])
    print(
        f"a message takes {costs.message * 1e3:.2f} ms of the process that fills the study and "
        f"{costs.scheduling * 1e3:.2f} ms of the scheduler; a row {costs.row * 1e6:.2f} and "
        f"{costs.row_scheduling * 1e6:.2f} µs"
    )
    agreement(costs, short, sweeps)
    return costs, short.runs // max(1, short.messages)


def agreement(costs: Costs, short: Measured, sweeps: list[Measured]) -> None:
    """The simulation beside the sweeps, on the processors that they had; a worker's pace is that of each sweep."""
    batch = short.runs // max(1, short.messages)
    print("\nsimulated beside measured, on the processors that were free or ours during each sweep")
    print("workers processors   messages simulated   seconds simulated  ratio")
    for sweep in sweeps:
        told = replace(costs, run=sweep.working / sweep.runs, bandwidth=1e9)
        made = simulate(told, sweep.workers, sweep.runs, batch, sweep.cores)
        print(
            f"{sweep.workers:7} {sweep.cores:10.2f} {sweep.messages:10,} {made.messages:9,} {sweep.wall:9.1f} "
            f"{made.wall:9.1f} {made.wall / sweep.wall:6.2f}"
        )


def simulated(costs: Costs, batch: int) -> None:
    """Ten million runs on many machines: efficiency, and which part is the limit."""
    print(f"\n{MANY:,} runs simulated, a machine for each worker, a link of 1 Gbit/s")
    print(f"{'a run takes':>11} {'handed out':>13}" + "".join(f"{f'{n} workers':>24}" for n in SIZES))
    for run in (costs.run, *DEAR):
        told = replace(costs, run=run)
        for title, seconds in (("by the batch", 0.0), ("by the second", cluster_batches.SECONDS)):
            print(f"{run * 1e6:8.0f} µs {title:>13}" + "".join(f"{_line(told, n, batch, seconds):>24}" for n in SIZES))
    print("(share of the workers' time that is work, seconds by the clock, what is busy for longest)")
    limits(costs, batch)


def limits(costs: Costs, batch: int) -> None:
    """The number of workers at which the writer, or the scheduler, has no time left; and what a quicker writer does."""
    for title, at in (("a batch", batch), ("a second", cluster_batches.SECONDS / costs.run)):
        writer = costs.run / (costs.row + costs.message / at)
        scheduler = costs.run / (costs.row_scheduling + costs.scheduling / at)
        print(
            f"messages of {title}: the writer is the limit from {writer:,.0f} workers on, the scheduler from "
            f"{scheduler:,.0f}"
        )
    print(
        f"the writer stores {1 / costs.row:,.0f} rows a second: it keeps 64 workers busy where a run takes "
        f"{64 * costs.row * 1e6:,.0f} µs or more, 512 where it takes {512 * costs.row * 1e3:.1f} ms or more"
    )
    third = replace(costs, row=costs.row / 3)
    print(f"with a row at a third of its cost, 64 workers at {costs.run * 1e6:.0f} µs a run: {_line(third, 64, batch)}")


def _line(costs: Costs, workers: int, batch: int, seconds: float | None = None) -> str:
    was = cluster_batches.SECONDS
    cluster_batches.SECONDS = was if seconds is None else seconds
    try:
        made: Simulated = simulate(costs, workers, MANY, batch)
    finally:
        cluster_batches.SECONDS = was
    return f"{made.workers:.0%} {made.wall:,.0f} s {made.limit}"


def whole_space() -> tuple[str, RawTable, Plan]:
    """All roles of some attributes of CPS-8D, or of the sample ``fair``, at three rates."""
    path = shared() / "data" / "cps8d.csv"
    name, raw = ("cps8d", read_table(path)) if path.is_file() else ("fair", load("fair")[0])
    names = (raw.names if path.is_file() else load("fair")[1].swap)[:ATTRIBUTES]
    plan = Plan(
        DataPlan(tuple(AttributePlan(column) for column in names), drop=tuple(n for n in raw.names if n not in names)),
        measures=tuple(map(str, CALLS)),
        space=SpacePlan(all_specs=True, rates=RATES, replicates=1 + REPLICATES),
    )
    return name, raw, plan


def main() -> None:
    """Measure and print."""
    if find_spec("distributed") is None:
        print("left out: the package 'distributed' is absent (pip install swap-frontier[cluster])")
        return
    name, raw, plan = whole_space()
    d = len(plan.data.attributes)
    print(f"{name}: {raw.n_records:,} records, all roles of {d} attributes at three rates, {os.cpu_count()} processors")
    costs, batch = scaling(raw, plan)
    simulated(costs, batch)


if __name__ == "__main__":
    main()
