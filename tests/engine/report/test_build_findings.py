"""Findings of a release: exposure, checks, map and approval, against independent counting."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.decision.statements import statement
from engine.decision.states import decide
from engine.plan import DecisionPlan, SpacePlan, TolerancePlan
from engine.plan.differences import lock
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.exposed import exposure as exposure_of
from engine.study.decision_log import entries
from engine.study.keys import key_path, read_key
from engine.study.ledger import change_plan
from engine.sweeps.sweep import recheck
from tests.engine.attacks import log_attack
from tests.engine.report.conftest import MEASURES, MECHANISMS, Case, case_of, plan_of, raw_table
from tests.engine.report.recount import codes, column, leaves, release_of


def test_exposure_is_recounted_record_by_record(case: Case):
    old, new = codes(case)
    before, after = Counter(map(tuple, old.tolist())), Counter(map(tuple, new.tolist()))
    same = (old == new).all(axis=1)
    exposure = case.findings.exposure
    assert exposure.small_before == sum(before[tuple(row)] < 3 for row in old.tolist())
    assert exposure.small_after == sum(after[tuple(row)] < 3 for row in new.tolist())
    exposed = np.array(
        [after[tuple(row)] < 3 and is_unaltered for row, is_unaltered in zip(new.tolist(), same.tolist(), strict=True)]
    )
    assert exposure.unaltered_after == exposed.sum()
    # more records stand in larger cells, so that groups can be told
    exposed = np.array([after[tuple(row)] < 6 for row in new.tolist()]) & same
    groups = exposure_of(release_of(case), case.study.plan, 6).groups
    group = next(g for g in groups if g.group.startswith("B: ") and g.after)
    level = case.realisation.data.domain.attributes[1].levels.index(group.group.removeprefix("B: "))
    assert group.people == int((old[:, 1] == level).sum())
    assert group.after == int(exposed[old[:, 1] == level].sum())


def test_small_cells_are_those_of_the_measure_that_decides_or_of_fewer_than_three(case: Case, tmp_path: Path):
    assert case.findings.exposure.fewest == 3
    plan = plan_of(measures=("sample_uniques", "hellinger"), decision=DecisionPlan(), analyses=(), tables=())
    found = case_of(tmp_path, plan)
    assert found.findings.exposure == exposure_of(release_of(found), plan, 3)


def test_named_table_checks_and_certificate(case: Case):
    old, new = codes(case)
    (table,) = case.findings.utility.tables
    before, after = (Counter(map(tuple, rows[:, :2].tolist())) for rows in (old, new))
    assert table.cells == len(before | after)
    assert table.changed == sum(before[cell] != after[cell] for cell in before | after)
    by_name = {check.name: check for check in case.findings.checks}
    assert by_name["One-way tables kept"].holds
    assert by_name["Other attributes kept"].holds
    rule = by_name["Edit rule “no a0 with c3”"]
    broken = [int(((t[:, 0] == 0) & (t[:, 2] == 3)).sum()) for t in (old, new)]
    assert rule.found == statement("edits_broken", before=broken[0], after=broken[1])
    moved = any(
        not np.allclose(np.bincount(o, column(case, "w")), np.bincount(n, column(case, "w")))
        for o, n in zip(old.T, new.T, strict=True)
    )
    assert by_name["Calibration totals"].holds is not moved
    assert case.findings.certificate.figures == case.findings.certificate.equal


@pytest.mark.slow
def test_a_figure_that_was_not_made_again_shows_in_the_certificate(case: Case):
    other = replace(case.realisation, figures={**case.realisation.figures, "hellinger": 0.999})
    certificate = findings(case.study, other).certificate
    assert certificate.equal == certificate.figures - 1


def test_the_map_compares_with_the_recommended_one(case: Case):
    at = case.findings.map
    recommended = next(c for c in at.candidates if c.recommended)
    assert recommended.letter == "A" and [c.letter for c in at.candidates if c is not recommended] == list(
        "BCDEFG"[: len(at.candidates) - 1]
    )
    for c in at.candidates:
        assert None not in (c.risk, c.utility, recommended.risk, recommended.utility)
        if not c.recommended:
            assert c.safer_by == pytest.approx(float(recommended.risk or 0) - float(c.risk or 0))
            assert c.more_useful_by == pytest.approx(float(recommended.utility or 0) - float(c.utility or 0))
    assert len(at.frontier) == at.n_frontier


def test_measures_of_the_plan_are_all_there_and_eq_6_is_a_share_of_the_unaltered_records(case: Case):
    rows = case.findings.measures
    assert len(rows) == len(MEASURES) + 1  # edit rules are counted without being asked for
    assert (rows[0].unit, rows[0].released) == ("share of unaltered records", case.realisation.figures["small_cells"])


@pytest.mark.slow
def test_departures_and_changes_are_told_with_rates_and_without_names(tmp_path: Path):
    case = case_of(tmp_path, lock(plan_of(decision=DecisionPlan()), "DRB-1", "Grace"))
    assert (case.findings.approved.number, case.findings.approved.departures) == ("DRB-1", ())
    old = case.study.plan
    rates = (*old.space.rates, "0.3197")
    new = replace(old, tolerances=TolerancePlan("0.07"), space=replace(old.space, rates=rates))
    change_plan(case.study, new, why="the board asked for 31.97 %", by="someuser", grow=True)
    approved = findings(case.study, case.realisation).approved
    assert len(approved.departures) == 2 and any("0.3197" in text for text in approved.departures)
    assert any("Tolerances change" in text and "0.07" in text for text in approved.departures)
    (deviation,) = [each for event in approved.log for each in event.what if each.kind == "plan_changed"]
    assert deviation.values["deviation"] and "31.97 %" in str(deviation.values["why"])
    text = case.findings.to_json() + findings(case.study, case.realisation).to_json()
    assert approved.by == "Grace" and "someuser" not in text, "nobody but the one who approved the plan is named"


@pytest.mark.slow
def test_a_choice_of_another_candidate_is_no_recommendation_of_this_one(case: Case, tmp_path: Path):
    label = case.study.choices.all()[-1].label
    other = next(s for s in case.study.scenarios if s.label != label)
    other_findings = findings(case.study, remade(case.study, raw_table(), other.label, 1))
    assert (
        not other_findings.recommendation.recorded
        and other_findings.cover.state == "none"
        and other_findings.cover.recommended == ""
    )


@pytest.mark.slow
def test_a_caution_that_fresh_runs_have_answered_is_gone(tmp_path):
    case = case_of(tmp_path, plan_of(measures=("small_cells", "hellinger"), analyses=(), edits=()))
    warned = statement("not_rechecked")
    assert warned in case.findings.recommendation.cautions
    recheck(
        case.study,
        raw_table(),
        read_key(key_path(case.study.path)),
        [case.study.find(case.study.choices.all()[-1].label)[0].index],
        3,
    )
    assert warned not in findings(case.study, case.realisation).recommendation.cautions
    case.study.close()


WHY = (
    "LABEL beats x0123, see A:S B:F at 5.37 %, replicate 1, /home/someuser/study.study, key "
    "0123456789abcdef0123456789abcdef"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random swap", *MECHANISMS])
def test_the_board_sees_no_label_no_name_no_key_and_no_path(name: str, tmp_path: Path) -> None:
    parts = {} if name not in MECHANISMS else {"mechanisms": (MECHANISMS[name],), "keys": ("A", "B", "C")}
    case = case_of(tmp_path, plan_of(space=SpacePlan(swap_sizes=(1,), rates=("0.0719",), replicates=10), **parts), WHY)
    text = case.findings.to_json()
    words = " ".join(leaf for leaf in leaves(json.loads(text)) if isinstance(leaf, str))
    assert not [scenario.label for scenario in case.study.scenarios if scenario.label in text]
    secrets = (
        "/home",
        "someuser",
        "study.study",
        "private-study",
        "0123456789abcdef",
        "/data/",
        "secret-source",
        "x0123",
    )
    assert not [secret for secret in (*secrets, "x0123", "replicate 1") if secret in words]
    assert "voters.csv" in words and "A:S B:F at 5.37 %" in words


@pytest.mark.slow
def test_the_day_of_an_approval_is_that_of_the_log(tmp_path: Path) -> None:
    made = case_of(tmp_path, plan_of(analyses=()))
    assert made.findings.cover.decided == ""
    choice = made.study.choices.all()[-1]
    recheck(made.study, raw_table(), read_key(key_path(made.study.path)), [made.study.find(choice.label)[0].index])
    decide(made.study, "submitted", "A. Analyst")
    log_attack(made.study)
    decide(made.study, "approved", "Board", number="DRB-7")
    cover = findings(made.study, made.realisation).cover
    assert (cover.state, cover.number, cover.decided) == ("approved", "DRB-7", entries(made.study)[-1].at[:10])
