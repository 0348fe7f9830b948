"""What the board reads of earlier studies: results seen before are counted, and no bound set after them is fixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle.submissions import differences, read_submission
from engine.decision.choice import choose
from engine.decision.statements import statement, words
from engine.decision.states import withhold
from engine.plan import DecisionPlan
from engine.plan.differences import lock
from engine.report.decision_pages import pages
from engine.report.log import EarlierFacts, LedgerFacts, earlier_studies, ledger_facts, ledger_summary
from engine.report.no_release import no_release_memo
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import Case, case_of, plan_of, raw_table
from tests.engine.report.pages import entries_of, text_of, tree

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
    from engine.report.build_findings import findings
    from engine.study.ledger import change_plan

    case = case_of(tmp_path, plan_of(decision=DecisionPlan()))
    change_plan(case.study, replace(case.study.plan, decision=DecisionPlan(max_risk="0.5")))
    rule = findings(case.study, case.realisation).approved.rule
    assert rule.endswith("; the limit was set in a change of the plan, after results could be seen")


def test_the_sheet_tells_what_had_been_seen_and_calls_no_later_bound_fixed(after_another: Case, case: Case) -> None:
    n = len({scenario.spec.attributes for scenario in after_another.study.scenarios})
    seen = f"Results of {n} candidates had been seen in an earlier study of the same data"
    for findings, told in ((after_another.findings, True), (case.findings, False)):
        assert (seen in text_of(pages(findings))) is told
        rules = (dict(findings.approved.parameters)["Selection rule"], findings.approved.rule)
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
    withhold(after_another.study, "A. Analyst", "too risky")
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
