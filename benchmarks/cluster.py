"""What a Dask cluster costs: processor time of scheduler, workers and the process that fills the study.

All processes are on this machine, so by the clock more workers than processors gain nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._grid import Grid, grid, idle_seconds
from benchmarks._tables import CALLS, KEY, RATES
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import AttributePlan, DataPlan, Plan, SpacePlan
from engine.plan.samples import load
from engine.sweeps.evaluator import Outcome
from engine.sweeps.groups import TaskBatch
from engine.sweeps.runner import Runner
from engine.sweeps.sweep import open_executor, open_sweep
from engine.sweeps.workers import Executor
from tests.shared import folder as shared

REPLICATES = 60
ATTRIBUTES = 6
"""Of CPS-8D; all of them would take minutes.  Runs are cheaper then, and so harder on whoever stores them."""
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


def measured(raw: RawTable, plan: Plan, workers: int) -> Measured:
    """Sweep on a cluster with so many workers; the first replicate, in which processes load, does not count, nor what
    the parts of a cluster take when nothing is asked of them."""
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
                part - unasked * wall / still[0] for part, unasked in zip((scheduler, working), still[2:4], strict=True)
            )
            results = study.runs.results()
            study.lease.release("finished")
        rows = np.column_stack([results.scenario, results.replicate, results.values])
        runs = int((results.replicate > 1).sum())
        return Measured(workers, runs, counted.messages, wall, writer, scheduler, working, cores, rows)


def scaling(raw: RawTable, plan: Plan) -> None:
    """Print what sweeps on 1 to 8 workers take."""
    processors = os.cpu_count() or 1
    sweeps = [measured(raw, plan, workers) for workers in (1, 2, 4, 8)]
    print(f"\n{sweeps[0].runs:,} runs, processor time in µs a run")
    print("workers messages  worker scheduler  writer share of work  ÷ one")
    for sweep in sweeps:
        worker, scheduler, writer = (part / sweep.runs * 1e6 for part in (sweep.working, sweep.scheduler, sweep.writer))
        beside = sweep.share / sweeps[0].share
        over = "  more than processors" if sweep.workers > processors else ""
        print(
            f"{sweep.workers:7} {sweep.messages:8,} {worker:7.1f} {scheduler:9.2f} {writer:7.2f} {sweep.share:13.1%} "
            f"{beside:6.2f}{over}"
        )
    same = all(np.array_equal(sweeps[0].rows, sweep.rows, equal_nan=True) for sweep in sweeps)
    print("the same bits" if same else "DIFFERENT figures")


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
    scaling(raw, plan)


if __name__ == "__main__":
    main()
