"""Runs that this process wrote are summed up from memory, to the bit as they would be read."""

from __future__ import annotations

import numpy as np
import pytest

from engine.study import written_runs
from engine.study.aggregate_cache import load
from engine.study.map_reader import summary_name
from engine.study.runs import Runs
from engine.study.study import Study
from engine.sweeps.sweep import open_sweep, sweep
from tests.engine.small_studies import RAW, keyed, plan_of, sweep_with_stops
from tests.small_tables import KEY


@pytest.fixture
def reads(monkeypatch):
    """Tables that were read in full."""
    tables = []
    read = Runs._read

    def counted(self, table, *which):
        tables.append(table)
        return read(self, table, *which)

    monkeypatch.setattr(Runs, "_read", counted)
    return tables


def rows_for(study: Study, replicates: int) -> np.ndarray:
    """Runs of all scenarios in any order, with figures that a database stores otherwise than memory holds them."""
    rng = np.random.default_rng(5)
    keys = np.array([(s, r) for s in range(len(study.scenarios)) for r in range(1, replicates + 1)], float)
    figures = rng.choice([np.nan, -np.nan, -0.0, 0.0, 3.0, np.inf, -np.inf, 1 / 3], (len(keys), len(study.measures)))
    status = rng.integers(0, 3, (len(keys), 1))
    return rng.permutation(np.column_stack([keys, status, rng.integers(0, 9, (len(keys), 1)), figures]))


def test_they_are_those_that_would_be_read_to_the_bit(reads):
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        rows = rows_for(study, 4)
        for part in np.array_split(rows, 3):
            study.runs.add(part)
        written = study.runs.results()
        assert reads == []
        study.runs._written["realisation"].forget()
        study.database.connection.execute("delete from aggregate")
        read = study.runs.results()
    assert reads == ["realisation"]
    for name in ("scenario", "replicate", "status", "changed", "values"):
        ours, theirs = getattr(written, name), getattr(read, name)
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


@pytest.mark.slow
def test_a_sweep_sums_up_what_it_wrote_unread_and_one_that_goes_on_reads(tmp_path, reads):
    with sweep(RAW, plan_of(), keyed(tmp_path / "whole.study")) as study:
        whole = study.cache.load(summary_name(False))
    assert reads == []
    path = keyed(tmp_path / "stopped.study")
    sweep_with_stops(plan_of(), path, [40])
    sweep(RAW, None, path).close()
    assert reads == ["realisation"]
    with Study.open(path) as study:
        resumed = load(study.database.connection, summary_name(False), list(map(str, study.measures)))
    assert whole is not None and resumed is not None
    assert {k: v.tobytes() for k, v in whole.items()} == {k: v.tobytes() for k, v in resumed.items()}


def test_what_others_wrote_is_read(tmp_path, reads):
    path = keyed(tmp_path / "s.study")
    with open_sweep(RAW, plan_of(), path).listed() as study, Study.open(path) as other:
        rows = rows_for(study, 3)
        study.runs.add(rows[:9])
        other.runs.add(rows[9:20])
        assert len(study.runs.results()) == 20 and reads == ["realisation"]
        assert study.runs.add(rows) == len(rows) - 20, "some were there"
        study.database.connection.execute("delete from aggregate")
        assert len(study.runs.results()) == len(rows) and reads == ["realisation"] * 2


def test_they_take_little_memory(monkeypatch, reads):
    monkeypatch.setattr(written_runs, "_MOST", 1000)
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        rows = rows_for(study, 3)
        study.runs.add(rows[:5])
        study.runs.add(rows[5:])
        assert len(study.runs._written["realisation"]) == 0
        assert len(study.runs.results()) == len(rows) and reads == ["realisation"]
