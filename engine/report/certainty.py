"""Certainty of a recommendation: noise of the runs, the run to be released among its siblings, fresh runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.report.map_words import recall_words
from engine.report.run_words import run_sentences
from engine.report.words import about, figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow

NOISE_WORDS = (
    "The figure after ± is the standard error of an average: the average would differ by about that much if all runs "
    "were made again. “Clear” means that a candidate's place on or off the frontier holds with 95 % confidence, judged "
    "for this candidate against all others; it is not certain, and of many candidates that are called clear one in "
    "twenty may be misplaced. “Uncertain” means that chance alone could move the candidate on or off the frontier."
)
"""What stands beside every table with standard errors."""
BEATS = "is at least as safe and as useful, and better in one of the two"
"""What it means that a candidate dominates another one."""


def recommended(findings: Findings) -> CandidateRow:
    """The candidate that the report is about."""
    return next(row for row in findings.map.candidates if row.recommended)


def certainty(findings: Findings) -> list[str]:
    """How sure the choice is, in sentences."""
    board_map = findings.map
    failed = board_map.failed
    sentences = [
        f"Candidates are compared by averages; this one's are over {plural(board_map.runs, 'run')} that differ only in "
        "chance" + (f"; {plural(failed, 'further run')} failed and are not counted" if failed else "") + "."
    ]
    sentences += [_on_the_frontier(findings), *run_sentences(findings)]
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
    return [*sentences, fresh_runs(findings)]


def _on_the_frontier(findings: Findings) -> str:
    row = recommended(findings)
    share = "" if row.share is None else f" It is on the frontier of {100 * row.share:.0f} % of the single runs."
    if row.undominated:
        doubt = "with 95 % confidence" if row.clear else "but others are within what chance explains"
        return f"Candidate {row.letter} is on the frontier, {doubt}.{share}"
    doubt = "" if row.clear else ", though by no more than chance explains"
    return f"Candidate {row.letter} is not on the frontier: another one {BEATS}{doubt}.{share}"


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
