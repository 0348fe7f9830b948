"""Certainty of a recommendation: noise of the runs, the run to be released among its siblings, fresh runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.report.map_words import recall_words
from engine.report.run_words import fresh_within, on_frontier_words, standing_sentences
from engine.report.words import about, figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow

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
    """How sure the choice is, in sentences."""
    board_map = findings.map
    failed = board_map.failed
    sentences = [
        f"Candidates are compared by averages; this one's are over {plural(board_map.runs, 'run')} that differ only in "
        "chance" + (f"; {plural(failed, 'further run')} failed and are not counted" if failed else "") + "."
    ]
    sentences += [frontier_words(findings), *standing_sentences(findings)]
    if board_map.recall is not None:
        sentences.append(recall_words(board_map.recall))
    for spread in board_map.spreads:
        if spread.least is not None:
            least, most, released = (figure(value) for value in (spread.least, spread.most, spread.released))
            sentences.append(
                f"{spread.title}: {least} in every run, the one to be released among them."
                if least == most == released
                else f"{spread.title}: {least} to {most} over the runs, {released} in the one to be released."
            )
    return [*sentences, fresh_runs(findings), *([fresh] if (fresh := fresh_within(findings)) else [])]


def frontier_words(findings: Findings) -> str:
    """Whether the recommended candidate is on the frontier of the averages, how sure that is, in which share of the
    single runs it is, and which candidate is better on average, if one is, and why it was not chosen."""
    row = recommended(findings)
    share = ""
    if row.share is not None:
        share = f" By single runs it is on the frontier in {on_frontier_words(row.share, row.shared_runs)}."
    if row.undominated:
        doubt = "with 95 % confidence" if row.clear else "but chance alone could move it off"
        return f"By averages candidate {row.letter} is on the frontier, {doubt}.{share}"
    return f"By averages candidate {row.letter} is not on the frontier. {' '.join(better_ones(findings))}{share}"


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


def fresh_runs(findings: Findings, *, risk_only: bool = False) -> str:
    """What fresh runs say, and whether they were made before the recommendation or after it."""
    kinds = ("risk",) if risk_only else ("risk", "utility")
    rows = [row for row in findings.measures if row.chosen_by and row.fresh is not None and row.kind in kinds]
    if not rows:
        return "The candidate has not been run again on fresh draws, so its figures may flatter it a little."
    when = {
        True: "made before the recommendation",
        False: "made after the recommendation was recorded",
        None: "made after the choice of finalists",
    }[findings.recommendation.rechecked_first]
    parts = [
        f"{lower_first(row.title)} {about(row.fresh, row.fresh_se)} (in the runs that led to the choice: "
        f"{about(row.mean, row.se)})"
        for row in rows
    ]
    return f"On fresh runs, {when}: {listed(parts)}."
