"""MaPS, record by record, as Liu's sections 2 and 3 print it; slow on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from tests.twins import location


def odds_exponent(
    i: int, j: int, x: Sequence[int], y: Sequence[np.ndarray], mu: Sequence[np.ndarray], inverse: np.ndarray
) -> float:
    """The exponent of the swapping odds O(i, j), given the inverse of Σ."""
    return -float((y[i] - y[j]) @ inverse @ (mu[x[i]] - mu[x[j]]))


def swap(
    x: Sequence[int],
    y: Sequence[np.ndarray],
    theta: location.Theta,
    order: Sequence[int],
    uniforms: Sequence[float],
    w0: float,
    same_cell: bool = True,
) -> list[int]:
    """Step 5: the swapping cycles of one table; whose keys each record ends up with."""
    source, available = list(range(len(x))), set(range(len(x)))
    inverse = np.linalg.inv(theta.sigma)
    for i, u in zip(order, uniforms, strict=True):
        if i not in available:
            continue
        options, weights = [i], [1.0]
        for j in sorted(available - {i}):
            if not same_cell and x[j] == x[i]:
                continue
            w = exp(-abs(odds_exponent(i, j, x, y, theta.mu, inverse)))
            if w >= w0:
                options.append(j)
                weights.append(w)
        j = location.pick(options, weights, u)
        if j != i:
            source[i], source[j] = j, i
            available -= {i, j}
    return source


def table(
    x: Sequence[int],
    y: Sequence[np.ndarray],
    rng: np.random.Generator,
    s: int,
    rule: str = "le",
    w0: float = 0.8,
    same_cell: bool = True,
) -> list[int]:
    """Steps 4 and 5 from the data alone."""
    theta = location.draw(x, y, rng)
    small = location.sensitive_cells(x, s, rule)
    order = [int(i) for i in rng.permutation([i for i in range(len(x)) if x[i] in small])]
    return swap(x, y, theta, order, rng.random(len(order)).tolist(), w0, same_cell)
