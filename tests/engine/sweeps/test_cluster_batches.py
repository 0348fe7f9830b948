"""Batches that are joined for a cluster: the same work, in messages as long as they should be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from engine.plan import MechanismPlan
from engine.plan.coding import code
from engine.sweeps import cluster as cluster_batches
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.cluster import ClusterBatches, candidates
from engine.sweeps.evaluator import Effort, Evaluator, Outcome
from engine.sweeps.groups import TaskBatch, group
from engine.sweeps.workers import task_batches
from tests.engine.small_studies import RAW, a_task, plan_of
from tests.small_tables import KEY

REPLICATES = 200


def batches_of(**parts) -> Iterator[TaskBatch]:
    plan = plan_of(**parts)
    data = code(RAW, plan)
    groups = group(scenarios_of(plan, data)[0], data.table)
    return task_batches(groups, np.zeros(100, int), REPLICATES, 0, 40)


def took(batch: TaskBatch, each: float, *, first: bool = False) -> Outcome:
    """The outcome of a batch whose runs took so many seconds each."""
    runs = candidates(batch)
    return Outcome(np.zeros((runs, 6)), [], Effort(batch[0][0].mechanism, 9.0, runs * each, first))


def handed_out(made: ClusterBatches, each: float, threads: int = 2, *, first: bool = False) -> list[TaskBatch]:
    """All messages, each of which has come back before the next goes out."""
    batches: list[TaskBatch] = []
    while (batch := made.next(threads)) is not None:
        batches.append(batch)
        made.learn(took(batch, each, first=first))
    return batches


def runs_of(batches: list[TaskBatch]) -> list[tuple[int, int]]:
    return [(i, r) for batch in batches for one, numbers in batch for r in numbers for i in one.indices.tolist()]


@pytest.mark.parametrize("each", [1e-5, 1e-2, 5.0])
def test_every_run_goes_out_once_whatever_runs_take(each):
    plain = list(batches_of())
    joined = handed_out(ClusterBatches(plain, 6), each)
    assert sorted(runs_of(joined)) == sorted(runs_of(plain)) and len(set(runs_of(joined))) == 4000
    assert len(joined) == len(plain) if each == 5.0 else len(joined) < 0.75 * len(plain)


def test_messages_take_a_second_and_no_worker_is_left_with_a_long_one_at_the_end():
    sizes = [candidates(batch) for batch in handed_out(ClusterBatches(batches_of(), 6), 1e-2)]
    assert max(sizes) <= 100 and sizes[5] >= 80, "a hundred runs of a hundredth of a second, in whole batches"
    quick = [candidates(batch) for batch in handed_out(ClusterBatches(batches_of(), 6), 1e-4)]
    assert max(quick) <= sum(quick) / 8
    assert quick[-1] == 40 and len(quick) < len(sizes)


def test_results_under_way_are_bounded(monkeypatch):
    monkeypatch.setattr(cluster_batches, "_MOST_BYTES", 6 * 8 * 100)
    made = ClusterBatches(batches_of(), 6)
    out = [made.next(9), made.next(9), made.next(9)]
    assert all(out) and made.next(9) is None, "a hundred rows are out"
    made.learn(took(out[0] or TaskBatch(), 1e-6))
    assert len(handed_out(made, 1e-6)) > 1


def test_each_thread_gets_one_short_message_until_it_is_known_what_a_run_takes():
    made = ClusterBatches(batches_of(), 6)
    out = [made.next(3), made.next(3), made.next(3)]
    assert all(out) and made.next(3) is None
    made.learn(took(out[0] or TaskBatch(), 1e-4, first=True))
    assert candidates(made.next(3) or TaskBatch()) == 40 and made.next(3) is None
    made.learn(took(out[1] or TaskBatch(), 1e-4))
    assert candidates(made.next(3) or TaskBatch()) > 40 and made.next(3)


@pytest.mark.slow
def test_many_workers_get_longer_messages_for_one_process_serves_them_all():
    def longest(threads: int) -> float:
        made = ClusterBatches((batch for _ in range(100) for batch in batches_of()), 6)
        return 1e-2 * max(map(candidates, handed_out(made, 1e-2, threads)))

    assert longest(4) <= 1.0 < longest(400) <= 10.0


def test_what_a_process_loads_first_says_nothing_of_the_runs():
    assert len(handed_out(ClusterBatches(batches_of(), 6), 1e-6, first=True)) == len(list(batches_of()))


def test_replicates_of_one_group_are_one_task_and_mechanisms_are_not_mixed():
    mechanisms = (MechanismPlan.of("random_swap", {}), MechanismPlan.of("rds", {"s": ["3", "9"]}))
    made = batches_of(keys=("A", "B"), mechanisms=mechanisms)
    joined = handed_out(ClusterBatches(made, 6), 1e-4)
    assert {len({one.mechanism for one, _ in batch}) for batch in joined} == {1}
    for batch in joined:
        assert all(before[0] is not after[0] for before, after in pairwise(batch))


@pytest.mark.slow
def test_joined_batches_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(cluster_batches, "_LAST", 1)
    question, _ = a_task(plan_of())

    def rows(batches: list[TaskBatch]) -> bytes:
        evaluator = Evaluator(question, KEY)
        found = np.concatenate([evaluator.run_all(batch).rows for batch in batches])
        return found[np.lexsort((found[:, 1], found[:, 0]))].tobytes()

    joined = handed_out(ClusterBatches(batches_of(), 6), 1e-5)
    assert len(joined) < 20 and rows(joined) == rows(list(batches_of()))
