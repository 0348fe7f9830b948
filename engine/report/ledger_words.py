"""The ledger of a study as the board reads it: facts of earlier studies, and statements on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.decision.statements import Statement, statement
from engine.report.ledger_facts import EarlierFacts, LedgerFacts
from engine.study.decision_log import LoggedChange
from engine.study.ledger import decision_words, ledger_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.report.redaction import Redactor
    from engine.study.ledger import EarlierStudy
    from engine.study.study import Study

_SHOWN = 3
_TOLD = {
    "keys": "keys",
    "swap": "attributes that may be exchanged",
    "analyse": "attributes that users tabulate",
    "decision.max_risk": "limit on risk",
    "decision.slope": "trade-off",
    "decision.risk": "risk measure",
    "decision.utility": "utility measure",
}
"""Titles of entries of a plan that a board knows by other names."""


def ledger_facts(study: Study, redact: Redactor) -> LedgerFacts | None:
    """What came before a study; None where its log does not say."""
    ledger = ledger_of(study)
    if ledger is None:
        return None
    lock = study.plan.lock
    return LedgerFacts(
        earlier=tuple(_earlier(earlier, redact) for earlier in ledger.earlier),
        unrelated=sum(len(statement.studies) for statement in ledger.unrelated),
        reasons=tuple(dict.fromkeys(redact(statement.why) for statement in ledger.unrelated)),
        unread=len(ledger.unread),
        approved_after=lock is not None and any(earlier.begun < lock.at for earlier in ledger.had_results),
    )


def _earlier(study: EarlierStudy, redact: Redactor) -> EarlierFacts:
    planned = () if study.bound is None else (study.bound,)
    return EarlierFacts(
        begun=study.begun[:10],
        candidates=study.candidates,
        choices=study.choices,
        decision=decision_words(study.decision) if study.decision else "",
        bounds=tuple(redact(f"{bound:g}") for bound in dict.fromkeys((*planned, *study.bounds_chosen))),
        differences=_difference_words([LoggedChange.read(each) for each in study.differences], redact),
        later=bool(study.later),
        certain=study.certain,
    )


def _difference_words(changes: Sequence[LoggedChange], redact: Redactor) -> tuple[str, ...]:
    """Differences of two plans, each with its values."""
    titles = [_TOLD.get(change.entry, change.entry.replace(".", " ").replace("_", " ")) for change in changes]
    return tuple(redact(f"{title} {change.words}".lstrip()) for title, change in zip(titles, changes, strict=True))


def ledger_summary(ledger: LedgerFacts | None) -> list[Statement]:
    """What had been seen of the same data before a study began, short enough for the memo's first page."""
    if ledger is None:
        return [statement("ledger_unknown")]
    told, seen = [], [study for study in ledger.earlier if study.candidates]
    if about := seen or ledger.earlier:
        certain, total = all(study.certain for study in about), sum(study.candidates for study in about)
        told.append(statement("seen_before", candidates=total, studies=len(about), certain=certain))
    if ledger.approved_after:
        told.append(statement("approved_after_earlier"))
    if ledger.unrelated:
        told.append(statement("unrelated", n=ledger.unrelated))
    return told or [statement("none_earlier")]


def earlier_studies(ledger: LedgerFacts | None) -> list[Statement]:
    """A statement on each of the latest earlier studies, one on those before them, and one on others."""
    if ledger is None:
        return []
    before, told = ledger.earlier[:-_SHOWN], []
    if before:
        total = sum(study.candidates for study in before)
        told.append(statement("more_earlier", n=len(before), candidates=total))
    for study in ledger.earlier[-_SHOWN:]:
        values = vars(study) | {"limits": study.bounds}
        del values["bounds"]
        told.append(statement("earlier_study", **values))
    if ledger.unrelated:
        told.append(statement("unrelated_why", reasons=ledger.reasons))
    if ledger.unread:
        told.append(statement("unread", n=ledger.unread))
    return told
