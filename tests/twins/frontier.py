"""The frontier and the choices from it, word for word from their definitions: slow, and with exact fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

Rows = Sequence[Sequence[float]]


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """No larger anywhere and smaller somewhere; a row with a NaN dominates nothing and is dominated by nothing."""
    if any(math.isnan(value) for value in (*one, *other)):
        return False
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(a < b for a, b in zip(one, other, strict=True))


def undominated(rows: Rows) -> list[bool]:
    """O(N^2 k): a row is on the frontier when it has no NaN and no row dominates it."""
    return [not any(math.isnan(v) for v in row) and not any(dominates(other, row) for other in rows) for row in rows]


def dominated_by(rows: Rows, i: int) -> list[int]:
    return [j for j, row in enumerate(rows) if dominates(row, rows[i])]


def best_under_bound(risk: Sequence[float], loss: Sequence[float], bound: float) -> int | None:
    feasible = [(y, x, i) for i, (x, y) in enumerate(zip(risk, loss, strict=True)) if x <= bound and not math.isnan(y)]
    return min(feasible)[2] if feasible else None


def intercepts(risk: Sequence[float], loss: Sequence[float], slope: float) -> list[Fraction]:
    """c = DR - slope * DU of every candidate, exactly, with DU = -loss."""
    return [Fraction(x) + Fraction(slope) * Fraction(y) for x, y in zip(risk, loss, strict=True)]


def on_supporting_line(risk: Sequence[float], loss: Sequence[float], slope: float) -> list[int]:
    """Every candidate whose intercept is the smallest; at slope 0 and infinity, by the tie rules of the two ends."""
    both = list(zip(risk, loss, strict=True))
    if slope == 0:
        return [i for i, point in enumerate(both) if point == min(both)]
    if slope == math.inf:
        return [i for i, (x, y) in enumerate(both) if (y, x) == min((b, a) for a, b in both)]
    values = intercepts(risk, loss, slope)
    return [i for i, value in enumerate(values) if value == min(values)]


def hull(risk: Sequence[float], loss: Sequence[float]) -> list[tuple[int, Fraction, Fraction | float]]:
    """O(N^2): a frontier point is a vertex when every slope up to it is smaller than every slope from it."""
    mask = undominated(list(zip(risk, loss, strict=True)))
    first: dict[tuple[Fraction, Fraction], int] = {}
    for i, on in enumerate(mask):
        if on:
            first.setdefault((Fraction(risk[i]), -Fraction(loss[i])), i)
    answer = []
    for (x, u), i in sorted(first.items()):
        low = max([(x - a) / (u - b) for a, b in first if b < u], default=Fraction(0))
        high = min([(a - x) / (b - u) for a, b in first if b > u], default=math.inf)
        if low < high:
            answer.append((i, low, high))
    return answer


def knee(risk: Sequence[float], loss: Sequence[float]) -> int | None:
    """Largest exact distance below the chord after min-max scaling over the frontier; None as the engine has it."""
    mask = undominated(list(zip(risk, loss, strict=True)))
    front = sorted((Fraction(risk[i]), Fraction(loss[i]), i) for i, on in enumerate(mask) if on)
    if len({point[:2] for point in front}) < 3:
        return None
    (x0, y1, _), (x1, y0, _) = front[0], front[-1]
    gains = [(1 - (x - x0) / (x1 - x0) - (y - y0) / (y1 - y0), -x, -i) for x, y, i in front]
    gain, _, i = max(gains)
    return -i if gain > 0 else None


def hypervolume(rows: Rows, reference: Sequence[float]) -> Fraction:
    """Counts the cells of the grid through all coordinates that lie above some row: O(N^(k+1))."""
    axes = [
        sorted({Fraction(v) for v in column if v < limit} | {Fraction(limit)})
        for column, limit in zip(zip(*rows, strict=True), reference, strict=True)
    ]
    total = Fraction(0)
    for cell in itertools.product(*(list(itertools.pairwise(axis)) for axis in axes)):
        if any(all(v <= low for v, (low, _) in zip(row, cell, strict=True)) for row in rows):
            total += math.prod((high - low for low, high in cell), start=Fraction(1))
    return total
