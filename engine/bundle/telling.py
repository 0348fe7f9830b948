"""Whether words that somebody writes about a candidate could go to the board: said when they are written, not when a
bundle is refused."""

from __future__ import annotations

import re

from engine.bundle.fields import LABEL, says_rate
from engine.scenarios import Scenario
from engine.study import Study


def tells(study: Study, scenario: Scenario | None, text: str) -> str:
    """What a text tells that the members of a board must not read, in words; empty where it tells nothing.

    Ids of candidates in the study, their specs, and the rate of ``scenario``.  Whether it says how many records were
    changed is looked at when a bundle is written.
    """
    for match in LABEL.finditer(text):
        if study.scenarios.place_of(match[0].partition("/")[0]) is not None:
            return f"the id of a candidate ({match[0]})"
    names = "|".join(re.escape(name) for name in sorted(study.names, key=len, reverse=True))
    if found := re.search(rf"(?<!\w)(?:{names}):[SFCU](?!\w)", text):
        return f"a role as it is written in specs ({found[0]})"
    if scenario is not None and says_rate(text, scenario.spec.rate):
        return "the swap rate"
    return ""


def told(study: Study, scenario: Scenario | None, text: str) -> str:
    """:func:`tells` as a sentence for whoever writes; empty where nothing is told."""
    what = tells(study, scenario, text)
    if not what:
        return ""
    return f"this text names {what}, so the members' bundle would be refused; say it without"
