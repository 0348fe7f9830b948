"""How many examples hypothesis tries: all of them in a whole run, a part of them while working."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

WHOLE, QUICK = "thorough", "quick"
_PER_HUNDRED = {WHOLE: 100, QUICK: 20}
_FLOOR = 5  # a test of few but dear examples keeps them


def register() -> None:
    """Make both profiles known; in either the same examples come every time, and no clock fails a test."""
    for name, number in _PER_HUNDRED.items():
        settings.register_profile(name, derandomize=True, deadline=None, max_examples=number)


def fitting(marked: str) -> str:
    """The profile for a run of ``-m marked``: the quick one where slow tests are left out, unless CI is set."""
    return WHOLE if os.environ.get("CI") or "not slow" not in marked else QUICK


def examples(number: int, **more: Any) -> settings:
    """Settings for ``number`` examples in a whole run, for a fifth of them, but at least five, in a quick one."""
    share = round(number * settings().max_examples / _PER_HUNDRED[WHOLE])
    return settings(max_examples=max(share, min(number, _FLOOR)), **more)
