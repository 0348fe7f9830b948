"""The ledger of a study as the board reads it: facts of earlier studies, and sentences on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
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
    "decision.max_risk": "bound on risk",
    "decision.slope": "trade-off",
    "decision.risk": "risk measure",
    "decision.utility": "utility measure",
}
"""Titles of entries of a plan that a board knows by other names."""
_SAME = "the same data"
UNKNOWN = "The log does not say whether there were earlier studies of the same data."
NONE = "No earlier study of the same data is known."


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


def ledger_summary(ledger: LedgerFacts | None) -> list[str]:
    """What had been seen of the same data before a study began, short enough for the memo's first page."""
    if ledger is None:
        return [UNKNOWN]
    sentences = []
    if seen := [study for study in ledger.earlier if study.candidates]:
        total = plural(sum(study.candidates for study in seen), "candidate")
        sentences.append(f"Results of {total} had been seen in {lower_first(_studies(len(seen)))} of {_data(seen)}.")
    elif ledger.earlier:
        sentences.append(f"{_studies(len(ledger.earlier))} of {_data(ledger.earlier)} had no results.")
    if ledger.approved_after:
        sentences.append("The plan was approved after an earlier study had begun.")
    if ledger.unrelated:
        others = "One study" if ledger.unrelated == 1 else f"{ledger.unrelated:,} studies"
        sentences.append(f"{others} of {_SAME} {'is' if ledger.unrelated == 1 else 'are'} said to be unrelated.")
    return sentences or [NONE]


def earlier_sentences(ledger: LedgerFacts | None) -> list[str]:
    """A sentence or two on each of the latest earlier studies, one on those before them, and one on others."""
    if ledger is None:
        return []
    before = ledger.earlier[:-_SHOWN]
    sentences = [_sentence(study) for study in ledger.earlier[-_SHOWN:]]
    if before:
        total = plural(sum(study.candidates for study in before), "candidate")
        sentences.insert(0, f"Before those named here came {len(before):,} more, with results of {total}.")
    if ledger.unrelated:
        text = f"Why studies of {_SAME} are said to be unrelated: {'; '.join(ledger.reasons)}"
        sentences.append(text.rstrip(".") + ".")
    if ledger.unread:
        sentences.append(f"{plural(ledger.unread, 'file')} beside the study could not be read as a study.")
    return sentences


def _sentence(study: EarlierFacts) -> str:
    begun = f", begun on {study.begun}," if study.begun else ""
    text = f"An earlier study of {_data([study])}{begun} had results of {plural(study.candidates, 'candidate')}"
    if study.bounds:
        text += f" and {'a bound' if len(study.bounds) == 1 else 'bounds'} on risk of {listed(study.bounds)}"
    if study.choices:
        text += f"; {plural(study.choices, 'choice')} {'was' if study.choices == 1 else 'were'} recorded in it"
    if study.decision:
        text += f"; in the end {study.decision}"
    than = "that of the study after it" if study.later else "this one"
    if not study.differences:
        return f"{text}. Its plan was the same as {than}."
    return f"{text}. From its plan to {than}: {'; '.join(study.differences)}."


def _studies(n: int) -> str:
    return "An earlier study" if n == 1 else f"{n:,} earlier studies"


def _data(studies: Sequence[EarlierFacts]) -> str:
    """What the studies are known to be of."""
    return _SAME if all(study.certain for study in studies) else "data with as many records and the same columns"
