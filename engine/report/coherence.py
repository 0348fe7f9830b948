"""Coherence of the released file, the ninth question of a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first
from engine.report.facts import EDITS, RECODES, ROW_ORDER

if TYPE_CHECKING:
    from engine.report.facts import Check
    from engine.report.findings import Findings

_UNCHECKED = {EDITS: "not checked: none declared", ROW_ORDER: "checked at export"}


def check_words(check: Check) -> str:
    """What came of a check."""
    if check.holds is None:
        return _UNCHECKED.get(check.name, "nothing to check")
    return "holds" if check.holds else "does not hold"


def coherence(findings: Findings) -> list[str]:
    """Whether the file is coherent and fits other releases."""
    broken = [check for check in findings.checks if check.holds is False]
    in_order = [check.name for check in findings.checks if check.holds]
    sentences = [f"Not in order: {check.found}" for check in broken if check.name == RECODES]
    sentences += [f"Checked and in order: {listed(lower_first(name) for name in in_order)}."] if in_order else []
    sentences += [f"{check.name}: {check.found}" for check in broken if check.name != RECODES]
    sentences += [
        f"{check.name}, {_UNCHECKED[check.name]}. {check.found}"
        for check in findings.checks
        if check.holds is None and check.name in _UNCHECKED
    ]
    if findings.cover.release_type != "new":
        changed = f": {findings.cover.changes}" if findings.cover.changes else ""
        sentences.append(f"This is a {findings.cover.release_type}{changed}.")
    overlaps = findings.cover.overlaps.rstrip(".")
    sentences.append(
        f"On other releases of the same data the plan states: {overlaps}. Two differently protected releases can undo "
        "each other."
        if overlaps
        else "No other release of the same data is named in the plan; if there is one, the two can undo each other."
    )
    return sentences
