"""Recheck scenarios of a study: run them on fresh replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawTable
from engine.frontier.chance import fresh_runs_needed
from engine.plan.recode import code
from engine.release.spec import MOST_REPLICATES
from engine.study.decision_log import append
from engine.study.lease import WriterTask
from engine.study.study import Study
from engine.sweeps.evaluator import Outcome, question_of
from engine.sweeps.groups import group, in_even_order
from engine.sweeps.pace import Pace
from engine.sweeps.runner import FRESH_FROM, RunOptions, announce_compilation, missing_runs
from engine.sweeps.sweep import check_options, check_same, open_executor
from engine.sweeps.workers import batch_size, task_batches


def recheck(
    study: Study,
    raw: RawTable,
    key: bytes,
    indices: Sequence[int],
    replicates: int | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Run some scenarios (by index) on fresh replicates, kept apart from those that led to the choice; fresh runs that
    the study holds already are not made again.  Scenarios all of whose runs change nothing
    are left out, and refused where there is no other.  Stops early, keeping everything, when the study is cancelled.

    ``replicates`` is the number of fresh runs of each; None for :func:`engine.frontier.chance.fresh_runs_needed`.

    ``options`` say who does the work and who is told of it (:class:`~engine.sweeps.runner.RunOptions`).
    """
    check_options(options)
    replicates = fresh_runs_needed(study.plan.decision.run_share) if replicates is None else replicates
    if replicates < 2:
        raise UsageError(f"replicates == {replicates}, must be at least 2 for a standard error.")
    if replicates > MOST_REPLICATES:
        raise UsageError(f"replicates == {replicates}, must be at most {MOST_REPLICATES:,}.")
    check_same(study, raw, key)
    wanted = set(indices) - _void(study, indices)
    if not wanted:
        raise UsageError("nothing to run again: the released rows of what was named are those of the original")
    study.acquire_lease(task=WriterTask.RECHECK)
    try:
        question = question_of(study.plan, code(raw, study.plan), study.measures)
        chosen = np.array(sorted(wanted), np.int64)
        groups = in_even_order(group(study.scenarios.specs.take(chosen), question.table, chosen))
        done = study.runs.replicates_done("fresh", FRESH_FROM - 1)
        missing = missing_runs(groups, done, replicates)
        fresh = _FreshRuns(len(wanted) * replicates - missing.total(), len(wanted) * replicates, options)
        if missing.total():
            fresh.pace.expect(missing)
            size = batch_size(question, groups, done, replicates)
            announce_compilation(options.get("announce"))
            with open_executor(question, key, missing.total(), **options) as executor:
                for outcome in executor.run(task_batches(groups, done, replicates, FRESH_FROM - 1, size)):
                    fresh.add(study, outcome, executor.workers)
    finally:
        study.lease.release()
    labels = [study.scenarios[index].label for index in sorted(wanted)]
    append(study, "rechecked", {"candidates": labels, "replicates": replicates})


def _void(study: Study, indices: Sequence[int]) -> set[int]:
    """Those of the scenarios all of whose runs leave the data as they were."""
    runs = study.runs.of(sorted(set(indices)))
    return {*runs.scenario.tolist()} - {*runs.scenario[~runs.changes_nothing].tolist()}


class _FreshRuns:
    """Fresh runs that are being stored, and who is told of them."""

    def __init__(self, done: int, total: int, options: RunOptions) -> None:
        self._done, self._total, self._options = done, total, options
        self.pace = Pace()

    def add(self, study: Study, outcome: Outcome, workers: int) -> None:
        """Store the runs of a batch; :class:`EngineError` where somebody asked for an end."""
        if len(outcome.rows):
            self._done += study.runs.add(outcome.rows, outcome.notes, table="fresh")
        self.pace.add(outcome)
        if on_time_left := self._options.get("on_time_left"):
            on_time_left(self.pace.time_left(workers, self._total - self._done))
        if on_progress := self._options.get("on_progress"):
            on_progress(self._done, self._total)
        if study.lease.beat():
            raise EngineError("stopped by request; what is done is kept")
