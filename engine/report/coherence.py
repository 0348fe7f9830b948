"""Coherence of the released file, the ninth question of a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report.facts import EDITS, RECODES
from engine.report.redaction import listed, lower_first

if TYPE_CHECKING:
    from engine.report.findings import Findings


def coherence(found: Findings) -> list[str]:
    """Whether the file is coherent and fits other releases."""
    broken = [check for check in found.checks if check.holds is False]
    held = [check.name for check in found.checks if check.holds]
    said = [f"Not in order: {check.found}" for check in broken if check.name == RECODES]
    said += [f"Checked and in order: {listed(lower_first(name) for name in held)}."] if held else []
    said += [f"{check.name}: {check.found}" for check in broken if check.name != RECODES]
    said += [f"{check.name}: {check.found}" for check in found.checks if check.holds is None and check.name == EDITS]
    if found.cover.release_type != "new":
        changed = f": {found.cover.changes}" if found.cover.changes else ""
        said.append(f"This is a {found.cover.release_type}{changed}.")
    overlaps = found.cover.overlaps.rstrip(".")
    said.append(
        f"Other releases of the same data: {overlaps}. Two differently protected releases can undo each other."
        if overlaps
        else "No other release of the same data is named in the plan; if there is one, the two can undo each other."
    )
    return said
