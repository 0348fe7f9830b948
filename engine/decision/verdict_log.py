"""The verdict of the attacks on a release as a statement, and in the decision log."""

from __future__ import annotations

from engine.decision.statements import Statement, Value, statement, words
from engine.measures.verdict import Verdict, verdict_of, verdict_values
from engine.study.decision_log import append, entries
from engine.study.study import Study

VERDICT = "verdict"
"""The part of an entry that holds it; the entry's ``candidate`` is its release, ``LABEL/REPLICATE``."""


STREAMED = "the records are read by streaming, and attacks other than guesses of values need all of them in memory"
"""The reason why attacks on a release of streamed records are not made."""


def why_not_made(study: Study, verdict: Verdict) -> str:
    """Return the reason why attacks on a release were not made; empty where they were."""
    return verdict.why if verdict.kind == "untried" else STREAMED if "streamed" in study.about else ""


def verdict_statement(verdict: Verdict, kind: str = "recognised") -> Statement:
    """Return the finding of an attack, for readers who may know how many records were altered; ``kind`` "attack" is
    that of page 1."""
    if verdict.kind == "untried":
        return statement("not_tried", why=verdict.why)
    told = verdict.outright
    values: dict[str, Value] = {
        "found": verdict.severity,
        "named": verdict.named,
        "right": float(verdict.right),
        "guessed": float(verdict.guessed),
        "certain": told.certain if told else 0,
        "altered": told.altered if told else 0,
        "certain_of": told.of if told else "",
        "certain_by": told.by if told else "",
    }
    if verdict.kind == "method":
        return statement("values_guessed", attributes=verdict.why, **values)
    return statement(kind, knowledge=verdict.kind, n=verdict.n, of=verdict.of, **values)


def verdict_words(verdict: Verdict) -> str:
    """Return the finding of an attack in words."""
    return words(verdict_statement(verdict))


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
