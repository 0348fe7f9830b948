"""Descriptions against recounting record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.raw_values import texts
from engine.plan import edit_plan, samples
from engine.plan.coding import code
from engine.report.describe import changes, level_counts, occupancy, remade
from engine.study.map_reader import realisation_of
from engine.sweeps.sweep import sweep


def test_occupancy_recounted():
    raw, plan = samples.load("czech")
    data = code(raw, plan)
    names = ("A", "C", "F")
    cells = Counter(zip(*(data.codes[data.domain.index(name)].tolist() for name in names), strict=True))
    table = occupancy(data.table, names)
    assert (table.n_records, table.combinations, table.cells) == (data.n_records, 8, len(cells))
    assert table.ones == sum(n == 1 for n in cells.values())
    assert table.twos == sum(n == 2 for n in cells.values())
    assert table.in_small == table.ones + 2 * table.twos


def test_values_and_levels_add_up():
    raw, plan = samples.load("czech")
    data = code(raw, plan)
    for j, name in enumerate(data.domain.names):
        values = texts(raw.columns[name].values)
        counted = Counter(values[k] for k in raw.columns[name].codes)
        by_level = dict(zip(data.domain.attributes[j].levels, level_counts(data, j).tolist(), strict=True))
        assert by_level == counted


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    raw, plan = samples.load("czech")
    plan = edit_plan(plan, swap_sizes=[2], rates=["0.1"], replicates=10)
    path: Path = tmp_path_factory.mktemp("describe") / "czech.study"
    with sweep(raw, plan, path, workers=1) as study:
        scenario = study.scenarios[3]
        replicate = realisation_of(study, study.runs.results(), scenario.index, 0, allow_partial=False)
        return remade(study, raw, scenario.label, replicate), plan


@pytest.mark.slow
def test_changes_recounted(made):
    release, plan = made
    data, d = release.data, len(release.data.domain)
    old = np.column_stack(data.codes)
    new = np.column_stack([release.codes(j) for j in range(d)])
    counted = changes(release, plan.keys)
    assert counted.marginals_kept
    assert counted.records == int((old != new).any(axis=1).sum()) == int(release.changed.sum())
    assert counted.altered.tolist() == (old != new).sum(axis=0).tolist()
    for i in range(d):
        for j in range(d):
            if i != j:
                a, b = (Counter(map(tuple, part[:, [i, j]].tolist())) for part in (old, new))
                assert counted.moved[i, j] == sum((a - b).values())
    after = Counter(map(tuple, new.tolist()))
    assert counted.keys_after.cells == len(after)
    assert counted.keys_after.ones == sum(n == 1 for n in after.values())


def test_untouched_attributes_are_unaltered(made):
    release, plan = made
    counted = changes(release, plan.keys)
    assert counted.marginals_kept is True
    assert replace(counted, after=(*counted.after[:-1], counted.after[-1] + 1)).marginals_kept is False
    swapped = set(release.spec.attributes.having("S"))
    assert all((counted.altered[j] > 0) == (j in swapped) for j in range(len(counted.altered)))
