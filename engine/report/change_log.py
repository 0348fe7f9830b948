"""The entries of a decision log in a bundle for the board: their words, and which of them are changes of the plan.

A bundle holds the day and the words of an entry, and once more those of the entries that are changes of the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.common.wording import plural
from engine.study.ledger import BoundOrigin

if TYPE_CHECKING:
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
KEY_FIXED = "The study was begun: its plan was recorded, and the secret key behind all chance was fixed."
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


def locked_words(locked: str, logged: str) -> str:
    """The lock of a plan; with its own time (both ISO) where it was made in an earlier minute than it was logged."""
    if not locked or locked[:16] >= logged[:16]:
        return LOG_TEXTS["locked"]
    return (
        f"The approval of the plan was recorded; it had been approved and locked on {locked[:10]} at {locked[11:16]}."
    )


def fresh_words(runs: int, others: int, *, afterwards: bool, again: bool = False) -> str:
    """Fresh runs of the recommended candidate and of ``others``, made ``afterwards`` or before it was recommended;
    ``again`` where the study held as many of it already."""
    if again:
        whose = "the recommended candidate" if afterwards else "the candidate that was recommended later"
        return f"{plural(runs, 'fresh run')} of {whose} were asked for again: the study held them already."
    beside = f", and so {'was' if others == 1 else 'were'} {plural(others, 'other candidate')}" if others else ""
    drawn = f"was run again {plural(runs, 'time')} on fresh draws"
    if afterwards:
        return f"After it had been recommended, the candidate {drawn}{beside}."
    return f"The candidate that was recommended later {drawn}{beside}."


def finalists_words(runs: int, finalists: int) -> str:
    """Fresh runs of candidates of which none is the recommended one."""
    were = "was" if finalists == 1 else "were"
    return f"{plural(finalists, 'finalist')} {were} run again {plural(runs, 'time')} on fresh draws."


def fresh_result_words(within: int, runs: int) -> str:
    """What the fresh runs of the recommended candidate came to."""
    return f"{within} of the {plural(runs, 'fresh run')} meet the bound on risk."


@dataclass(frozen=True)
class Recommended:
    """A recommendation in the log: the ``letter`` of the candidate (empty: it has none), whether a bound on risk picked
    it (``by_bound``) or the straight trade-off (``by_slope``), the ``bound`` in words (empty where it is not told),
    its ``origin``, whether it ``replaces`` an earlier recommendation and, with the reason ``why``, whether a later one
    replaces it (``replaced``)."""

    letter: str
    by_bound: bool = False
    by_slope: bool = False
    bound: str = ""
    origin: BoundOrigin = BoundOrigin.FIXED
    replaces: bool = False
    replaced: bool = False
    why: str = ""


_WHOSE = {
    BoundOrigin.FIXED: "the plan's bound on risk",
    BoundOrigin.CHOSEN: "a bound on risk that was set only then, after results were seen",
    BoundOrigin.CHANGED: "a bound on risk that was set in a change of the plan, after results could be seen",
    BoundOrigin.AFTER_EARLIER: "the plan's bound on risk, set after results of an earlier study could be seen",
}


def chosen_words(chosen: Recommended) -> str:
    """A recommendation as the board reads it: of which candidate, by which rule, and what became of it."""
    rule = "by judgement and by no rule"
    if chosen.bound:
        rule = f"within {_WHOSE[chosen.origin]}: {chosen.bound}"
    elif chosen.by_bound:
        rule = "within a bound on another risk measure"
    elif chosen.by_slope:
        rule = "by a straight trade-off between risk and utility"
    candidate = f"candidate {chosen.letter}" if chosen.letter else "a candidate without a letter"
    text = f"The analyst recommended {candidate}, {rule}."
    if chosen.replaces:
        text += " This replaces the recommendation before it"
        text += f"; reason given: {chosen.why.rstrip('.')}." if chosen.why else "."
    return f"{text} A later recommendation replaces it." if chosen.replaced else text
