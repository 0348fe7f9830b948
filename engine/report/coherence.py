"""Coherence of the released file, the ninth question of a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report.facts import EDITS, ROW_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.report.facts import Check

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
