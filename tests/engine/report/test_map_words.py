"""The bound on the board's map: where it stands, what it is called and what it says of averages."""

from __future__ import annotations

import json
from dataclasses import replace

from engine.report.answers import summary
from engine.report.certainty import UNBEATEN, evidence
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.map_facts import CandidateRow
from engine.report.map_words import (
    bars_words,
    bound_line_words,
    bound_title,
    counts_words,
    recall_words,
)
from engine.report.memo import memo
from engine.report.slides import slides
from engine.report.words import figure
from tests.engine.report.conftest import Case, N


def test_the_bound_on_a_share_stands_on_the_map_as_a_number_of_records(case: Case) -> None:
    board_map = case.findings.map
    assert (board_map.bound_at, board_map.bound_asked) == (0.5 * N, 0.9)
    assert bound_title(case.findings.map) == "bound, asked of 90 % of single runs"
    words = bound_line_words(case.findings)
    assert "A candidate meets the bound if 90 % of its single runs do" in words
    assert f"The dashed line is 50 % of all {N} records, about {figure(0.5 * N, 2)}; the bound is on the unalt" in words
    assert words in html_text(memo(case.findings)).replace("&#x27;", "'")
    assert any(words in str(section) for section in slides(case.findings).sections)


def test_a_bound_on_the_mean_is_called_so_and_none_is_not_drawn(case: Case) -> None:
    mean = replace(case.findings, map=replace(case.findings.map, bound_asked=None))
    assert bound_title(mean.map) == "bound on the average" and "single runs" not in bound_line_words(mean)
    earlier = json.loads(case.findings.to_json())
    del earlier["map"]["bound_at"], earlier["map"]["bound_asked"]
    assert bound_line_words(Findings.from_json(json.dumps(earlier))) == ""


def test_bars_are_explained_where_some_are_drawn(case: Case) -> None:
    rows = tuple(replace(row, risk_se=None, utility_se=None) for row in case.findings.map.candidates)
    without = replace(case.findings, map=replace(case.findings.map, candidates=rows))
    assert "two standard errors" not in bars_words(without) and "no bars of errors are drawn" in bars_words(without)
    assert "two standard errors" in bars_words(case.findings)


def test_how_many_of_the_frontier_have_no_letter_is_said(case: Case) -> None:
    board_map = case.findings.map
    lettered = sum(row.undominated for row in board_map.candidates)
    more = replace(case.findings, map=replace(board_map, n_frontier=lettered + 7))
    assert "7 of the frontier have no letter: those that cannot be told from a lettered one" in counts_words(more)
    all_of_them = replace(case.findings, map=replace(board_map, n_frontier=lettered))
    assert "no letter" not in counts_words(all_of_them)


def test_what_chance_hides_is_said_in_a_whole_sentence() -> None:
    missed = "probably missed by chance."
    of = "of the candidates that are truly on the frontier"
    assert recall_words(0.83) == f"At least about one in 6 {of} is {missed}"
    assert recall_words(0.98) == f"At least about 2 % {of} are {missed}"
    assert recall_words(0.4).startswith(f"At least about 60 % {of} are probably missed")


def test_the_share_that_chance_hides_has_its_basis_in_section_six(case: Case) -> None:
    board = replace(case.findings, map=replace(case.findings.map, recall=0.78))
    text = " ".join(evidence(board))
    assert "78 % were found again and 22 % were not, when all averages were drawn anew 100 times" in text
    assert "found again" not in " ".join(evidence(replace(board, map=replace(board.map, recall=None))))


def test_neighbours_are_named_by_their_side_of_the_recommended_candidate(case: Case) -> None:
    own = next(row for row in case.findings.map.candidates if row.recommended)
    others = {name: replace(own, letter=name, recommended=False) for name in "BCD"}

    def told(*rows: CandidateRow) -> str:
        return counts_words(replace(case.findings, map=replace(case.findings.map, candidates=rows)))

    text = told(own, *others.values())
    assert "B, C and D are the next ones towards more use, in this order." in text and "safest" not in text
    text = told(others["B"], others["C"], own, others["D"])
    assert "B and C are the next ones towards more safety, the nearest last." in text
    assert "D is the next one towards more use." in text


def test_a_candidate_of_the_frontier_that_doing_nothing_beats_is_named(case: Case) -> None:
    board_map = case.findings.map
    rows = tuple(replace(row, riskier_than_nothing=False) for row in board_map.candidates)
    calm = replace(board_map, candidates=rows, nothing_risk=5.0, frontier=((0.1, 3.0), (0.05, 5.0)))
    assert "Doing nothing" not in counts_words(replace(case.findings, map=calm))
    above = replace(calm, frontier=((0.1, 3.0), (0.05, 5.2)))
    beaten = (
        "Doing nothing is not counted among the candidates: it beats those on the frontier that are riskier on average"
    )
    assert f"{beaten}, as it changes nothing." in counts_words(replace(case.findings, map=above))
    own = replace(rows[0], undominated=True, riskier_than_nothing=True)
    named = replace(calm, candidates=(own, *rows[1:]))
    assert f"{beaten} (of lettered ones {own.letter}), as" in counts_words(replace(case.findings, map=named))


def test_the_frontier_is_defined_alike_in_all_texts(case: Case) -> None:
    assert f"are on the frontier: by averages {UNBEATEN}." in " ".join(html_text(memo(case.findings)).split())
    assert any(f"on the frontier ({UNBEATEN})" in sentence for sentence in summary(case.findings))
    assert UNBEATEN == "no other is at least as safe and as useful, and better in one"
