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
CHANGE_TEXTS: dict[Event, str] = {
    "changed": "The plan was changed",
    "deviation": "A deviation from the approved plan",
}
"""How an entry begins that says what was changed in the plan."""
_STEPS = frozenset(LOG_TEXTS.values())


def is_plan_change(text: str) -> bool:
    """Whether an entry that a bundle holds in words is a change of the plan: every other one has words of its own."""
    return text not in _STEPS
