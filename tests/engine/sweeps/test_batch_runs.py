"""Batches that are drawn and summed in one compiled call give the rows of groups that are run one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.common.compiled import COMPILED
from engine.mechanisms import random_swap as published_swap
from engine.plan import MechanismPlan
from engine.release.batch import CellIndex
from engine.release.space import build, complete
from engine.release.spec import RANDOM_SWAP
from engine.release.specs import ReleaseSpecs
from engine.sweeps import batch_kernels
from engine.sweeps import realisations as batch_runs
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import Task, group
from engine.sweeps.realisations import BatchRuns
from engine.sweeps.workers import _ThreadEvaluators
from tests.small_tables import KEY, Small

MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")


def table_of(shape: tuple[int, ...], n_records: int, kinds: Any = None) -> Small:
    """Records of which many are alike."""
    codes = (np.random.default_rng(1).random((n_records, len(shape))) ** 3 * np.array(shape)).astype(int)
    return Small(tuple(map(tuple, codes)), shape, kinds)


def tasks_of(small: Small, rule: str, *rates: str) -> list[Task]:
    """Two replicates of the structures of every spec; some groups lack a rate, and some a replicate."""
    table = small.coded()[0]
    groups = group(ReleaseSpecs.product(build(complete(small.names, small.names), table).specs, rates, rule), table)
    tasks: list[Task] = []
    for at, one in enumerate(groups):
        lacking = one.specs.procedure_codes != at // 5 % 4
        tasks.append((one.part(lacking) if lacking.any() else one, (1, 2) if at % 3 else (2,)))
    return tasks


def rows_by_both(small: Small, tasks: list[Task], monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """The rows of tasks run as a batch, and of its groups run one by one."""
    taken: list[bool] = []
    take = BatchRuns.take

    def take_and_note(runs: BatchRuns, tasks: list[Task]) -> bool:
        taken.append(take(runs, tasks))
        return taken[-1]

    monkeypatch.setattr(BatchRuns, "take", take_and_note)
    together = Evaluator(small.asked(*MEASURES), KEY).run_all(tasks).rows
    assert taken == [True]
    monkeypatch.setattr(BatchRuns, "take", lambda *_: False)
    return together, Evaluator(small.asked(*MEASURES), KEY).run_all(tasks).rows


KINDS = (("value",) * 3, ("value", "missing"), ("value", "skip", "value", "missing"), ("value",) * 3)


@pytest.mark.parametrize("rule", ["strict", "loose"])
@pytest.mark.parametrize("runs_kept", [published_swap.RUNS_KEPT, 1])
@pytest.mark.parametrize("several_kinds", [False, True])
def test_a_batch_has_the_rows_of_its_groups(rule, runs_kept, several_kinds, monkeypatch):
    monkeypatch.setattr(published_swap, "RUNS_KEPT", runs_kept)
    small = table_of((3, 2, 4, 3), 90, KINDS if several_kinds else None)
    tasks = tasks_of(small, rule, "0", "0.1", "0.9")
    assert bool(tasks[0][0].split_kept.several_kinds) == several_kinds
    together, apart = rows_by_both(small, tasks, monkeypatch)
    assert together.tobytes() == apart.tobytes()
    assert set(together[:, 2]) == {0, 1, 2}, "some are done, some fail, some have nothing to do"


def test_a_batch_goes_on_where_the_index_had_no_room_for_its_cells(monkeypatch):
    small = table_of((300, 300, 40, 9), 400)
    tasks = tasks_of(small, "strict", "0.1", "0.5")[:12]
    grown: list[int] = []
    grow, reset = CellIndex._grow, CellIndex.reset

    def grow_and_count(index: CellIndex, size: int) -> None:
        grown.append(size)
        grow(index, size)

    def begin(index: CellIndex) -> None:
        reset(index)
        grow(index, len(index.table) + 1)

    def run_and_note(*given: Any) -> tuple[int, int, int, int]:
        stopped.append(run_groups(*given))
        return stopped[-1]

    stopped: list[tuple[int, int, int, int]] = []
    run_groups = batch_kernels.run_groups
    monkeypatch.setattr(batch_kernels, "run_groups", run_and_note)
    monkeypatch.setattr(CellIndex, "_grow", grow_and_count)
    monkeypatch.setattr(CellIndex, "reset", begin)
    together, apart = rows_by_both(small, tasks, monkeypatch)
    assert together.tobytes() == apart.tobytes()
    assert len(grown) > 4, "the index has grown on the way"
    assert any(split for _, split, *_ in stopped), "also between the splits of a structure"


@pytest.mark.parametrize("runs_at_once", [1, 4])
def test_large_tables_come_back_from_compiled_code_more_often(runs_at_once, monkeypatch):
    small = table_of((3, 2, 4, 3), 90)
    tasks = tasks_of(small, "strict", "0.1", "0.9")
    calls: list[int] = []
    add = BatchRuns._add

    def add_and_note(runs: BatchRuns, *given: Any) -> None:
        calls.append(len(given[1]))
        add(runs, *given)

    monkeypatch.setattr(BatchRuns, "_add", add_and_note)
    monkeypatch.setattr(batch_runs, "AT_ONCE", runs_at_once * (len(small.coded()[0]) + 90))
    together, apart = rows_by_both(small, tasks, monkeypatch)
    assert together.tobytes() == apart.tobytes()
    assert max(calls) == runs_at_once and sum(calls) == sum(len(numbers) for _, numbers in tasks)


def test_groups_over_several_lists_of_specs_are_run_one_by_one(monkeypatch):
    small = table_of((3, 2, 4, 3), 90)
    tasks = [*tasks_of(small, "strict", "0.1")[:2], *tasks_of(small, "loose", "0.1")[:2]]
    runs = Evaluator(small.asked(*MEASURES), KEY)
    rows = runs.run_all(tasks).rows
    assert rows.tobytes() == np.concatenate([runs.run_all([task]).rows for task in tasks]).tobytes()


@pytest.fixture
def calls(monkeypatch) -> list[tuple[int, tuple]]:
    """The number of runs and the types of what is given, of each call of compiled code."""
    from numba import typeof

    seen: list[tuple[int, tuple]] = []
    run_groups = batch_kernels.run_groups

    def noted(*given: Any) -> Any:
        seen.append((len(given[2]), tuple(map(typeof, given))))
        return run_groups(*given)

    monkeypatch.setattr(batch_kernels, "run_groups", noted)
    return seen


def test_what_is_loaded_ahead_is_what_runs_take(calls):
    """A call for no run loads the compiled code of the very types that come later, and changes nothing."""
    small = table_of((3, 2, 4, 3), 90)
    tasks = tasks_of(small, "strict", "0.1", "0.9")
    ahead = Evaluator(small.asked(*MEASURES), KEY)
    ahead.prepare()
    assert [n for n, _ in calls] == [0]
    rows = ahead.run_all(tasks).rows
    assert sum(n for n, _ in calls) == sum(len(listed) for _, listed in tasks)
    assert len({types for _, types in calls}) == 1
    assert rows.tobytes() == Evaluator(small.asked(*MEASURES), KEY).run_all(tasks).rows.tobytes()


def test_nothing_is_loaded_that_no_run_takes(calls):
    small, wide = table_of((3, 2, 4, 3), 90), table_of((1000,) * 8, 90)
    assert wide.coded()[0].packing.n_words > 1
    for question in (
        small.asked("k_anonymity"),
        small.asked(*MEASURES, mechanisms=(MechanismPlan("dds"),)),
        small.asked(*MEASURES, mechanisms=(MechanismPlan.of(RANDOM_SWAP, {"near": "A:1"}),)),
        small.asked(*MEASURES, mechanisms=(MechanismPlan(RANDOM_SWAP), MechanismPlan("dds"))),
        wide.asked(*MEASURES),
    ):
        Evaluator(question, KEY).prepare()
    assert not calls


def test_every_thread_loads_ahead(monkeypatch):
    monkeypatch.setattr(BatchRuns, "load", lambda runs: loaded.append(runs))
    loaded: list[BatchRuns] = []
    _ThreadEvaluators(table_of((3, 2), 9).asked(*MEASURES), KEY).prepare()
    assert len(loaded) == 1


def test_what_cannot_be_loaded_ahead_is_told_by_the_run_that_needs_it(monkeypatch):
    def broken(*_: Any) -> None:
        raise OSError("no such code")

    monkeypatch.setattr(batch_kernels, "run_groups", broken)
    small = table_of((3, 2, 4, 3), 90)
    evaluator = Evaluator(small.asked(*MEASURES), KEY)
    evaluator.prepare()
    with pytest.raises(OSError, match="no such code"):
        evaluator.run_all(tasks_of(small, "strict", "0.1"))
