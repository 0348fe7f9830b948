"""The decision log as statements, in the order in which things happened, and changes of the plan among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.common.wording import upper_first
from engine.decision.statements import Statement, sentences, statement
from engine.study.decision_log import ENTRY, entries
from engine.study.ledger import bound_origin

if TYPE_CHECKING:
    from engine.report.redaction import Redactor
    from engine.study.decision_log import Entry
    from engine.study.study import Study

_PLAIN = ("withheld", "approved", "returned")
"""Entries whose event is their kind of statement, without values."""
_CHANGES = ("changed", "deviation")
_LOGGED = {"plan", "locked", "chosen", "submitted", "rechecked", *_PLAIN, *_CHANGES}
_AT_BEGINNING = {"plan", "locked", "deviation"}
"""Entries that a sweep makes before it draws anything."""
_MOMENTS = 2.0  # seconds in which it makes them


@dataclass(frozen=True)
class Event:
    """An event as its time (UTC, to the minute) and what is said of it."""

    at: str
    what: tuple[Statement, ...]

    @property
    def words(self) -> str:
        """The event in sentences."""
        return sentences(self.what)


@dataclass(frozen=True)
class Board:
    """What the board's log tells beside its entries.

    A recommendation under the risk measure ``risk`` has its limit in words by ``limit_words``; after the entry by which
    the candidate ``label`` has ``fresh`` runs stands that ``within`` of them meet the limit (None: not told).
    """

    risk: str
    limit_words: Callable[[float], str]
    label: str
    fresh: int
    within: int | None


def change_text(entry: str, words: str, redact: Redactor) -> str:
    """A change of the plan as a sentence; ``entry`` may be empty."""
    title = entry.replace(".", " ").replace("_", " ")
    return upper_first(redact(f"{title}: {words}" if title else words))


def history(study: Study, redact: Redactor, board: Board | None = None) -> tuple[Event, ...]:
    """What happened, for a ``board`` with the candidates and limits of recommendations.

    The sweep has no entry: it stands after what was logged when the study was made.  Fresh runs that it made
    itself, of a study whose log does not hold them, stand before the recommendation that rests on them.
    """
    log = [entry for entry in entries(study) if entry.event in _LOGGED]
    places = (place for place, entry in enumerate(log) if board and _runs_of(entry, board.label) >= board.fresh > 0)
    result_at = next(places, None)
    sweeps = _sweeps(study, log)
    rows: list[Event] = []
    for place, entry in enumerate(log):
        rows += sweeps.get(place, ())
        if entry.event == "chosen" and entry.detail.get("fresh") and not _rechecks(log[:place], entry):
            rows.append(Event(_minute(entry.at), (statement("rechecked_in_sweep"),)))
        what = _of_entry(study, log, place, redact, board)
        if board and place == result_at and board.within is not None:
            what.append(statement("fresh_result", within=board.within, runs=board.fresh))
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
    begun, again = _utc(float(study.about.get("created", started)) + _MOMENTS), _utc(started)
    first = Event(_minute(begun), (statement("sweep_begun", again=False),))
    rows = {sum(entry.event in _AT_BEGINNING and entry.at <= begun for entry in log): [first]}
    chosen = next((entry.at for entry in log if entry.event == "chosen"), again)
    if again > chosen:
        later = Event(_minute(again), (statement("sweep_begun", again=True),))
        rows.setdefault(sum(entry.at <= again for entry in log), []).append(later)
    return rows


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _of_entry(study: Study, log: Sequence[Entry], place: int, redact: Redactor, board: Board | None) -> list[Statement]:
    """An entry of the log as the board reads it."""
    entry = log[place]
    if entry.event in _PLAIN:
        return [statement(entry.event)]
    if entry.event == "plan":
        return [statement("begun", key_fixed=bool(entry.detail.get(ENTRY)))]
    if entry.event == "locked":
        locked = str(entry.detail.get("at", ""))
        return [statement("locked", at=_minute(locked) if locked and locked[:16] < entry.at[:16] else "")]
    if entry.event == "submitted":
        return [statement("submitted", despite=bool(entry.detail.get("despite")))]
    if entry.event == "rechecked":
        return [_fresh_runs(log, place)]
    if entry.event == "chosen":
        return _recommended(study, log, place, redact, board)
    changes = tuple(change_text(change.entry, change.words, redact).rstrip(".") for change in entry.changes)
    why, off = redact(str(entry.detail.get("why", ""))), entry.event == "deviation"
    return [statement("plan_changed", deviation=off, changes=changes, why=why)]


def _recommended(
    study: Study, log: Sequence[Entry], place: int, redact: Redactor, board: Board | None
) -> list[Statement]:
    """A recommendation: of which candidate, by which rule, and whether it replaces another or is replaced."""
    choices, number = study.choices.all(), int(log[place].detail["choice"])
    if board is None or number > len(choices):
        return [statement("recommended", letter="", rule="", limit="", origin="")]
    choice, limit, origin = choices[number - 1], "", ""
    bound, rule = choice.record.get("bound"), "judgement"
    if bound is not None and choice.record.get("risk") == board.risk:
        rule, limit, origin = "limit", board.limit_words(float(bound)), bound_origin(study, float(bound)).name.lower()
    elif bound is not None:
        rule = "other limit"
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


def _rechecks(log: Sequence[Entry], chosen: Entry) -> bool:
    """Whether some entries say that the candidate of a choice was run on fresh draws."""
    label = chosen.detail.get("candidate")
    return any(entry.event == "rechecked" and label in entry.detail.get("candidates", ()) for entry in log)


def _fresh_runs(log: Sequence[Entry], place: int) -> Statement:
    """Fresh runs: of the candidate recommended by then or, before any is, of the one that was recommended next."""
    detail: Mapping[str, object] = log[place].detail
    n, runs = len(log[place].detail.get("candidates", ())), int(str(detail.get("replicates", 0)))
    chosen = next((earlier for earlier in reversed(log[:place]) if earlier.event == "chosen"), None)
    following = next((later for later in log[place:] if later.event == "chosen"), None)
    for about, afterwards in ((chosen, True), (following, False)):
        if about and _rechecks([log[place]], about):
            label = about.detail.get("candidate")
            again = max((_runs_of(earlier, label) for earlier in log[:place]), default=0) >= runs
            return statement("rechecked", runs=runs, others=n - 1, afterwards=afterwards, again=again)
    return statement("finalists_rechecked", runs=runs, finalists=n)
