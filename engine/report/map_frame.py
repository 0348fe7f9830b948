"""The frame of the board's map: the edge of the frontier and the ranges of the axes."""

from __future__ import annotations

from collections.abc import Iterable

from engine.report.map_facts import Map
from engine.report.words import bar

Point = tuple[float, float]
"""(utility, risk) in the measures' own figures."""


def staircase(board_map: Map) -> list[Point]:
    """The edge of what the frontier's candidates are no worse than, as corners from the safest candidate to the most
    useful.

    A straight line between two candidates would promise releases that nobody made; between them the edge goes up to the
    risk of the more useful one, then across to it.  Of figures that are equal as shown the better ones count.
    """
    use, safe = (-1.0 if better == "higher" else 1.0 for better in (board_map.utility_better, board_map.risk_better))
    corners: list[Point] = []
    for utility, risk in sorted(board_map.frontier, key=lambda p: (safe * p[1], use * p[0])):
        if corners and use * utility >= use * corners[-1][0]:
            continue
        if corners:
            corners.append((corners[-1][0], risk))
        corners.append((utility, risk))
    return corners


MARKER = 0.025
"""Half of a symbol on the map, as a share of a range."""


def inside(points: Iterable[Point], ranges: tuple[Point, Point]) -> list[Point]:
    """The points within two ranges that leave room for their symbols: none is cut off at an edge."""
    (left, right), (low, high) = ranges
    across, up = MARKER * (right - left), MARKER * (high - low)
    return [(x, y) for x, y in points if left + across <= x <= right - across and low + up <= y <= high - up]


def window(board_map: Map, room: float) -> tuple[Point, Point] | None:
    """Ranges of utility and of risk that hold the lettered candidates with their bars of two standard errors, doing
    nothing and the bound, with ``room`` around them as a share of the range; None where there is nothing to hold."""
    bars = [
        ((c.utility, bar(c.utility, c.utility_se) or 0.0), (c.risk, bar(c.risk, c.risk_se) or 0.0))
        for c in board_map.candidates
        if c.utility is not None and c.risk is not None
    ]
    if board_map.nothing_utility is not None and board_map.nothing_risk is not None:
        bars.append(((board_map.nothing_utility, 0.0), (board_map.nothing_risk, 0.0)))
    if not bars:
        return None
    if board_map.bound_at is not None:
        bars.append((bars[0][0], (board_map.bound_at, 0.0)))
    ranges = []
    for axis in zip(*bars, strict=True):
        low, high = min(v - reach for v, reach in axis), max(v + reach for v, reach in axis)
        around = room * ((high - low) or abs(high) or 1.0)
        ranges.append((low - around, high + around))
    return ranges[0], ranges[1]
