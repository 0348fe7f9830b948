"""Threads of a sweep: the bits of one evaluator however they take turns, and stopped and failing as processes are."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import current_thread, main_thread

import numpy as np
import pytest

from engine.common import compiled
from engine.common.errors import EngineError
from engine.measures import compiled_sums
from engine.plan import MechanismPlan
from engine.sweeps import evaluator, workers
from engine.sweeps import realisations as cell_evaluator
from engine.sweeps import runner as results_writer
from engine.sweeps.evaluator import Evaluator, Outcome
from engine.sweeps.groups import TaskBatch
from engine.sweeps.sweep import open_sweep, sweep
from engine.sweeps.workers import default_workers, open_local_executor, threads_pay
from tests.engine.small_studies import RAW, SMALL, a_task, keyed, plan_of, swept
from tests.small_tables import KEY

pytestmark = pytest.mark.skipif(
    not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba"
)
MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
SMALL_BATCHES = 20


@pytest.fixture
def contended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that take turns after every few instructions, with small batches in compiled code throughout."""
    monkeypatch.setattr(workers, "BATCH_SIZE", SMALL_BATCHES)
    monkeypatch.setattr(workers, "BATCH_STEPS", 0)
    monkeypatch.setattr(cell_evaluator, "_CELLS", 100)
    monkeypatch.setattr(compiled_sums, "MANY", 0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def threads_of(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads in which batches will have run."""
    seen: set[str] = set()
    run = Evaluator.run_all

    def noted(self: Evaluator, *given, **options):
        seen.add(current_thread().name)
        return run(self, *given, **options)

    monkeypatch.setattr(Evaluator, "run_all", noted)
    return seen


def test_threads_give_the_rows_of_one_evaluator_however_they_take_turns(contended: None, tmp_path: Path) -> None:
    plan = plan_of(measures=MEASURES, space={"swap_sizes": (1, 2, 3), "rates": ("0.02", "0.1", "0.5")})
    question, tasks = a_task(plan)
    expected = Evaluator(question, KEY).run_all(tasks)
    batches = [TaskBatch([task]) for task in tasks for _ in range(3)]
    with open_local_executor(question, KEY, 4, candidates=1) as executor:
        outcomes = [outcome for outcome in executor.run(batches) if len(outcome.rows)]
    rows = np.concatenate([outcome.rows for outcome in outcomes])
    found, times = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(found, np.unique(expected.rows, axis=0)) and set(times.tolist()) == {3}
    notes = {str(note) for outcome in outcomes for note in outcome.notes}
    assert notes == set(map(str, expected.notes))


@pytest.mark.slow
def test_a_study_filled_by_threads_is_the_one_filled_by_one(
    contended: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(measures=MEASURES)
    one = swept(keyed(tmp_path / "one.study"), plan, workers=1)
    seen = threads_of(monkeypatch)
    assert swept(keyed(tmp_path / "four.study"), plan, workers=4) == one
    assert seen and main_thread().name not in seen


def test_what_waits_when_a_sweep_ends_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    question, tasks = a_task(plan_of(measures=MEASURES))
    begun: list[TaskBatch] = []

    def noted(self: Evaluator, batch: TaskBatch) -> Outcome:
        begun.append(batch)
        time.sleep(0.005)
        return Outcome(np.zeros((1, 4)), [])

    monkeypatch.setattr(Evaluator, "run_all", noted)
    with open_local_executor(question, KEY, 2, candidates=1) as executor:
        outcomes = executor.run([TaskBatch(tasks)] * 100)
        assert not len(next(outcomes).rows) and len(next(outcomes).rows)
    assert 0 < len(begun) < 50


def test_an_error_in_a_thread_is_the_error_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise EngineError("nothing can be drawn")

    monkeypatch.setattr(Evaluator, "run_all", fails)
    path = keyed(tmp_path / "s.study")
    with pytest.raises(EngineError, match="nothing can be drawn"):
        sweep(RAW, plan_of(measures=MEASURES), path, workers=2)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(evaluator, "CellRuns", lambda *_: (_ for _ in ()).throw(MemoryError()))
        sweep(RAW, None, path, workers=2)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupted", "cancelled"])
def test_a_sweep_in_threads_stops_and_goes_on(
    contended: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(results_writer, "AT_MOST", 0.0)
    path = keyed(tmp_path / "s.study")
    opened = open_sweep(RAW, plan_of(measures=MEASURES, space={"replicates": 50}), path)

    def on_progress(done: int, total: int) -> None:
        if done and how == "interrupted":
            raise KeyboardInterrupt
        if done:
            opened.study.lease.cancel()

    with opened.study as study:
        if how == "interrupted":
            with pytest.raises(KeyboardInterrupt):
                opened.run(workers=2, on_progress=on_progress)
        else:
            opened.run(workers=2, on_progress=on_progress)
        stopped = study.progress
        assert stopped.state == "cancelled" and 0 < study.runs.count() < stopped.total
    with sweep(RAW, None, path, workers=2) as study:
        assert study.progress.state == "finished" and study.progress.done == stopped.total


def test_threads_are_taken_where_they_are_done_before_processes_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, other = SMALL.asked(*MEASURES), SMALL.asked("false_zeros")
    over_records = replace(quick, plan=replace(quick.plan, mechanisms=(MechanismPlan.of("rds", {"s": "3"}),)))
    some, many = 150_000, 20_000_000
    assert threads_pay(some, quick, 2) and threads_pay(some, quick, 4)
    assert not threads_pay(many, quick, 2), "most of the time one of two threads waits for some Python"
    assert threads_pay(500_000, quick, 2) and not threads_pay(500_000, quick, 8), "only some threads work at once"
    assert not threads_pay(some, other, 2)
    assert not threads_pay(some, over_records, 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert [default_workers(n, quick) for n in (1000, some, many)] == [1, 2, 8]
    monkeypatch.setattr(compiled, "COMPILED", False)
    assert not threads_pay(some, quick, 2)
