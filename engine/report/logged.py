"""The decision log as a member may read it, in the order in which things happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.common.wording import upper_first
from engine.report.change_log import CHANGE_TEXTS, DESPITE, FRESH_AFTERWARDS, FRESH_IN_SWEEP, LOG_TEXTS
from engine.study.decision_log import entries

if TYPE_CHECKING:
    from engine.report.redaction import Redactor
    from engine.study.decision_log import Entry
    from engine.study.study import Study

_LOGGED = {*LOG_TEXTS, *CHANGE_TEXTS}
_ENTRIES = {
    "space.rates": "the swap rates",
    "space.specs": "the list of candidates",
    "space.swap_sizes": "the numbers of attributes exchanged together",
    "space.all_specs": "whether all candidates are considered",
    "mechanisms": "the methods and their settings",
    "space.replicates": "the number of runs",
    "decision.probability": "how many single runs must meet the bound on risk",
    "decision.realisation": "which run is released",
}
"""Entries of a plan whose values a member may not see, in words."""


def change_text(entry: str, words: str, redact: Redactor) -> str:
    """A change of the plan as a sentence, without values that a member may not see; ``entry`` may be empty."""
    for name, without_values in _ENTRIES.items():
        if entry == name or entry.startswith(name + "."):
            return f"Different: {without_values}"
    title = entry.replace(".", " ").replace("_", " ")
    return upper_first(redact(f"{title}: {words}" if title else words))


def history(study: Study, redact: Redactor) -> tuple[tuple[str, str], ...]:
    """What happened, as day and words.  Fresh runs that a sweep made itself have no entry; they stand before the
    recommendation that rests on them."""
    log = [entry for entry in entries(study) if entry.event in _LOGGED]
    rows = []
    for place, entry in enumerate(log):
        if entry.event == "chosen" and entry.detail.get("fresh") and not _rechecks(log[:place], entry):
            rows.append((entry.at[:10], FRESH_IN_SWEEP))
        rows.append((entry.at[:10], _entry_text(log[:place], entry, redact)))
    return tuple(rows)


def rechecked_first(study: Study) -> bool | None:
    """Whether fresh runs of the recommended candidate were made before it was recommended; None where none were."""
    log = entries(study)
    chosen = next((entry for entry in reversed(log) if entry.event == "chosen"), None)
    if chosen is None:
        return None
    if chosen.detail.get("fresh"):
        return True
    return False if _rechecks(log[chosen.number :], chosen) else None


def _rechecks(log: Sequence[Entry], chosen: Entry) -> bool:
    """Whether some entries say that the candidate of a choice was run on fresh draws."""
    label = chosen.detail.get("candidate")
    return any(entry.event == "rechecked" and label in entry.detail.get("candidates", ()) for entry in log)


def _entry_text(before: Sequence[Entry], entry: Entry, redact: Redactor) -> str:
    """An entry as a member may read it, given those before it."""
    if entry.event == "submitted" and entry.detail.get("despite"):
        return DESPITE
    if entry.event == "rechecked":
        chosen = next((one for one in reversed(before) if one.event == "chosen"), None)
        return FRESH_AFTERWARDS if chosen and _rechecks([entry], chosen) else LOG_TEXTS[entry.event]
    opening = CHANGE_TEXTS.get(entry.event)
    if opening is None:
        return LOG_TEXTS[entry.event]
    changes = "; ".join(change_text(change.entry, change.words, redact).rstrip(".") for change in entry.changes)
    why = redact(str(entry.detail.get("why", "")))
    return f"{opening}: {changes}." + (f" Reason given: {why}" if why else "")
