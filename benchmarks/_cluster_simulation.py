"""A cluster as a simulation of events: one process that fills the study, one scheduler, workers, one link.

Each process does one thing at a time.  On a machine with fewer processors than busy processes these share them
equally; on a cluster every process has one of its own.  Work is handed out by the engine's own rule.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from engine.sweeps import cluster as cluster_batches
from engine.sweeps.cluster import WAITING, ClusterBatches
from engine.sweeps.evaluator import Effort, Outcome

_AHEAD = 2  # messages that the scheduler gives a worker with one thread: the one it runs and the next


@dataclass(frozen=True)
class Costs:
    """Processor seconds of each part, and what the network is taken to be.

    ``run`` is what a candidate takes on a worker.  Of a message the process that fills the study takes ``message``, the
    scheduler ``scheduling``; of each row ``row`` and ``row_scheduling``.
    """

    run: float
    message: float
    row: float
    scheduling: float
    row_scheduling: float
    row_bytes: float = 64.0
    latency: float = 0.0005  # seconds
    bandwidth: float = 125e6  # bytes a second


@dataclass
class Process:
    """A process that does one thing at a time."""

    jobs: deque[tuple[float, Callable[[], None]]] = field(default_factory=deque)
    busy: bool = False
    spent: float = 0.0


@dataclass(frozen=True)
class Simulated:
    """A simulated sweep: seconds by the clock, messages, and the share of them for which each part was busy."""

    wall: float
    messages: int
    writer: float
    scheduler: float
    link: float
    workers: float

    @property
    def limit(self) -> str:
        """The part that is busy for the longest time."""
        parts = {"workers": self.workers, "writer": self.writer, "scheduler": self.scheduler, "link": self.link}
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True)
class _Group:
    """As much of a group of scenarios as is looked at where work is handed out."""

    size: int
    mechanism: str = "any"

    def __len__(self) -> int:
        return self.size


class _Clock:
    """Real time, and processor time that all busy processes get alike."""

    def __init__(self, cores: float) -> None:
        self.now, self._virtual, self._cores = 0.0, 0.0, cores
        self._at_work: list[tuple[float, int, Process, Callable[[], None]]] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._timers, (self.now + seconds, self._number, then))

    def work(self, process: Process, seconds: float, then: Callable[[], None]) -> None:
        """Have a process work for so long, when it has done what it has to do before."""
        if process.busy:
            process.jobs.append((seconds, then))
            return
        process.busy = True
        process.spent += seconds
        self._number += 1
        heapq.heappush(self._at_work, (self._virtual + seconds, self._number, process, then))

    def run(self) -> None:
        """Let everything happen."""
        while self._at_work or self._timers:
            rate = min(1.0, self._cores / max(1, len(self._at_work)))
            ends = self.now + (self._at_work[0][0] - self._virtual) / rate if self._at_work else inf
            rings = self._timers[0][0] if self._timers else inf
            at = min(ends, rings)
            self._virtual += (at - self.now) * rate
            self.now = at
            if rings <= ends:
                heapq.heappop(self._timers)[2]()
                continue
            _, _, process, then = heapq.heappop(self._at_work)
            process.busy = False
            if process.jobs:
                self.work(process, *process.jobs.popleft())
            then()


class _Cluster:
    def __init__(self, costs: Costs, workers: int, runs: int, batch: int, cores: float) -> None:
        self._costs, self._clock = costs, _Clock(cores)
        self._writer, self._scheduler = Process(), Process()
        self._workers = [Process() for _ in range(workers)]
        self._most = WAITING * workers
        sizes = [batch] * (runs // batch) + [runs % batch] * (runs % batch > 0)
        batches: list[Any] = [[(_Group(size), (1,))] for size in sizes]
        self._waiting = ClusterBatches(batches, 8)
        self._free = deque([*range(workers)] * _AHEAD)
        self._unassigned: deque[int] = deque()
        self._results: deque[int] = deque()
        self._out = self._messages = 0
        self._link_free = self._on_link = 0.0

    def simulated(self) -> Simulated:
        self._step()
        self._clock.run()
        wall = self._clock.now
        working = sum(worker.spent for worker in self._workers) / len(self._workers)
        parts = (self._writer.spent, self._scheduler.spent, self._on_link, working)
        return Simulated(wall, self._messages, *(part / wall for part in parts))

    def _step(self) -> None:
        """What the process that fills the study does next: fill the cluster first, then store a result."""
        if self._writer.busy:
            return
        costs = self._costs
        if self._out < self._most and (batch := self._waiting.next(len(self._workers))) is not None:
            runs = cluster_batches.candidates(batch)
            self._out += 1
            self._messages += 1
            self._clock.work(self._writer, costs.message / 2, lambda: self._send(runs))
        elif self._results:
            runs = self._results.popleft()
            self._clock.work(self._writer, costs.message / 2 + costs.row * runs, lambda: self._stored(runs))

    def _send(self, runs: int) -> None:
        costs = self._costs
        self._clock.after(
            costs.latency,
            lambda: self._clock.work(self._scheduler, costs.scheduling / 2, lambda: self._assign(runs)),
        )
        self._step()

    def _assign(self, runs: int | None = None) -> None:
        if runs is not None:
            self._unassigned.append(runs)
        while self._unassigned and self._free:
            self._give(self._free.popleft(), self._unassigned.popleft())

    def _give(self, worker: int, runs: int) -> None:
        seconds = self._costs.run * runs
        self._clock.after(
            self._costs.latency,
            lambda: self._clock.work(self._workers[worker], seconds, lambda: self._finished(worker, runs)),
        )

    def _finished(self, worker: int, runs: int) -> None:
        costs = self._costs
        seconds = costs.scheduling / 2 + costs.row_scheduling * runs
        self._clock.after(
            costs.latency,
            lambda: self._clock.work(self._scheduler, seconds, lambda: self._deliver(worker, runs)),
        )

    def _deliver(self, worker: int, runs: int) -> None:
        self._free.append(worker)
        self._assign()
        seconds = runs * self._costs.row_bytes / self._costs.bandwidth
        self._link_free = max(self._clock.now, self._link_free) + seconds
        self._on_link += seconds
        self._clock.after(self._link_free - self._clock.now + self._costs.latency, lambda: self._arrived(runs))

    def _arrived(self, runs: int) -> None:
        self._results.append(runs)
        self._step()

    def _stored(self, runs: int) -> None:
        self._out -= 1
        seconds = self._costs.run * runs
        self._waiting.learn(Outcome(np.empty((runs, 0)), [], Effort("any", seconds, seconds, False)))
        self._step()


def simulate(costs: Costs, workers: int, runs: int, batch: int = 400, cores: float = inf) -> Simulated:
    """A sweep of so many runs on a cluster with so many workers, each with one thread; ``batch`` runs are handed out
    together at least, ``cores`` are those of the one machine that carries all processes."""
    return _Cluster(costs, workers, runs, batch, cores).simulated()
