"""The board's map as values, and the places of its letters; plotly and matplotlib draw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from engine.report.words import bar

if TYPE_CHECKING:
    from engine.report.facts import Better, Map

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

    @property
    def with_use(self) -> str:
        """The title with the direction that is more useful."""
        return f"← more useful · {self.title}" if self.better == "lower" else f"{self.title} · more useful →"


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

    :meth:`meets` tells which places are those of a candidate within the limit.  ``inside`` is None in earlier findings,
    where a mean within the limit decides.
    """

    across: Axis
    up: Axis
    marks: tuple[Mark, ...]
    frontier: tuple[Point, ...]
    others: tuple[Point, ...]
    edge: tuple[Point, ...]
    unprotected: Point | None
    limit: float | None
    inside: frozenset[Point] | None = None

    def meets(self, point: Point) -> bool:
        """Whether the candidate at a place is within the limit; all are where there is none."""
        if self.limit is None:
            return True
        if self.inside is not None:
            return point in self.inside
        return self.under_limit(point)

    @property
    def points(self) -> tuple[Point, ...]:
        """The places of all candidates."""
        return (*(mark.at for mark in self.marks), *self.frontier, *self.others)

    def under_limit(self, point: Point) -> bool:
        """Whether a place is on the better side of the limit's line."""
        return self.limit is None or self._within(point[1], self.limit)

    @property
    def unprotected_meets(self) -> bool:
        """Whether the unprotected file, which has no runs, is within the limit; so it is where there is none."""
        return self.unprotected is None or self.under_limit(self.unprotected)

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


def map_model(board_map: Map, letters: Collection[str] | None = None, scale: float = 1.0) -> MapModel:
    """Return the map of a board's findings; figures that are withheld have no mark.

    Of ``letters`` (None: all) only those candidates are marks of their own; risks are multiplied by ``scale``.
    """
    marks = tuple(
        Mark(
            c.letter,
            (c.utility, c.risk * scale),
            c.within_bound is not False,
            c.recommended,
            c.undominated,
            (bar(c.utility, c.utility_se), None if (up := bar(c.risk, c.risk_se)) is None else up * scale),
        )
        for c in board_map.candidates
        if c.utility is not None and c.risk is not None and (letters is None or c.letter in letters)
    )

    def scaled(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple((use, risk * scale) for use, risk in points)

    alone = Counter(mark.at for mark in marks)
    nothing = (board_map.nothing_utility, board_map.nothing_risk)
    return MapModel(
        across=Axis(board_map.utility_title, board_map.utility_unit, board_map.utility_better),
        up=Axis(board_map.risk_title, board_map.risk_unit, board_map.risk_better),
        marks=marks,
        frontier=_without(scaled(board_map.frontier), alone),
        others=_without(scaled(board_map.others), alone),
        edge=scaled(staircase(board_map)),
        unprotected=None if nothing[0] is None or nothing[1] is None else (nothing[0], nothing[1] * scale),
        limit=None if board_map.bound_at is None else board_map.bound_at * scale,
        inside=None if board_map.within_at is None else frozenset(scaled(board_map.within_at)),
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
_SIDES = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "bottom left": (-1, -1),
}
_ON_LINE, _ON_LINES = 30, 6_000  # places of one line, and about how many of all lines together
_TURNS = [
    (np.cos(angle), np.sin(angle))
    for angle in np.deg2rad([315, 45, 0, 270, 90, 225, 135, 180, 292, 337, 22, 67, 112, 157, 202, 247])
]
_REACHES = (1.0, 1.6, 2.3, 3.2, 4.3, 6.0)
FAR = 12.0
"""The gap from which on a label needs a line to its point."""
_BAD = 1e6  # the cost of a label that is cut off or lies on another


def overlap(a: Box, b: Box) -> float:
    """The area that two rectangles share."""
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def box_at(x: float, y: float, text: str, letter: float = _LETTER) -> Box:
    """The rectangle of a label about its centre; ``letter`` is the width of a sign."""
    half, high = letter * len(text) / 2, _LINE * letter / _LETTER / 2
    return (x - half, y - high, x + half, y + high)


def _near(points: Places, box: Box, room: float) -> np.ndarray:
    """Which points are in a rectangle or close to it."""
    x, y = points
    return (x > box[0] - room) & (x < box[2] + room) & (y > box[1] - room) & (y < box[3] + room)


def on_lines(begin: Places, end: Places) -> Places:
    """Places along straight lines from each of ``begin`` to each of ``end``, dense enough to keep words off them."""
    steps = max(3, min(_ON_LINE, _ON_LINES // max(1, len(begin[0]))))
    along = np.linspace(0, 1, steps)[:, None]
    x, y = (np.ravel(first + along * (last - first)) for first, last in zip(begin, end, strict=True))
    return x, y


def joined(places: Iterable[Places]) -> Places:
    """Return all places together."""
    x, y = (np.concatenate(values) for values in zip(*places, strict=True))
    return x, y


def beside(
    x: np.ndarray, y: np.ndarray, labels: Sequence[str], first: Sequence[int] = (), size: Point = SIZE
) -> list[str]:
    """For every point the side on which its words stand; empty where there is no room for them.

    ``x`` and ``y`` are 0 to 1 across the drawing, upwards; points of ``first`` come first.  Words keep clear of each
    other and of all points.
    """
    wide, high = size
    points = x * wide, y * high
    taken: list[Box] = []
    sides = [""] * len(labels)
    for i in dict.fromkeys((*first, *range(len(labels)))):
        for side in _SIDES if labels[i] else ():
            box = _box_beside(points[0][i], points[1][i], labels[i], side)
            near = _near(points, box, 4)
            near[i] = False
            is_inside = box[0] >= 0 and box[1] >= 0 and box[2] <= wide and box[3] <= high
            if is_inside and not near.any() and not any(overlap(box, other) for other in taken):
                taken.append(box)
                sides[i] = side
                break
    return sides


def _box_beside(x: float, y: float, label: str, side: str) -> Box:
    dx, dy = _SIDES[side]
    return box_at(x + dx * (7 + _LETTER * len(label) / 2), y + dy * (5 + _LINE / 2), label)


def emptiest(at: Point, label: str, points: Places, sides: Sequence[str], size: Point = SIZE) -> str:
    """The first of ``sides`` of a place on which words cover fewest points; all places are shares of the drawing."""
    wide, high = size
    drawn = points[0] * wide, points[1] * high

    def covered(side: str) -> int:
        return int(np.count_nonzero(_near(drawn, _box_beside(at[0] * wide, at[1] * high, label, side), 4)))

    return min(sides, key=covered)


def flags(
    x: np.ndarray,
    y: np.ndarray,
    labels: Sequence[str],
    others: Places,
    size: Point = SIZE,
    taken: Sequence[Box] = (),
    sizes: tuple[float, float] = (_LETTER, 24.0),
    dots: Places | None = None,
) -> list[Point]:
    """For every point the offset in pixels (to the right, upwards) of the centre of its label.

    ``x``, ``y`` and ``others`` are 0 to 1 across the drawing.  A label lies within the drawing and off all other labels
    and the boxes ``taken``, which a line to it does not cross either, and covers as few points as can be, its own
    included; only where the drawing has no room left does it lie where it covers least.  It is nearer to its own point
    than to any of ``dots``, or has a line.  ``sizes`` are the width of a sign and the distance of the nearest labels.
    """
    (wide, high), (letter, nearest) = size, sizes
    px, py = x * wide, y * high
    points = np.append(others[0] * wide, px), np.append(others[1] * high, py)
    marks = (np.empty(0), np.empty(0)) if dots is None else (dots[0] * wide, dots[1] * high)
    used, offsets = list(taken), []

    def least(text: str, own: Point, centres: Iterable[Point]) -> tuple[float, Point]:
        """The cost and the centre that costs least: cut off or on another label, on points, far away."""
        best: tuple[float, Point] = (np.inf, own)
        _, _, half, up = box_at(0, 0, text, letter)
        apart = np.hypot(marks[0] - own[0], marks[1] - own[1]) > 1
        for x, y in centres:
            left, low, right, top = box = box_at(x, y, text, letter)
            gap = float(np.hypot(max(0, abs(x - own[0]) - half), max(0, abs(y - own[1]) - up)))
            bad = max(0.0, -left, -low, right - wide, top - high) + sum(overlap(box, other) for other in used)
            bad += sum(_crosses(own, (x, y), other) for other in used) if gap > FAR else 0.0
            nearer = np.hypot(marks[0] - x, marks[1] - y) < np.hypot(own[0] - x, own[1] - y)
            cost = gap / 1000 + ((_BAD + bad) if bad > 1e-6 else float(gap <= FAR and bool((apart & nearer).any())))
            if cost < best[0]:
                cost += int(np.count_nonzero(_near(points, box, 3)))
                best = min(best, (cost, (x, y)))
                if cost < 0.012:
                    break
        return best

    for text, own in zip(labels, zip(px.tolist(), py.tolist(), strict=True), strict=True):
        _, _, half, up = box_at(0, 0, text, letter)
        around = [
            (own[0] + float(x) * (nearest * reach + half - 4), own[1] + float(y) * nearest * reach)
            for reach in _REACHES
            for x, y in _TURNS
        ]
        best = least(text, own, around)
        if best[0] >= _BAD:
            ys = np.arange(up, high - up + 1e-9, 5.0).tolist()
            everywhere = [(x, y) for x in np.arange(half, wide - half + 1e-9, 4.0).tolist() for y in ys]
            best = min(best, least(text, own, everywhere))
        used.append(box_at(*best[1], text, letter))
        offsets.append((best[1][0] - own[0], best[1][1] - own[1]))
    return offsets


def _crosses(begin: Point, end: Point, box: Box) -> float:
    """How much of a straight line lies in a rectangle, in pixels."""
    x, y = (np.linspace(a, b, 30) for a, b in zip(begin, end, strict=True))
    return float(np.count_nonzero(_near((x, y), box, 0)))


Share = Callable[[Sequence[Point]], Places]
"""Turns points of a map into shares of the drawing, from 0 to 1 across and upwards."""


def lettered(model: MapModel, share: Share, size: Point, near: float) -> list[tuple[str, Mark]]:
    """Return the labels to be written and their marks, the recommended one first; marks closer than ``near`` pixels
    share one."""
    groups: list[tuple[np.ndarray, list[Mark]]] = []  # the place of the first, and all
    for mark in sorted(model.marks, key=lambda mark: not mark.recommended):
        place = np.ravel(share([mark.at])) * size
        for first, group in groups:
            if np.hypot(*(place - first)) < near:
                group.append(mark)
                break
        else:
            groups.append((place, [mark]))
    return [(", ".join(mark.letter for mark in group), group[0]) for _, group in groups]


def places_of(model: MapModel, share: Share) -> Places:
    """Return all places that words keep off: marks (those of the unprotected file most), bars, the frontier's edge and
    the limit's line."""
    unprotected = [model.unprotected] if model.unprotected else []
    lines = list(pairwise(model.edge))
    for mark in model.marks:
        (use, risk), (wide, high) = mark.at, mark.bars
        lines += [((use - wide, risk), (use + wide, risk))] if wide else []
        lines += [((use, risk - high), (use, risk + high))] if high else []
    places = [
        share([*(mark.at for mark in model.marks), *model.frontier, *model.others, *20 * unprotected]),
        on_lines(share([begin for begin, _ in lines]), share([end for _, end in lines])),
    ]
    if model.limit is not None:
        level = share([(0.0, model.limit)])[1][0]
        places.append((np.linspace(0, 1, 80), np.full(80, level)))
    return joined(places)
