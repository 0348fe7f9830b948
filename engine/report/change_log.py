"""The entries of a decision log in a bundle for the board: their words, and which of them are changes of the plan.

A bundle holds the day and the words of an entry, and once more those of the entries that are changes of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import plural

if TYPE_CHECKING:
    from engine.report.facts import Approved
    from engine.study.decision_log import Event

LOG_TEXTS: dict[Event, str] = {
    "plan": "The study was begun, and its plan was recorded.",
    "locked": "The plan was approved and locked.",
    "chosen": "The analyst recommended a candidate.",
    "withheld": "It was recommended to release nothing.",
    "submitted": "The analyst submitted the recommendation to the board.",
    "approved": "The board approved the release.",
    "returned": "The board returned the recommendation.",
}
"""Entries that say nothing but their kind, word for word."""
KEY_FIXED = "The study was begun: its plan was recorded, and the secret key that all chance follows from was fixed."
"""The first entry, where it holds a digest of the key."""
SWEEP = "The sweep of the candidates began."
"""The sweep, which has no entry of its own."""
SWEEP_AGAIN = "The sweep was started again."
"""A sweep that was started again after a recommendation, for whatever reason."""
FRESH_IN_SWEEP = "Finalists had been run again on fresh draws by then, as the last stage of the sweep."
"""Fresh runs that a sweep made itself, which have no entry of their own."""
DESPITE = (
    "The analyst submitted the recommendation to the board although something speaks against the run to be released."
)
"""A submission in face of obstacles."""
CHANGE_TEXTS: dict[Event, str] = {
    "changed": "The plan was changed",
    "deviation": "A deviation from the approved plan",
}
"""How an entry begins that says what was changed in the plan."""


def plan_change_rows(approved: Approved) -> tuple[tuple[str, str], ...]:
    """The entries that are changes of the plan, as day and words; those of findings of an earlier version, which hold
    words alone, are known by how they begin."""
    if approved.plan_changes is not None:
        return approved.plan_changes
    return tuple((day, text) for day, text in approved.changes if text.startswith(tuple(CHANGE_TEXTS.values())))


def fresh_words(runs: int, others: int, *, afterwards: bool) -> str:
    """Fresh runs of the recommended candidate and of ``others``, made ``afterwards`` or before it was recommended."""
    beside = f", and so {'was' if others == 1 else 'were'} {plural(others, 'other candidate')}" if others else ""
    again = f"was run again {plural(runs, 'time')} on fresh draws"
    if afterwards:
        return f"After it had been recommended, the candidate {again}{beside}."
    return f"The candidate that was recommended later {again}{beside}."


def finalists_words(runs: int, finalists: int) -> str:
    """Fresh runs of candidates of which none is the recommended one."""
    were = "was" if finalists == 1 else "were"
    return f"{plural(finalists, 'finalist')} {were} run again {plural(runs, 'time')} on fresh draws."


def chosen_words(bound: str, *, late: bool) -> str:
    """A recommendation by a ``bound`` on risk in words; ``late`` where the plan had not fixed it."""
    whose = "a bound on risk that was set only then, after results were seen" if late else "the plan's bound on risk"
    return f"The analyst recommended a candidate, within {whose}: {bound}."
