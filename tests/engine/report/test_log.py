"""The log as the board reads it has fresh runs where they belong, and results of earlier studies are counted."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle.submissions import differences, read_submission
from engine.decision.choice import choose
from engine.decision.statements import Statement, statement, words
from engine.decision.states import decide
from engine.plan import AboutPlan, DecisionPlan, SpacePlan
from engine.plan.differences import lock
from engine.report.build_findings import findings
from engine.report.context import report_context
from engine.report.decision_pages import pages
from engine.report.describe import remade
from engine.report.log import (
    EarlierFacts,
    LedgerFacts,
    _contact,
    _fresh_runs,
    earlier_studies,
    history,
    ledger_facts,
    ledger_summary,
)
from engine.report.no_release import no_release_memo
from engine.report.redaction import Redactor
from engine.study.decision_log import entries
from engine.study.keys import read_key
from engine.study.ledger import change_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import recheck, sweep
from tests.engine.report.conftest import Case, case_of, plan_of, raw_table
from tests.engine.report.pages import entries_of, text_of, tree

BEGUN = [
    statement("begun", key_fixed=True),
    statement("sweep_begun", again=False),
    statement("recommended", letter="", rule="", limit="", origin=""),
]


def told(study: Study) -> list[Statement]:
    return [what for event in history(study, Redactor({}, study.measures)) for what in event.what]


def fresh(runs: int, others: int, *, afterwards: bool, again: bool = False) -> Statement:
    return statement("rechecked", runs=runs, others=others, afterwards=afterwards, again=again)


def board_log(study: Study) -> list[list[Statement]]:
    context = report_context(study, remade_of(study))
    return [list(event.what) for event in history(study, context.redact, context)]


@pytest.mark.slow
def test_fresh_runs_stand_before_or_after_the_recommendation_as_they_were(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    assert told(study) == BEGUN
    choice = study.choices.all()[-1]
    key = read_key(study.path.with_name(study.path.name + ".key"))
    place = study.find(choice.label)[0].index
    recheck(study, raw_table(), key, [place], 3)
    assert told(study) == [*BEGUN, fresh(3, 0, afterwards=True)]
    choose(study, risk_utility_map(study), "again", candidate=choice.label)
    assert told(study)[-1] == BEGUN[-1]
    recheck(study, raw_table(), key, [place, (place + 1) % len(study.scenarios)], 4)
    assert told(study)[-1] == fresh(4, 1, afterwards=True)
    assert statement("rechecked_in_sweep") not in told(study)


def test_fresh_runs_before_any_recommendation_name_who_was_recommended_later(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    log = [entry for entry in entries(study) if entry.event == "chosen"]
    label = log[0].detail["candidate"]
    entry = replace(log[0], event="rechecked", detail={"candidates": [label, "x00000"], "replicates": 12})
    assert _fresh_runs([entry, *log], 0) == fresh(12, 1, afterwards=False)
    assert _fresh_runs([entry, entry, *log], 1) == fresh(12, 1, afterwards=False, again=True)
    others = replace(entry, detail={"candidates": ["x00000"], "replicates": 12})
    assert _fresh_runs([others, *log], 0) == statement("finalists_rechecked", runs=12, finalists=1)


@pytest.mark.slow
def test_the_recommendation_in_the_log_names_its_bound_and_when_it_was_set(tmp_path: Path) -> None:
    case = case_of(tmp_path, plan_of(analyses=()))
    (by_hand,) = case.findings.approved.log[-1].what
    assert (by_hand.values["letter"], by_hand.values["rule"]) == ("A", "judgement")
    choose(case.study, risk_utility_map(case.study), "the limit", max_risk=0.4)
    (late, *_) = board_log(case.study)[-1]
    assert (late.values["origin"], late.values["limit"]) == ("chosen", ""), "page 1 has the limit that counts"
    choose(case.study, risk_utility_map(case.study), "the plan's limit.", max_risk=0.5)
    rows = board_log(case.study)[-3:]
    assert (rows[-1][0].values["origin"], rows[-1][0].values["limit"]) == ("fixed", "")
    assert [row[-1] == statement("replaced") for row in rows] == [True, True, False]
    assert rows[0][1].kind != "replaces" and rows[2][1:] == [statement("replaces", why="the plan's limit")]
    assert str(rows[1][0].values["limit"]).startswith("at most 40 %"), "another one is told with its figure"
    assert rows[1][1].kind == "replaces"


@pytest.mark.slow
def test_a_bound_that_the_plan_did_not_fix_before_results_is_not_called_the_plans_alone(tmp_path: Path) -> None:
    case = case_of(tmp_path, plan_of(analyses=(), decision=DecisionPlan(max_risk="0.4")))
    change_plan(case.study, replace(case.study.plan, decision=DecisionPlan(max_risk="0.5")))
    choose(case.study, risk_utility_map(case.study), "the plan's limit", max_risk=0.5)
    (recommended, *_) = board_log(case.study)[-1]
    assert recommended.values["origin"] == "changed"


@pytest.mark.slow
def test_the_log_tells_the_result_of_fresh_runs_once_and_which_were_not_made_again(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    choose(study, risk_utility_map(study), "the plan's limit", max_risk=0.5)
    choice = study.choices.all()[-1]
    key, place = read_key(study.path.with_name(study.path.name + ".key")), study.find(choice.label)[0].index
    recheck(study, raw_table(), key, [place], 3)
    recheck(study, raw_table(), key, [place], 3)
    run = findings(study, remade_of(study)).recommendation.run
    assert run is not None and run.fresh == 3 and run.fresh_within is not None
    assert board_log(study)[-2:] == [
        [fresh(3, 0, afterwards=True), statement("fresh_result", within=run.fresh_within, runs=3)],
        [fresh(3, 0, afterwards=True, again=True)],
    ]


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
    assert told(study) == [*begun, statement("sweep_begun", again=True)]


def test_fresh_runs_of_a_sweep_itself_stand_before_the_recommendation(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12, adaptive=True, screen=10)
    study = case_of(tmp_path, plan_of(space=space, analyses=())).study
    found = told(study)
    assert found[:2] == BEGUN[:2] and found[-1] == BEGUN[-1] and len(found) > 3
    assert {each.kind for each in found[2:-1]} <= {"rechecked_in_sweep", "rechecked", "finalists_rechecked"}


def test_only_the_contact_of_the_plan_is_named() -> None:
    contact = "Head of disclosure control, extension 4411"
    assert _contact("head of disclosure control", contact) == "head of disclosure control"
    assert _contact(contact, contact) == contact
    assert _contact("A. Analyst", contact) == _contact("", "") == _contact("A. Analyst", "") == ""


@pytest.mark.slow
def test_the_log_says_when_to_the_minute(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    events = history(study, Redactor({}, study.measures))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", event.at) for event in events)


@pytest.mark.slow
def test_the_log_says_who_decided(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=(), about=AboutPlan(contact="someuser, room 5"))).study
    assert told(study)[-1] == statement("by_contact", name="someuser")


@pytest.mark.slow
def test_a_lock_that_was_made_before_the_study_is_told_with_its_own_time(tmp_path: Path) -> None:
    """The log of a study begins after a plan that was locked on paper, which is no lock of the minute of its entry."""
    approved = lock(plan_of(analyses=()), "DAP-7", "Grace")
    assert approved.lock is not None
    for name, at, shown in (
        ("before", "2001-01-01T23:50:05Z", "2001-01-01 23:50"),
        ("now", "2999-01-01T00:00:00Z", ""),
    ):
        plan = replace(approved, lock=replace(approved.lock, at=at))
        with sweep(raw_table(), plan, tmp_path / f"{name}.study", workers=1) as study:
            assert statement("locked", at=shown) in told(study)


# -- earlier studies -------------------------------------------------------------------------------------------------

AFTER = "the limit was set after results of an earlier study of the same data could be seen"


@pytest.fixture(scope="module")
def after_another(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A recommended release under the plan's bound, which was set after another study had been seen and chosen from."""
    folder = tmp_path_factory.mktemp("ledger")
    first = plan_of(decision=DecisionPlan(), space=replace(plan_of().space, rates=("0.0537",)))
    with sweep(raw_table(), first, folder / "private-first-name.study", workers=1) as study:
        view = risk_utility_map(study)
        choose(study, view, "a first try", max_risk=0.4567 + float(view.risk_loss.max()), by="someuser")
    return case_of(folder, plan_of())


@pytest.mark.slow
def test_a_bound_that_the_plan_got_after_the_sweep_is_not_called_fixed(tmp_path: Path) -> None:
    case = case_of(tmp_path, plan_of(decision=DecisionPlan()))
    change_plan(case.study, replace(case.study.plan, decision=DecisionPlan(max_risk="0.5")))
    rule = findings(case.study, case.realisation).approved.rule
    assert rule.endswith("; the limit was set in a change of the plan, after results could be seen")


def test_the_sheet_tells_what_had_been_seen_and_calls_no_later_bound_fixed(after_another: Case, case: Case) -> None:
    n = len({scenario.spec.attributes for scenario in after_another.study.scenarios})
    seen = f"Results of {n} candidates had been seen in an earlier study of the same data"
    for found, told in ((after_another.findings, True), (case.findings, False)):
        assert (seen in text_of(pages(found))) is told
        rules = (dict(found.approved.parameters)["Selection rule"], found.approved.rule)
        assert [AFTER in rule for rule in rules] == [told] * 2


def test_the_board_reads_no_name_of_an_earlier_study(after_another: Case) -> None:
    text = after_another.findings.to_json() + pages(after_another.findings)
    assert not [secret for secret in ("private-first-name", "a first try", "someuser") if secret in text]


def test_two_submissions_differ_in_what_came_before(after_another: Case) -> None:
    path = after_another.study.path
    changes = differences(read_submission(path.with_name("private-first-name.study")), read_submission(path))
    (told,) = (text for text in changes if text.startswith("earlier studies: was none, is "))
    assert "private-first-name.study of the same data came before: results of" in told
    assert "decision.max_risk: was nothing, is 0.5" in told


def test_the_memo_of_no_release_tells_it_too(after_another: Case) -> None:
    decide(after_another.study, "withheld", "A. Analyst", why="too risky")
    made = no_release_memo(after_another.study, risk_utility_map(after_another.study))
    rows = entries_of(next(tree(made).iter("dl")))
    assert "had been seen in an earlier study of the same data" in rows["Fixed beforehand"]


@pytest.mark.slow
def test_a_plan_approved_after_results_says_so(tmp_path: Path) -> None:
    sweep(raw_table(), plan_of(), tmp_path / "first.study", workers=1).close()
    approved = lock(plan_of(), "DAP-7", "Grace")
    assert approved.lock is not None
    late = replace(approved, lock=replace(approved.lock, at="2999-01-01T00:00:00Z"))
    early = replace(approved, lock=replace(approved.lock, at="1999-01-01T00:00:00Z"))
    for plan, told in ((late, True), (early, False)):
        with sweep(raw_table(), plan, tmp_path / f"{told}.study", workers=1) as study:
            facts = ledger_facts(study, lambda text: text)  # type: ignore[arg-type]
        assert facts is not None and facts.approved_after is told
        assert (statement("approved_after_earlier") in ledger_summary(facts)) is told


EARLIER = EarlierFacts("2026-01-02", 84, 0, "", (), ())


def test_the_statements_for_every_ledger() -> None:
    assert ledger_summary(None) == [statement("ledger_unknown")] and earlier_studies(None) == []
    assert ledger_summary(LedgerFacts()) == [statement("none_earlier")] and earlier_studies(LedgerFacts()) == []
    five = LedgerFacts(tuple(replace(EARLIER, candidates=n) for n in (1, 20, 300, 4000, 50000)))
    assert ledger_summary(five) == [statement("seen_before", candidates=54321, studies=5, certain=True)]
    first, *others = earlier_studies(five)
    assert first == statement("more_earlier", n=2, candidates=21) and len(others) == 3
    told = replace(EARLIER, bounds=("0.1", "0.2"), choices=2, decision="the release was published", later=True)
    (earlier,) = earlier_studies(LedgerFacts((replace(told, certain=False, differences=("keys were A",)),)))
    assert words(earlier) == (
        "An earlier study of data with as many records and the same columns, begun on 2026-01-02, had results of 84"
        " candidates and limits on risk of 0.1 and 0.2; 2 choices were recorded in it; in the end the release was"
        " published. From its plan to that of the study after it: keys were A."
    )
    empty = LedgerFacts((replace(EARLIER, candidates=0),), unrelated=2, reasons=("a trial.",), unread=1)
    assert ledger_summary(empty) == [
        statement("seen_before", candidates=0, studies=1, certain=True),
        statement("unrelated", n=2),
    ]
    assert earlier_studies(empty)[1:] == [statement("unrelated_why", reasons=("a trial.",)), statement("unread", n=1)]
