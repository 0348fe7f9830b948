"""Positions for labels beside points, without overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
Box = tuple[float, float, float, float]
Places = tuple[np.ndarray, np.ndarray]
"""Points of a drawing by their two coordinates."""


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


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
            centre_x, centre_y = px[i] + dx * (7 + long / 2), py[i] + dy * (5 + _LINE / 2)
            box = (centre_x - long / 2, centre_y - _LINE / 2, centre_x + long / 2, centre_y + _LINE / 2)
            outside = box[0] < 0 or box[1] < 0 or box[2] > wide or box[3] > high
            if outside:
                continue
            near = (px > box[0] - 4) & (px < box[2] + 4) & (py > box[1] - 4) & (py < box[3] + 4)
            near[i] = False
            if not near.any() and not any(_overlap(box, other) for other in taken):
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
    others: tuple[np.ndarray, np.ndarray],
    size: tuple[float, float] = SIZE,
) -> list[tuple[float, float]]:
    """For every point an offset in pixels (to the right, upwards) for a label on a short line.

    Every label is placed where it covers least of the labels before it, of the points and of the ``others``.
    """
    wide, high = size
    px, py = x * wide, y * high
    ox, oy = others[0] * wide, others[1] * high
    angles = np.deg2rad([315, 45, 0, 270, 90, 225, 135, 180, 292, 337, 22, 67, 112, 157, 202, 247])
    taken: list[Box] = []
    offsets = []
    for i, text in enumerate(labels):
        long = _LETTER * len(text) + 8
        best: tuple[float, tuple[float, float], Box] | None = None
        for reach in (24.0, 38.0, 56.0, 78.0, 104.0):
            for angle in angles.tolist():
                dx = np.cos(angle) * (reach + long / 2 - 4)
                dy = np.sin(angle) * reach
                centre_x, centre_y = float(px[i] + dx), float(py[i] + dy)
                box = (centre_x - long / 2, centre_y - _LINE / 2, centre_x + long / 2, centre_y + _LINE / 2)
                outside = max(0.0, -box[0], -box[1], box[2] - wide, box[3] - high)
                covered = (ox > box[0] - 5) & (ox < box[2] + 5) & (oy > box[1] - 5) & (oy < box[3] + 5)
                cost = 50 * outside + sum(_overlap(box, other) for other in taken) + 40 * int(covered.sum())
                cost += reach / 1000
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, (float(dx), float(dy)), box)
            if best is not None and best[0] < 1:
                break
        assert best is not None
        taken.append(best[2])
        offsets.append(best[1])
    return offsets
