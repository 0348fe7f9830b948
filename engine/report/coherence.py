"""Coherence of the released file, the ninth question of a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first
from engine.report.facts import EDITS, RECODES, ROW_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.report.facts import Check
    from engine.report.findings import Findings

_IDLE = "nothing to check"
_UNCHECKED = {EDITS: "not checked: none declared", ROW_ORDER: "checked at export"}


def check_words(check: Check) -> str:
    """What came of a check."""
    if check.holds is None:
        return _UNCHECKED.get(check.name, _IDLE)
    return "holds" if check.holds else "does not hold"


def check_rows(checks: Iterable[Check]) -> list[tuple[str, str, str]]:
    """Checks by name, what came of them, and what was found; without those of which there is nothing to check."""
    rows = [(check.name, check_words(check), check.found) for check in checks]
    return [row for row in rows if row[1] != _IDLE]


def idle_checks(checks: Iterable[Check]) -> list[str]:
    """The checks of which there is nothing to check, within a sentence."""
    return [lower_first(check.name) for check in checks if check_words(check) == _IDLE]


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
