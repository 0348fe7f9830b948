"""Words on what the counts of exposed records stand for, and on combinations of keys that a release has made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.report.facts import EDITS
from engine.report.recognised_words import columns_beside_keys, needs_all_keys

if TYPE_CHECKING:
    from engine.report.findings import Findings


def harm_words(findings: Findings) -> str:
    """Which measure stands for the harm that the plan declares, and what of the harm is not measured."""
    chosen = [lower_first(row.title) for row in findings.measures if row.kind == "risk" and row.chosen_by]
    others = [lower_first(row.title) for row in findings.measures if row.kind == "risk" and not row.chosen_by]
    sensitive = findings.recognised.sensitive if findings.recognised else ()
    stands = f"{listed(chosen)}: {_finder_words(findings)}"
    beside = f"; beside it, as they are measured too: {listed(others)}" if others else ""
    learnt = "" if sensitive else "what is learnt without finding one, "
    return f"{stands}{beside}. Not measured: {learnt}whether anybody tries, how grave it is."


def _finder_words(findings: Findings) -> str:
    """What somebody learns who finds a record."""
    if columns_beside_keys(findings):
        return "who finds somebody's record reads off the rest"
    if needs_all_keys(findings):
        return (
            "who finds somebody's record knew all of it before, as it takes every column, and learns that the person "
            "took part"
        )
    return "who finds somebody's record by some of the columns reads off the others"


def new_words(findings: Findings) -> str:
    """How many records of the release have a combination of keys that no original record has, and whether anybody
    looked if it is possible; empty where that is not told."""
    new = findings.exposure.new_after
    if new is None:
        return ""
    if new == 0:
        return "Every record of the release has a combination that some original record has, too."
    records = f"{plural(new, 'record')} of the release {'has' if new == 1 else 'have'}"
    if any(check.name == EDITS for check in findings.checks):
        looked = "Nobody looked whether it is possible: no edit rules are declared."
    else:
        looked = "Section 7 tells whether it breaks an edit rule; nothing else was looked at."
    return f"{records} a combination that no original record has. {looked}"
