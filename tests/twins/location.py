"""The general location model, line by line: posterior draws and predictive probabilities; slow on purpose.

R. J. A. Little and F. Liu (2003), eq. 11 to 13, with the sum of squares within cells as the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.stats import invwishart


class Theta(NamedTuple):
    pi: list[float]
    mu: list[np.ndarray]
    sigma: np.ndarray


def sizes(x: Sequence[int]) -> dict[int, int]:
    return {k: list(x).count(k) for k in sorted(set(x))}


def sensitive_cells(x: Sequence[int], s: int, rule: str) -> set[int]:
    return {k for k, m in sizes(x).items() if (m <= s if rule == "le" else m < s)}


def cell_means(x: Sequence[int], y: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    return {k: sum(y[i] for i in range(len(x)) if x[i] == k) / m for k, m in sizes(x).items()}  # type: ignore[misc]


def sum_of_squares(x: Sequence[int], y: Sequence[np.ndarray]) -> np.ndarray:
    means = cell_means(x, y)
    total = np.zeros((len(y[0]), len(y[0])))
    for cell, numbers in zip(x, y, strict=True):
        total += np.outer(numbers - means[cell], numbers - means[cell])
    return total


def draw(
    x: Sequence[int], y: Sequence[np.ndarray], rng: np.random.Generator, for_pi: Sequence[int] | None = None
) -> Theta:
    """θ given records in cells 0..K-1; ``for_pi`` are the cells of the records that π is drawn from."""
    counts, means = sizes(x), cell_means(x, y)
    pi = rng.dirichlet([m + 0.5 for m in (counts if for_pi is None else sizes(for_pi)).values()])
    df = len(x) - len(counts)
    sigma = np.atleast_2d(invwishart.rvs(df, sum_of_squares(x, y), random_state=rng))
    mu = [rng.multivariate_normal(means[k], sigma / m) for k, m in counts.items()]
    return Theta(list(pi), mu, sigma)


def probabilities(theta: Theta, y: np.ndarray) -> list[float]:
    """Eq. 12 from the full normal density, so that eq. 13 is not taken for granted."""
    inverse = np.linalg.inv(theta.sigma)
    logs = [log(p) - 0.5 * float((y - m) @ inverse @ (y - m)) for p, m in zip(theta.pi, theta.mu, strict=True)]
    top = max(logs)
    total = sum(exp(one - top) for one in logs)
    return [exp(one - top) / total for one in logs]


def pick(options: Sequence[int], weights: Sequence[float], u: float) -> int:
    """One of the options, the likelier the larger its weight, by one uniform number."""
    target, reached = u * sum(weights), 0.0
    for option, weight in zip(options, weights, strict=True):
        reached += weight
        if target < reached:
            return option
    return options[-1]
