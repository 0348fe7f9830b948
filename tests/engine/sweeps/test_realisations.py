"""Realisations over cells and over records are drawn and measured."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.compiled import COMPILED
from engine.data.domain import EditRule
from engine.data.io.readers import read_table
from engine.mechanisms import random_swap as published_swap
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, Plan
from engine.release.batch import CellIndex, unpack
from engine.release.records import ReleasedTable
from engine.release.space import build, complete
from engine.release.specs import ReleaseSpecs
from engine.sweeps import batch_kernels
from engine.sweeps import realisations as batch_runs
from engine.sweeps import realisations as record_evaluator
from engine.sweeps.batch_kernels import lay_out
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import Task, group
from engine.sweeps.realisations import BatchRuns
from engine.sweeps.sweep import sweep
from tests.engine import household_survey
from tests.examples import examples
from tests.numeric_data import numbered
from tests.small_tables import KEY, Small

MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")


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


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")
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


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")
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


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")
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


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")
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


RDS = '\n[roles]\nkeys = ["age", "sex"]\n[[mechanism]]\nname = "rds"\ns = [40, 60]\n'


@pytest.mark.slow
def test_a_release_is_gone_once_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[RecordRelease]] = []
    alive: list[int] = []

    class Watched(RecordRelease):
        def __init__(self, *arguments: Any) -> None:
            alive.append(sum(one() is not None for one in made))
            super().__init__(*arguments)
            made.append(weakref.ref(self))

    monkeypatch.setattr(record_evaluator, "RecordRelease", Watched)
    (tmp_path / "people.csv").write_text(household_survey.text(120))
    plan = household_survey.plan(
        RDS, include="[]", carry='["pay"]', rates='["0.2"]', names='["small_cells", "hellinger"]'
    )
    gc.disable()
    try:
        sweep(read_table(tmp_path / "people.csv"), plan, tmp_path / "s.study", workers=1).close()
    finally:
        gc.enable()
    assert len(made) > 4 and max(alive) <= 1


SHAPE = (3, 4, 2)
PLAN = DataPlan(tuple(AttributePlan(name) for name in "abc"))
THREE_CODES = st.tuples(*(st.integers(0, size - 1) for size in SHAPE))


def release_of(before: np.ndarray, after: list[np.ndarray], edits: tuple[EditRule, ...] = ()) -> RecordRelease:
    """A release of some tables of three attributes; each mechanism draws the second and third anew."""
    data = numbered({name: before[:, j] for j, name in enumerate("abc")}, {})
    tables = [ReleasedTable(data, replaced={1: codes[:, 1], 2: codes[:, 2]}) for codes in after]
    return RecordRelease(ReleasedTable(data), tables, Plan(PLAN, edits=edits))


@pytest.mark.slow
@given(st.data(), st.sampled_from([(0, 1, 2), (1, 2), (0, 2), (0,), (1,)]))
@examples(100)
def test_tables_of_a_release_are_counted_record_by_record(drawn: st.DataObject, places: tuple[int, ...]) -> None:
    before = np.array([[0, 0, 0], [2, 3, 1], *drawn.draw(st.lists(THREE_CODES, min_size=1, max_size=20))])
    n = len(before)
    tables = []
    for _ in range(drawn.draw(st.integers(1, 2))):
        after = np.array(drawn.draw(st.lists(THREE_CODES, min_size=n, max_size=n)))
        after[:, 0], after[:2] = before[:, 0], before[:2]
        tables.append(after)
    release = release_of(before, tables)
    batch = record_evaluator.batch_of(release, places)
    levels = np.stack([unpack(batch.index_words, batch.layout[k]) for k in range(len(places))], axis=1).tolist()
    was = [tuple(row) for row in before[:, list(places)].tolist()]
    known = sorted(set(was))
    assert [tuple(row) for row in levels[: len(known)]] == known  # those of the original first, both in order
    assert levels[len(known) :] == sorted(levels[len(known) :])
    assert batch.original.tolist() == [was.count(cell) for cell in known]
    start = 0
    for i, after in enumerate(tables):
        now = [tuple(row) for row in after[:, list(places)].tolist()]
        moved = [one != other for one, other in zip(was, now, strict=True)]
        cells = [tuple(levels[c]) for c in batch.cell[start : batch.ends[i]]]
        touched = {cell for pair, m in zip(zip(was, now, strict=True), moved, strict=True) if m for cell in pair}
        assert set(cells) == touched and len(cells) == len(touched)
        assert batch.before[start : batch.ends[i]].tolist() == [was.count(cell) for cell in cells]
        assert batch.after[start : batch.ends[i]].tolist() == [now.count(cell) for cell in cells]
        stayed = [cell for cell, m in zip(was, moved, strict=True) if not m]
        assert batch.kept[start : batch.ends[i]].tolist() == [stayed.count(cell) for cell in cells]
        assert batch.changed[i] == sum(moved)
        assert batch.swaps[i].tolist() == [bool((after[:, j] != before[:, j]).any()) for j in places]
        start = batch.ends[i]


def test_cells_that_a_release_adds_are_held_against_the_edit_rules() -> None:
    rule = EditRule("no 1 with 1", (("b", ("v1",)), ("c", ("v1",))))
    before = np.array([[0, 0, 1], [1, 1, 0], [2, 3, 1], [1, 2, 0]])
    after = np.array([[0, 1, 1], [1, 0, 0], [2, 3, 1], [1, 2, 0]])
    batch = record_evaluator.batch_of(release_of(before, [after], (rule,)), (0, 1, 2))
    assert batch.failing is not None
    failing = [batch.index_words[c].tolist() for c in np.flatnonzero(batch.failing)]
    assert failing == [[0, 1, 1]]


S, OTHER = ord("S"), ord("C")


@pytest.mark.slow
@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 2))
@examples(100)
def test_candidates_are_laid_out_split_by_split(data, d, n_stops, width):
    n_specs = data.draw(st.integers(1, 6))
    places = [(code, stop) for code in range(n_specs) for stop in range(n_stops)]
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, unique=True))
    swapped = [data.draw(st.lists(st.booleans(), min_size=d, max_size=d)) for _ in range(n_specs)]
    masks = np.array([[(j % width == w) << j for w in range(width)] for j in range(d)], np.int64)
    codes, stops = (np.array(column, np.int64) for column in zip(*chosen, strict=True))
    indices = 100 + np.arange(len(chosen))
    roles = np.array([[S if swaps else OTHER for swaps in of_spec] for of_spec in swapped], np.uint8)
    place = data.draw(st.permutations(range(n_stops)))
    rows = np.array([[7 * stop, stop == 0] for stop in range(n_stops)], np.int64).T.copy()

    row_of = np.full(n_specs, -1, np.int64)
    candidates = np.array([codes, [place.index(stop) for stop in stops], indices])
    words, is_member, listed, swaps = lay_out(candidates, roles, S, masks, np.array(place), rows, row_of)
    assert (row_of == -1).all(), "the scratch is as it was"
    splits = list(dict.fromkeys(codes.tolist()))
    scenario_at = dict(zip(chosen, indices.tolist(), strict=True))
    ordered = [(code, stop) for code in splits for stop in range(n_stops) if (code, stop) in scenario_at]
    assert is_member.tolist() == [[(code, stop) in scenario_at for stop in range(n_stops)] for code in splits]
    assert listed.T.tolist() == [[scenario_at[code, stop], stop, 7 * stop, stop == 0] for code, stop in ordered]
    assert swaps.tolist() == [swapped[code] for code, _ in ordered]
    expected = [masks[swapped[code]].sum(axis=0).tolist() for code in splits]
    assert words.tolist() == expected
