"""The estimated time of a sweep with a measure on records, against a clock that the measure itself moves on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.measures import MEASURES, Measure, register
from engine.measures.base import Figure
from engine.models.record_release import RecordRelease
from engine.plan import MechanismPlan, edit_plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.spec import AttributeSpec
from engine.sweeps import probe
from engine.sweeps.candidates import scenarios_of, space_or_count
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.groups import Group, group
from engine.sweeps.probe import estimate, probed
from engine.sweeps.realisations import RecordRuns
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
        self.now += 0.05 * {1: 1, 2: 2}.get(len(spec.attributes.names_having("S")), 4)
        return Figure(self.now)

    def read(self) -> float:
        self.now += 1e-4
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(probe, "time", SimpleNamespace(perf_counter=made.read))
    monkeypatch.setattr(probe, "_STARTED", 0.0)
    monkeypatch.setattr(probe, "default_workers", lambda *_: 1)
    register(Measure.of(made.measure, "utility", name="slow", meaning="Seconds.", needs="records"))
    yield made
    MEASURES.unregister("slow")


@pytest.mark.slow
def test_an_estimate_is_right_for_two_workers_that_share_the_batches(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker prepares for itself what all candidates share, and takes the next batch when it has done one."""
    monkeypatch.setattr(probe, "default_workers", lambda *_: 2)
    monkeypatch.setattr(probe, "_STARTED", 2.5)
    plan = replace(PLAN, measures=("small_cells", "hellinger", "slow"))
    data = code(RAW, plan)
    _, seconds = estimate(plan, data)
    question = question_of(plan, data)
    groups = group(scenarios_of(plan, data)[0], data.table)
    none_done = np.zeros(len(groups.indices), np.int64)
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
    taken = parent + 2 * 2.5 + max(busy.values())
    assert taken / 1.5 < seconds < taken * 1.5, (seconds, taken)


@pytest.mark.slow
def test_a_fit_counts_once_for_all_replicates(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe runs each group once, and would take its fit for a part of every run."""
    drawn = RecordRuns._draws

    def draws(self: RecordRuns, shared: Group) -> list:
        before = self._fitted
        made = drawn(self, shared)
        clock.now += 0.0 if self._fitted is before else 40.0
        return made

    monkeypatch.setattr(RecordRuns, "_draws", draws)
    plan = edit_plan(PLAN, keys=["A", "B", "C"])  # what is exchanged leaves attributes beside it
    plan = replace(plan, mechanisms=(MechanismPlan("dds"),), measures=("small_cells", "hellinger", "slow"))
    plan = replace(plan, space=replace(plan.space, replicates=20))
    data = code(RAW, plan)
    _, seconds = estimate(plan, data)
    clock.prepared.clear()
    question, start = question_of(plan, data), clock.now
    question.original()
    groups = group(scenarios_of(plan, data)[0], data.table)
    evaluator = Evaluator(question, bytes(16))
    for shared in groups:
        for replicate in range(1, 21):
            evaluator.run(shared, [replicate])
    taken = clock.now - start
    assert taken > 79  # one preparation and one fit
    assert taken / 1.5 < seconds < taken * 1.5, (seconds, taken)


def test_candidates_that_are_measured_on_records_go_out_in_small_batches(clock: Clock) -> None:
    """In one batch of hundreds, one worker would do all while the others wait."""
    data = code(RAW, PLAN)
    groups = group(scenarios_of(PLAN, data)[0], data.table)
    done = np.zeros(len(groups.indices), np.int64)
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


COMPLETE = edit_plan(SAMPLE_PLAN, all_specs=True, rates=["0.01", "0.1"], replicates=1)


@pytest.fixture
def by_structure(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that only runs of structures move on: each takes 10 s, and each of its scenarios a second."""
    run_all = Evaluator.run_all

    def timed(self: Evaluator, tasks: list, keys: None = None) -> object:
        outcome = run_all(self, tasks, keys)
        clock.now += sum(len(numbers) * (10 + len(shared)) for shared, numbers in tasks)
        return outcome

    monkeypatch.setattr(Evaluator, "run_all", timed)
    return clock


@pytest.mark.slow
def test_the_estimate_of_a_complete_space_looks_at_small_and_large_structures_alike(
    by_structure: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A structure has a few scenarios or hundreds, which it takes little longer to draw."""
    monkeypatch.setattr(probe, "_SPENT", 1e9)
    data = code(RAW, COMPLETE)
    specs = scenarios_of(COMPLETE, data)[0]
    groups = group(specs, data.table)
    assert max(len(shared) for shared in groups) > 10 * min(len(shared) for shared in groups)
    estimated = estimate(COMPLETE, data)
    assert estimated.runs == len(specs)
    assert estimated.seconds == pytest.approx(10 * len(groups) + len(specs), rel=0.07)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.sets(st.integers(1, 3), min_size=1), st.sets(st.sampled_from(["0.01", "0.1", "0.4"]), min_size=1), st.data())
def test_runs_are_counted_and_no_time_is_negative(sizes: set[int], rates: set[str], draw: st.DataObject) -> None:
    replicates = draw.draw(st.sampled_from([1, 2, 30, 1000]))
    plan = edit_plan(SAMPLE_PLAN, swap_sizes=sorted(sizes), rates=sorted(rates), replicates=replicates)
    data = code(RAW, plan)
    told = estimate(plan, data)
    assert told.runs == replicates * len(scenarios_of(plan, data)[0])
    assert told.seconds >= probe._STARTED


def test_an_estimate_makes_the_specs_that_it_looks_at_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_STARTED", 0.0)
    made: list[AttributeSpec] = []
    monkeypatch.setattr(AttributeSpec, "__post_init__", lambda spec: made.append(spec))
    data = code(RAW, COMPLETE)
    swaps = space_or_count(COMPLETE, data)
    assert swaps is not None
    assert swaps.distinct > 2800 and not made
    specs, total = probed(COMPLETE, data, swaps, ())
    assert total == 2 * swaps.distinct and 24 <= len(specs.specs) < 400
    estimate(COMPLETE, data, specs=specs, total=total)
    assert len(made) < 10 * len(specs.specs)
