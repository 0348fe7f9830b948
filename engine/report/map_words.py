"""Explanations beside the board's map: its error bars, counts of exposed records, what chance hides, and what judges
several tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.report.map_facts import Map


def bound_title(board_map: Map) -> str:
    """What the line of the bound on the map is called."""
    asked = board_map.bound_asked
    return "limit on the average" if asked is None else f"limit, asked of {100 * asked:.3g} % of single runs"
