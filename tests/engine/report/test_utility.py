"""What users lose, against independent counting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.report import losses
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import codes, column


def test_percentages_weighted_and_not(case: Case):
    old, new = codes(case)
    weight = column(case, "w")
    domain = case.realisation.data.domain
    for weighted, by in ((False, np.ones(N)), (True, weight)):
        figures = [f for f in case.findings.utility.figures if f.weighted == weighted and f.of == "A × B"]
        assert figures
        for f in figures:
            level = [domain.attributes[j].levels.index(t.partition(": ")[2]) for j, t in enumerate((f.group, f.what))]
            here, there = ((c[:, :2] == level).all(axis=1) for c in (old, new))
            of, of_after = (c[:, 0] == level[0] for c in (old, new))
            assert f.before == pytest.approx(100 * by[here].sum() / by[of].sum())
            assert f.after == pytest.approx(100 * by[there].sum() / by[of_after].sum())
            assert (f.n, f.n_after) == (here.sum(), there.sum())
            assert f.relative == pytest.approx((f.after - f.before) / f.before)  # type: ignore[operator]
            assert f.flagged == (here.sum() > 45 and abs(f.relative) > 0.1)  # type: ignore[arg-type]


def test_means(case: Case):
    old, new = codes(case)
    x = column(case, "x")
    figures = {(f.of, f.group): f for f in case.findings.utility.figures if f.kind == "mean" and not f.weighted}
    assert all(f.of not in ("x", "y") for f in figures.values()), "the mean of all records stays and is not listed"
    level = next(group for of, group in figures if of == "x by B")
    code = case.realisation.data.domain.attributes[1].levels.index(level.removeprefix("B: "))
    got = figures["x by B", level]
    assert got.before == pytest.approx(x[old[:, 1] == code].mean())
    assert got.after == pytest.approx(x[new[:, 1] == code].mean())
    assert got.se == pytest.approx(x[old[:, 1] == code].std(ddof=1) / np.sqrt(got.n))  # type: ignore[arg-type]
    assert got.errors == pytest.approx(abs(got.after - got.before) / got.se)  # type: ignore[operator]


def test_associations_against_scipy(case: Case):
    old, new = codes(case)
    names = case.realisation.data.domain.names
    assert case.findings.utility.associations
    for row in case.findings.utility.associations:
        i, j = (names.index(name) for name in row.of.split(" × "))
        for table, got in ((old, row.before), (new, row.after)):
            counts = np.zeros((table[:, i].max() + 1, table[:, j].max() + 1))
            np.add.at(counts, (table[:, i], table[:, j]), 1)
            phi2 = chi2_contingency(counts, correction=False).statistic / N
            wanted = np.sqrt(phi2 / (1 + phi2)) if row.what[-1] == "C" else np.sqrt(phi2 / (min(counts.shape) - 1))
            assert got == pytest.approx(wanted)


def test_coefficients_by_least_squares(case: Case):
    rows = [figure for figure in case.findings.utility.figures if figure.kind == "coefficient"]
    old, new = codes(case)
    x = column(case, "x")

    def fit(table: np.ndarray) -> np.ndarray:
        design = [np.ones(N), table[:, 0] == 1, table[:, 0] == 2, table[:, 1] == 1, table[:, 3] == 1]
        return np.linalg.lstsq(np.column_stack(design).astype(float), x, rcond=None)[0]

    by_name = {row.what: row for row in rows}
    for k, name in enumerate(("Intercept", "A: a1", "A: a2", "B: b1", "D: d1")):
        assert by_name[name].before == pytest.approx(fit(old)[k])
        assert by_name[name].after == pytest.approx(fit(new)[k])
    for row in rows:
        assert row.errors is not None and row.se is not None and row.se_after is not None and row.relative is not None
        assert row.before is not None and row.after is not None
        by_change = abs(row.relative) > 0.1 and abs(row.before) > 1.96 * row.se
        assert row.flagged == (row.errors > 1.96 or by_change or not 1 / 1.1 <= row.se_after / row.se <= 1.1)


def test_among_many_attributes_only_unchanged_pairs_are_passed_over(case: Case, monkeypatch: pytest.MonkeyPatch):
    release = RecordRelease(ReleasedTable(case.realisation.data), case.realisation.tables, case.study.plan)
    every = losses.associations(release, losses.pairs(release, range(4)))
    monkeypatch.setattr(losses, "_MANY", 2)
    some = losses.associations(release, losses.pairs(release, range(4)))
    old, new = codes(case)
    changed = {case.realisation.data.domain.names[j] for j in range(4) if (old[:, j] != new[:, j]).any()}
    assert set(some) == {row for row in every if changed.intersection(row.of.split(" × "))}
    assert 0 < len(some) < len(every)
    assert all(row.before == row.after for row in every if row not in some)
