"""What users lose, against independent counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.report import shares
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import codes, column


def test_percentages_weighted_and_not(case: Case):
    old, new = codes(case)
    weight = column(case, "w")
    domain = case.realisation.data.domain
    for weighted, by in ((False, np.ones(N)), (True, weight)):
        rows = [r for r in case.findings.utility.shares if r.weighted == weighted and r.table == "A × B"]
        assert rows
        for r in rows:
            level = [domain.attributes[j].levels.index(t) for j, t in enumerate(r.level.split(", "))]
            here, there = ((c[:, :2] == level).all(axis=1) for c in (old, new))
            assert r.before == pytest.approx(100 * by[here].sum() / by.sum())
            assert r.after == pytest.approx(100 * by[there].sum() / by.sum())
            assert r.n == here.sum()
            if r.before and r.relative is not None:
                assert r.relative == pytest.approx((r.after - r.before) / r.before)
                assert r.flagged == (r.n > 45 and abs(r.relative) > 0.1)
    for weighted in (False, True):
        two = [r for r in case.findings.utility.shares if r.weighted == weighted and " × " in r.table]
        for enough in (True, False):
            sizes = [abs(r.relative) for r in two if r.relative is not None and (r.n > 45) == enough]
            assert sizes == sorted(sizes, reverse=True)


def test_means_and_correlations(case: Case):
    old, new = codes(case)
    x, y, w = (column(case, name) for name in "xyw")
    rows = {(r.column, r.group, r.weighted): r for r in case.findings.utility.means}
    assert rows["x", "all records", False].before == pytest.approx(x.mean())
    assert rows["x", "all records", True].after == pytest.approx(np.average(x, weights=w))
    level = case.realisation.data.domain.attributes[0].levels[1]
    got = rows["x", f"A: {level}", False]
    assert got.before == pytest.approx(x[old[:, 0] == 1].mean())
    assert got.after == pytest.approx(x[new[:, 0] == 1].mean())
    assert got.errors == pytest.approx(abs(got.after - got.before) / (x[old[:, 0] == 1].std(ddof=1) / np.sqrt(got.n)))
    (pair,) = case.findings.utility.correlations
    assert pair.before == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_associations_against_scipy(case: Case):
    old, new = codes(case)
    names = case.realisation.data.domain.names
    for row in case.findings.utility.associations:
        i, j = names.index(row.first), names.index(row.second)
        for table, got in ((old, row.before), (new, row.after)):
            counts = np.zeros((table[:, i].max() + 1, table[:, j].max() + 1))
            np.add.at(counts, (table[:, i], table[:, j]), 1)
            phi2 = chi2_contingency(counts, correction=False).statistic / N
            wanted = np.sqrt(phi2 / (1 + phi2)) if "C" in row.statistic[-1] else np.sqrt(phi2 / (min(counts.shape) - 1))
            assert got == pytest.approx(wanted)


def test_hellinger_and_small_share(case: Case):
    old, new = codes(case)
    before, after = Counter(map(tuple, old.tolist())), Counter(map(tuple, new.tolist()))
    distance = case.findings.utility.distance
    total = sum((np.sqrt(after[c]) - np.sqrt(before[c])) ** 2 for c in {*before, *after})
    large = sum((np.sqrt(after[c]) - np.sqrt(before[c])) ** 2 for c in before if before[c] >= 3)
    assert distance.hellinger == pytest.approx(np.sqrt(total / 2 / N)) == case.realisation.figures["hellinger"]
    assert distance.hellinger_large == pytest.approx(np.sqrt(large / 2 / N))
    assert distance.small_cells == pytest.approx(sum(n < 3 for n in before.values()) / len(before))


def test_coefficients_by_least_squares(case: Case):
    rows = case.findings.utility.coefficients
    old, new = codes(case)
    x = column(case, "x")

    def fit(table: np.ndarray) -> np.ndarray:
        design = [np.ones(N), table[:, 0] == 1, table[:, 0] == 2, table[:, 1] == 1, table[:, 3] == 1]
        return np.linalg.lstsq(np.column_stack(design).astype(float), x, rcond=None)[0]

    by_name = {row.name: row for row in rows}
    for k, name in enumerate(("Intercept", "A: a1", "A: a2", "B: b1", "D: d1")):
        assert by_name[name].before == pytest.approx(fit(old)[k])
        assert by_name[name].after == pytest.approx(fit(new)[k])
    for row in rows:
        assert row.shift is not None and row.ratio is not None and row.relative is not None
        assert row.before is not None and row.se_before is not None and row.after is not None
        assert row.relative == pytest.approx((row.after - row.before) / abs(row.before))
        by_change = abs(row.relative) > 0.1 and abs(row.before) > 1.96 * row.se_before
        assert row.flagged == (row.shift > 1.96 or by_change or not 1 / 1.1 <= row.ratio <= 1.1)


def test_among_many_attributes_only_unchanged_pairs_are_passed_over(case: Case, monkeypatch: pytest.MonkeyPatch):
    release = RecordRelease(ReleasedTable(case.realisation.data), case.realisation.tables, case.study.plan)
    every = shares.associations(release, range(4))
    monkeypatch.setattr(shares, "_MANY", 2)
    some = shares.associations(release, range(4))
    old, new = codes(case)
    changed = {case.realisation.data.domain.names[j] for j in range(4) if (old[:, j] != new[:, j]).any()}
    assert set(some) == {row for row in every if changed.intersection((row.first, row.second))}
    assert 0 < len(some) < len(every)
    assert all(row.before == row.after for row in every if row not in some)
