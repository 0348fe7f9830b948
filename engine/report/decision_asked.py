"""The decision that a board is asked for, or the record of the one that it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.report.findings import Findings


def decision_words(findings: Findings) -> str:
    """What the board is asked to decide or, once it has decided, the record of that."""
    cover, candidate = findings.cover, f"candidate {findings.recommendation.letter}"
    if cover.state == "withheld":
        return "The board is asked to note the recommendation to release nothing."
    if not findings.recommendation.recorded:
        return f"Nothing is asked of the board yet: {candidate} is shown, and no recommendation is recorded."
    on = f" on {cover.decided}" if cover.decided else ""
    number = f" as {cover.number}" if cover.number else ""
    match cover.state:
        case "approved":
            return f"Record of the decision: the release of {candidate} was approved{on}{number}."
        case "released":
            return f"Record of the decision: the release of {candidate} was approved{on}{number}, and it is published."
        case "returned":
            return f"Record of the decision: the board returned the recommendation of {candidate}{on}."
        case "draft":
            return f"The board is to be asked to approve the release of {candidate}."
        case _:
            return f"The board is asked to approve the release of {candidate}."


def is_decided(findings: Findings) -> bool:
    """Whether the board has decided on what is recommended, so that nothing is left to sign."""
    return findings.cover.state in ("approved", "released", "returned")
