"""Measures added to a study later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.data.domain import EditRule
from engine.study.study import Study
from engine.sweeps.runner import RunOptions, TimeLeft
from engine.sweeps.sweep import add_measures, recheck, sweep
from tests.engine.small_studies import RAW, keyed, plan_of, swept, table_of
from tests.small_tables import KEY

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


def test_measures_added_later_keep_their_columns(path, tmp_path):
    """Edit failures are counted without being named, so the order of the plan is not that of the columns."""
    edits = (EditRule("never", (("A", ("v0",)), ("B", ("v1",)))),)
    with sweep(RAW, plan_of(edits=edits, space={"replicates": 2}), path, workers=1) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros", "hellinger"], workers=1) == ["false_zeros"]
    with sweep(RAW, None, path, workers=1) as study:
        grown = replace(study.plan, space=replace(study.plan.space, replicates=4))
    with sweep(RAW, grown, path, workers=1, extend=True) as study:
        names = [str(call) for call in study.measures]
        results = study.runs.results()
        recheck(study, RAW, KEY, [0], 2)
        fresh = study.runs.results("fresh")
    assert names[-2:] == ["edit_failures", "false_zeros"] and len(results) == 80
    at_once = plan_of(edits=edits, measures=(*plan_of().measures, "edit_failures", "false_zeros"))
    with sweep(RAW, at_once, keyed(tmp_path / "whole.study"), workers=1) as whole:
        assert [str(call) for call in whole.measures] == names
        assert whole.runs.results().values.tobytes() == results.values.tobytes()
        recheck(whole, RAW, KEY, [0], 2)
        assert whole.runs.results("fresh").values.tobytes() == fresh.values.tobytes()


def test_measures_given_up_half_way_leave_the_study_as_it_was(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        before = table_of(study)
        with pytest.raises(EngineError, match="cancelled; the study is as it was before"):
            add_measures(study, RAW, KEY, ["false_zeros"], workers=1, on_progress=lambda *_: study.lease.cancel())
        assert table_of(study) == before
        recheck(study, RAW, KEY, [0], 2)
    assert set(before) < set(swept(path, plan_of(space={"replicates": 5}), extend=True))
    with Study.open(path) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == ["false_zeros"]
        place = study.subject.measure_index("false_zeros")
        assert not np.isnan(study.runs.results().values[:, place]).any()
        assert not np.isnan(study.runs.results("fresh").values[:, place]).any()


def test_progress_and_time_left_are_told(path):
    done: list[tuple[int, int]] = []
    left: list[TimeLeft | None] = []
    with sweep(RAW, plan_of(space={"replicates": 100}), path, workers=1) as study:
        told = RunOptions(workers=1, on_progress=lambda *tick: done.append(tick), on_time_left=left.append)
        add_measures(study, RAW, KEY, ["false_zeros"], **told)
    total = done[-1][1]
    assert done[-1] == (total, total) and len(done) > 1
    first, *_, last = left
    assert first and last and first.seconds > 0 == last.seconds
