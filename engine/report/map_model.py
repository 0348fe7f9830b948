"""The board's map as values, and the places of its letters; plotly and matplotlib draw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from engine.report.words import bar

if TYPE_CHECKING:
    from engine.report.facts import Better
    from engine.report.map_facts import Map

Point = tuple[float, float]
"""(utility, risk) in the measures' own figures."""
Box = tuple[float, float, float, float]
"""Left, bottom, right and top of a rectangle, in pixels or points."""
Places = tuple[np.ndarray, np.ndarray]
"""Points of a drawing by their two coordinates."""
_FURTHER = 1.0  # how far other candidates may stretch a range that the lettered ones need, as a share of it


@dataclass(frozen=True)
class Axis:
    """A measure on the map: ``better`` is the direction of better figures."""

    title: str
    unit: str
    better: Better


@dataclass(frozen=True)
class Mark:
    """A lettered candidate at its mean figures, with two standard errors to either side where there are any."""

    letter: str
    at: Point
    within: bool
    recommended: bool = False
    frontier: bool = True
    bars: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True)
class MapModel:
    """The map: each candidate has one mark, lettered, on the frontier, or another.

    :meth:`meets` tells which places are those of a candidate within the limit; ``n_within`` counts these.  ``inside``
    is None in earlier findings, where a mean within the limit decides.
    """

    across: Axis
    up: Axis
    marks: tuple[Mark, ...]
    frontier: tuple[Point, ...]
    others: tuple[Point, ...]
    edge: tuple[Point, ...]
    unprotected: Point | None
    limit: float | None
    n: int
    n_within: int | None
    inside: frozenset[Point] | None = None

    def meets(self, point: Point) -> bool:
        """Whether the candidate at a place is within the limit; all are where there is none."""
        if self.limit is None:
            return True
        if self.inside is not None:
            return point in self.inside
        return self._within(point[1], self.limit)

    @property
    def unprotected_meets(self) -> bool:
        """Whether the unprotected file, which has no runs, is within the limit; so it is where there is none."""
        return self.unprotected is None or self.limit is None or self._within(self.unprotected[1], self.limit)

    def _within(self, risk: float, limit: float) -> bool:
        return risk >= limit if self.up.better == "higher" else risk <= limit

    def window(self, room: float) -> tuple[Point, Point] | None:
        """Ranges of utility and of risk with ``room`` around them as a share; None where there is nothing to hold.

        They hold the lettered candidates with their bars, the frontier, the unprotected file and the limit, and other
        candidates that do not stretch them further than by half.
        """
        held = [
            [(mark.at[k], mark.bars[k] or 0.0) for mark in self.marks]
            + [(point[k], 0.0) for point in (*self.frontier, *([self.unprotected] if self.unprotected else []))]
            for k in (0, 1)
        ]
        if not held[0]:
            return None
        if self.limit is not None:
            held[1].append((self.limit, 0.0))
        ranges = []
        for k, axis in enumerate(held):
            low, high = min(v - reach for v, reach in axis), max(v + reach for v, reach in axis)
            further = _FURTHER * (high - low)
            near = [point[k] for point in self.others if low - further <= point[k] <= high + further]
            low, high = min([low, *near]), max([high, *near])
            around = room * ((high - low) or abs(high) or 1.0)
            ranges.append((low - around, high + around))
        return ranges[0], ranges[1]


def map_model(board_map: Map) -> MapModel:
    """Return the map of a board's findings; figures that are withheld have no mark."""
    limit, better = board_map.bound_at, board_map.risk_better
    marks = tuple(
        Mark(
            c.letter,
            (c.utility, c.risk),
            c.within_bound is not False,
            c.recommended,
            c.undominated,
            (bar(c.utility, c.utility_se), bar(c.risk, c.risk_se)),
        )
        for c in board_map.candidates
        if c.utility is not None and c.risk is not None
    )
    lettered = Counter(mark.at for mark in marks)
    frontier = _without(board_map.frontier, lettered)
    others = _without(board_map.others, lettered)
    nothing = (board_map.nothing_utility, board_map.nothing_risk)
    return MapModel(
        across=Axis(board_map.utility_title, board_map.utility_unit, board_map.utility_better),
        up=Axis(board_map.risk_title, board_map.risk_unit, better),
        marks=marks,
        frontier=frontier,
        others=others,
        edge=tuple(staircase(board_map)),
        unprotected=None if nothing[0] is None or nothing[1] is None else (nothing[0], nothing[1]),
        limit=limit,
        n=board_map.n_candidates,
        n_within=board_map.n_within,
        inside=None if board_map.within_at is None else frozenset(board_map.within_at),
    )


def _without(points: Iterable[Point], lettered: Counter[Point]) -> tuple[Point, ...]:
    """The points but for one for each lettered candidate at the same place."""
    left = []
    for point in points:
        if lettered[point]:
            lettered[point] -= 1
        else:
            left.append(point)
    return tuple(left)


def staircase(board_map: Map) -> list[Point]:
    """Return the edge of what the frontier's candidates are no worse than, from the safest to the most useful.

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


# Places of letters

SIZE = (520.0, 300.0)
"""Width and height in pixels of the narrowest map: what has room there has room on every screen."""
_LETTER = 7.2  # pixels, about the width of a sign
_LINE = 15.0
_SIDES = (
    ("middle right", 1.0, 0.0),
    ("middle left", -1.0, 0.0),
    ("top center", 0.0, 1.0),
    ("bottom center", 0.0, -1.0),
    ("top right", 1.0, 1.0),
    ("top left", -1.0, 1.0),
    ("bottom right", 1.0, -1.0),
    ("bottom left", -1.0, -1.0),
)
_ON_LINE, _ON_LINES = 30, 6_000  # places of one line, and about how many of all lines together
_ANGLES = np.deg2rad([315, 45, 0, 270, 90, 225, 135, 180, 292, 337, 22, 67, 112, 157, 202, 247])
_REACHES = (1.0, 1.6, 2.3, 3.2, 4.3, 6.0)
_NEAREST = 24.0
FAR = 12.0
"""The gap from which on a label needs a line to its point."""


def overlap(a: Box, b: Box) -> float:
    """The area that two rectangles share."""
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def box_at(x: float, y: float, text: str, letter: float = _LETTER) -> Box:
    """The rectangle of a label about its centre; ``letter`` is the width of a sign."""
    half, high = letter * len(text) / 2, _LINE * letter / _LETTER / 2
    return (x - half, y - high, x + half, y + high)


def on_lines(begin: Places, end: Places) -> Places:
    """Places along straight lines from each of ``begin`` to each of ``end``, dense enough to keep words off them."""
    steps = max(3, min(_ON_LINE, _ON_LINES // max(1, len(begin[0]))))
    along = np.linspace(0, 1, steps)[:, None]
    x, y = (np.ravel(first + along * (last - first)) for first, last in zip(begin, end, strict=True))
    return x, y


def beside(
    x: np.ndarray, y: np.ndarray, labels: Sequence[str], first: Sequence[int] = (), size: tuple[float, float] = SIZE
) -> list[str]:
    """For every point the side on which its words stand; empty where there is no room for them.

    ``x`` and ``y`` are 0 to 1 across the drawing, upwards; points of ``first`` come first.  Words keep clear of each
    other and of all points.
    """
    wide, high = size
    px, py = x * wide, y * high
    taken: list[Box] = []
    sides = [""] * len(labels)
    order = [*first, *(i for i in range(len(labels)) if i not in set(first))]
    for i in order:
        if not labels[i]:
            continue
        long = _LETTER * len(labels[i])
        for name, dx, dy in _SIDES:
            box = box_at(px[i] + dx * (7 + long / 2), py[i] + dy * (5 + _LINE / 2), labels[i])
            outside = box[0] < 0 or box[1] < 0 or box[2] > wide or box[3] > high
            if outside:
                continue
            near = (px > box[0] - 4) & (px < box[2] + 4) & (py > box[1] - 4) & (py < box[3] + 4)
            near[i] = False
            if not near.any() and not any(overlap(box, other) for other in taken):
                taken.append(box)
                sides[i] = name
                break
    return sides


def emptiest(
    at: tuple[float, float],
    label: str,
    points: tuple[np.ndarray, np.ndarray],
    sides: Sequence[str],
    size: tuple[float, float] = SIZE,
) -> str:
    """The first of ``sides`` of a place on which words cover fewest points; all places are shares of the drawing."""
    wide, high = size
    px, py = points[0] * wide, points[1] * high
    long = _LETTER * len(label)
    steps = {name: (dx, dy) for name, dx, dy in _SIDES}

    def covered(side: str) -> int:
        dx, dy = steps[side]
        x, y = at[0] * wide + dx * (7 + long / 2), at[1] * high + dy * (5 + _LINE / 2)
        return int(np.count_nonzero((np.abs(px - x) < long / 2 + 4) & (np.abs(py - y) < _LINE / 2 + 4)))

    return min(sides, key=covered)


def flags(
    x: np.ndarray,
    y: np.ndarray,
    labels: Sequence[str],
    others: Places,
    size: tuple[float, float] = SIZE,
    taken: Sequence[Box] = (),
    sizes: tuple[float, float] = (_LETTER, _NEAREST),
    dots: Places | None = None,
) -> list[tuple[float, float]]:
    """For every point the offset in pixels (to the right, upwards) of the centre of its label.

    ``x``, ``y`` and ``others`` are 0 to 1 across the drawing.  A label lies within the drawing and off all other labels
    and the boxes ``taken``, which a line to it does not cross either, and covers as few points as can be, its own
    included; only where the drawing has no room left does it lie where it covers least.  It is nearer to its own point
    than to any of ``dots``, or has a line.  ``sizes`` are the width of a sign and the distance of the nearest labels.
    """
    wide, high = size
    letter, nearest = sizes
    px, py = x * wide, y * high
    points = np.append(others[0] * wide, px), np.append(others[1] * high, py)
    used, offsets = list(taken), []
    for text, own in zip(labels, zip(px.tolist(), py.tolist(), strict=True), strict=True):
        marks = (np.empty(0), np.empty(0)) if dots is None else (dots[0] * wide, dots[1] * high)
        room = _Room(text, own, points, used, size, letter, marks)
        cost, centre = room.least(room.around(nearest))
        if cost >= _BAD:
            centre = min((cost, centre), room.least(room.everywhere()))[1]
        used.append(box_at(*centre, text, letter))
        offsets.append((centre[0] - own[0], centre[1] - own[1]))
    return offsets


_BAD = 1e6  # the cost of a label that is cut off or lies on another


@dataclass(frozen=True)
class _Room:
    """A label, its own point, and all points and boxes that it keeps off."""

    text: str
    own: Point
    points: Places
    used: Sequence[Box]
    size: tuple[float, float]
    letter: float
    dots: Places

    def around(self, nearest: float) -> list[Point]:
        """Centres about the own point, the nearest first."""
        (x, y), half = self.own, self.letter * len(self.text) / 2
        return [
            (x + float(np.cos(angle)) * (nearest * reach + half - 4), y + float(np.sin(angle)) * nearest * reach)
            for reach in _REACHES
            for angle in _ANGLES
        ]

    def everywhere(self) -> list[Point]:
        """Centres on a grid over the drawing."""
        _, _, half, high = box_at(0, 0, self.text, self.letter)
        xs = np.arange(half, self.size[0] - half + 1e-9, 4.0)
        ys = np.arange(high, self.size[1] - high + 1e-9, 5.0)
        return [(float(x), float(y)) for x in xs for y in ys]

    def least(self, centres: Iterable[Point]) -> tuple[float, Point]:
        """The cost and the centre that costs least: cut off or on another label, on points, far away."""
        best: tuple[float, Point] = (np.inf, self.own)
        for x, y in centres:
            left, low, right, top = box = box_at(x, y, self.text, self.letter)
            out = max(0.0, -left, -low, right - self.size[0], top - self.size[1])
            gap = self.gap(x, y)
            bad = out + sum(overlap(box, other) for other in self.used)
            bad += sum(_crosses(self.own, (x, y), other) for other in self.used) if gap > FAR else 0.0
            cost = gap / 1000 + ((_BAD + bad) if bad > 1e-6 else float(gap <= FAR and self._is_nearer(x, y)))
            if cost < best[0]:
                across, up = self.points
                cost += int(
                    np.count_nonzero((across > left - 3) & (across < right + 3) & (up > low - 3) & (up < top + 3))
                )
                best = min(best, (cost, (x, y)))
                if cost < 0.012:
                    break
        return best

    def _is_nearer(self, x: float, y: float) -> bool:
        """Whether another dot is nearer to a centre than the own point."""
        apart = np.hypot(self.dots[0] - self.own[0], self.dots[1] - self.own[1]) > 1
        near = np.hypot(self.dots[0] - x, self.dots[1] - y) < np.hypot(self.own[0] - x, self.own[1] - y)
        return bool((apart & near).any())

    def gap(self, x: float, y: float) -> float:
        """How far the rectangle about a centre is from the own point."""
        _, _, half, high = box_at(0, 0, self.text, self.letter)
        return float(np.hypot(max(0, abs(x - self.own[0]) - half), max(0, abs(y - self.own[1]) - high)))


def _crosses(begin: Point, end: Point, box: Box) -> float:
    """How much of a straight line lies in a rectangle, in pixels."""
    x, y = (np.linspace(a, b, 30) for a, b in zip(begin, end, strict=True))
    inside = (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])
    return float(np.count_nonzero(inside))


def together(points: Sequence[Point], near: float, first: Sequence[int] = ()) -> list[list[int]]:
    """Groups of points, in pixels, that lie closer to the first of their group than ``near``, by their numbers; points
    of ``first`` begin the first groups."""
    groups: list[list[int]] = []
    for i in [*first, *(k for k in range(len(points)) if k not in first)]:
        x, y = points[i]
        for group in groups:
            if np.hypot(x - points[group[0]][0], y - points[group[0]][1]) < near:
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def lines_of(model: MapModel) -> list[tuple[Point, Point]]:
    """Both ends of every line on the map: the bars about lettered candidates and the frontier's edge."""
    ends = []
    for mark in model.marks:
        (use, risk), (wide, high) = mark.at, mark.bars
        ends += [((use - wide, risk), (use + wide, risk))] if wide else []
        ends += [((use, risk - high), (use, risk + high))] if high else []
    return [*ends, *pairwise(model.edge)]
