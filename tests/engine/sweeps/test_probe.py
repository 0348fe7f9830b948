"""The estimated time of a sweep with a measure on records, against a clock that the measure itself moves on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.measures import MEASURES, Measure, register
from engine.measures.base import Figure
from engine.models.record_release import RecordRelease
from engine.plan import edit_plan
from engine.plan.recode import code
from engine.plan.samples import load
from engine.sweeps import probe
from engine.sweeps.candidates import group, scenarios_of
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.probe import estimate
from engine.sweeps.workers import batch_size, task_batches

RAW, SAMPLE_PLAN = load("czech")
PLAN = edit_plan(SAMPLE_PLAN, swap_sizes=[1, 2, 3], rates=["0.01", "0.1", "0.4"], replicates=3)


class Clock:
    """A clock that stands still but while the measure works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.worker = 0  # whose measure works: 0 is the process that estimates
        self.prepared: set[int] = set()

    def measure(self, release: RecordRelease, places: tuple[int, ...]) -> Figure:
        """Seconds that a candidate takes: those of swaps of many attributes four times as long as those of one."""
        if self.worker not in self.prepared:  # what all candidates share is made once in each process
            self.prepared.add(self.worker)
            self.now += 40.0
        spec = release.spec
        if spec is None:  # the unaltered data
            return Figure(0.0)
        self.now += 0.05 * {1: 1, 2: 2, 3: 4}[len(spec.attributes.names_having("S"))]
        return Figure(self.now)

    def read(self) -> float:
        self.now += 1e-4
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(probe, "time", SimpleNamespace(perf_counter=made.read))
    monkeypatch.setattr(probe, "default_workers", lambda *_: 1)
    register(Measure.of(made.measure, "utility", name="slow", meaning="Seconds.", needs="records"))
    yield made
    MEASURES.unregister("slow")


def test_an_estimate_is_right_where_a_measure_looks_at_records(clock: Clock) -> None:
    plan = replace(PLAN, measures=("small_cells", "hellinger", "slow"))
    data = code(RAW, plan)
    runs, seconds = estimate(plan, data)
    clock.prepared.clear()  # the sweep is another process
    question, start = question_of(plan, data), clock.now
    question.original()
    groups = group(list(enumerate(scenarios_of(plan, data)[0])), data.table)
    evaluator = Evaluator(question, bytes(16))
    for shared in groups:
        evaluator.run(shared, range(1, plan.space.replicates + 1))
    taken = clock.now - start
    assert runs == sum(len(shared.scenarios) for shared in groups) * plan.space.replicates
    assert taken / 1.5 < seconds < taken * 1.5, (seconds, taken)


def test_an_estimate_is_right_for_two_workers_that_share_the_batches(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker prepares for itself what all candidates share, and takes the next batch when it has done one."""
    monkeypatch.setattr(probe, "default_workers", lambda *_: 2)
    plan = replace(PLAN, measures=("small_cells", "hellinger", "slow"))
    data = code(RAW, plan)
    _, seconds = estimate(plan, data)
    question = question_of(plan, data)
    groups = group(list(enumerate(scenarios_of(plan, data)[0])), data.table)
    none_done = np.zeros(sum(len(shared.scenarios) for shared in groups), np.int64)
    size = batch_size(question, groups, none_done, plan.space.replicates)
    clock.prepared.clear()
    began = clock.now
    question.original()
    parent = clock.now - began
    evaluator, busy = Evaluator(question, bytes(16)), {1: 0.0, 2: 0.0}
    for batch in task_batches(groups, none_done, plan.space.replicates, 0, size):
        clock.worker = min(busy, key=busy.__getitem__)
        began = clock.now
        evaluator.run_all(batch)
        busy[clock.worker] += clock.now - began
    taken = parent + probe._START + max(busy.values())
    assert taken / 1.5 < seconds < taken * 1.5, (seconds, taken)


def test_candidates_that_are_measured_on_records_go_out_in_small_batches(clock: Clock) -> None:
    """In one batch of hundreds, one worker would do all while the others wait."""
    data = code(RAW, PLAN)
    groups = group(list(enumerate(scenarios_of(PLAN, data)[0])), data.table)
    done = np.zeros(sum(len(shared.scenarios) for shared in groups), np.int64)
    by_counts = question_of(PLAN, data)
    on_records = question_of(replace(PLAN, measures=("slow",)), data)
    batches = {}
    for question in (by_counts, on_records):
        size = batch_size(question, groups, done, 3)
        batches[bool(question.on_records)] = list(task_batches(groups, done, 3, 0, size))
    assert len(batches[False]) == 1 and len(batches[True]) > 10

    def runs(parts: list) -> set:
        return {(i, n) for batch in parts for shared, numbers in batch for i, _ in shared.scenarios for n in numbers}

    assert runs(batches[True]) == runs(batches[False])
    few = np.full_like(done, 2)
    assert batch_size(on_records, groups, few, 3) < batch_size(on_records, groups, done, 3)
