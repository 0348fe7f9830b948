"""Before and after, recounted record by record."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from engine.common.errors import EngineError
from engine.plan import plan_from_toml
from engine.plan.samples import open_data
from engine.report.describe import changes, remade
from engine.report.inspection import SIZES, associations, coefficients, one_table, small_cells, weighted_levels
from engine.sweeps.sweep import sweep
from tests.weighted_sample import PLAN, write_survey


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("inspection")
    raw, _ = open_data(str(write_survey(folder)))
    plan = plan_from_toml(PLAN)
    (folder / "survey.study.key").write_text("0123456789abcdef" * 2)  # the same release in every run
    with sweep(raw, plan, folder / "survey.study", workers=1) as study:
        scenario = next(s for s in study.scenarios if s.spec.text.startswith("Age:S") and s.spec.rate == "0.2")
        return remade(study, raw, scenario.label, 2), plan


def frames(release) -> tuple[pd.DataFrame, pd.DataFrame]:
    data = release.data
    before, after = (
        pd.DataFrame({name: codes[j] for j, name in enumerate(data.domain.names)})
        for codes in (data.codes, [release.codes(j) for j in range(len(data.domain))])
    )
    return before, after


def cramers_v(frame: pd.DataFrame, a: str, b: str) -> float:
    table = pd.crosstab(frame[a], frame[b]).to_numpy(float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


@pytest.mark.slow
def test_associations_recounted(made):
    release, plan = made
    before, after = frames(release)
    names = release.data.domain.names
    pairs = associations(release, changes(release, plan.keys))
    assert {(names[p.i], names[p.j]) for p in pairs} == {("Age", "Sex"), ("Age", "Region")}
    for pair in pairs:
        a, b = names[pair.i], names[pair.j]
        assert pair.before == pytest.approx(cramers_v(before, a, b))
        assert pair.after == pytest.approx(cramers_v(after, a, b))
        assert pair.change == pair.after - pair.before != 0
    assert abs(pairs[0].change) >= abs(pairs[1].change)


def test_small_cells_recounted(made):
    release, plan = made
    cells = [list(map(tuple, frame[list(plan.keys)].to_numpy().tolist())) for frame in frames(release)]
    sizes = [Counter(column) for column in cells]
    by_size = small_cells(release, plan.keys)
    for counted, size in ((by_size.cells_before, sizes[0]), (by_size.cells_after, sizes[1])):
        assert counted.tolist() == [sum(low <= n <= (high or 10**9) for n in size.values()) for low, high in SIZES]
        assert counted.sum() == len(size)
    exposed = [i for i, cell in enumerate(cells[0]) if sizes[0][cell] <= 2]
    same = [i for i in exposed if cells[1][i] == cells[0][i] and sizes[1][cells[1][i]] <= 2]
    assert (by_size.exposed, by_size.unaltered) == (len(exposed), len(same)) and 0 < len(same) < len(exposed)


def test_a_weight_changes_totals_that_counts_do_not_show(made):
    release, plan = made
    before, after = frames(release)
    raw = release.data.raw.columns["wt"]
    weights = np.array([float(value) for value in raw.values.to_pylist()])[raw.codes]
    j = release.data.domain.index("Age")
    totals = weighted_levels(release, plan, j)
    assert totals is not None
    for got, frame in zip(totals, (before, after), strict=True):
        want = [weights[frame["Age"] == level].sum() for level in range(3)]
        np.testing.assert_allclose(got, want)
    assert totals[0].sum() == pytest.approx(totals[1].sum())
    assert not np.allclose(totals[0], totals[1])
    unswapped = weighted_levels(release, plan, release.data.domain.index("Sex"))
    assert unswapped is not None
    np.testing.assert_array_equal(unswapped[0], unswapped[1])


@pytest.mark.slow
def test_without_a_weight_there_are_no_weighted_totals(tmp_path):
    raw, _ = open_data(str(write_survey(tmp_path)))
    plan = plan_from_toml(PLAN.replace('weight = "wt"', 'drop = ["wt"]').replace("weighted = true", ""))
    with sweep(raw, plan, tmp_path / "s", workers=1) as study:
        release = remade(study, raw, study.scenarios[0].label, 1)
    assert weighted_levels(release, plan, 0) is None


def test_coefficients_are_those_of_the_measures(made):
    release, plan = made
    (found,) = coefficients(release, plan)
    assert found.analysis == "income" and found.omitted == 0 and not any(found.lost)
    assert len(found.names) == len(found.before) == 4
    assert float(np.mean(found.overlap)) == pytest.approx(release.figures["ci_overlap"])
    np.testing.assert_allclose(found.shift, (found.after - found.before) / found.se)
    from statsmodels.api import WLS, add_constant

    ages = release.data.domain.attributes[0].levels
    frame = frames(release)[1]
    raw = release.data.raw.columns
    number = {
        name: np.array([float(v) for v in raw[name].values.to_pylist()])[raw[name].codes] for name in ("income", "wt")
    }
    sexes = release.data.domain.attributes[1].levels
    x = np.column_stack([*(frame["Age"] == k for k in range(1, len(ages))), frame["Sex"] == 1]).astype(float)
    wanted = WLS(number["income"], add_constant(x), number["wt"]).fit().params
    assert len(sexes) == 2
    np.testing.assert_allclose(found.after, wanted, rtol=1e-6)


@pytest.mark.slow
def test_an_unchanged_release_says_so(tmp_path):
    raw, _ = open_data(str(write_survey(tmp_path)))
    plan = plan_from_toml(PLAN.replace('"0.05", "0.2"', '"0.001"'))
    with sweep(raw, plan, tmp_path / "s", workers=1) as study:
        release = remade(study, raw, study.scenarios[0].label, 1)
    assert associations(release, changes(release, plan.keys)) == []
    (found,) = coefficients(release, plan)
    assert (found.overlap == 1).all() and (found.shift == 0).all()
    cells = small_cells(release, plan.keys)
    assert cells.exposed == cells.unaltered and (cells.cells_before == cells.cells_after).all()


def test_one_table(made):
    release, _ = made
    assert one_table(release, 0).tables == release.tables
    with pytest.raises(EngineError, match="table 2, must be from 1 to 1"):
        one_table(release, 1)
