"""A few kills of every stage; and a kill that spoils something is noticed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hunt import kills
from tests.hunt.test_bad_inputs import MORE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="no process of Windows kills itself with SIGKILL; run them on Linux"),
]


def test_what_a_kill_leaves_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    rng = random.Random(7)
    for stage in kills.prepared(tmp_path):
        # the early kills of a sweep: while it makes its study, and before its log begins
        known = [14, 30] if stage.name == "sweep" else []
        for at in [*known, *(rng.randrange(1, stage.steps + 1) for _ in range(2 * MORE))]:
            folder = tmp_path / f"{stage.name}-{at}"
            assert not kills.trouble(stage, at, folder), f"{stage.name}, killed at step {at} of {stage.steps}"
            shutil.rmtree(folder)


def test_a_figure_that_is_another_is_noticed(tmp_path: Path) -> None:
    stage = next(kills.prepared(tmp_path))
    spoiled = replace(stage, after={**stage.after, "runs": stage.after["runs"][1:]})
    assert kills.trouble(spoiled, stage.steps // 2, tmp_path / "kill") == "other than undisturbed: runs"
    with closing(sqlite3.connect(tmp_path / "kill" / kills.STUDY)) as db:
        db.execute("update realisation set m0 = m0 + 1")
        db.commit()
    assert kills.held(tmp_path / "kill" / kills.STUDY)["runs"] != stage.after["runs"]
