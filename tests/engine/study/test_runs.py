"""Runs as they are stored: in any order, in lots of any size, and each once."""

from __future__ import annotations

import numpy as np
import pytest

from engine.measures import call
from engine.study import runs as runs_module
from engine.sweeps.sweep import open_sweep
from tests.engine.small_studies import RAW, plan_of
from tests.small_tables import KEY


@pytest.mark.parametrize("values", [900, 20, 1])
def test_runs_are_stored_as_they_are_whatever_their_order(values, monkeypatch):
    monkeypatch.setattr(runs_module, "_VALUES", values)
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        width = len(study.measures)
        rng = np.random.default_rng(3)
        keys = [(s, r) for s in range(len(study.scenarios)) for r in range(1, 18)]
        figures = rng.random((len(keys), width))
        figures[::7, 0] = np.nan
        rows = np.column_stack([np.array(keys, float), np.zeros(len(keys)), np.full(len(keys), 4.0), figures])
        order = rng.permutation(len(rows))
        other = rows[order[:100]] + [0, 0, 0, 0, *[1.0] * width]
        added = [study.runs.add(rows[order[:101]]), study.runs.add(other), study.runs.add(rows[order[101:]])]
        assert study.runs.add(np.concatenate([rows, other])) == 0
        stored = study.runs.results()
    assert added == [101, 0, len(rows) - 101], "a run that is there already stays as it is"
    assert stored.values.tobytes() == figures.tobytes(), "ordered by scenario and replicate"
    assert list(zip(stored.scenario.tolist(), stored.replicate.tolist(), strict=True)) == keys


def test_of_one_run_given_twice_the_first_counts_and_later_measures_find_theirs():
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        width = len(study.measures)
        row = [3.0, 2.0, 0.0, 4.0, *[0.25] * width]
        again = [*row[:4], *[0.5] * width]
        assert study.runs.add([[0.0, 1.0, *row[2:]], row, again]) == 2
        columns = study.runs.begin_measures([call("false_zeros")])
        study.runs.update(columns, np.array([[3.0, 2.0, 0.0, 4.0, 7.0], [0.0, 1.0, 0.0, 4.0, 8.0]]), [], "realisation")
        study.finish_measures([call("false_zeros")], {"false_zeros": 0.0})
        assert study.runs.results().values.tolist() == [[*row[4:], 8.0], [*row[4:], 7.0]]
