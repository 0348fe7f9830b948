"""One release before and after, recounted record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from engine.plan import Plan, plan_from_toml, samples
from engine.plan.coding import code
from engine.plan.samples import open_data
from engine.release.records import ReleasedTable
from engine.report.describe import (
    SIZES,
    associations,
    changes,
    coefficients,
    occupancy,
    one_table,
    remade,
    small_cells,
    weighted_levels,
)
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import sweep
from tests.weighted_sample import PLAN, write_survey

Made = tuple[Remade, Plan]


def test_occupancy_recounted() -> None:
    raw, plan = samples.load("czech")
    data = code(raw, plan)
    names = ("A", "C", "F")
    cells = Counter(zip(*(data.codes[data.domain.index(name)].tolist() for name in names), strict=True))
    table = occupancy(data.table, names)
    assert (table.n_records, table.possible, table.cells) == (data.n_records, 8, len(cells))
    ones, twos = (list(cells.values()).count(n) for n in (1, 2))
    assert (table.uniques, table.small_cells, table.small_records) == (ones, ones + twos, ones + 2 * twos)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("described")
    raw, _ = open_data(str(write_survey(folder)))
    plan = plan_from_toml(PLAN)
    (folder / "survey.study.key").write_text("0123456789abcdef" * 2)  # the same release in every run
    with sweep(raw, plan, folder / "survey.study", workers=1) as study:
        scenario = next(s for s in study.scenarios if s.spec.text.startswith("Age:S") and s.spec.rate == "0.2")
        return remade(study, raw, scenario.label, 2), plan


def frames(release: Remade) -> tuple[pd.DataFrame, pd.DataFrame]:
    data = release.data
    before, after = (
        pd.DataFrame({name: codes[j] for j, name in enumerate(data.domain.names)})
        for codes in (data.codes, [release.codes(j) for j in range(len(data.domain))])
    )
    return before, after


def numbers(release: Remade, name: str) -> np.ndarray:
    column = release.data.raw.columns[name]
    return np.array([float(value) for value in column.values.to_pylist()])[column.codes]


def cramers_v(frame: pd.DataFrame, a: str, b: str) -> float:
    table = pd.crosstab(frame[a], frame[b]).to_numpy(float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def test_changes_recounted(made: Made) -> None:
    release, _ = made
    (old, new), counted = frames(release), changes(release)
    assert counted.marginals_kept is True
    assert replace(counted, after=(*counted.after[:-1], counted.after[-1] + 1)).marginals_kept is False
    assert counted.records == int((old != new).any(axis=1).sum()) == int(release.changed.sum())
    assert counted.altered.tolist() == (old != new).sum(axis=0).tolist()
    assert {j for j, n in enumerate(counted.altered) if n} == set(release.spec.attributes.having("S"))
    for i, one in enumerate(old):
        for j, other in enumerate(old):
            if i != j:
                a, b = (Counter(map(tuple, frame[[one, other]].to_numpy().tolist())) for frame in (old, new))
                assert counted.moved[i, j] == sum((a - b).values())


def test_associations_recounted(made: Made) -> None:
    release, _ = made
    (before, after), names = frames(release), release.data.domain.names
    pairs = associations(release, changes(release))
    assert {(names[p.i], names[p.j]) for p in pairs} == {("Age", "Sex"), ("Age", "Region")}
    for pair in pairs:
        a, b = names[pair.i], names[pair.j]
        assert pair.before == pytest.approx(cramers_v(before, a, b))
        assert pair.after == pytest.approx(cramers_v(after, a, b))
        assert pair.change == pair.after - pair.before != 0
    assert abs(pairs[0].change) >= abs(pairs[1].change)


def test_small_cells_recounted(made: Made) -> None:
    release, plan = made
    cells = [list(map(tuple, frame[list(plan.keys)].to_numpy().tolist())) for frame in frames(release)]
    sizes = [Counter(column) for column in cells]
    by_size = small_cells(release, plan.keys)
    assert by_size.before == occupancy(release.data.table, plan.keys)
    assert (by_size.after.cells, by_size.after.uniques) == (len(sizes[1]), list(sizes[1].values()).count(1))
    for counted, size in ((by_size.cells_before, sizes[0]), (by_size.cells_after, sizes[1])):
        assert counted.tolist() == [sum(low <= n <= (high or 10**9) for n in size.values()) for low, high in SIZES]
        assert counted.sum() == len(size)
    exposed = [i for i, cell in enumerate(cells[0]) if sizes[0][cell] <= 2]
    same = [i for i in exposed if cells[1][i] == cells[0][i] and sizes[1][cells[1][i]] <= 2]
    assert (by_size.exposed, by_size.unaltered) == (len(exposed), len(same)) and 0 < len(same) < len(exposed)


def test_a_weight_changes_totals_that_counts_do_not_show(made: Made) -> None:
    release, _ = made
    weights = numbers(release, "wt")
    totals = weighted_levels(release, release.data.domain.index("Age"))
    assert totals is not None and not np.allclose(totals[0], totals[1])
    for got, frame in zip(totals, frames(release), strict=True):
        np.testing.assert_allclose(got, [weights[frame["Age"] == level].sum() for level in range(3)])
    unswapped = weighted_levels(release, release.data.domain.index("Sex"))
    assert unswapped is not None
    np.testing.assert_array_equal(unswapped[0], unswapped[1])
    assert weighted_levels(replace(release, data=replace(release.data, weight=None)), 0) is None


def test_coefficients_are_those_of_the_measures(made: Made) -> None:
    from statsmodels.api import WLS, add_constant

    release, plan = made
    (found,) = coefficients(release, plan)
    assert found.model.analysis == "income" and found.omitted == 0 and len(found.figures) == 4
    assert float(np.mean(found.overlap)) == pytest.approx(release.figures["ci_overlap"])
    frame, ages = frames(release)[1], release.data.domain.attributes[0].levels
    x = np.column_stack([*(frame["Age"] == k for k in range(1, len(ages))), frame["Sex"] == 1]).astype(float)
    wanted = WLS(numbers(release, "income"), add_constant(x), numbers(release, "wt")).fit()
    after = np.array([figure.after for figure in found.figures], float)
    np.testing.assert_allclose(after, wanted.params, rtol=1e-6)
    moves = [(f.after - f.before) / f.se for f in found.figures]  # type: ignore[operator]
    np.testing.assert_allclose(found.shift, moves)


def test_an_unchanged_release_says_so(made: Made) -> None:
    release, plan = replace(made[0], tables=(ReleasedTable(made[0].data),)), made[1]
    assert associations(release, changes(release)) == []
    (found,) = coefficients(release, plan)
    assert (found.overlap == 1).all() and (found.shift == 0).all()
    cells = small_cells(release, plan.keys)
    assert cells.exposed == cells.unaltered and (cells.cells_before == cells.cells_after).all()


def test_one_table(made: Made) -> None:
    release, _ = made
    assert one_table(release, 0).tables == release.tables
