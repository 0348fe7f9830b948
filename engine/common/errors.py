"""Errors that a person can act on, and their exit codes.

Every error the engine raises on purpose is an :class:`EngineError`.  Its text names what was got, what was wanted and,
where there is one, a hint; it names no option or command, since a page or a script may have asked.  What mends it is a
:class:`Remedy`: the command line adds the option that does so (:mod:`engine.cli.options`), prints the text without a
traceback and leaves with ``exit_code``; the dashboard shows the same text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import Enum


class Remedy(Enum):
    """The way out of an error: each reader has words for it, with ``values`` of the error in them."""

    ADD_SAMPLE = "add a sample from its original file"
    APPROVAL = "have a recommendation approved, or write for the analyst"
    APPROVED_CANDIDATE = "name no candidate, so that the approved one counts"
    ATTRIBUTES = "name the attributes"
    ATTRIBUTES_AND_CUTS = "name the attributes, and edges of numeric ones"
    CANCEL = "stop who is at work on a study"
    CANDIDATE = "name one candidate"
    CANDIDATE_OR_CHOICE = "name a candidate, or record a choice"
    CLEAN_NAMES = "read columns under clean names"
    CUT = "give the edges of a numeric column"
    DESPITE = "submit a release despite obstacles"
    DEVIATION = "record why a plan departs from its approval"
    DROP = "leave a column out"
    EARLIER = "say which studies came before"
    EXTEND = "add to a study"
    FAILED_RUNS = "count failed runs too"
    FEWER_SWAPS = "swap fewer attributes, or search"
    FIRST_PLAN = "write a first plan"
    ID_COLUMN = "say what a column of distinct values is"
    IN_MEMORY = "read records into memory"
    KEYS = "name the keys"
    KEY_FILE = "name the key file"
    LOCK = "write an approval into a plan"
    MECHANISMS = "list the mechanisms"
    NAME = "say who"
    NEW_STUDY = "make the study that was named"
    NO_CLUSTER = "work on this machine alone"
    NUMBER = "give the number of an approval"
    NUMERIC_COLUMN = "say what a numeric column is"
    ONE_WORKER = "work in one process"
    OUTPUT = "write elsewhere"
    REASON = "give a reason"
    RECHECK = "run a candidate on fresh replicates, and attack its release"
    RECOMMEND = "record a choice"
    RENAME = "rename an attribute"
    REPLICATES = "add replicates"
    RULE = "choose by one rule"
    SETTLE_COLUMNS = "decide on columns that a plan does not name"
    SMALLER_SPACE = "describe a smaller space"
    SPACE = "describe the space"
    STREAM = "read records by streaming"
    SWEEP = "make a study"
    TAKE_BACK = "take a recommendation back"


class EngineError(Exception):
    """Something could not be done (exit code 1): the data, the study or the machine stood in the way."""

    exit_code = 1

    def __init__(self, message: str = "", remedy: Remedy | None = None, **values: str) -> None:
        super().__init__(message.encode("utf-8", "backslashreplace").decode())  # half a character cannot be printed
        self.remedy = remedy
        self.values = values


class UsageError(EngineError):
    """The request itself is wrong (exit code 2): an unknown name, the path of nothing, a value out of range, options
    that exclude each other.  A file that is there and of another kind stands in the way (exit code 1)."""

    exit_code = 2


class DisclosureWarning(UserWarning):
    """Releases of these data would tell more than is measured, such as by a column that stays with its record."""


class SweepInterruptedWarning(UserWarning):
    """A sweep was interrupted; what was done until then can be used."""


class UndefinedFigureWarning(UserWarning):
    """A measure has no figure for some runs; the warning says for how many, and why for the first."""


class NoRecords(EngineError):
    """A file has columns, and no record below them."""


def nearest(got: str, known: Iterable[str]) -> list[str]:
    """The known words that are like the one that was given, at most two."""
    known = list(known)
    near = difflib.get_close_matches(got, known, n=2, cutoff=0.6)
    if near:
        return near
    folded = {name.casefold(): name for name in known}
    return [folded[got.casefold()]] if got.casefold() in folded else []


def near_words(near: Iterable[str]) -> str:
    """A hint that names words like the one that was given; empty without any."""
    named = " or ".join(repr(name) for name in near)
    return f" Did you mean {named}?" if named else ""


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known words, or lists them all when they are few.

    Returns an empty string when there is nothing helpful to say.
    """
    known = list(known)
    if near := nearest(got, known):
        return near_words(near)
    if 0 < len(known) <= 12:
        return f" Known: {', '.join(known)}."
    return ""
