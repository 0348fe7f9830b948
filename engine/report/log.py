"""The decision log and earlier studies as the board reads them: statements in the order in which things happened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.common.wording import upper_first
from engine.decision.bounds import in_words
from engine.decision.statements import Statement, sentences, statement
from engine.study.decision_log import ENTRY, LoggedChange, entries
from engine.study.ledger import bound_origin, decision_words, ledger_of

if TYPE_CHECKING:
    from engine.report.context import ReportContext
    from engine.report.redaction import Redactor
    from engine.study.decision_log import Entry
    from engine.study.study import Study

_PLAIN = ("withheld", "approved", "returned")
"""Entries whose event is their kind of statement, without values."""
_LOGGED = {"plan", "locked", "chosen", "submitted", "rechecked", "changed", "deviation", *_PLAIN}
_AT_BEGINNING = {"plan", "locked", "deviation"}
"""Entries that a sweep makes before it draws anything."""
_MOMENTS = 2.0  # seconds in which it makes them
_SHOWN = 3  # earlier studies that are told one by one


@dataclass(frozen=True)
class Event:
    """An event as its time (UTC, to the minute) and what is said of it."""

    at: str
    what: tuple[Statement, ...]

    @property
    def words(self) -> str:
        """The event in sentences."""
        return sentences(self.what)


def late_words(context: ReportContext, *, of_plan: bool = False) -> str:
    """That the limit of the choice was not fixed before any result could be seen, or that ``of_plan`` where it has one;
    empty where it was, or there is none."""
    bound, planned = None, context.study.plan.decision.max_risk
    if of_plan and planned is not None:
        bound = planned
    elif context.choice is not None:
        bound = context.choice.record.get("bound")
    return "" if bound is None else in_words("late", bound_origin(context.study, float(bound)))


def change_text(entry: str, words: str, redact: Redactor) -> str:
    """A change of the plan as a sentence; ``entry`` may be empty."""
    title = entry.replace(".", " ").replace("_", " ")
    return upper_first(redact(f"{title}: {words}" if title else words))


def history(study: Study, redact: Redactor, context: ReportContext | None = None) -> tuple[Event, ...]:
    """What happened; in the ``context`` of a recommendation every one names its candidate and its rule, and the last
    fresh runs their result.

    The sweep has no entry: it stands after what was logged when the study was made.  Fresh runs that it made
    itself, of a study whose log does not hold them, stand before the recommendation that rests on them.
    """
    log = [entry for entry in entries(study) if entry.event in _LOGGED]
    context = context if context and context.choice else None
    run, chosen = (context.run, context.choice) if context else (None, None)
    sweeps = _sweeps(study, log)
    rows: list[Event] = []
    for place, entry in enumerate(log):
        rows += sweeps.get(place, ())
        label, has_fresh = entry.detail.get("candidate"), entry.event == "chosen" and entry.detail.get("fresh")
        if has_fresh and not any(_runs_of(earlier, label) for earlier in log[:place]):
            rows.append(Event(_minute(entry.at), (statement("rechecked_in_sweep"),)))
        what = _of_entry(log, place, redact, context)
        if run and run.fresh and chosen and _runs_of(entry, chosen.label) >= run.fresh:
            if run.fresh_within is not None:
                what.append(statement("fresh_result", within=run.fresh_within, runs=run.fresh))
            run = None  # it is told once
        if contact := _contact(entry.by, study.plan.about.contact):
            what.append(statement("by_contact", name=contact))
        rows.append(Event(_minute(entry.at), tuple(what)))
    return (*rows, *sweeps.get(len(log), ()))


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _contact(by: str, contact: str) -> str:
    """Who made an entry, where that is the contact whom the plan names to the board; no other name is told."""
    names = {contact.strip().casefold(), contact.partition(",")[0].strip().casefold()} - {""}
    return by.strip() if by.strip().casefold() in names else ""


def _sweeps(study: Study, log: Sequence[Entry]) -> dict[int, list[Event]]:
    """When the sweep began and, where that was after a recommendation, was last started, by the place in the log of the
    entry that follows: whoever begins a sweep logs the plan within moments of making the study."""
    started = study.progress.started
    if not started:
        return {}
    begun, again = (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
        for seconds in (float(study.about.get("created", started)) + _MOMENTS, started)
    )
    first = Event(_minute(begun), (statement("sweep_begun", again=False),))
    rows = {sum(entry.event in _AT_BEGINNING and entry.at <= begun for entry in log): [first]}
    chosen = next((entry.at for entry in log if entry.event == "chosen"), again)
    if again > chosen:
        later = Event(_minute(again), (statement("sweep_begun", again=True),))
        rows.setdefault(sum(entry.at <= again for entry in log), []).append(later)
    return rows


def _of_entry(log: Sequence[Entry], place: int, redact: Redactor, context: ReportContext | None) -> list[Statement]:
    entry = log[place]
    match entry.event:
        case "plan":
            return [statement("begun", key_fixed=bool(entry.detail.get(ENTRY)))]
        case "locked":
            locked = str(entry.detail.get("at", ""))
            return [statement("locked", at=_minute(locked) if locked and locked[:16] < entry.at[:16] else "")]
        case "submitted":
            return [statement("submitted", despite=bool(entry.detail.get("despite")))]
        case "rechecked":
            return [_fresh_runs(log, place)]
        case "chosen":
            return _recommended(log, place, redact, context)
        case "changed" | "deviation":
            changes = tuple(change_text(change.entry, change.words, redact).rstrip(".") for change in entry.changes)
            why, off = redact(str(entry.detail.get("why", ""))), entry.event == "deviation"
            return [statement("plan_changed", deviation=off, changes=changes, why=why)]
    return [statement(entry.event)]


def _recommended(log: Sequence[Entry], place: int, redact: Redactor, context: ReportContext | None) -> list[Statement]:
    """A recommendation: of which candidate, by which rule, and whether it replaces another or is replaced."""
    choices, number = context.study.choices.all() if context else (), int(log[place].detail["choice"])
    if context is None or context.choice is None or number > len(choices):
        return [statement("recommended", letter="", rule="", limit="", origin="")]
    choice, limit, origin, rule = choices[number - 1], "", "", "judgement"
    if (bound := choice.record.get("bound")) is not None:
        rule = "other limit"
        if choice.record.get("risk") == context.choice.record.get("risk"):
            rule, origin = "limit", bound_origin(context.study, float(bound))
            # the sheet has the limit that counts; the log tells others
            limit = "" if context.bound == float(bound) else context.limit_words(float(bound))
    elif choice.record.get("slope") is not None:
        rule = "slope"
    letter = redact.letters.get(choice.label, "") or "?"
    told = [statement("recommended", letter=letter, rule=rule, limit=limit, origin=origin)]
    if any(entry.event == "chosen" for entry in log[:place]):
        told.append(statement("replaces", why=redact(choice.why).rstrip(".")))
    if any(entry.event == "chosen" for entry in log[place + 1 :]):
        told.append(statement("replaced"))
    return told


def _runs_of(entry: Entry, label: str | None) -> int:
    """How many fresh runs of a candidate the study holds from an entry on, as far as that entry says."""
    is_about = entry.event == "rechecked" and label in entry.detail.get("candidates", ())
    return int(entry.detail.get("replicates", 0)) if is_about else 0


def _fresh_runs(log: Sequence[Entry], place: int) -> Statement:
    """Fresh runs: of the candidate recommended by then or, before any is, of the one that was recommended next."""
    detail = log[place].detail
    n, runs = len(detail.get("candidates", ())), int(detail.get("replicates", 0))
    chosen = next((earlier for earlier in reversed(log[:place]) if earlier.event == "chosen"), None)
    following = next((later for later in log[place:] if later.event == "chosen"), None)
    for about, afterwards in ((chosen, True), (following, False)):
        label = about.detail.get("candidate") if about else None
        if _runs_of(log[place], label):
            again = max((_runs_of(earlier, label) for earlier in log[:place]), default=0) >= runs
            return statement("rechecked", runs=runs, others=n - 1, afterwards=afterwards, again=again)
    return statement("finalists_rechecked", runs=runs, finalists=n)


# -- earlier studies -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EarlierFacts:
    """An earlier study as it was when a later one began.

    ``begun`` is a day, ``candidates`` had results; ``choices`` were recorded, of which ``decision`` is the latest event
    in words (empty: none was recorded), under these ``bounds`` on risk, the plan's first.  ``differences`` of its plan
    from the later one are in words; ``later`` says that the later one is another earlier study.  ``certain`` says that
    the data are known to be the same, and not only to have the same shape.
    """

    begun: str
    candidates: int
    choices: int
    decision: str
    bounds: tuple[str, ...]
    differences: tuple[str, ...]
    later: bool = False
    certain: bool = True


@dataclass(frozen=True)
class LedgerFacts:
    """What came before a study, oldest first.

    ``unrelated`` studies of the same data were said to have nothing to do with it, for these ``reasons``; ``unread``
    files beside it could not be read.  ``approved_after`` says that the plan was approved after an earlier study had
    begun of which there were results.
    """

    earlier: tuple[EarlierFacts, ...] = ()
    unrelated: int = 0
    reasons: tuple[str, ...] = ()
    unread: int = 0
    approved_after: bool = False


def ledger_facts(study: Study, redact: Redactor) -> LedgerFacts | None:
    """What came before a study; None where its log does not say."""
    ledger, lock = ledger_of(study), study.plan.lock
    if ledger is None:
        return None
    earlier = []
    for each in ledger.earlier:
        bounds = (*(() if each.bound is None else (each.bound,)), *each.bounds_chosen)
        earlier.append(
            EarlierFacts(
                begun=each.begun[:10],
                candidates=each.candidates,
                choices=each.choices,
                decision=decision_words(each.decision) if each.decision else "",
                bounds=tuple(redact(f"{bound:g}") for bound in dict.fromkeys(bounds)),
                differences=tuple(_difference(LoggedChange.read(text), redact) for text in each.differences),
                later=bool(each.later),
                certain=each.certain,
            )
        )
    return LedgerFacts(
        earlier=tuple(earlier),
        unrelated=sum(len(said.studies) for said in ledger.unrelated),
        reasons=tuple(dict.fromkeys(redact(said.why) for said in ledger.unrelated)),
        unread=len(ledger.unread),
        approved_after=lock is not None and any(each.begun < lock.at for each in ledger.had_results),
    )


def _difference(change: LoggedChange, redact: Redactor) -> str:
    return redact(f"{in_words('entry', change.entry)} {change.words}".lstrip())


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
