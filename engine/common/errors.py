"""Errors that a person can act on, and their exit codes.

Every error the engine raises on purpose is an :class:`EngineError`.  Its text names what was got, what was wanted and,
where there is one, a hint.  The command line prints that text without a traceback and leaves with ``exit_code``; the
dashboard shows the same words.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EngineError(Exception):
    """Something could not be done (exit code 1): the data, the study or the machine stood in the way."""

    exit_code = 1


class UsageError(EngineError):
    """The request itself is wrong (exit code 2): an unknown name, a value out of range, options that exclude each
    other."""

    exit_code = 2


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known words, or lists them all when they are few.

    Returns an empty string when there is nothing helpful to say.
    """
    known = list(known)
    near = difflib.get_close_matches(got, known, n=2, cutoff=0.6)
    if not near:
        folded = {name.casefold(): name for name in known}
        near = [folded[got.casefold()]] if got.casefold() in folded else []
    if near:
        return f" Did you mean {' or '.join(repr(name) for name in near)}?"
    if 0 < len(known) <= 12:
        return f" Known: {', '.join(known)}."
    return ""
