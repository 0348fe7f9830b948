"""Words on lettered candidates: why one is beyond the bound, and why the recommended one is preferred to others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.common.wording import upper_first
from engine.report.answers import neighbour_sentence
from engine.report.candidate_words import (
    beyond_words,
    on_frontier,
    preferred_words,
    runs_within_words,
    standing_words,
)
from engine.report.certainty import recommended
from engine.report.context import report_context
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.page_one import page_one
from engine.report.words import about
from engine.study.map_reader import risk_utility_map
from tests.engine.report.conftest import Case


def within(findings: Findings, n_within: int, *others: dict[str, Any]) -> Findings:
    """The findings with so many candidates within the bound, of which the recommended one and ``others`` are shown."""
    own = replace(recommended(findings), within_bound=True)
    rows = [
        replace(own, letter=letter, recommended=False, within_bound=True, also_within=True, **{**EQUAL, **other})
        for letter, other in zip("BCD", others, strict=False)
    ]
    return replace(findings, map=replace(findings.map, n_within=n_within, candidates=(own, *rows)))


EQUAL = {"safer_by": 0.0, "more_useful_by": 0.0, "risk_clear": False, "utility_clear": False}


@pytest.mark.parametrize(
    ("asked", "few", "wanted"),
    [
        (0.9, False, "7 of its 20 runs meet the bound, fewer than 90 %"),
        (0.9, True, "it has too few runs to show that it meets the bound"),
        (None, False, "its average does not meet the bound"),
    ],
)
def test_beyond_a_bound_on_single_runs_is_said_in_runs(case: Case, asked: float | None, few: bool, wanted: str) -> None:
    findings = replace(case.findings, map=replace(case.findings.map, bound_asked=asked))
    row = replace(recommended(findings), within_bound=False, too_few_runs=few, recommended=False, letter="B")
    row = replace(row, within=7, runs=20)
    assert beyond_words(findings, row) == wanted and wanted in standing_words(findings, row)
    assert upper_first(wanted) in neighbour_sentence(findings, row, safer=True)
    assert "beyond the bound on risk" not in neighbour_sentence(findings, row, safer=True)


def test_page_one_names_who_else_is_within_the_bound_and_how_they_compare(case: Case) -> None:
    of = f"Of {case.findings.map.n_candidates} candidates"
    alone = preferred_words(within(case.findings, 1))
    assert alone == f"{of} only this one is within the bound on risk."
    equal = preferred_words(within(case.findings, 2, {}))
    assert equal.startswith(f"{of} 2 are within the bound on risk: the other is B. Compared with B it is no different")
    worse = within(
        case.findings, 3, {"utility_clear": True, "more_useful_by": -0.1}, {"risk_clear": True, "safer_by": 1.0}
    )
    text = preferred_words(worse)
    assert "the others are B and C." in text
    assert "Compared with B it is more useful and no different in risk beyond the noise of the runs." in text
    assert "Compared with C it is riskier and no different in utility beyond the noise of the runs." in text
    assert text in dict(page_one(worse).rows)["Why this one"]
    assert "besides it B, and 3 more that have no letter" in preferred_words(within(case.findings, 5, {}))


def test_the_rule_is_named_as_the_reason_where_it_chose(case: Case) -> None:
    findings = within(case.findings, 2, {})
    assert "The rule prefers" not in preferred_words(findings)
    rule = replace(findings.recommendation, recorded=True, by_utility=True)
    told = preferred_words(replace(findings, recommendation=rule))
    assert "The rule, which goes by averages, took A, which is no worse" in told


def test_the_figures_by_which_the_rule_prefers_one_are_told(case: Case) -> None:
    findings = within(case.findings, 2, {"utility": 0.9, "utility_se": None})
    findings = replace(findings, recommendation=replace(findings.recommendation, by_utility=True))
    own = recommended(findings)
    distances = f"(Hellinger distance: A {about(own.utility, own.utility_se)} and B 0.9"
    text = "The rule goes by averages alone and prefers A, whose utility is the best"
    assert f"{text} {distances})." in preferred_words(findings)
    same = {"utility": own.utility, "utility_se": own.utility_se}
    alike = replace(within(findings, 2, same), recommendation=findings.recommendation)
    equal = f"As shown, their utility is equal (Hellinger distance: {about(own.utility, own.utility_se)} each)."
    shown = f"{equal} The rule, which goes by averages, took"
    decided = preferred_words(alike)
    assert shown in decided and "prefers" not in decided and decided.endswith("less than chance explains.")
    withheld = replace(own, utility=None)
    rows = (withheld, *findings.map.candidates[1:])
    unseen = replace(findings, map=replace(findings.map, candidates=rows))
    assert preferred_words(unseen).endswith("because its utility is the best on average.")


def test_page_one_says_that_no_larger_share_was_tried_and_which_methods_were(case: Case) -> None:
    def tried(is_most: bool) -> str:
        rows = tuple(replace(row, at_most_tried=is_most) for row in case.findings.map.candidates)
        findings = replace(case.findings, map=replace(case.findings.map, candidates=rows))
        return dict(page_one(findings).rows)["Why this one"]

    most = "The plan tried no larger share of records than candidate A's."
    assert most in tried(True) and most not in tried(False)
    assert all("Methods tried: random swapping." in tried(is_most) for is_most in (True, False))
    assert tried(True).endswith("The plan gives no reason for either choice.")
    assert tried(False).endswith("The plan gives no reason for that.")
    rates = case.study.plan.space.rates
    rows = {row.letter: row for row in case.findings.map.candidates}
    assert {row.at_most_tried for row in rows.values()} <= {True, False} and len(rates) > 1
    assert all(row.at_most_tried == ("largest share" in row.words) for row in rows.values())


def test_the_table_of_section_six_tells_who_is_within_the_bound(case: Case) -> None:
    text = html_text(memo(within(case.findings, 2, {})))
    assert "B is added for being within the bound too." in text and ">within the bound<" not in text
    assert text.count("within the bound: 12 of its 12 runs meet it</td>") == 2
    assert "candidates were tried; doing nothing is none of them." in text


def test_without_a_bound_nothing_is_said_of_it(case: Case) -> None:
    findings = replace(case.findings, map=replace(case.findings.map, n_within=None))
    assert preferred_words(findings) == ""


def test_how_many_runs_of_a_neighbour_meet_the_bound_is_told_beside_those_of_the_recommended_one(case: Case) -> None:
    board_map, own = case.findings.map, recommended(case.findings)
    rows = [replace(own, within=19, runs=20), replace(own, letter="B", recommended=False, within=18, runs=20)]
    findings = replace(case.findings, map=replace(board_map, candidates=tuple(rows)))
    words = "18 of its 20 runs meet the bound; of candidate A 19 of 20 do."
    assert neighbour_sentence(findings, rows[1], safer=True).count(words) == 1
    earlier = replace(rows[1], within=None, runs=None)
    assert runs_within_words(findings, earlier) == ""
    assert runs_within_words(findings, replace(rows[1], within_bound=None)) == ""


def test_runs_within_the_bound_are_counted_for_every_lettered_candidate(case: Case) -> None:
    view, context = risk_utility_map(case.study), report_context(case.study, case.realisation)
    letters = {**context.letters, **context.also_within}
    for row in case.findings.map.candidates:
        runs = view.results.values[view.results.scenario == letters[row.letter], view.risk]
        assert (row.runs, row.within) == (len(runs), int((runs <= 0.5).sum()))
        assert row.shared_runs == 12 and on_frontier(row) == f"{round(12 * (row.share or 0))} of 12"
