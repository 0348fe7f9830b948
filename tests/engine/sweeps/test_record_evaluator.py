"""Releases down to records leave memory as soon as they are measured."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from engine.data.io.readers import read_table
from engine.models.record_release import RecordRelease
from engine.sweeps import record_evaluator
from engine.sweeps.sweep import sweep
from tests.engine import household_survey

RDS = '\n[[mechanism]]\nname = "rds"\ns = [5, 12]\n'


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
