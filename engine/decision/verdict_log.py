"""The verdict of the attacks on a release in the decision log, where it can be read without the records."""

from __future__ import annotations

from engine.measures.verdict import Verdict, verdict_of, verdict_values
from engine.study.decision_log import append, entries
from engine.study.study import Study

VERDICT = "verdict"
"""The part of an entry that holds it; the entry's ``candidate`` is its release, ``LABEL/REPLICATE``."""


def log_verdict(study: Study, candidate: str, verdict: Verdict) -> None:
    """Log the verdict on a release, unless the log says the same already."""
    if logged_verdict(study, candidate) != verdict:
        append(study, "attacked", {"candidate": candidate, VERDICT: verdict_values(verdict)})


def logged_verdict(study: Study, candidate: str) -> Verdict | None:
    """Return the latest verdict on a release; None where it was not attacked."""
    for entry in reversed(entries(study)):
        if entry.detail.get("candidate") == candidate and VERDICT in entry.detail:
            return verdict_of(entry.detail[VERDICT])
    return None
