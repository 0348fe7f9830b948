"""Bring scenarios of a study to a number of replicates: draw, measure and store the missing ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from engine.common.beside import join_loading
from engine.release.release_specs import ReleaseSpecs
from engine.release.spec import MOST_REPLICATES
from engine.study.runs import RunTable
from engine.study.study import Study
from engine.sweeps.evaluator import Question
from engine.sweeps.groups import Groups, group, in_even_order
from engine.sweeps.pace import Pace, TimeLeft
from engine.sweeps.results_writer import ResultsWriter
from engine.sweeps.workers import Executor, batches_in_turn

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
