"""The entries of a decision log in a bundle for the board: their words, and which of them are changes of the plan.

A bundle holds the day and the words of an entry, not its kind, so the kind is read back here, from these words alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.study.decision_log import Event

LOG_TEXTS: dict[Event, str] = {
    "locked": "The plan was approved and locked.",
    "rechecked": "Finalists were run again on fresh draws.",
    "chosen": "A candidate was recommended.",
    "withheld": "It was recommended to release nothing.",
    "submitted": "The recommendation was submitted to the board.",
    "approved": "The board approved the release.",
    "returned": "The board returned the recommendation.",
}
"""Entries that say nothing but their kind, word for word."""
FRESH_IN_SWEEP = "Finalists had been run again on fresh draws by then, as the last stage of the sweep."
"""Fresh runs that a sweep made itself, which have no entry of their own."""
FRESH_AFTERWARDS = "The recommended candidate was run again on fresh draws, after it had been recommended."
"""Fresh runs that came after the recommendation."""
DESPITE = "The recommendation was submitted to the board although something speaks against the run to be released."
"""A submission in face of obstacles."""
CHANGE_TEXTS: dict[Event, str] = {
    "changed": "The plan was changed",
    "deviation": "A deviation from the approved plan",
}
"""How an entry begins that says what was changed in the plan."""
_STEPS = frozenset((*LOG_TEXTS.values(), FRESH_IN_SWEEP, FRESH_AFTERWARDS, DESPITE))


def is_plan_change(text: str) -> bool:
    """Whether an entry that a bundle holds in words is a change of the plan: every other one has words of its own."""
    return text not in _STEPS
