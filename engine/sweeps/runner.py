"""Bring scenarios of a study to a number of replicates: draw, measure and store the missing ones.

Store the results of batches some at a time: a commit costs more than a quick batch.

Tell how long a sweep will still take, from what its batches have taken so far.

Runs of unlike mechanisms take unlike times, and a machine that others use gives each batch less of its processors.  So
the processor time of a run is taken over all batches of its mechanism, and how long that takes by the clock over the
latest ones.  What happens before the first batch ends (processes start, and prepare) says nothing of the runs to come.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np

from engine.common.processes import join_loading
from engine.common.wording import duration
from engine.release.scenarios import Note
from engine.release.spec import MOST_REPLICATES
from engine.release.specs import ReleaseSpecs
from engine.study.runs import RunTable
from engine.study.study import Study
from engine.sweeps.evaluator import Outcome, Question
from engine.sweeps.groups import Groups, group, in_even_order
from engine.sweeps.workers import Executor, batches_in_turn

AT_MOST = 0.5
"""Seconds of results that a killed sweep loses, at most, beside the batches under way."""
_MANY = 2_000  # runs that are worth a transaction of their own near the end
_LONG = 0.25  # processor seconds of a batch that is stored at once: its commit is little beside it


class ResultsWriter:
    """The results of batches on their way into a table of a study; whoever ends before time stores what waits."""

    def __init__(self, study: Study, table: RunTable) -> None:
        self._study, self._table = study, table
        self._rows: list[np.ndarray] = []
        self._notes: list[Note] = []
        self._stored = -AT_MOST  # when results were stored last: never, so the first ones are stored at once
        self._long = False

    def add(self, outcome: Outcome) -> None:
        """Take the results of a batch, to be stored with others."""
        if len(outcome.rows):
            self._rows.append(outcome.rows)
            self._notes += outcome.notes
            self._long = outcome.effort is None or outcome.effort.processor >= _LONG

    @property
    def is_due(self) -> bool:
        """True once what waits is to be stored; also where nothing waits, so that somebody looks up now and then."""
        return self._long or time.monotonic() - self._stored >= AT_MOST

    def is_half(self, missing: int) -> bool:
        """True once many runs wait, and half of those that the study was ``missing``: other workers draw the rest
        meanwhile, and would have nothing to do when all was stored at the end."""
        waiting = sum(map(len, self._rows))
        return waiting >= max(_MANY, missing - waiting)

    def store(self) -> int:
        """Store what waits in one transaction; returns how many runs the study did not hold before."""
        rows, notes = self._rows, self._notes
        self._rows, self._notes, self._long = [], [], False  # what cannot be stored is not tried again
        added = self._study.runs.add(np.concatenate(rows), notes, self._table) if rows else 0
        if rows:
            self._stored = time.monotonic()
        return added


_LATEST = 32  # batches that tell how busy the machine is
_SETTLED = 10  # batches of each worker, as long as the longest, after which those that are under way hardly count


@dataclass(frozen=True)
class TimeLeft:
    """Seconds that a sweep will still take; ``at_most`` where it may be settled earlier.  ``load`` is how many seconds
    of a worker have lately passed by the clock for one of the processor: 1 for processes on a machine that nobody else
    uses.  A thread waits for others in Python too, which is part of its pace and no load of the machine."""

    seconds: float
    at_most: bool = False
    load: float = 1.0

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'about'} {duration(self.seconds)} left"


@dataclass
class _Spent:
    """Runs of a mechanism and the processor seconds that they took."""

    runs: int = 0
    processor: float = 0.0

    def add(self, runs: int, processor: float) -> None:
        self.runs += runs
        self.processor += processor

    @property
    def each(self) -> float:
        return self.processor / self.runs


class Pace:
    """The pace of runs: what each took, and what those to come will take."""

    def __init__(self) -> None:
        self._missing: Counter[str] = Counter()
        self._first: dict[str, _Spent] = {}  # of processes that had to load something: asked where there are no others
        self._later: dict[str, _Spent] = {}
        self._latest: deque[tuple[float, float]] = deque(maxlen=_LATEST)  # by the clock, of the processor
        # since the last process began with a mechanism: when that was, what batches took, and the longest of them
        self._since: float | None = None
        self._now = self._busy = self._longest = 0.0

    def expect(self, missing: Mapping[str, int]) -> None:
        """Runs that are to come now, by mechanism."""
        self._missing = Counter(missing)

    def add(self, outcome: Outcome) -> None:
        """Learn from a batch that has ended now."""
        effort, runs = outcome.effort, len(outcome.rows)
        if effort is None or not runs:
            return
        self._missing[effort.mechanism] -= runs
        spent = self._first if effort.first else self._later
        spent.setdefault(effort.mechanism, _Spent()).add(runs, effort.processor)
        self._latest.append((effort.clock, effort.processor))
        self._now = time.monotonic()
        if effort.first or self._since is None:
            self._since, self._busy, self._longest = self._now, 0.0, 0.0
        else:
            self._busy += effort.clock
            self._longest = max(self._longest, effort.clock)

    def time_left(self, workers: int, total: int, *, at_most: bool = False) -> TimeLeft | None:
        """The time that ``total`` runs to come take with so many ``workers``; None before a batch has ended.

        Runs beyond those that were announced, and those of a mechanism that has not run yet, are taken to be like the
        others.
        """
        spent = {**self._first, **self._later}
        processor = sum(part.processor for part in spent.values())
        clock = sum(passed for passed, _ in self._latest)
        busy = sum(worked for _, worked in self._latest)
        if not processor or not busy:  # nothing has ended yet, or the machine's clock is too coarse for it
            return None
        mean = processor / sum(part.runs for part in spent.values())
        known = {name: runs for name, runs in self._missing.items() if runs > 0}
        ahead = sum(runs * (spent[name].each if name in spent else mean) for name, runs in known.items())
        ahead += max(0, total - sum(known.values())) * mean
        load = max(1.0, clock / busy)
        return TimeLeft(ahead * load / self._at_once(workers), at_most, load)

    def _at_once(self, workers: int) -> float:
        """Number of batches under way at the same time: fewer than workers where they wait for results to be
        stored."""
        passed = 0.0 if self._since is None else self._now - self._since
        if passed <= _SETTLED * workers * self._longest or not self._busy:
            return float(workers)
        return min(float(workers), self._busy / passed)


Announce = Callable[[str], None]
OnProgress = Callable[[int, int], None]
OnTimeLeft = Callable[[TimeLeft | None], None]


class RunOptions(TypedDict, total=False):
    """The place where the work of a sweep is done, and the reader of its progress.

    ``workers`` is the number of threads or processes on this machine (None: as many as pay off), ``cluster`` the
    address of a Dask scheduler in their place.  ``on_progress(done, total)`` is called as results are stored, and
    ``on_time_left`` before it, once there is a pace; ``announce`` is told what takes time.
    """

    workers: int | None
    cluster: str | None
    on_progress: OnProgress | None
    on_time_left: OnTimeLeft | None
    announce: Announce | None


FRESH_FROM = MOST_REPLICATES + 1
"""First replicate index of re-evaluations, so that they never meet the replicates that led to a choice."""


class Cancelled(Exception):
    """Somebody asked the sweep to stop; everything done is kept."""


class Runner:
    """A study being filled by an executor.

    ``done`` and ``total`` count realisations; whoever fills in stages keeps ``total`` up to date.  Where it grows, the
    share that is reported stands still until as much is done.
    """

    def __init__(self, study: Study, question: Question, executor: Executor, options: RunOptions) -> None:
        self.study, self.question, self._executor, self._options = study, question, executor, options
        self.done = self.total = 0
        self._reported = (0, 1)
        self._pace = Pace()

    def bring(
        self,
        places: Sequence[int] | None,
        replicates: int,
        *,
        fresh: bool = False,
        unlisted: ReleaseSpecs | None = None,
    ) -> None:
        """Give these scenarios (None: all) at least so many replicates, or so many fresh ones.

        ``unlisted`` scenarios are all those of a new study, no two of them equal; they are listed while workers draw
        the first ones.  Results are stored as :class:`ResultsWriter` says.  Raises :class:`Cancelled` when somebody
        asks for it.
        """
        table: RunTable = "fresh" if fresh else "realisation"
        before = FRESH_FROM - 1 if fresh else 0
        specs = self.study.scenarios.specs if unlisted is None else unlisted
        chosen = np.arange(len(specs)) if places is None else np.array(places, np.int64)
        groups = in_even_order(group(specs.take(chosen), self.question.table, chosen))
        done = np.zeros(len(specs), np.int64)
        if unlisted is None:
            done = self.study.runs.replicates_done(table, before)
        self._pace.expect(missing_runs(groups, done, replicates))
        writer = ResultsWriter(self.study, table)
        try:
            to_keep = unlisted is not None
            for outcome in self._executor.run(batches_in_turn(self.question, groups, done, replicates, before)):
                if unlisted is not None:
                    self.study.scenario_table.add(unlisted)
                    unlisted = None
                self._pace.add(outcome)
                writer.add(outcome)
                if writer.is_due or (self._executor.workers > 1 and writer.is_half(self.total - self.done)):
                    self._store(writer)
                    self.report()
                    if to_keep:  # while workers draw, not at the end, when they have nothing left to do
                        to_keep = False
                        self.study.keep_scenarios()
        finally:
            if added := self._store(writer):
                self.study.lease.beat(self.done)  # also where somebody interrupts
        if added:
            self.report()

    def _store(self, writer: ResultsWriter) -> int:
        """Store what waits; returns how many runs are new."""
        added = writer.store()
        self.done = min(self.total, self.done + added)
        return added

    def report(self) -> None:
        """Say how far it is, and stop when somebody asked for that."""
        total = self._total_to_report()
        staged = self.study.plan.space.adaptive or self.study.plan.space.search
        left = self._pace.time_left(self._executor.workers, self.total - self.done, at_most=staged)
        if on_time_left := self._options.get("on_time_left"):
            on_time_left(left)
        if on_progress := self._options.get("on_progress"):
            on_progress(self.done, total)
        asked_to_stop = self.study.lease.beat(self.done, total, left.seconds if left else None)
        if asked_to_stop and self.done < self.total:  # who asks after the last run has a finished study
            raise Cancelled

    def report_end(self) -> None:
        """Report the end where the last report said something else, as where all was there and nothing was added."""
        if self._reported != (self.done, self.total):
            self.report()

    def _total_to_report(self) -> int:
        """The total, or less: as many as make the share done what was reported last."""
        done, total = self._reported
        if done and self.done < self.total:
            total = min(self.total, self.done * total // done)
        else:
            total = self.total
        self._reported = (self.done, total)
        return total


def missing_runs(groups: Groups, done: np.ndarray, replicates: int) -> Counter[str]:
    """Runs to come by mechanism, where the study holds so many (``done``) of each scenario."""
    missing: Counter[str] = Counter()
    to_come = np.maximum(0, replicates - done[groups.indices])
    by_procedure = np.bincount(groups.specs.procedure_codes, to_come, len(groups.specs.procedures))
    for procedure, runs in zip(groups.specs.procedures, by_procedure.tolist(), strict=True):
        missing[procedure.mechanism] += int(runs)
    return missing


def announce_compilation(announce: Announce | None) -> None:
    """Say why the first sweep takes longer, or every one."""
    join_loading()
    from engine.common import compiled

    if not announce:
        return
    if not compiled.COMPILED:
        announce(f"{compiled.WHY_NOT}: the same results, computed far more slowly")
    elif not any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")):
        announce("compiling the kernels once; later runs start at once")
