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
from engine.plan.mechanism import MechanismPlan
from engine.release.records import ReleasedTable
from engine.release.results import NoteKind
from engine.report.answers import largest_losses, omissions, risk_sentence
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.exposed import exposure
from engine.report.findings import Findings
from engine.report.memo import memo
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import add_measures, sweep
from tests.engine.report.conftest import Case, N, case_of, plan_of, raw_table


@pytest.mark.slow
def test_runs_of_a_method_that_alters_now_more_now_fewer_are_counted_each(tmp_path: Path):
    mechanisms = (MechanismPlan("rds", (("s", ("10",)), ("rate", ("0.2",)))),)
    plan = plan_of(
        mechanisms=mechanisms, keys=("A", "C"), measures=("small_cells[n_rule=20]", "hellinger"), analyses=()
    )
    case = case_of(tmp_path, plan)
    counts = []
    for replicate in range(1, 13):
        realisation = remade(case.study, raw_table(), case.study.scenarios[0].label, replicate)
        release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
        counts.append(exposure(release, plan, 20).unaltered_after or 0)
    spread = case.findings.map.spreads[0]
    assert (spread.least, spread.most) == (min(counts), max(counts))
    assert spread.mean == pytest.approx(float(np.mean(counts)))
    assert case.findings.measures[0].mean == spread.mean
    error = float(np.std(counts, ddof=1) / np.sqrt(12))
    assert case.findings.measures[0].se == pytest.approx(error)


def test_counts_of_several_tables_are_means_of_whole_numbers(tmp_path: Path):
    mechanisms = (MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),)
    plan = plan_of(
        mechanisms=mechanisms, keys=("A", "C", "D"), measures=("small_cells[n_rule=5]", "hellinger"), analyses=()
    )
    plan = replace(plan, decision=replace(plan.decision, risk="small_cells"))  # not the joint risk of both tables
    case = case_of(tmp_path, plan)
    spread, row = case.findings.map.spreads[0], case.findings.measures[0]
    assert spread.least is not None and spread.most is not None and row.mean is not None
    assert (2 * spread.least).is_integer() and (2 * spread.most).is_integer() and spread.least < spread.most
    assert (24 * row.mean) == pytest.approx(round(24 * row.mean))  # twelve runs of two tables
    assert any("judges one at a time, but an intruder sees them all" in line for line in omissions(case.findings))
    facts = case.findings.extent
    assert facts is not None
    single_tables = [
        RecordRelease(ReleasedTable(case.realisation.data), [t], plan, case.realisation.spec)
        for t in case.realisation.tables
    ]
    each = [int(release.changed(release.tables[0], range(4)).sum()) for release in single_tables]
    assert facts.tables == 2 and facts.per_table == sum(each) / 2 < facts.records
    assert facts.changed_in == "Records changed in at least one of 2 tables"
    assert "means over the 2 tables" in str(memo(case.findings).sections[3])
    add_measures(case.study, raw_table(), read_key(key_path(case.study.path)), ["small_cells[n_rule=3]"], workers=1)
    notes = [note for note in case.study.notes.of(0) if note.kind is not NoteKind.FIGURE]  # the joint risk has its own
    known = {(note.kind, note.measure) for note in notes}
    last = len(case.study.measures) - 1
    assert known == {(NoteKind.DIAGNOSTICS, None), (NoteKind.COUNT, 0), (NoteKind.COUNT, last)}


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


@pytest.mark.slow
def test_where_nearly_everybody_is_exposed_counts_are_exact_for_the_board(tmp_path: Path):
    report, altered = _findings(tmp_path, 120)
    assert report.exposure.small_before == N and altered == 12
    assert report.exposure.unaltered_after == report.measures[0].released == N - altered
    assert f"{N - altered} of which are unaltered; over" in risk_sentence(report)


@pytest.mark.slow
def test_counts_of_few_exposed_records_stay_exact(tmp_path: Path):
    report, _ = _findings(tmp_path, 1)
    assert 0 < report.exposure.small_before < N / 4
    assert report.exposure.unaltered_after == report.measures[0].released
    assert "about" not in risk_sentence(report)


def _weighted(name: str) -> np.ndarray:
    column = raw_table().columns[name]
    return np.array([float(text) for text in column.values.to_pylist()])[column.codes]


def test_errors_of_weighted_figures_are_those_of_a_weighted_sample(case: Case):
    """Beside the linearised variance of a ratio, sum (w (y - mean))² / (sum w)²."""
    weights, x, data = _weighted("w"), _weighted("x"), case.realisation.data
    seen = set()
    for f in case.findings.utility.figures:
        if f.weighted and f.kind == "percentage of one attribute" and f.n > case.study.plan.tolerances.min_n:
            j = data.domain.names.index(f.of)
            is_at_level = data.codes[j] == data.domain.attributes[j].levels.index(f.what)
            error = 100 * np.sqrt((weights**2 * (is_at_level - f.before / 100) ** 2).sum()) / weights.sum()
        elif f.weighted and f.of == "x by B":
            use = data.codes[1] == data.domain.attributes[1].levels.index(f.group.removeprefix("B: "))
            residuals = (weights * (x - np.average(x, weights=weights * use)))[use]
            error = np.sqrt((residuals**2).sum() * f.n / (f.n - 1)) / weights[use].sum()
        else:
            continue
        assert f.errors == pytest.approx(abs(f.after - f.before) / error) and f.se == pytest.approx(error)
        seen.add(f.kind)
    assert seen == {"percentage of one attribute", "mean"}


@pytest.mark.slow
def test_an_adaptive_plan_is_not_said_to_run_all_alike(tmp_path: Path):
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12, adaptive=True, screen=2)
    report = case_of(tmp_path, plan_of(space=space, analyses=())).findings
    candidates = dict(report.approved.parameters)["Candidates"]
    assert candidates.startswith("8, each run 2 times, and up to 12 times") and "fresh" in candidates


@pytest.mark.slow
def test_coefficients_that_the_original_does_not_estimate_are_named_and_are_no_loss(tmp_path: Path):
    raw = raw_table()
    same = RawColumn("D", raw.columns["B"].values, raw.columns["B"].codes)  # D is B again: nothing tells them apart
    release = case_of_raw(tmp_path, RawTable({**raw.columns, "D": same}, N, "elsewhere"))
    rows = [row for row in release.utility.figures if row.note == "not estimable"]
    assert rows and all(row.before is None and row.why == "not estimable" for row in rows)
    assert not any(row.flagged for row in rows)
    tally = next(t for t in release.utility.tallies if t.kind == "regression coefficients")
    assert tally.compared - tally.eligible == len(rows)
    assert not any("can no longer be estimated" in line for line in largest_losses(release))


@pytest.mark.slow
def test_weights_of_zero_alone_are_refused_before_any_report(tmp_path: Path):
    raw = raw_table()
    none = RawColumn("w", pa.array(["0"]), np.zeros(N, np.int32))
    with pytest.raises(EngineError, match="weight names column 'w', which is 0 in every record"):
        case_of_raw(tmp_path, RawTable({**raw.columns, "w": none}, N, "elsewhere"))


def test_it_is_said_that_shares_order_what_counts_show(case: Case, tmp_path: Path):
    def is_explained(report: Findings) -> bool:
        elements = memo(report).sections[5].elements
        return "the map shows how many these are" in str([getattr(element, "text", "") for element in elements])

    assert is_explained(case.findings)
    plan = plan_of(measures=("r1", "hellinger"), decision=DecisionPlan(), analyses=())
    assert not is_explained(case_of(tmp_path, plan).findings)


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
