"""Choose one candidate from the frontier: a bound on risk, a linear trade-off, the knee, the hypervolume.

Risk and loss are arrays of shape ``(N,)``, one figure per candidate, smaller is better in both.  The loss is the
negative of the utility, ``DU = -loss``; a distortion measure is a loss as it stands.  A candidate with a NaN takes no
part.

Source: Gomatam, Karr & Sanil (2005), section 2.3: eq. 4 and its distortion form eq. 13 for the bound, the line
``DR = a * DU + c`` of their figure 1 for the trade-off.  Knee and hypervolume are not in the paper.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from engine.common.errors import UsageError
from engine.frontier.undominated import Floats, Index, as_losses, undominated


def _pair(risk: ArrayLike, loss: ArrayLike) -> tuple[Floats, Floats]:
    """Both arguments as float arrays of one shape ``(N,)``; :class:`UsageError` otherwise."""
    try:
        x, y = np.asarray(risk, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise UsageError(
            f"risk and loss cannot be read as numbers ({problem}); wanted one figure per candidate, missing ones as NaN"
        ) from None
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(
            f"risk has shape {x.shape} and loss has shape {y.shape}, both must be (N,): one figure per candidate"
        )
    return x, y


def best_under_bound(risk: ArrayLike, loss: ArrayLike, bound: float, allowed: ArrayLike | None = None) -> int | None:
    """Index of the candidate with the least loss among those with ``risk <= bound`` (the bound itself is allowed).

    Equal losses are decided by lower risk, then by lower index; with that rule the answer is always on the frontier of
    the candidates that were ``allowed`` (a boolean mask of shape ``(N,)``; default all).  None when no candidate is
    within the bound.  The bound is in the units of ``risk`` and compared exactly.  O(N).

    Source: Gomatam, Karr & Sanil (2005), eq. 4 and 13.  Raises :class:`UsageError` for a bound that is NaN, for shapes
    that differ and for a mask that is not boolean.
    """
    x, y = _pair(risk, loss)
    if math.isnan(bound):
        raise UsageError("the bound on risk is NaN, must be a number in the units of the risk measure")
    feasible = (x <= bound) & ~np.isnan(y)
    if allowed is not None:
        mask = np.asarray(allowed)
        if mask.dtype != np.bool_ or mask.shape != x.shape:
            raise UsageError(
                f"allowed has shape {mask.shape} and type {mask.dtype}, must be a boolean mask of shape {x.shape}"
            )
        feasible &= mask
    index = np.flatnonzero(feasible)
    for values in (y, x):
        if len(index) == 0:
            return None
        index = index[values[index] == values[index].min()]
    return int(index[0])


def _finite_frontier(x: Floats, y: Floats) -> Index:
    """Frontier among the candidates with two finite figures, by ascending risk, lowest index of each distinct point."""
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    front = finite[undominated(np.column_stack((x[finite], y[finite])))]
    front = front[np.lexsort((front, x[front]))]
    # On the frontier equal risk means equal loss.
    fresh = np.ones(len(front), dtype=np.bool_)
    fresh[1:] = x[front][1:] != x[front][:-1]
    return front[fresh]


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Return whether the path a -> b -> c, points as (utility, risk), makes a strict left turn, decided exactly.

    The floating-point cross product is trusted when it is clear of its rounding error; otherwise, or when it may have
    under- or overflowed, fractions decide, so that collinear points are never taken for vertices.
    """
    first, second = (b[0] - a[0]) * (c[1] - b[1]), (b[1] - a[1]) * (c[0] - b[0])
    size = abs(first) + abs(second)
    if 1e-290 < size < math.inf and abs(first - second) > 1e-15 * size:
        return first > second
    (ax, ay), (bx, by), (cx, cy) = ((Fraction(u), Fraction(v)) for u, v in (a, b, c))
    return (bx - ax) * (cy - by) > (by - ay) * (cx - bx)


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Slope from a to b, points as (utility, risk), correctly rounded: equal and ordered slopes stay so as floats."""
    exact = (Fraction(b[1]) - Fraction(a[1])) / (Fraction(b[0]) - Fraction(a[0]))
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def hull_intervals(risk: ArrayLike, loss: ArrayLike) -> list[tuple[int, float, float]]:
    """Winners under ``DR = a * DU + c`` by intervals of slopes: ``(index, slope_low, slope_high)`` by ascending risk.

    Listed are the vertices of the lower-right convex hull of the candidates in the (utility, risk) plane.  A vertex has
    the smallest intercept ``c = risk + a * loss`` for every slope ``a`` in its closed interval; the intervals tile
    ``[0, inf]`` and meet at the slopes of the hull's edges, in units of risk per unit of utility.  Collinear points
    between two vertices are not listed, of equal points the lowest index is.  Candidates with an infinite figure have
    no intercept and take no part; the list is empty when none is left.

    Source: Gomatam, Karr & Sanil (2005), section 2.3; the hull is Andrew's monotone chain with an exact turn test.
    O(N log N).  Raises :class:`UsageError` when the shapes differ.
    """
    x, y = _pair(risk, loss)
    front = _finite_frontier(x, y)
    points = list(zip((-y[front]).tolist(), x[front].tolist(), strict=True))
    hull: list[int] = []
    for i, point in enumerate(points):
        while len(hull) > 1 and not _turns_left(points[hull[-2]], points[hull[-1]], point):
            hull.pop()
        hull.append(i)
    if not hull:
        return []
    edges = [_slope(points[a], points[b]) for a, b in pairwise(hull)]
    lows, highs = [0.0, *edges], [*edges, math.inf]
    return [(int(front[i]), low, high) for i, low, high in zip(hull, lows, highs, strict=True)]


def supporting_line(risk: ArrayLike, loss: ArrayLike, slope: float) -> list[int]:
    """Indices of the candidates on the line ``DR = slope * DU + c`` with the smallest ``c``, by ascending risk.

    ``slope`` is the risk accepted per unit of utility.  One index as a rule; both ends of a hull edge when the slope is
    exactly that edge's (to the rounding of a float).  Slope 0 gives the least risk and, among equals, the most utility;
    an infinite slope the most utility and, among equals, the least risk.  Of equal points the lowest index is given.
    Empty when no candidate has two finite figures.  O(N log N).

    Source: Gomatam, Karr & Sanil (2005), section 2.3 and figure 1.  Raises :class:`UsageError` for a slope that is
    negative or NaN: it would reward risk.
    """
    if not slope >= 0:
        raise UsageError(
            f"slope is {slope}, must be 0 or more: it is the risk accepted per unit of utility, and less risk is better"
        )
    vertices = hull_intervals(risk, loss)
    # The ends are settled by their tie rules, also where an edge is so flat or steep that its slope rounds to 0 or inf.
    if slope == 0:
        return [index for index, _, _ in vertices[:1]]
    if slope == math.inf:
        return [index for index, _, _ in vertices[-1:]]
    return [index for index, low, high in vertices if low <= slope <= high]


def straight_sum(risk: float, loss: float, slope: float) -> float:
    """The intercept ``c = risk + slope * loss`` of one release, by which a straight trade-off ranks it: less is better.

    An infinite slope counts the loss alone.  In units of ``risk`` (of ``loss`` where the slope is infinite).
    """
    return loss if slope == math.inf else risk + slope * loss


def knee(risk: ArrayLike, loss: ArrayLike) -> int | None:
    """Index of the frontier's knee: the point farthest on the better side of the chord between its two ends.

    Both axes are scaled to 0..1 over the frontier first, so the answer does not depend on units, but it does depend on
    which candidates are the ends.  It is an aid to look at, not a rule of the paper.  Ties go to lower risk, then lower
    index.  None when the frontier has fewer than three distinct points or none lies on the better side.  Candidates
    with an infinite figure take no part.  O(N log N).  Raises :class:`UsageError` when the shapes differ.
    """
    x, y = _pair(risk, loss)
    front = _finite_frontier(x, y)
    if len(front) < 3:
        return None

    def scaled(values: Floats) -> Floats:
        # Dividing by the largest magnitude first keeps the range from overflowing.  That magnitude belongs to an end of
        # the frontier, so the two ends stay distinct and the range positive.
        values = values / np.abs(values).max()
        low = values.min()
        return np.asarray((values - low) / (values.max() - low))

    # The chord joins (0, 1) and (1, 0); the distance from it is this over the square root of two.
    better = 1.0 - scaled(x[front]) - scaled(y[front])
    most = float(better.max())
    # A few roundings wide: points on the chord are not better than it, and equal distances are ties.
    slack = 1e-14
    return int(front[np.flatnonzero(better >= most - slack)[0]]) if most > slack else None


def hypervolume(losses: ArrayLike, reference: ArrayLike) -> float:
    """Volume that the rows of ``losses`` dominate within ``reference``: larger is better.

    ``losses`` has shape ``(N, k)``, smaller is better; ``reference`` has shape ``(k,)``, is finite and bounds the
    volume from above.  Rows that are not below it in every column, and rows with a NaN, add nothing; a row below it
    with a column at -inf makes the volume infinite.  Exact up to rounding: O(N log N) for ``k <= 2``, the same plus
    insertions into a sorted list for ``k = 3``, slicing with O(N^(k-2)) slices in the worst case above, which suits
    small frontiers.

    Raises :class:`UsageError` for a bad table or a reference of another length or not finite.
    """
    rows = as_losses(losses)
    try:
        corner = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"reference {reference!r} cannot be read as numbers; wanted one per column of losses"
        ) from None
    if corner.shape != (rows.shape[1],) or not np.isfinite(corner).all():
        raise UsageError(
            f"reference is {corner.tolist()}, must be {rows.shape[1]} finite numbers, one per column of losses"
        )
    rows = rows[(rows < corner).all(axis=1)]
    if np.isneginf(rows).any():
        return math.inf
    return _volume(corner - rows)


def _volume(sides: Floats) -> float:
    """Volume of the union of the boxes ``[0, side]``, finite positive sides of shape ``(N, k)``."""
    if len(sides) == 0:
        return 0.0
    sides = np.unique(sides[undominated(-sides)], axis=0)
    columns = sides.shape[1]
    if columns == 1:
        return float(sides.max())
    if columns == 2:
        # Ascending in the first column means descending in the second: a staircase.
        return float((np.diff(sides[:, 0], prepend=0.0) * sides[:, 1]).sum())
    # Slice along the last column: between two heights the cross-section is the union of the boxes that reach the upper
    # one.
    sides = sides[np.argsort(-sides[:, -1], kind="stable")]
    heights = sides[:, -1]
    depths = heights - np.append(heights[1:], 0.0)
    if columns == 3:
        areas = _growing_areas(sides)
        return math.fsum(depth * area for depth, area in zip(depths.tolist(), areas, strict=True))
    return math.fsum(float(depth) * _volume(sides[: i + 1, :-1]) for i, depth in enumerate(depths) if depth > 0)


def _growing_areas(sides: Floats) -> list[float]:
    """Area of the union of the first 1, 2, ... rectangles ``[0, x] * [0, y]``, kept as a staircase in sorted lists.

    No rectangle may lie within an earlier one.
    """
    xs: list[float] = []
    negated: list[float] = []  # -y, ascending like xs because a longer step is a lower one
    area = 0.0
    areas: list[float] = []
    for x, y in zip(sides[:, 0].tolist(), sides[:, 1].tolist(), strict=True):
        # Steps that end at or before x and are no higher than y disappear under the new one.
        end = bisect_right(xs, x)
        begin = bisect_left(negated, -y, 0, end)
        before = xs[begin - 1] if begin else 0.0
        old, at = 0.0, before
        for step in range(begin, end):
            old += (xs[step] - at) * -negated[step]
            at = xs[step]
        if end < len(xs):
            old += (x - at) * -negated[end]
        area += (x - before) * y - old
        xs[begin:end] = [x]
        negated[begin:end] = [-y]
        areas.append(area)
    return areas
