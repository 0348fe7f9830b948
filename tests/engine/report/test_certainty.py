"""Sentences on the choice: which candidate is better on average and why it was not chosen, differences as shown."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.decision.choice import choose
from engine.frontier.neighbours import lettered
from engine.report.answers import neighbour_sentence, neighbour_sentences
from engine.report.build_findings import findings
from engine.report.certainty import (
    certainty,
    conclusion,
    evidence,
    frontier_words,
    noise_words,
    recommended,
    single_runs_words,
)
from engine.report.context import report_context
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.map_facts import CandidateRow, Spread
from engine.report.memo import memo
from engine.report.page_one import page_one
from engine.report.words import about, difference, figure_shown, mean_shown
from engine.study.map_reader import risk_utility_map
from tests.engine.report.conftest import Case, case_of, plan_of, raw_table


def with_rows(findings: Findings, own: dict[str, Any], **other: Any) -> tuple[Findings, CandidateRow]:
    """The findings with the recommended candidate and one other one, changed as said."""
    row = recommended(findings)
    one = replace(row, letter="B", words="exchanges the attribute Z", recommended=False, safer_by=0.0, **other)
    rows = (replace(row, **own), one)
    return replace(findings, map=replace(findings.map, candidates=rows)), one


DOMINATED = {"undominated": False, "clear": False, "share": 0.25}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            {"within_bound": False},
            "it was not chosen because its runs do not show that 90 % of its single runs meet the bound",
        ),
        ({"within_bound": True, "risk_clear": False, "utility_clear": False}, "the difference is within the noise"),
        ({"within_bound": True, "risk_clear": True}, "no reason is recorded why it was not chosen"),
    ],
)
def test_a_candidate_that_is_better_on_average_is_named_with_why_it_was_not_chosen(
    case: Case, other: dict[str, Any], words: str
) -> None:
    findings, _ = with_rows(case.findings, DOMINATED, dominates=True, **other)
    beats = "Candidate B (exchanges the attribute Z) is at least as safe and as useful"
    for text in (frontier_words(findings), dict(page_one(findings).rows)["Neighbours"]):
        assert beats in text and words in text
    assert not any(
        text.startswith("Candidate B (exchanges the attribute Z) is safer") for text in neighbour_sentences(findings)
    )
    assert "not on the frontier" not in dict(page_one(findings).rows)["How sure"], "said once on the page"


def test_one_that_cannot_be_told_apart_from_the_recommended_one_has_no_letter(case: Case) -> None:
    findings, _ = with_rows(case.findings, DOMINATED)
    assert "Another candidate is at least as safe" in frontier_words(findings)


@pytest.mark.slow
def test_who_dominates_is_decided_on_exact_averages(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of()).study
    view = risk_utility_map(study)
    index = int(np.flatnonzero(~view.dominance.undominated)[0])
    choice = choose(study, view, "by hand", candidate=view.scenarios[index].label)
    realisation = remade(study, raw_table(), choice.label, choice.replicate)
    report, context = findings(study, realisation), report_context(study, realisation)
    assert context.letters == lettered(view, index)
    letters, risk, use = {**context.letters, **context.also_within}, view.risk_loss, view.utility_loss
    for row in report.map.candidates:
        other = letters[row.letter]
        gains = (risk[index] - risk[other], use[index] - use[other])
        assert row.dominates == (min(gains) >= 0 and max(gains) > 0)
    assert not recommended(report).undominated and not recommended(report).dominates
    assert (
        "is at least as safe and as useful, and better in one of the two" in dict(page_one(report).rows)["Neighbours"]
    )


def test_findings_of_an_earlier_version_open(case: Case) -> None:
    plain = json.loads(case.findings.to_json())
    for row in plain["map"]["candidates"]:
        del row["dominates"]
    assert Findings.from_json(json.dumps(plain)) == case.findings


def test_frontier_by_averages_and_by_single_runs_do_not_contradict_each_other(case: Case) -> None:
    own = {"undominated": True, "clear": False, "share": 0.25, "shared_runs": 12}
    findings, _ = with_rows(case.findings, own)
    assert frontier_words(findings) == (
        "By averages candidate A is on the frontier (no other is at least as safe and as useful, and better in one), "
        "but chance alone could change that."
    )
    assert single_runs_words(findings) == (
        "By single runs it is on the frontier in 3 of 12 runs that all candidates share."
    )
    few, _ = with_rows(case.findings, {**own, "shared_runs": 9})
    assert single_runs_words(few) == "", "so few runs support no statement"
    earlier, _ = with_rows(case.findings, {**own, "shared_runs": None})
    assert single_runs_words(earlier) == "By single runs it is on the frontier in 25 % of them."
    unknown, _ = with_rows(case.findings, {**own, "share": None})
    assert single_runs_words(unknown) == ""


def test_why_candidates_have_different_numbers_of_runs_is_said_where_the_plan_adds_runs(case: Case) -> None:
    for adds_runs, runs, is_said in ((True, 400, True), (True, None, False), (False, 400, False)):
        rows = tuple(
            replace(row, runs=runs if place else 200) for place, row in enumerate(case.findings.map.candidates)
        )
        rows = rows if runs else tuple(replace(row, runs=200) for row in rows)
        findings = replace(case.findings, map=replace(case.findings.map, candidates=rows, adds_runs=adds_runs))
        assert any("the plan adds runs to those" in line for line in evidence(findings)) == (is_said and len(rows) > 1)


@pytest.mark.slow
def test_the_first_page_has_the_conclusion_and_section_six_the_evidence(case: Case) -> None:
    rows = tuple(replace(row, fresh=row.mean, fresh_se=row.se) for row in case.findings.measures)
    findings, _ = with_rows(replace(case.findings, measures=rows), {"undominated": True, "share": 0.25})
    page, section = dict(page_one(findings).rows), html_text(memo(findings)).partition(">6  The frontier")[2]
    assert conclusion(findings) and len(evidence(findings)) > 4
    for sentence in evidence(findings):
        assert sentence not in " ".join(page.values()), "nothing stands twice"
        assert escape(sentence) in section
    for sentence in conclusion(findings):
        assert sentence in page["How sure"] and escape(sentence) not in section
    assert certainty(findings) == [*conclusion(findings), *evidence(findings)]


def test_differences_are_those_of_the_figures_shown(case: Case) -> None:
    """1.25 beside 2.2 is told as 1.2 beside 2.2, so that the difference is 1.0, not 0.95."""
    own = {"risk": 2.2, "risk_se": 0.3524, "utility": 0.06, "utility_se": None}
    findings, row = with_rows(case.findings, own, risk=1.25, risk_se=0.2702, utility=0.09, utility_se=None)
    text = neighbour_sentence(findings, row, safer=True)
    assert about(1.25, 0.2702).startswith("1.2 ") and "in small cells −1.0 records, Hellinger distance +0.03." in text
    findings, row = with_rows(case.findings, own, risk=2.2, risk_se=0.3524, utility=0.06, utility_se=None)
    text = neighbour_sentence(findings, row, safer=True)
    assert "equal" not in text and "on average, by less than the figures show." in text


def test_the_figures_subtracted_are_those_that_stand_in_the_table() -> None:
    for value, se in [
        (1.25, 0.27),
        (2.2, 0.3524),
        (1700.0, 100.0),
        (-0.5, 0.02),
        (0.11, 0.0),
        (0.06, None),
        (12.0, None),
    ]:
        number = about(value, se).split(" ± ")[0].split(" ")[-1].replace(",", "").replace("−", "-")
        assert mean_shown(value, se) == Decimal(number)
    assert mean_shown(None, 1.0) is None and figure_shown(0.0937, 1) == Decimal("0.09")
    assert difference(mean_shown(2.2, 0.3524), mean_shown(1.25, 0.27)) == "−1.0"
    assert difference(Decimal(1), None) == "–"


@pytest.mark.parametrize(
    ("most", "words"), [(7.0, "some runs come out no safer than doing nothing"), (2.0, "in every run fewer")]
)
def test_page_one_tells_the_spread_and_what_fewer_records_do_not_say(case: Case, most: float, words: str) -> None:
    exposure = replace(case.findings.exposure, small_before=5, unaltered_after=0)
    findings, _ = with_rows(case.findings, {"riskier_than_nothing": False})
    spreads = (Spread("Unaltered records in small cells", 0.0, 1.0, most, 0.0),)
    findings = replace(findings, exposure=exposure, map=replace(findings.map, spreads=spreads))
    risk = dict(page_one(findings).rows)["Risk"]
    assert f"0 to {most:g} unaltered records stand in small cells (are exposed)" in risk and words in risk
    assert risk.count("altering many lowers it by itself; the table above therefore also counts all records.") == 1


def test_no_word_of_the_first_page_needs_an_explanation(case: Case) -> None:
    page = page_one(case.findings)
    text = " ".join([page.decision, *page.warnings, *(text for _, text in page.rows), *certainty(case.findings)])
    for words in ("figure to expect of the method", "at best are expected", "extent considered", "of itself"):
        assert words not in text


@pytest.mark.parametrize("high", [0.84, 0.95])
def test_fresh_runs_are_counted_once_on_the_first_page(case: Case, high: float) -> None:
    """At its head where they refute the choice, among how sure it is otherwise."""
    advice = case.findings.recommendation
    assert advice.run is not None
    run = replace(advice.run, fresh=50, fresh_within=36, fresh_low=0.57, fresh_high=high)
    obstacle = ("Only 36 of 50 fresh runs meet the bound on risk, so ...",) if high < 0.9 else ()
    page = page_one(replace(case.findings, recommendation=replace(advice, run=run, obstacles=obstacle)))
    text = " ".join([*page.warnings, *(text for _, text in page.rows)])
    assert text.count("50 fresh runs") == 1


def test_only_words_that_stand_in_the_table_are_explained(case: Case) -> None:
    for clear in (True, False):
        rows = tuple(replace(row, clear=clear, risk_se=None, utility_se=None) for row in case.findings.map.candidates)
        text = noise_words(replace(case.findings, map=replace(case.findings.map, candidates=rows)))
        assert "±" not in text and ("“Clear”" in text) == clear and ("“Uncertain”" in text) != clear
    rows = tuple(replace(row, risk=5.0, risk_se=0.25) for row in case.findings.map.candidates)
    assert "±" in noise_words(replace(case.findings, map=replace(case.findings.map, candidates=rows)))
