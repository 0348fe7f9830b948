"""The log as a member reads it has fresh runs where they belong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.decision.choice import choose
from engine.plan import AboutPlan, DecisionPlan, SpacePlan
from engine.report.build_findings import findings
from engine.report.change_log import (
    FRESH_IN_SWEEP,
    KEY_FIXED,
    LOG_TEXTS,
    SWEEP,
    SWEEP_AGAIN,
    finalists_words,
    fresh_result_words,
    fresh_words,
    locked_words,
)
from engine.report.context import report_context
from engine.report.decision_history import log_rows
from engine.report.describe import remade
from engine.report.logged import _fresh_text, contact_words, history
from engine.report.redaction import Redactor
from engine.study.decision_log import entries
from engine.study.keys import read_key
from engine.study.ledger import change_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import recheck
from tests.engine.report.conftest import case_of, plan_of, raw_table


def told(study: Study) -> list[str]:
    return [words for _, words in history(study, Redactor.of(study, {}))]


@pytest.mark.slow
def test_fresh_runs_stand_before_or_after_the_recommendation_as_they_were(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    begun = [KEY_FIXED, SWEEP, LOG_TEXTS["chosen"]]
    assert told(study) == begun
    choice = study.choices.all()[-1]
    key = read_key(study.path.with_name(study.path.name + ".key"))
    place = study.find(choice.label)[0].index
    recheck(study, raw_table(), key, [place], 3)
    assert told(study) == [*begun, fresh_words(3, 0, afterwards=True)]
    choose(study, risk_utility_map(study), "again", candidate=choice.label)
    assert told(study)[-1] == LOG_TEXTS["chosen"]
    recheck(study, raw_table(), key, [place, (place + 1) % len(study.scenarios)], 4)
    again = "After it had been recommended, the candidate was run again 4 times on fresh draws"
    assert told(study)[-1] == f"{again}, and so was 1 other candidate."
    assert FRESH_IN_SWEEP not in told(study)


def test_fresh_runs_before_any_recommendation_name_who_was_recommended_later(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    log = [entry for entry in entries(study) if entry.event == "chosen"]
    label = log[0].detail["candidate"]
    fresh = replace(log[0], event="rechecked", detail={"candidates": [label, "x00000"], "replicates": 12})
    assert _fresh_text([fresh, *log], 0) == fresh_words(12, 1, afterwards=False)
    twice = _fresh_text([fresh, fresh, *log], 1)
    assert twice == fresh_words(12, 1, afterwards=False, again=True) and "recommended later" in twice
    others = replace(fresh, detail={"candidates": ["x00000"], "replicates": 12})
    assert _fresh_text([others, *log], 0) == finalists_words(12, 1)


@pytest.mark.slow
def test_the_recommendation_in_the_log_names_its_bound_and_when_it_was_set(tmp_path: Path) -> None:
    case = case_of(tmp_path, plan_of(analyses=()))
    by_hand = "The analyst recommended candidate A, by judgement and by no rule."
    assert case.findings.approved.changes[-1][1] == by_hand
    choose(case.study, risk_utility_map(case.study), "the bound", max_risk=0.4)
    rows = log_rows(report_context(case.study, remade_of(case.study)))
    assert "that was set only then, after results were seen: at most 40 % of the unaltered records" in rows[-1][1]
    choose(case.study, risk_utility_map(case.study), "the plan's bound", max_risk=0.5)
    rows = log_rows(report_context(case.study, remade_of(case.study)))
    assert "within the plan's bound on risk: at most 50 %" in rows[-1][1]
    replaced, reason = (
        "A later recommendation replaces it.",
        "This replaces the recommendation before it; reason given: ",
    )
    texts = [text for _, text in rows[-3:]]
    assert [text.endswith(replaced) for text in texts] == [True, True, False]
    assert [reason in text for text in texts] == [False, True, True]
    assert "that was set only then, after results were seen: at most 40 %" in texts[1], "told with its figure"
    assert texts[2].endswith(f"{reason}the plan's bound.")


@pytest.mark.slow
def test_a_bound_that_the_plan_did_not_fix_before_results_is_not_called_the_plans_alone(tmp_path: Path) -> None:
    case = case_of(tmp_path, plan_of(analyses=(), decision=DecisionPlan(max_risk="0.4")))
    change_plan(case.study, replace(case.study.plan, decision=DecisionPlan(max_risk="0.5")))
    choose(case.study, risk_utility_map(case.study), "the plan's bound", max_risk=0.5)
    rows = log_rows(report_context(case.study, remade_of(case.study)))
    assert "set in a change of the plan, after results could be seen: at most 50 %" in rows[-1][1]
    assert "the plan's bound on risk" not in rows[-1][1]


@pytest.mark.slow
def test_the_log_tells_the_result_of_fresh_runs_once_and_which_were_not_made_again(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    choose(study, risk_utility_map(study), "the plan's bound", max_risk=0.5)
    choice = study.choices.all()[-1]
    key, place = read_key(study.path.with_name(study.path.name + ".key")), study.find(choice.label)[0].index
    recheck(study, raw_table(), key, [place], 3)
    recheck(study, raw_table(), key, [place], 3)
    texts = [text for _, text in log_rows(report_context(study, remade_of(study)))]
    run = findings(study, remade_of(study)).recommendation.run
    assert run is not None and run.fresh == 3 and run.fresh_within is not None
    assert texts[-2] == f"{fresh_words(3, 0, afterwards=True)} {fresh_result_words(run.fresh_within, 3)}"
    assert texts[-1] == fresh_words(3, 0, afterwards=True, again=True)
    assert texts[-1].endswith("the study held them already.")


def remade_of(study: Study) -> Remade:
    choice = study.choices.all()[-1]
    return remade(study, raw_table(), choice.label, choice.replicate)


@pytest.mark.slow
def test_a_sweep_that_is_started_again_does_not_move_in_the_log(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    begun = told(study)
    at = study.progress.started + 3600
    with study.database.transaction() as db:
        db.execute("update run set started=?", (at,))
    assert told(study) == [*begun, SWEEP_AGAIN]


def test_fresh_runs_of_a_sweep_itself_stand_before_the_recommendation(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12, adaptive=True, screen=10)
    study = case_of(tmp_path, plan_of(space=space, analyses=())).study
    texts = told(study)
    assert texts[:2] == [KEY_FIXED, SWEEP] and texts[-1] == LOG_TEXTS["chosen"]
    assert all("on fresh draws" in text for text in texts[2:-1]) and len(texts) > 3


def test_only_the_contact_of_the_plan_is_named() -> None:
    contact = "Head of disclosure control, extension 4411"
    assert contact_words("head of disclosure control", contact) == " By the contact, head of disclosure control."
    assert contact_words(contact, contact).startswith(" By the contact, Head of disclosure control")
    assert contact_words("A. Analyst", contact) == contact_words("", "") == contact_words("A. Analyst", "") == ""


@pytest.mark.slow
def test_the_log_says_when_to_the_minute(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", when) for when, _ in history(study, Redactor.of(study, {})))


@pytest.mark.slow
def test_the_log_says_who_decided(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=(), about=AboutPlan(contact="someuser, room 5"))).study
    assert told(study)[-1] == "The analyst recommended a candidate. By the contact, someuser."


def test_a_lock_that_was_made_before_the_study_is_told_with_its_own_time() -> None:
    """The log of a study begins after a plan that was locked on paper, which is no lock of the minute of its entry."""
    assert locked_words("2026-01-02T03:04:05Z", "2026-01-02T03:04:59Z") == LOG_TEXTS["locked"]
    assert locked_words("", "2026-01-02T03:04:59Z") == LOG_TEXTS["locked"]
    assert "it had been approved and locked on 2026-01-01 at 23:50" in locked_words(
        "2026-01-01T23:50:05Z", "2026-01-02T03:04:59Z"
    )
