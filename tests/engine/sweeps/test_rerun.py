"""Measures added to a study later, and fresh runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import EditRule
from engine.study.study import Study
from engine.sweeps.rerun import add_measures, reevaluate
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of, swept, table_of
from tests.small_tables import KEY


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
        results = study.results()
        reevaluate(study, RAW, KEY, [0], 2)
        fresh = study.results("fresh")
    assert names[-2:] == ["edit_failures", "false_zeros"] and len(results) == 80
    at_once = plan_of(edits=edits, measures=(*plan_of().measures, "edit_failures", "false_zeros"))
    with sweep(RAW, at_once, keyed(tmp_path / "whole.study"), workers=1) as whole:
        assert [str(call) for call in whole.measures] == names
        assert whole.results().values.tobytes() == results.values.tobytes()
        reevaluate(whole, RAW, KEY, [0], 2)
        assert whole.results("fresh").values.tobytes() == fresh.values.tobytes()


def test_measures_given_up_half_way_leave_the_study_as_it_was(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        before = table_of(study)
        with pytest.raises(EngineError, match="cancelled; the study is as it was before"):
            add_measures(study, RAW, KEY, ["false_zeros"], workers=1, on_progress=lambda *_: study.cancel())
        assert table_of(study) == before
        reevaluate(study, RAW, KEY, [0], 2)
    assert set(before) < set(swept(path, plan_of(space={"replicates": 5}), extend=True))
    with Study.open(path) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == ["false_zeros"]
        place = study.measure_index("false_zeros")
        assert not np.isnan(study.results().values[:, place]).any()
        assert not np.isnan(study.results("fresh").values[:, place]).any()


def test_fresh_replicates_are_others_than_the_sweeps(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        reevaluate(study, RAW, KEY, [0, 3], 5)
        fresh = study.results("fresh")
        assert set(fresh.scenario.tolist()) == {0, 3} and fresh.replicate.min() > 1_000_000 and len(fresh) == 10
        assert len(study.results()) == 80
        with pytest.raises(UsageError, match="replicates == 1, must be at least 2 for a standard error"):
            reevaluate(study, RAW, KEY, [0], 1)
        with pytest.raises(UsageError, match="the key is not the one"):
            reevaluate(study, RAW, bytes(16), [0], 2)
