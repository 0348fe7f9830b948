"""PRAM record by record; slow on purpose."""

from __future__ import annotations

from collections.abc import Sequence

Matrix = list[list[float]]


def invariant(x: Sequence[int], theta: float) -> Matrix:
    """The invariant matrix over the categories 0..K-1, all of which occur."""
    size = max(x) + 1
    t = [list(x).count(k) for k in range(size)]
    smallest = min(t)
    return [
        [1 - theta * smallest / t[k] if k == m else theta * smallest / ((size - 1) * t[k]) for m in range(size)]
        for k in range(size)
    ]


def transit(x: Sequence[int], matrix: Sequence[Sequence[float]], uniforms: Sequence[float]) -> list[int]:
    """For each record the first category whose cumulated probability exceeds its number."""
    new = []
    for k, u in zip(x, uniforms, strict=True):
        row, total = matrix[k], 0.0
        for probability in row:
            total += probability
        reached, target = 0.0, u * total
        for m, probability in enumerate(row):
            reached += probability
            if probability > 0 and target < reached:
                new.append(m)
                break
        else:
            new.append(max(m for m, probability in enumerate(row) if probability > 0))
    return new


def move(x: Sequence[int], theta: float, uniforms: Sequence[float], others: Sequence[int]) -> list[int]:
    """Invariant PRAM in two steps: whether a record moves, then which of the other categories it gets."""
    matrix, left = invariant(x, theta), iter(others)
    new = []
    for k, u in zip(x, uniforms, strict=True):
        elsewhere = [m for m in range(len(matrix)) if m != k]
        new.append(elsewhere[next(left)] if u < 1 - matrix[k][k] else k)
    return new
