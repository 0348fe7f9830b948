"""Counts of exposed records: run by run, exact, and rounded where they would tell how many were altered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError
from engine.data.microdata import RawColumn, RawTable
from engine.decision.choice import choose
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan
from engine.plan.entries import MechanismPlan
from engine.release.records import ReleasedTable
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.exposed import exposure
from engine.report.findings import Findings
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import Case, N, case_of, plan_of, raw_table


def _findings(tmp_path: Path, levels: int) -> tuple[Findings, int]:
    """With a further key of so many levels: findings, and how many records were altered."""
    raw = raw_table()
    many = RawColumn("E", pa.array([f"e{i}" for i in range(levels)]), (np.arange(N) % levels).astype(np.int32))
    raw = RawTable({**raw.columns, "E": many}, N, "elsewhere")
    plan = Plan(
        data=DataPlan(tuple(AttributePlan(name) for name in "ABCDE"), drop=("x", "y", "w", "id")),
        swap=("A", "B"),
        space=SpacePlan(swap_sizes=(1,), rates=("0.0537",), replicates=12),
        measures=("small_cells", "cramers_v_change"),
        decision=DecisionPlan(),
    )
    study = sweep(raw, plan, tmp_path / f"{levels}.study", workers=1)
    view = risk_utility_map(study)
    choice = choose(study, view, "it serves", candidate=view.scenarios[int(view.frontier()[0])].label)
    realisation = remade(study, raw, choice.label, choice.replicate)
    return findings(study, realisation), int(realisation.changed.sum())


def case_of_raw(folder: Path, raw: RawTable) -> Findings:
    """The findings on the plain plan over other records."""
    study = sweep(raw, plan_of(), folder / "other.study", workers=1)
    choice = choose(study, risk_utility_map(study), "it serves", candidate=study.scenarios[0].label)
    return findings(study, remade(study, raw, choice.label, choice.replicate))


def _weighted(name: str) -> np.ndarray:
    column = raw_table().columns[name]
    return np.array([float(text) for text in column.values.to_pylist()])[column.codes]


def test_errors_of_weighted_figures_are_those_of_a_weighted_sample(case: Case):
    """Beside the linearised variance of a ratio, sum (w (y - mean))² / (sum w)²."""
    weights, x, data = _weighted("w"), _weighted("x"), case.realisation.data
    seen = set()
    for f in case.findings.utility.figures:
        if f.weighted and f.kind == "percentage of one attribute" and f.n > case.study.plan.tolerances.min_n:  # type: ignore[operator]
            j = data.domain.names.index(f.of)
            is_at_level = data.codes[j] == data.domain.attributes[j].levels.index(f.what)
            error = 100 * np.sqrt((weights**2 * (is_at_level - f.before / 100) ** 2).sum()) / weights.sum()  # type: ignore[operator]
        elif f.weighted and f.of == "x by B":
            use = data.codes[1] == data.domain.attributes[1].levels.index(f.group.removeprefix("B: "))
            residuals = (weights * (x - np.average(x, weights=weights * use)))[use]
            error = np.sqrt((residuals**2).sum() * f.n / (f.n - 1)) / weights[use].sum()  # type: ignore[operator]
        else:
            continue
        assert f.errors == pytest.approx(abs(f.after - f.before) / error) and f.se == pytest.approx(error)  # type: ignore[operator]
        seen.add(f.kind)
    assert seen == {"percentage of one attribute", "mean"}


@pytest.mark.slow
def test_an_adaptive_plan_is_not_said_to_run_all_alike(tmp_path: Path):
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12, adaptive=True, screen=2)
    report = case_of(tmp_path, plan_of(space=space, analyses=())).findings
    candidates = dict(report.approved.parameters)["Candidates"]
    assert candidates.startswith("8, each run 2 times, and up to 12 times") and "fresh" in candidates


@pytest.mark.slow
def test_weights_of_zero_alone_are_refused_before_any_report(tmp_path: Path):
    raw = raw_table()
    none = RawColumn("w", pa.array(["0"]), np.zeros(N, np.int32))
    with pytest.raises(EngineError, match="weight names column 'w', which is 0 in every record"):
        case_of_raw(tmp_path, RawTable({**raw.columns, "w": none}, N, "elsewhere"))


@pytest.mark.slow
def test_a_small_group_is_not_rounded_to_everybody_or_nobody(tmp_path: Path):
    n, levels = 3000, pa.array(["a0", "a1"])
    rare = (np.arange(n) % 60 == 0).astype(np.int32)  # 50 people
    columns = {
        "A": RawColumn("A", levels, rare),
        "B": RawColumn("B", pa.array(["b0", "b1"]), (np.arange(n) // 7 % 2).astype(np.int32)),
        "E": RawColumn("E", pa.array([f"e{i}" for i in range(n)]), np.arange(n, dtype=np.int32)),
    }
    raw = RawTable(columns, n, "elsewhere")
    plan = Plan(
        data=DataPlan(tuple(AttributePlan(name) for name in "ABE")),
        swap=("B",),
        space=SpacePlan(swap_sizes=(1,), rates=("0.5",), replicates=1),
        measures=("small_cells", "cramers_v_change"),
        decision=DecisionPlan(),
    )
    study = sweep(raw, plan, tmp_path / "rare.study", workers=1)
    realisation = remade(study, raw, study.scenarios[0].label, 1)
    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
    exact = int(np.count_nonzero(~realisation.changed & (rare == 1)))
    assert 10 < exact < 40  # about half of the group was altered
    exposed = exposure(release, plan, 3)
    unaltered = exposed.unaltered_after
    assert unaltered is not None and unaltered > 1000
    assert next(group.after for group in exposed.groups if group.group == "A: a1") == exact


def test_runs_of_a_method_that_alters_now_more_now_fewer_are_counted_each(tmp_path: Path):
    mechanisms = (MechanismPlan("rds", (("s", ("10",)), ("rate", ("0.2",)))),)
    measures = ("small_cells[n_rule=20]", "hellinger")
    case = case_of(tmp_path, plan_of(mechanisms=mechanisms, keys=("A", "C"), measures=measures, analyses=()))
    shares = []
    for replicate in range(1, 13):
        made = remade(case.study, raw_table(), case.study.scenarios[0].label, replicate)
        release = RecordRelease(ReleasedTable(made.data), made.tables, case.study.plan, made.spec)
        unaltered = N - int(release.changed(release.tables[0], made.data.domain.indices(("A", "C"))).sum())
        shares.append(exposure(release, case.study.plan, 20).unaltered_after / unaltered)  # type: ignore[operator]
    row = case.findings.measures[0]
    assert len(set(shares)) > 1
    assert (row.mean, row.se) == pytest.approx((np.mean(shares), np.std(shares, ddof=1) / np.sqrt(12)))


def test_counts_of_several_tables_are_means_over_these(tmp_path: Path):
    mechanisms = (MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),)
    measures = ("small_cells[n_rule=5]", "hellinger")
    plan = plan_of(mechanisms=mechanisms, keys=("A", "C", "D"), measures=measures, analyses=())
    case = case_of(tmp_path, replace(plan, decision=replace(plan.decision, risk="small_cells")))
    made, extent = case.realisation, case.findings.extent
    each = []
    for table in made.tables:
        release = RecordRelease(ReleasedTable(made.data), [table], plan, made.spec)
        each.append((int(release.changed(table, range(4)).sum()), exposure(release, plan, 5).unaltered_after or 0))
    changed, exposed = np.mean(each, axis=0)
    assert extent is not None and extent.tables == 2 and extent.per_table == changed < extent.records
    assert extent.changed_in == "Records changed in at least one of 2 tables"
    assert case.findings.exposure.unaltered_after == round(float(exposed))


def test_coefficients_that_the_original_does_not_estimate_are_named_and_are_no_loss(tmp_path: Path):
    raw = raw_table()
    same = RawColumn("D", raw.columns["B"].values, raw.columns["B"].codes)  # D is B again: nothing tells them apart
    use = case_of_raw(tmp_path, RawTable({**raw.columns, "D": same}, N, "elsewhere")).utility
    rows = [row for row in use.figures if row.kind == "coefficient" and row.before is None]
    assert rows and all(row.note == "not estimable" and row.flagged is not True for row in rows)
    tally = next(t for t in use.tallies if t.kind == "regression coefficients")
    assert tally.compared - tally.unchangeable - tally.eligible == len(rows)
