"""Results of quick batches are stored some at a time, and none is lost where the work ends before time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.study.study import Study
from engine.sweeps import runner as results_writer
from engine.sweeps.evaluator import Effort, Outcome
from engine.sweeps.groups import TaskBatch
from engine.sweeps.runner import AT_MOST, ResultsWriter
from engine.sweeps.sweep import sweep
from engine.sweeps.workers import SerialExecutor
from tests.engine.small_studies import RAW, keyed, plan_of, swept, table_of


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is put forward."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(results_writer, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def stored(monkeypatch) -> list[int]:
    """The rows of each transaction with runs."""
    numbers: list[int] = []
    from engine.study.runs import Runs

    add = Runs.add

    def counted(self, rows, *more):
        numbers.append(len(rows))
        return add(self, rows, *more)

    monkeypatch.setattr(Runs, "add", counted)
    return numbers


def outcome(replicate: int, processor: float = 0.01) -> Outcome:
    rows = np.array([[0.0, replicate, 0, 2, 0.1, 0.2, 0.3, 0.4, 0.5]])
    return Outcome(rows, [], Effort("random_swap", processor, processor, False))


def test_quick_batches_wait_for_others_and_long_ones_do_not(tmp_path, clock, stored):
    with sweep(RAW, plan_of(space={"replicates": 1}), keyed(tmp_path / "s.study"), workers=1) as study:
        study.lease.acquire()
        stored.clear()
        width = len(study.measures)
        writer = ResultsWriter(study, "fresh")

        def take(replicate: int, **more: float) -> bool:
            made = outcome(replicate, **more)
            writer.add(made._replace(rows=made.rows[:, : 4 + width]))
            return writer.is_due

        assert take(1000001), "the first one shows that something is there"
        assert writer.store() == 1
        assert not take(1000002) and not take(1000003)
        clock.now += AT_MOST
        assert take(1000004)
        assert writer.store() == 3
        assert take(1000005, processor=3.0), "a commit is little beside a long batch"
        assert writer.store() == 1
        assert writer.store() == 0
        assert stored == [1, 3, 1]


def test_half_of_what_is_missing_is_stored_where_it_is_worth_a_transaction(monkeypatch):
    monkeypatch.setattr(results_writer, "_MANY", 2)
    study: Any = None  # nothing is stored here
    writer = ResultsWriter(study, "realisation")
    writer.add(outcome(1))
    assert not writer.is_half(1)
    writer.add(outcome(2))
    assert writer.is_half(4) and not writer.is_half(5)


@pytest.mark.slow
def test_little_is_left_to_store_at_the_end_where_others_draw_meanwhile(tmp_path, clock, stored, monkeypatch):
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 4)
    monkeypatch.setattr(results_writer, "_MANY", 8)
    alone = swept(keyed(tmp_path / "alone.study"), plan_of())
    assert len(stored) == 2
    stored.clear()
    monkeypatch.setattr(SerialExecutor, "workers", 2)
    assert swept(keyed(tmp_path / "others.study"), plan_of()) == alone
    assert len(stored) > 3 and sorted(stored[1:], reverse=True) == stored[1:] and stored[-1] <= 8 + 4


@pytest.mark.slow
def test_a_sweep_of_quick_batches_takes_few_transactions(tmp_path, clock, stored, monkeypatch):
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 4)
    ticks: list[int] = []
    plan, path = plan_of(), keyed(tmp_path / "s.study")
    with sweep(RAW, plan, path, workers=1, on_progress=lambda done, _: ticks.append(done)) as study:
        rows = table_of(study)
    assert len(stored) == 2 and sum(stored) == len(rows) == ticks[-1]
    monkeypatch.setattr(results_writer, "AT_MOST", 0)
    assert swept(keyed(tmp_path / "other.study"), plan) == rows
    assert len(stored) > 20


@pytest.mark.slow
def test_results_that_wait_are_stored_where_the_workers_are_lost(tmp_path, clock, stored, monkeypatch):
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 4)
    run = SerialExecutor.run

    def lost(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        for n, made in enumerate(run(self, batches)):
            yield made
            if n == 4:
                raise EngineError("the workers are lost")

    path = keyed(tmp_path / "s.study")
    with monkeypatch.context() as patch:
        patch.setattr(SerialExecutor, "run", lost)
        with pytest.raises(EngineError, match="the workers are lost"):
            sweep(RAW, plan_of(), path, workers=1)
    with Study.open(path) as study:
        assert len(study.runs.results()) == sum(stored) > stored[0]
        assert (study.progress.state, study.progress.done) == ("failed", sum(stored))
    whole = swept(keyed(tmp_path / "whole.study"), plan_of())
    assert swept(path) == whole
