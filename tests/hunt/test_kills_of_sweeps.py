"""The quick part of the kills: one of every stage; and a kill that spoils something is noticed."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.hunt import kills_of_sweeps as kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="no process of Windows kills itself with SIGKILL; run them on Linux"),
]


def test_a_killed_writer_leaves_a_study_that_goes_on_to_the_same_bits():
    for outcome in kills.trials(random.Random(7), 3):
        assert outcome.good, (outcome.name, outcome.detail)


@pytest.mark.parametrize("at", [14, 30])
def test_a_sweep_killed_while_it_makes_its_study_leaves_none_and_one_killed_before_its_log_begins_it_later(
    tmp_path, at
):
    stage = next(kills.prepared(tmp_path))
    outcome = kills.one_kill(stage, at, tmp_path / "kill", 0)
    assert outcome.good, outcome.detail


def test_a_figure_that_is_another_is_noticed(tmp_path):
    stage = next(kills.prepared(tmp_path))
    spoiled = replace(stage, after={**stage.after, "runs": stage.after["runs"][1:]})
    assert kills.one_kill(spoiled, stage.statements // 2, tmp_path / "kill", 0).verdict == "left"
    with closing(sqlite3.connect(tmp_path / "whole" / kills.STUDY)) as db:
        db.execute("update realisation set m0 = m0 + 1")
        db.commit()
    assert kills.held(tmp_path / "whole" / kills.STUDY)["runs"] != stage.after["runs"]
