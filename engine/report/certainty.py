"""Certainty of a recommendation: a conclusion for the first page, and the evidence for it.

It is about the noise of the runs, the run to be released among its siblings, and fresh runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.report.map_words import recall_basis, recall_words
from engine.report.redaction import is_count_title
from engine.report.run_words import expected_words, fresh_beside, on_frontier_words, standing_sentences, tells_share
from engine.report.words import about, figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow, Spread

_ERROR_WORDS = (
    "The figure after ± is the standard error of an average: the average would differ by about that much if all runs "
    "were made again."
)
_CLEAR_WORDS = (
    "“Clear” means that a candidate's place on or off the frontier holds with 95 % confidence, judged for this "
    "candidate against all others; it is not certain, and of many candidates that are called clear one in twenty may "
    "be misplaced."
)
_UNCERTAIN_WORDS = "“Uncertain” means that chance alone could move the candidate on or off the frontier."
NOISE_WORDS = f"{_ERROR_WORDS} {_CLEAR_WORDS} {_UNCERTAIN_WORDS}"
"""What is said of standard errors and of what is clear."""
BEATS = "is at least as safe and as useful, and better in one of the two"
"""What it means that a candidate dominates another one."""
UNBEATEN = "no other is at least as safe and as useful, and better in one"
"""What it means to be on the frontier, in short."""


def recommended(findings: Findings) -> CandidateRow:
    """The candidate that the report is about."""
    return next(row for row in findings.map.candidates if row.recommended)


def noise_words(findings: Findings) -> str:
    """Those of these explanations whose words stand in the table of lettered candidates."""
    rows = findings.map.candidates
    figures = [*((row.risk, row.risk_se) for row in rows), *((row.utility, row.utility_se) for row in rows)]
    has_error = any("±" in about(mean, se) for mean, se in figures)
    parts = (
        _ERROR_WORDS if has_error else "",
        _CLEAR_WORDS if any(row.clear for row in rows) else "",
        _UNCERTAIN_WORDS if not all(row.clear for row in rows) else "",
    )
    return " ".join(part for part in parts if part)


def certainty(findings: Findings) -> list[str]:
    """How sure the choice is, in sentences: the conclusion, then the evidence."""
    return [*conclusion(findings), *evidence(findings)]


def conclusion(findings: Findings) -> list[str]:
    """Whether the candidate is on the frontier, which place its run takes, how many runs meet the bound, and what
    chance hides."""
    fresh, recall = fresh_beside(findings), findings.map.recall
    missed = [] if recall is None else [recall_words(recall)]
    return [frontier_words(findings), *standing_sentences(findings), *([fresh] if fresh else []), *missed]


def evidence(findings: Findings) -> list[str]:
    """What the conclusion rests on: single runs, averages and their spread, and fresh runs."""
    board_map = findings.map
    failed = board_map.failed
    averages = (
        f"Candidates are compared by averages; this one's are over {plural(board_map.runs, 'run')} that differ only in "
        "chance" + (f"; {plural(failed, 'further run')} failed and are not counted" if failed else "") + "."
    )
    sentences = [averages, _unequal_runs_words(findings), single_runs_words(findings), expected_words(findings)]
    told = exposed_spread(findings)  # which page one tells, where it is told
    sentences += [_spread_words(spread) for spread in board_map.spreads if spread is not told]
    basis = "" if board_map.recall is None else recall_basis(board_map.recall)
    return [sentence for sentence in (*sentences, basis, fresh_runs(findings)) if sentence]


def _unequal_runs_words(findings: Findings) -> str:
    """Why candidates have different numbers of runs; empty where they have not."""
    if not findings.map.adds_runs or len({row.runs for row in findings.map.candidates}) < 2:
        return ""
    return (
        "Candidates have different numbers of runs, as the plan adds runs to those on which the choice still depends, "
        "until it is settled or the most runs that the plan allows are made."
    )


def exposed_spread(findings: Findings) -> Spread | None:
    """The count of exposed records over the runs, where it differs between them."""
    for spread in findings.map.spreads:
        if is_count_title(spread.title, of_keys=True) and spread.least is not None and spread.most is not None:
            return None if spread.least == spread.most else spread
    return None


def spread_words(findings: Findings) -> str:
    """The count of exposed records over the runs, and whether some are no fewer than if nothing were done."""
    spread, nothing = exposed_spread(findings), findings.exposure.small_before
    if spread is None:
        return ""
    text = (
        f"Over {findings.map.runs} runs of the candidate {figure(spread.least)} to {figure(spread.most)} unaltered "
        "records stand in small cells (are exposed)"
    )
    if (spread.most or 0.0) >= nothing:
        return f"{text}: some runs come out no safer than doing nothing, which leaves {nothing:,}."
    return f"{text}, in every run fewer than the {nothing:,} if nothing were done."


def _spread_words(spread: Spread) -> str:
    if spread.least is None:
        return ""
    least, most, released = (figure(value) for value in (spread.least, spread.most, spread.released))
    if least == most == released:
        return f"{spread.title}: {least} in every run, the one to be released among them."
    return f"{spread.title}: {least} to {most} over the runs, {released} in the one to be released."


def frontier_words(findings: Findings) -> str:
    """Whether the recommended candidate is on the frontier of the averages, how sure that is, and which candidate is
    better on average, if one is, and why it was not chosen."""
    row = recommended(findings)
    if row.undominated:
        doubt = "with 95 % confidence" if row.clear else "but chance alone could change that"
        return f"By averages candidate {row.letter} is on the frontier ({UNBEATEN}), {doubt}."
    return f"By averages candidate {row.letter} is not on the frontier. {' '.join(better_ones(findings))}"


def single_runs_words(findings: Findings) -> str:
    """In how many of the single runs it is on the frontier; empty where that is not known."""
    row = recommended(findings)
    if row.share is None or not tells_share(row):
        return ""
    return f"By single runs it is on the frontier in {on_frontier_words(row.share, row.shared_runs)}."


def better_ones(findings: Findings) -> list[str]:
    """The candidates that dominate the recommended one, each with why it was not chosen; empty without any."""
    row = recommended(findings)
    if row.undominated:
        return []
    asked = findings.recommendation.run.asked if findings.recommendation.run else None
    named = [other for other in findings.map.candidates if other.dominates]
    if not named:
        doubt = "" if row.clear else ", though by no more than chance explains"
        return [f"Another candidate {BEATS}{doubt}."]
    sentences = []
    for other in named:
        better = f"Candidate {other.letter} ({other.words}) {BEATS}"
        if other.within_bound is False:
            met = "its average meets" if asked is None else f"{100 * asked:.3g} % of its single runs meet"
            sentences.append(f"{better}; it was not chosen because its runs do not show that {met} the bound.")
        elif not (other.risk_clear or other.utility_clear):
            sentences.append(f"{better}, but the difference is within the noise of the runs.")
        else:
            sentences.append(f"{better}; no reason is recorded why it was not chosen.")
    return sentences


def fresh_runs(findings: Findings) -> str:
    """What fresh runs say, and whether they were made before the recommendation or after it."""
    rows = [row for row in findings.measures if row.chosen_by and row.fresh is not None]
    if not rows:
        return "The candidate has not been run again on fresh draws, so its figures may flatter it a little."
    when = {
        True: "made before the recommendation",
        False: "made after the recommendation was recorded",
        None: "made after the choice of finalists",
    }[findings.recommendation.rechecked_first]
    parts = [f"{lower_first(row.title)} {about(row.fresh, row.fresh_se)} ({about(row.mean, row.se)})" for row in rows]
    return f"On fresh runs, {when} (in brackets: in the runs that led to it): {listed(parts)}."
