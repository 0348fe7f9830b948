"""A multinomial logit of one attribute given others, fitted to the cells of a table.

Terms are one indicator per level of every other attribute ("main") and per occupied pair of levels of two of them
("two_way"), symmetric in all levels.  The shares of the levels are an offset, and a ridge draws every coefficient
towards 0, that is towards independence, so that the fit is unique and finite with collinear terms and with levels that
some combination separates.  The criterion is strictly concave: Newton's method with halved steps finds its maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.processes import one_thread
from engine.data.table import occupied

Terms = Literal["two_way", "main", "level"]
MODELS: tuple[Terms, ...] = get_args(Terms)
"""Terms of a model: all pairs of the other attributes, each by itself, or none (the shares of the levels alone)."""
RIDGE = 1.0
"""Half of this times the sum of squared coefficients is taken from the log-likelihood: a standard normal prior on each
coefficient, which a few records outweigh."""
MOST_TERMS = 2000
MOST_ENTRIES = 50_000_000
"""Rows times terms of a design: 400 MB."""
MOST_COEFFICIENTS = 6000
"""Terms times levels less one, whose square is the Hessian: 300 MB."""
_QUICK = 4e9
_MOST_STEPS = 200
_DONE = 1e-10  # of a chance's logit; a step with a fresh Hessian squares the error
_NEARLY = 1e-6
_SLOW = 0.3


@dataclass(frozen=True)
class Design:
    """The indicators of the terms of a model in an orthonormal basis of the space that they span, shape ``(rows,
    rank)``; ``totals`` are the records of each row.

    The coefficients of a fit with a ridge lie in that space, and the change of basis keeps their sum of squares.
    """

    terms: np.ndarray
    totals: np.ndarray
    ridge: float = RIDGE


def quick_to_fit(n_rows: int, n_terms: int, n_levels: int) -> bool:
    """Return whether a Hessian takes about a tenth of a second at most: it takes the rows times the square of the
    coefficients."""
    coefficients = n_terms * (n_levels - 1)
    return coefficients <= MOST_COEFFICIENTS and n_rows * coefficients**2 <= _QUICK


def n_terms(patterns: np.ndarray, shape: Sequence[int], model: str) -> int:
    """Number of terms of a model of other attributes with so many levels, over these combinations of their levels."""
    if model == "level":
        return 0
    main = sum(len(np.unique(patterns[:, j])) for j in range(patterns.shape[1]))
    return main + sum(len(cells) for cells, _ in _pairs(patterns, shape, model))


def _pairs(patterns: np.ndarray, shape: Sequence[int], model: str) -> list[tuple[np.ndarray, np.ndarray]]:
    if model != "two_way":
        return []
    both = combinations(range(patterns.shape[1]), 2)
    return [occupied([patterns[:, j], patterns[:, k]], [shape[j], shape[k]], len(patterns)) for j, k in both]


def design_of(
    patterns: np.ndarray, totals: np.ndarray, shape: Sequence[int], model: str, ridge: float = RIDGE
) -> Design:
    """The design of a model over combinations of levels of the other attributes (rows of codes) and their records."""
    blocks = [np.zeros((len(patterns), 0))]
    if model != "level":
        for j in range(patterns.shape[1]):
            present = np.unique(patterns[:, j])
            blocks.append((patterns[:, j][:, None] == present).astype(float))
    for cells, inverse in _pairs(patterns, shape, model):
        blocks.append((inverse[:, None] == np.arange(len(cells))).astype(float))
    indicators = np.hstack(blocks)
    with one_thread():
        sizes, vectors = np.linalg.eigh(indicators.T @ indicators)
        spanned = sizes > 1e-9 * sizes.max(initial=0.0)
        return Design(indicators @ vectors[:, spanned], totals.astype(float), ridge)


def fit_levels(design: Design, counts: np.ndarray) -> np.ndarray:
    """Fit the chance of each level by row of the design to ``counts``, both of shape ``(rows, levels)``.

    Levels without records have chance 0.  A :class:`UsageError` refuses more coefficients than memory holds, an
    :class:`EngineError` says when no maximum was found.
    """
    totals = counts.sum(axis=0)
    present = np.flatnonzero(totals)
    chance = np.zeros(counts.shape)
    if len(present) < 2 or not design.terms.shape[1]:
        chance[:] = totals / totals.sum()
        return chance
    with one_thread():
        problem = _Logit(design, counts[:, present].astype(float))
        size = math.prod(problem.shape)
        if size > MOST_COEFFICIENTS:
            raise UsageError(
                f"detection: the model of an attribute of {len(present)} levels has {size:,} coefficients, must have "
                f"at most {MOST_COEFFICIENTS:,}; name fewer attributes=, or merge levels."
            )
        chance[:, present] = problem.chance(_maximise(problem))
    return chance


class _Logit:
    """The penalised log-likelihood.  The coefficients of all levels sum to zero at the maximum, so they are kept in an
    orthonormal basis of what sums to zero: one column fewer than levels."""

    def __init__(self, design: Design, counts: np.ndarray) -> None:
        self.terms, self.totals, self.ridge, self.counts = design.terms, design.totals, design.ridge, counts
        shares = counts.sum(axis=0)
        self.offset = np.log(shares / shares.sum())
        levels = counts.shape[1]
        self.contrasts = np.linalg.qr(np.eye(levels)[:, 1:] - 1 / levels)[0]
        self.shape = (self.terms.shape[1], levels - 1)

    def change(self, b: np.ndarray) -> np.ndarray:
        """Of the logits, shape ``(rows, levels)``."""
        result: np.ndarray = (self.terms @ b) @ self.contrasts.T
        return result

    def _log_chance(self, b: np.ndarray) -> np.ndarray:
        eta = self.offset + self.change(b)
        eta -= eta.max(axis=1, keepdims=True)
        result: np.ndarray = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
        return result

    def chance(self, b: np.ndarray) -> np.ndarray:
        """Of each level by row."""
        return np.asarray(np.exp(self._log_chance(b)))

    def value(self, b: np.ndarray) -> float:
        """The penalised log-likelihood."""
        return float((self.counts * self._log_chance(b)).sum() - self.ridge / 2 * (b**2).sum())

    def gradient(self, b: np.ndarray) -> np.ndarray:
        """Its gradient."""
        residual = self.counts - self.totals[:, None] * self.chance(b)
        return np.asarray(self.terms.T @ (residual @ self.contrasts) - self.ridge * b)

    def hessian(self, b: np.ndarray) -> np.ndarray:
        """Its second derivatives with their sign turned, column of coefficients after column."""
        p, (rank, columns) = self.chance(b), self.shape
        mean = p @ self.contrasts
        hessian = np.empty((columns, rank, columns, rank))
        for a in range(columns):
            for c in range(a, columns):
                product = p @ (self.contrasts[:, a] * self.contrasts[:, c])
                weight = self.totals * (product - mean[:, a] * mean[:, c])
                hessian[a, :, c] = self.terms.T @ (self.terms * weight[:, None])
                hessian[c, :, a] = hessian[a, :, c].T
        flat = hessian.reshape(rank * columns, rank * columns)
        flat[np.diag_indices(len(flat))] += self.ridge
        return flat


def _maximise(problem: _Logit) -> np.ndarray:
    """Newton's method.  The Hessian is formed again only where the last one makes slow progress."""
    from scipy.linalg import cho_factor, cho_solve

    b, factor = np.zeros(problem.shape), None
    value, gradient = problem.value(b), problem.gradient(b)
    before, fresh = np.inf, False
    for _ in range(_MOST_STEPS):
        if factor is None:
            factor, fresh = cho_factor(problem.hessian(b))[0], True
        move = cho_solve((factor, False), gradient.T.ravel()).reshape(problem.shape[::-1]).T
        size = float(np.abs(problem.change(move)).max())
        if size < (_NEARLY if fresh else _DONE):
            return np.asarray(b + move)
        if size > _SLOW * before and not fresh:
            factor = None
            continue
        part, moved = 1.0, problem.value(b + move)
        while moved < value - 1e-9 * abs(value) and part > 1e-6:
            part /= 2
            moved = problem.value(b + part * move)
        b, value, before, fresh = b + part * move, moved, size, False
        gradient = problem.gradient(b)
        if part < 1:
            factor = None
    raise EngineError(f"the model of the swapped attribute had not settled after {_MOST_STEPS} steps")
