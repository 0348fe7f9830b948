"""Recheck scenarios of a study: run them on fresh replicates."""

from __future__ import annotations

from collections.abc import Sequence

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawTable
from engine.plan.recode import code
from engine.release.spec import MOST_REPLICATES
from engine.study.decision_log import append
from engine.study.lease import WriterTask
from engine.study.study import Study
from engine.sweeps.candidates import group, in_even_order
from engine.sweeps.evaluator import question_of
from engine.sweeps.pace import Pace
from engine.sweeps.runner import FRESH_FROM, OnProgress, OnTimeLeft, missing_runs
from engine.sweeps.sweep import check_same
from engine.sweeps.workers import SerialExecutor, batch_size, task_batches


def recheck(
    study: Study,
    raw: RawTable,
    key: bytes,
    indices: Sequence[int],
    replicates: int,
    *,
    on_progress: OnProgress | None = None,
    on_time_left: OnTimeLeft | None = None,
) -> None:
    """Run some scenarios (by index) on fresh replicates, kept apart from those that led to the choice; fresh runs that
    the study holds already are not made again.  Stops early, keeping everything, when the study is cancelled."""
    if replicates < 2:
        raise UsageError(f"replicates == {replicates}, must be at least 2 for a standard error.")
    if replicates > MOST_REPLICATES:
        raise UsageError(f"replicates == {replicates}, must be at most {MOST_REPLICATES:,}.")
    check_same(study, raw, key)
    wanted = set(indices)
    study.acquire_lease(task=WriterTask.RECHECK)
    try:
        question = question_of(study.plan, code(raw, study.plan), study.measures)
        specs = [(s.index, s.spec) for s in study.scenarios if s.index in wanted]
        groups = in_even_order(group(specs, question.table))
        done = study.runs.replicates_done("fresh", FRESH_FROM - 1)
        missing = missing_runs(groups, done, replicates)
        n_done, total = len(wanted) * replicates - missing.total(), len(wanted) * replicates
        pace = Pace()
        pace.expect(missing)
        batches = task_batches(groups, done, replicates, FRESH_FROM - 1, batch_size(question, groups, done, replicates))
        for outcome in SerialExecutor(question, key).run(batches):
            n_done += study.runs.add(outcome.rows, outcome.notes, table="fresh")
            pace.add(outcome)
            if on_time_left:
                on_time_left(pace.time_left(1, total - n_done))
            if on_progress:
                on_progress(n_done, total)
            if study.lease.beat():
                raise EngineError("stopped by request; what is done is kept")
    finally:
        study.lease.release()
    labels = [study.scenarios[index].label for index in sorted(wanted)]
    append(study, "rechecked", {"candidates": labels, "replicates": replicates})
