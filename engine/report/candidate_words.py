"""Words on lettered candidates beside the recommended one, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.report.certainty import recommended
from engine.report.parameters import METHODS_TITLE
from engine.report.words import NONE, about

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow

ON_FRONTIER = "On the frontier in single runs"
"""The column of how often a candidate is on the frontier."""


def beyond_words(findings: Findings, row: CandidateRow) -> str:
    """Why a candidate does not meet the bound on risk: its average may well lie below the bound on single runs."""
    asked = findings.map.bound_asked
    if row.too_few_runs:
        return "it has too few runs to show that it meets the bound"
    if asked is None:
        return "its average does not meet the bound"
    fewer = f"fewer than {100 * asked:.3g} %"
    if row.within is None or row.runs is None:
        return f"{fewer} of its runs meet the bound"
    return f"{row.within} of its {plural(row.runs, 'run')} meet the bound, {fewer}"


def runs_within_words(findings: Findings, row: CandidateRow) -> str:
    """How many runs of a candidate meet the bound, beside how many of the recommended one's do; empty without a
    bound."""
    own = recommended(findings)
    if row.within_bound is None:
        return ""
    if row.within is None or own.within is None or own.runs is None:
        return "" if row.within_bound else beyond_words(findings, row)
    told = f"{row.within} of its {plural(row.runs or 0, 'run')} meet the bound"
    if not row.within_bound:
        told = beyond_words(findings, row)
    return f"{told}; of candidate {own.letter} {own.within} of {own.runs} do"


def on_frontier(row: CandidateRow) -> str:
    """In how many of the runs that all candidates share one is on the frontier, for a table."""
    if row.share is None:
        return NONE
    if row.shared_runs is None:
        return "under\u00a01\u00a0%" if row.share < 0.005 else f"{100 * row.share:.0f} %"
    return f"{round(row.share * row.shared_runs):,} of {row.shared_runs:,}"


def standing_words(findings: Findings, row: CandidateRow) -> str:
    """Where a candidate stands, for the table of lettered ones."""
    bound = ""
    if row.within_bound is not None:
        bound = beyond_words(findings, row)
        if row.within_bound:
            met = "" if row.within is None else f": {row.within} of its {plural(row.runs or 0, 'run')} meet it"
            bound = f"within the bound{met}"
    parts = (
        "recommended" if row.recommended else "",
        "on the frontier of averages" if row.undominated else "dominated",
        "clear" if row.clear else "uncertain",
        bound,
        "riskier than doing nothing" if row.riskier_than_nothing else "",
    )
    return "; ".join(part for part in parts if part)


def tried_words(findings: Findings) -> str:
    """Whether the plan tried larger shares of records than the recommended candidate's, and which methods."""
    own, methods = recommended(findings), dict(findings.approved.parameters).get(METHODS_TITLE)
    largest = f"The plan tried no larger share of records than candidate {own.letter}'s." if own.at_most_tried else ""
    why = f"The plan gives no reason for {'either choice' if largest and methods else 'that'}."
    why = why if largest or methods else ""
    return " ".join(text for text in (largest, f"Methods tried: {methods}." if methods else "", why) if text)


def preferred_words(findings: Findings) -> str:
    """How many candidates are within the bound, and how the recommended one compares with the others; empty without a
    bound."""
    board_map, own = findings.map, recommended(findings)
    if board_map.n_within is None:
        return ""
    of = f"Of {plural(board_map.n_candidates, 'candidate')}"
    if own.within_bound is not True:
        return f"{of} {board_map.n_within:,} are within the bound on risk; candidate {own.letter} is not."
    if board_map.n_within == 1:
        return f"{of} only this one is within the bound on risk."
    others = [row for row in board_map.candidates if row.within_bound and not row.recommended]
    text = f"{of} {board_map.n_within:,} are within the bound on risk"
    if not others:
        return f"{text}."
    more = board_map.n_within - 1 - len(others)
    letters = listed(row.letter for row in others)
    named = f"the other{'s are' if len(others) > 1 else ' is'} {letters}"
    if more:
        named = f"besides it {letters}, and {more:,} more that have no letter"
    return " ".join([f"{text}: {named}.", *_compared(findings, others)])


def _compared(findings: Findings, others: list[CandidateRow]) -> list[str]:
    """The recommended candidate beside others within the bound, those of which the same is said together."""
    groups = dict[str, list[str]]()
    for row in others:
        groups.setdefault(_difference(row), []).append(row.letter)
    sentences = [f"Compared with {listed(letters)} it is {words}." for words, letters in groups.items()]
    return [*sentences, _preference(findings, others)] if findings.recommendation.by_utility else sentences


def _preference(findings: Findings, others: list[CandidateRow]) -> str:
    """Why the rule took this one of those within the bound: by which figures of utility, and what decides where they
    are equal as they are shown."""
    own, title = recommended(findings), lower_first(findings.map.utility_title)
    best = f"The rule prefers {own.letter} because its utility is the best on average"
    if own.utility is None or all(row.utility_clear for row in others):
        return f"{best}."
    figures = {row.letter: about(row.utility, row.utility_se) for row in (own, *others)}
    if len(set(figures.values())) > 1:
        shown = listed(f"{letter} {words}" for letter, words in figures.items())
        return (
            f"The rule goes by averages alone and prefers {own.letter}, whose utility is the best ({title}: {shown})."
        )
    return (
        f"As shown, their utility is equal ({title}: {figures[own.letter]} each). The rule, which goes by averages, "
        f"took {own.letter}, which is no worse; the difference is less than chance explains."
    )


def _difference(row: CandidateRow) -> str:
    """What the recommended candidate is beside another one."""
    risk = "no different in risk" if not row.risk_clear else "riskier" if (row.safer_by or 0) > 0 else "safer"
    utility = "no different in utility"
    if row.utility_clear:
        utility = "less useful" if (row.more_useful_by or 0) > 0 else "more useful"
    if not row.risk_clear and not row.utility_clear:
        return "no different in risk or utility beyond the noise of the runs"
    if row.risk_clear and row.utility_clear:
        return f"{risk} and {utility}"
    return (
        f"{utility} and {risk} beyond the noise of the runs"
        if row.utility_clear
        else f"{risk} and {utility} beyond the noise of the runs"
    )
