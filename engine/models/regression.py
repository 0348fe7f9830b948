"""Linear, logistic and Poisson regression on given matrices: estimates, standard errors, inestimable coefficients.

Few and small NumPy calls, since a sweep fits thousands (:mod:`engine.models.statsmodels_fit` fits the other families).
Every column is scaled to a root mean square of 1 first, so that tolerances mean the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

FAST = ("linear", "logistic", "poisson")
"""Families that :func:`solve` knows."""
OK, ALIASED, SEPARATED, FEW = range(4)
"""Reasons why a coefficient has no figure: none, it has one; columns depend on each other or are empty; no finite
estimate exists (separation) or none was found; too few records."""
WHY = ("", "not estimable", "separated or not converged", "too few records")

_RANK = 1e-9
_CONVERGED, _CONVERGED_MEANS = 1e-8, 1e-11
_STEPS = 80
_MOVING = 1e-4
_BLIND = 1e-6  # information per record; under separation it falls by a factor of e with every step


class Solved(NamedTuple):
    """One fit: estimates, standard errors, degrees of freedom (infinite: normal quantile), and a reason per
    coefficient."""

    estimate: np.ndarray
    se: np.ndarray
    df: float
    why: np.ndarray


def solve(
    family: str,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> Solved:
    """Fit ``y`` on the columns of ``x``.

    Linear: least squares, t with n - rank degrees of freedom.  Logistic and Poisson: maximum likelihood by Newton's
    method with step halving (at most 80 steps, to a change of 1e-8 in any linear predictor), normal quantiles;
    ``start`` are estimates to begin from.  With ``weights``: weighted estimates with linearised standard errors
    (Binder 1983, doi:10.2307/1402588; with n / (n - 1), as R's survey package for independent records).  With
    ``counts``: each row stands for that many equal records.
    """
    problem = scaled(x, weights, counts)
    n, weights, survey, design = problem.n, problem.weights, problem.survey, problem.design
    if n <= design.shape[1]:
        return nothing(x.shape[1], FEW)
    if family == "linear":
        beta, variance, df = _least_squares(design, y, weights, survey, n)
        moving = np.zeros(len(beta), bool)
    else:
        begin = None if start is None or not np.isfinite(start).all() else (start * problem.scale)[problem.basis]
        beta, variance, moving = _likelihood(family, design, y, weights, survey, n, begin)
        df = np.inf
    return problem.solved(beta, variance, df, moving)


class Scaled(NamedTuple):
    """A matrix made fit for solving: ``design`` holds the columns ``basis`` that span all, each divided by its
    ``scale``, its root mean square; ``estimable`` marks coefficients on which every spanning choice agrees.

    ``n`` is the number of records, ``weights`` their weights with that sum, or how many records a row stands for.
    """

    design: np.ndarray
    basis: np.ndarray
    estimable: np.ndarray
    scale: np.ndarray
    weights: np.ndarray | None
    survey: bool
    n: int

    def solved(self, beta: np.ndarray, variance: np.ndarray, df: float, moving: np.ndarray) -> Solved:
        """Estimates of the columns of ``design`` as those of all coefficients."""
        solved = nothing(len(self.scale), ALIASED)
        solved.estimate[self.basis] = beta / self.scale[self.basis]
        solved.se[self.basis] = np.sqrt(variance) / self.scale[self.basis]
        solved.why[self.basis] = np.where(moving, SEPARATED, OK)
        solved.why[~self.estimable] = ALIASED
        bad = solved.why != OK
        solved.estimate[bad] = solved.se[bad] = np.nan
        return solved._replace(df=df)


def scaled(x: np.ndarray, weights: np.ndarray | None, counts: np.ndarray | None) -> Scaled:
    """``x`` with every column scaled and without columns that depend on earlier ones."""
    k, n = x.shape[1], len(x) if counts is None else int(counts.sum())
    if n == 0:
        return Scaled(x, np.arange(k), np.zeros(k, bool), np.ones(k), None, False, 0)
    survey = weights is not None
    if weights is not None:
        weights = weights * (n / weights.sum())
    elif counts is not None:
        weights = counts.astype(float)
    squares = np.einsum("ij,ij->j", x, x) if counts is None else np.einsum("i,ij,ij->j", counts, x, x)
    scale = np.sqrt(squares / n)
    alive = scale > 0
    design = x / np.where(alive, scale, 1)
    basis, estimable = _basis(design, alive)
    return Scaled(design if len(basis) == k else design[:, basis], basis, estimable, scale, weights, survey, n)


def nothing(k: int, why: int) -> Solved:
    """No figure for any of ``k`` coefficients, for one reason."""
    return Solved(np.full(k, np.nan), np.full(k, np.nan), np.nan, np.full(k, why, np.int8))


def _basis(x: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that span all of them, first come first kept, and which coefficients every spanning choice agrees on.

    A coefficient is estimable exactly when no combination of columns that gives zero involves its column.
    """
    n, k = x.shape
    tolerance = _RANK * np.sqrt(n)
    if alive.all() and n >= k:
        diagonal = np.abs(np.diagonal(np.linalg.qr(x, mode="r")))
        if diagonal.min() > tolerance:
            return np.arange(k), np.ones(k, bool)
    independent: list[int] = []
    basis = np.zeros((n, 0))
    for j in range(k):
        residual = x[:, j]
        for _ in range(2):  # twice is enough (Kahan)
            residual = residual - basis @ (basis.T @ residual)
        length = np.sqrt(residual @ residual)
        if length > tolerance and len(independent) < n:
            independent.append(j)
            basis = np.column_stack([basis, residual / length])
    dependent = [j for j in range(k) if j not in independent]
    estimable = np.ones(k, bool)
    estimable[dependent] = False
    if dependent:
        involved = np.linalg.lstsq(x[:, independent], x[:, dependent], rcond=None)[0]
        estimable[independent] = np.abs(involved).max(axis=1) < 1e-7
    return np.array(independent, np.int64), estimable


def _least_squares(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray | None, survey: bool, n: int
) -> tuple[np.ndarray, np.ndarray, float]:
    k = x.shape[1]
    root = None if weights is None else np.sqrt(weights)
    q, r = np.linalg.qr(x if root is None else x * root[:, None])
    inverse = np.linalg.inv(r)
    beta = inverse @ (q.T @ (y if root is None else y * root))
    residual = y - x @ beta
    if np.abs(residual).max() <= 1e-13 * np.abs(y).max():
        residual = np.zeros(len(x))  # a perfect fit: what is left is rounding
    if weights is None or not survey:
        squares = residual @ (residual if weights is None else weights * residual)
        return beta, np.einsum("ij,ij->i", inverse, inverse) * (squares / (n - k)), n - k
    return beta, linearised(inverse @ inverse.T, x * (weights * residual)[:, None]), n - k


def linearised(bread: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Variances of weighted estimates from the inverse information and the records' scores."""
    n = len(scores)
    meat = scores.T @ scores * (n / (n - 1))
    result: np.ndarray = np.einsum("ij,jk,ki->i", bread, meat, bread)
    return result


def _likelihood(
    family: str,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    survey: bool,
    n: int,
    start: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, variances, and which coefficients were still moving at the end."""
    if start is None:
        start = np.zeros(x.shape[1])
        if family == "poisson":
            start = np.linalg.lstsq(x, np.log(y + 0.5), rcond=None)[0]
    moments = partial(_logistic if family == "logistic" else _poisson, y=y, weights=weights)
    top = newton(x, start, moments)
    information = (x * top.at.spread[:, None]).T @ x
    moving = np.zeros(len(start), bool) if top.converged else unsettled(top.step, information, n)
    try:
        bread = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        bread = np.linalg.pinv(information, hermitian=True)
    if weights is None or not survey:
        return top.beta, np.maximum(np.diagonal(bread), 0), moving
    return top.beta, linearised(bread, x * top.at.gap[:, None]), moving


class Moments(NamedTuple):
    """A likelihood at linear predictors: fitted means, derivatives by each predictor (first, minus second), height."""

    mean: np.ndarray
    gap: np.ndarray
    spread: np.ndarray
    height: float


class Top(NamedTuple):
    """The last point of an ascent, the step to it, and whether nothing moved any more."""

    beta: np.ndarray
    at: Moments
    step: np.ndarray
    converged: bool


def newton(
    x: np.ndarray,
    beta: np.ndarray,
    moments: Callable[[np.ndarray], Moments],
    penalty: np.ndarray | None = None,
    *,
    of_means: bool = False,
) -> Top:
    """Climb a concave likelihood, less half of ``penalty * beta**2``, by Newton's method with step halving.

    Ends when no linear predictor moves by 1e-8, without a penalty also when one is on its way to infinity.  With
    ``of_means``: when no mean moves by 1e-11, since means have a limit even where coefficients have none.
    """
    eta = x @ beta

    def penalised(at: Moments, beta: np.ndarray) -> float:
        return at.height if penalty is None else at.height - float((penalty * beta * beta).sum() / 2)

    at = moments(eta)
    step, change, tolerance = np.full(len(beta), np.inf), np.inf, _CONVERGED_MEANS if of_means else _CONVERGED
    for turn in range(_STEPS):
        slope, information = x.T @ at.gap, (x * at.spread[:, None]).T @ x
        if penalty is not None:
            slope -= penalty * beta
            information[np.diag_indices_from(information)] += penalty
        try:
            step = np.linalg.solve(information, slope)
        except np.linalg.LinAlgError:
            break
        direction, height = x @ step, penalised(at, beta)
        for _ in range(30):
            trial = moments(eta + direction)
            # Near the top rounding decides, so a fall that is no more than rounding counts as none.
            if penalised(trial, beta + step) >= height - 1e-12 * (1 + abs(height)):
                break
            step, direction = step / 2, direction / 2
        change = np.abs(trial.mean - at.mean).max() if of_means else np.abs(direction).max()
        beta, eta, at = beta + step, eta + direction, trial
        if change < tolerance:
            break
        if penalty is None and not of_means and turn >= 8 and change > 0.05 and np.abs(eta).max() > 18:
            break
    return Top(beta, at, step, bool(change < tolerance))


def unsettled(step: np.ndarray, information: np.ndarray, n: int) -> np.ndarray:
    """Mask of coefficients that Newton's next step still moves, or that share in a direction with next to no
    information left."""
    sizes, directions = np.linalg.eigh(information)
    blind = directions[:, sizes < _BLIND * n]
    return np.asarray(~(np.abs(step) < _MOVING) | (np.einsum("ij,ij->i", blind, blind) > _MOVING**2))


def probability(eta: np.ndarray) -> np.ndarray:
    """The logistic function."""
    small = np.exp(-np.abs(eta))
    result: np.ndarray = np.where(eta >= 0, 1, small) / (1 + small)
    return result


def binomial(eta: np.ndarray, wins: np.ndarray, trials: np.ndarray) -> Moments:
    """The likelihood of ``wins`` in ``trials`` of each row, whose means are shares of trials."""
    p = probability(eta)
    each = wins * eta - trials * (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))))
    return Moments(p, wins - trials * p, trials * p * (1 - p), float(each.sum()))


def _logistic(eta: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Moments:
    small = np.exp(-np.abs(eta))
    each = y * eta - np.maximum(eta, 0) - np.log1p(small)
    return _weighted(probability(eta), small / (1 + small) ** 2, y, each, weights)


def _poisson(eta: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Moments:
    mean = np.exp(np.minimum(eta, 500))
    return _weighted(mean, mean, y, y * eta - mean, weights)


def _weighted(
    mean: np.ndarray, spread: np.ndarray, y: np.ndarray, each: np.ndarray, weights: np.ndarray | None
) -> Moments:
    if weights is None:
        return Moments(mean, y - mean, spread, float(each.sum()))
    return Moments(mean, weights * (y - mean), spread * weights, float((each * weights).sum()))
