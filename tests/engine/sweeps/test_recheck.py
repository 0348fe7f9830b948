"""Scenarios run again on fresh replicates."""

from __future__ import annotations

import pytest

from engine.common.errors import UsageError
from engine.sweeps.runner import TimeLeft
from engine.sweeps.sweep import recheck, sweep
from tests.engine.small_studies import RAW, keyed, plan_of
from tests.small_tables import KEY


def test_fresh_replicates_are_others_than_the_sweeps(tmp_path):
    with sweep(RAW, plan_of(), keyed(tmp_path / "s.study"), workers=1) as study:
        recheck(study, RAW, KEY, [0, 3], 5)
        fresh = study.runs.results("fresh")
        assert set(fresh.scenario.tolist()) == {0, 3} and fresh.replicate.min() > 1_000_000 and len(fresh) == 10
        assert len(study.runs.results()) == 80
        with pytest.raises(UsageError, match="replicates == 1, must be at least 2 for a standard error"):
            recheck(study, RAW, KEY, [0], 1)
        with pytest.raises(UsageError, match="the key is not the one"):
            recheck(study, RAW, bytes(16), [0], 2)


@pytest.mark.slow
def test_progress_and_time_left_are_told(tmp_path):
    done: list[tuple[int, int]] = []
    left: list[TimeLeft | None] = []
    with sweep(RAW, plan_of(), keyed(tmp_path / "s.study"), workers=1) as study:
        recheck(study, RAW, KEY, [0], 2)
        recheck(study, RAW, KEY, [0, 3], 500, on_progress=lambda *tick: done.append(tick), on_time_left=left.append)
    assert done[-1] == (1000, 1000) and done[0][0] > 2
    first, *_, last = left
    assert len(done) > 1 and first and last and first.seconds > 0 == last.seconds
