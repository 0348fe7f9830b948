"""Tables of releases down to records, and the memory that releases leave as soon as they are measured."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import EditRule
from engine.data.io.readers import read_table
from engine.data.table import occupied
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, Plan
from engine.release.batch import unpack
from engine.release.records import ReleasedTable
from engine.sweeps import realisations as record_evaluator
from engine.sweeps.sweep import sweep
from tests.engine import household_survey
from tests.examples import examples
from tests.numeric_data import numbered

RDS = '\n[roles]\nkeys = ["age", "sex"]\n[[mechanism]]\nname = "rds"\ns = [5, 12]\n'


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


def test_the_original_is_tabulated_once_for_all_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    before = np.stack([rng.integers(0, size, 5000) for size in SHAPE], axis=1)
    after = before.copy()
    after[7:10, 1] = (before[7:10, 1] + 1) % 4
    first = release_of(before, [after])
    rows: list[int] = []

    def counted(columns: Any, sizes: Any, n_rows: int) -> Any:
        rows.append(n_rows)
        return occupied(columns, sizes, n_rows)

    monkeypatch.setattr(record_evaluator, "occupied", counted)
    record_evaluator.batch_of(first, (0, 1, 2))
    record_evaluator.batch_of(RecordRelease(first.original, first.tables, first.plan), (0, 1, 2))
    assert rows == [5000, 24 + 3, 24 + 3]  # all records once, then cells and the three that changed


def test_cells_that_a_release_adds_are_held_against_the_edit_rules() -> None:
    rule = EditRule("no 1 with 1", (("b", ("v1",)), ("c", ("v1",))))
    before = np.array([[0, 0, 1], [1, 1, 0], [2, 3, 1], [1, 2, 0]])
    after = np.array([[0, 1, 1], [1, 0, 0], [2, 3, 1], [1, 2, 0]])
    batch = record_evaluator.batch_of(release_of(before, [after], (rule,)), (0, 1, 2))
    assert batch.failing is not None
    failing = [batch.index_words[c].tolist() for c in np.flatnonzero(batch.failing)]
    assert failing == [[0, 1, 1]]
