"""The decision log as the board reads it, in the order in which things happened."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.common.wording import upper_first
from engine.report.change_log import (
    CHANGE_TEXTS,
    DESPITE,
    FRESH_IN_SWEEP,
    KEY_FIXED,
    LOG_TEXTS,
    SWEEP,
    SWEEP_AGAIN,
    finalists_words,
    fresh_words,
    locked_words,
)
from engine.study.decision_log import ENTRY, entries

if TYPE_CHECKING:
    from engine.report.redaction import Redactor
    from engine.study.decision_log import Entry
    from engine.study.study import Study

_LOGGED = {*LOG_TEXTS, *CHANGE_TEXTS, "rechecked"}
_AT_BEGINNING = {"plan", "locked", "deviation"}
"""Entries that a sweep makes before it draws anything."""
_MOMENTS = 2.0  # seconds in which it makes them


def change_text(entry: str, words: str, redact: Redactor) -> str:
    """A change of the plan as a sentence; ``entry`` may be empty."""
    title = entry.replace(".", " ").replace("_", " ")
    return upper_first(redact(f"{title}: {words}" if title else words))


@dataclass(frozen=True)
class Told:
    """What the log is told with besides its entries: words of recommendations by the numbers of their entries, and
    what the last ``fresh`` runs of the candidate ``label`` came to (empty: not told), as their number and a
    sentence."""

    chosen: Mapping[int, str] = field(default_factory=dict)
    label: str = ""
    fresh: int = 0
    result: str = ""


NOTHING_MORE = Told()


def history(study: Study, redact: Redactor, more: Told = NOTHING_MORE) -> tuple[tuple[str, str], ...]:
    """What happened, as moment (UTC) and words, with ``more`` than the entries say.

    The sweep has no entry: it stands after what was logged when the study was made.  Fresh runs that it made
    itself, of a study whose log does not hold them, stand before the recommendation that rests on them.
    """
    log = [entry for entry in entries(study) if entry.event in _LOGGED]
    result_at = _result_place(log, more)
    sweeps = _sweeps(study, log)
    rows: list[tuple[str, str]] = []
    for place, entry in enumerate(log):
        rows += sweeps.get(place, ())
        if entry.event == "chosen" and entry.detail.get("fresh") and not _rechecks(log[:place], entry):
            rows.append((moment(entry.at), FRESH_IN_SWEEP))
        text = more.chosen.get(entry.number) or _entry_text(log, place, redact)
        rows.append(_row(study, log, place, f"{text} {more.result}" if place == result_at else text))
    return (*rows, *sweeps.get(len(log), ()))


def _result_place(log: Sequence[Entry], more: Told) -> int | None:
    """The place of the entry from which on the study holds all fresh runs that the result is about."""
    if not more.result:
        return None
    places = (place for place, entry in enumerate(log) if entry.event == "rechecked")
    return next((place for place in places if _runs_of(log[place], more.label) >= more.fresh), None)


def _runs_of(entry: Entry, label: str | None) -> int:
    """How many fresh runs of a candidate the study holds from an entry on, as far as that entry says."""
    is_about = entry.event == "rechecked" and label in entry.detail.get("candidates", ())
    return int(entry.detail.get("replicates", 0)) if is_about else 0


def moment(at: str) -> str:
    """The day and the minute of an ISO time."""
    return at[:16].replace("T", " ")


def plan_changes(study: Study, redact: Redactor) -> tuple[tuple[str, str], ...]:
    """The changes of the plan among them."""
    log = [entry for entry in entries(study) if entry.event in _LOGGED]
    places = [place for place, entry in enumerate(log) if entry.event in CHANGE_TEXTS]
    return tuple(_row(study, log, place, _entry_text(log, place, redact)) for place in places)


def _row(study: Study, log: Sequence[Entry], place: int, text: str) -> tuple[str, str]:
    """An entry as its time and words, with who made it where that may be told."""
    entry = log[place]
    return moment(entry.at), text + contact_words(entry.by, study.plan.about.contact)


def contact_words(by: str, contact: str) -> str:
    """Who made an entry, where that is the contact whom the plan names to the board; no other name is told."""
    names = {contact.strip().casefold(), contact.partition(",")[0].strip().casefold()} - {""}
    return f" By the contact, {by.strip()}." if by.strip().casefold() in names else ""


def _sweeps(study: Study, log: Sequence[Entry]) -> dict[int, list[tuple[str, str]]]:
    """When the sweep began and, where that was after a recommendation, was last started, by the place in the log of the
    entry that follows: whoever begins a sweep logs the plan within moments of making the study."""
    started = study.progress.started
    if not started:
        return {}
    begun, again = _utc(float(study.about.get("created", started)) + _MOMENTS), _utc(started)
    rows = {sum(entry.event in _AT_BEGINNING and entry.at <= begun for entry in log): [(moment(begun), SWEEP)]}
    chosen = next((entry.at for entry in log if entry.event == "chosen"), again)
    if again > chosen:
        rows.setdefault(sum(entry.at <= again for entry in log), []).append((moment(again), SWEEP_AGAIN))
    return rows


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _rechecks(log: Sequence[Entry], chosen: Entry) -> bool:
    """Whether some entries say that the candidate of a choice was run on fresh draws."""
    label = chosen.detail.get("candidate")
    return any(entry.event == "rechecked" and label in entry.detail.get("candidates", ()) for entry in log)


def _entry_text(log: Sequence[Entry], place: int, redact: Redactor) -> str:
    """An entry of the log as the board reads it."""
    entry = log[place]
    if entry.event == "plan":
        return KEY_FIXED if entry.detail.get(ENTRY) else LOG_TEXTS["plan"]
    if entry.event == "locked":
        return locked_words(str(entry.detail.get("at", "")), entry.at)
    if entry.event == "submitted" and entry.detail.get("despite"):
        return DESPITE
    if entry.event == "rechecked":
        return _fresh_text(log, place)
    opening = CHANGE_TEXTS.get(entry.event)
    if opening is None:
        return LOG_TEXTS[entry.event]
    changes = "; ".join(change_text(change.entry, change.words, redact).rstrip(".") for change in entry.changes)
    why = redact(str(entry.detail.get("why", "")))
    return f"{opening}: {changes}." + (f" Reason given: {why}" if why else "")


def _fresh_text(log: Sequence[Entry], place: int) -> str:
    """Fresh runs: of the candidate recommended by then or, before any is, of the one that was recommended next."""
    entry = log[place]
    candidates, runs = entry.detail.get("candidates", ()), int(entry.detail.get("replicates", 0))
    chosen = next((earlier for earlier in reversed(log[:place]) if earlier.event == "chosen"), None)
    following = next((later for later in log[place:] if later.event == "chosen"), None)
    for about, afterwards in ((chosen, True), (following, False)):
        if about and _rechecks([entry], about):
            label = about.detail.get("candidate")
            again = max((_runs_of(earlier, label) for earlier in log[:place]), default=0) >= runs
            return fresh_words(runs, len(candidates) - 1, afterwards=afterwards, again=again)
    return finalists_words(runs, len(candidates))
