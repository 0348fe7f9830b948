"""Regressions of any declared family, fitted by statsmodels: estimates, standard errors, and what cannot be estimated.

Slower than :mod:`engine.models.regression` and for more families.  What statsmodels warns of (separation, no
convergence) becomes a reason for the coefficients that it concerns; its numbers are taken where Newton's next step
leaves them as they are.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from engine.models.regression import (
    FEW,
    OK,
    SEPARATED,
    Scaled,
    Solved,
    linearised,
    nothing,
    scaled,
    unsettled,
)
from engine.plan.entries import QUANTILE, Family

_ITERATIONS = 200
_POLISH = 30
_SETTLED = 1e-7
_NARROW = 1e-2  # in thousandths of the outcome's root mean square
_SMALLEST_ALPHA = 1e-6  # a negative binomial with less is a Poisson: its dispersion lies on the edge


class Model(NamedTuple):
    """A model to fit: the family, the quantile (of a quantile regression), the names of the outcome's levels (where
    each has parameters), and the names of the matrix's columns."""

    family: Family
    tau: float
    levels: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the estimates."""
        if self.family.outcome == "levels":
            return tuple(f"{level}: {column}" for level in self.levels[1:] for column in self.columns)
        if self.family.outcome == "ordered levels":
            thresholds = tuple(f"{a}|{b}" for a, b in zip(self.levels, self.levels[1:], strict=False))
            return (*self.columns[1:], *thresholds)
        return (*self.columns, "alpha") if self.family.name == "negative binomial" else self.columns


class _Fit(NamedTuple):
    """Estimates on the scaled columns (and of further parameters after them), variances, and what had not settled."""

    estimate: np.ndarray
    variance: np.ndarray
    moving: np.ndarray


def solve(
    model: Model,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> Solved:
    """Fit ``y`` on the columns of ``x``; the estimates are in the order of :attr:`Model.parameters`.

    ``y`` holds places of levels where each level has parameters; an ordered model takes a first column of ones, for
    which it has thresholds.  Linear and quantile regression have n - rank degrees of freedom, the others are judged by
    the normal.  With ``weights``: weighted estimates with linearised standard errors, as
    :func:`engine.models.regression.solve` has them.  With ``counts``: each row stands for that many equal records.
    """
    import statsmodels.tools.sm_exceptions  # noqa: F401  (it sets filters of warnings when it is imported)

    problem = scaled(x, weights, counts)
    if problem.n <= problem.design.shape[1]:
        return nothing(len(model.parameters), FEW)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # each is told by a coefficient's reason
        if model.family.outcome == "levels":
            return _multinomial(model, problem, y.astype(np.int64))
        if model.family.outcome == "ordered levels":
            return _ordered(model, problem, y.astype(np.int64))
        if model.family.name == "negative binomial":
            return _negative_binomial(problem, y)
        fit = _quantile(model.tau, problem, y) if model.family.name == QUANTILE else _glm(model.family, problem, y)
    df = problem.n - problem.design.shape[1] if model.family.outcome == "number" else np.inf
    infinite = ~(np.isfinite(fit.estimate) & np.isfinite(fit.variance))  # of numbers whose squares are none
    return problem.solved(fit.estimate, fit.variance, df, fit.moving | infinite)


def _glm(family: Family, problem: Scaled, y: np.ndarray) -> _Fit:
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    x, n = problem.design, problem.n
    distribution = {
        "linear": families.Gaussian,
        "logistic": families.Binomial,
        "probit": lambda: families.Binomial(families.links.Probit()),
        "poisson": families.Poisson,
        "gamma": lambda: families.Gamma(families.links.Log()),
    }[family.name]()
    glm = GLM(y, x, family=distribution, freq_weights=problem.weights)
    try:
        result = glm.fit(maxiter=_ITERATIONS, tol=1e-12)
    except (PerfectSeparationError, np.linalg.LinAlgError, ValueError):  # ValueError: its weights became infinite
        return _unsettled(x.shape[1])
    beta, linear = result.params, family.name == "linear"
    bread, scores = result.normalized_cov_params, x * glm.score_factor(beta, scale=1.0)[:, None]
    if not (np.isfinite(bread).all() and np.isfinite(scores).all()):
        return _unsettled(x.shape[1])
    moving = np.zeros(len(beta), bool) if linear else unsettled(bread @ scores.sum(axis=0), np.linalg.pinv(bread), n)
    variance = linearised(bread, scores) if problem.survey else np.diagonal(bread) * result.scale
    if linear and np.abs(result.resid_response).max() <= 1e-13 * np.abs(y).max():
        variance = np.zeros(len(beta))  # a perfect fit: what is left is rounding
    return _Fit(beta, np.maximum(variance, 0), moving)


def _quantile(tau: float, problem: Scaled, y: np.ndarray) -> _Fit:
    from statsmodels.regression.quantile_regression import QuantReg

    x, y = _records(problem, problem.design), _records(problem, y)
    unit = float(np.sqrt(np.mean(y * y))) / 1000 or 1.0  # its tolerances are absolute
    result = QuantReg(y / unit, x).fit(q=tau, max_iter=5000)
    variance = np.diagonal(result.normalized_cov_params) * unit**2
    if result.iterations >= 5000 or not result.bandwidth > _NARROW:  # no spread about the quantile: no density there
        return _unsettled(x.shape[1])
    moving = ~(np.isfinite(variance) & np.isfinite(result.params))
    return _Fit(result.params * unit, np.where(moving, np.nan, variance), moving)


def _negative_binomial(problem: Scaled, y: np.ndarray) -> Solved:
    from statsmodels.discrete.discrete_model import NegativeBinomial

    x, k = _records(problem, problem.design), problem.design.shape[1]
    model = NegativeBinomial(_records(problem, y), x)
    fit = _unsettled(k + 1)
    if problem.n > k + 1 and y.any():
        fit = _maximum(model, problem.n, k + 1, method="bfgs", gtol=1e-7)
    if not fit.estimate[k] > _SMALLEST_ALPHA:
        fit.moving[k] = True
    slopes = problem.solved(fit.estimate[:k], fit.variance[:k], np.inf, fit.moving[:k])
    return _joined(slopes, _without_column(fit, slice(k, k + 1)))


def _multinomial(model: Model, problem: Scaled, y: np.ndarray) -> Solved:
    """One equation per level but the first; a level that no record has gets none."""
    from statsmodels.discrete.discrete_model import MNLogit

    x, y = _records(problem, problem.design), _records(problem, y)
    present, codes = np.unique(y, return_inverse=True)
    k, fits = x.shape[1], {}
    if present[0] == 0 and len(present) > 1 and problem.n > k * (len(present) - 1):
        fit = _maximum(MNLogit(codes, x), problem.n, k * (len(present) - 1), method="newton")
        for i, level in enumerate(present[1:].tolist()):
            fits[level] = _Fit(*(values[i * k : i * k + k] for values in (fit.estimate, fit.variance, fit.moving)))
    equations = [fits.get(level) or _unsettled(k) for level in range(1, len(model.levels))]
    return _joined(
        *(problem.solved(equation.estimate, equation.variance, np.inf, equation.moving) for equation in equations)
    )


def _ordered(model: Model, problem: Scaled, y: np.ndarray) -> Solved:
    """Slopes, then the thresholds between neighbouring levels; beside a level that no record has there is none."""
    from scipy import stats
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x, counts = problem.design[:, 1:], np.ones(len(y)) if problem.weights is None else problem.weights
    present, codes = np.unique(y, return_inverse=True)
    k, cuts = x.shape[1], len(present) - 1
    fit = _unsettled(k + cuts)
    if cuts and problem.n > k + cuts:
        distribution = stats.logistic if model.family.name == "ordered logit" else stats.norm
        ordered = OrderedModel(codes, x if k else None, distr=distribution)
        # Each row stands for its count of records, the parameters are the thresholds themselves, and a probability
        # far up is taken from the other side, where its digits are.
        cdf = distribution.cdf
        ordered.prob = lambda low, up: np.where(low > 0, cdf(-low) - cdf(-up), cdf(up) - cdf(low)).clip(0)
        ordered.loglikeobs = lambda params: counts * OrderedModel.loglikeobs(ordered, params)
        ordered.transform_threshold_params = lambda params: np.r_[-np.inf, params[k:], np.inf]
        shares = np.cumsum(np.bincount(codes, counts))[:-1] / problem.n
        begin = np.append(np.zeros(k), distribution.ppf(shares))
        fit = _maximum(ordered, problem.n, k + cuts, start_params=begin, method="bfgs", gtol=1e-6)
    padded = [np.append(first, values[:k]) for first, values in zip((0.0, 0.0, False), fit, strict=True)]
    slopes = problem.solved(padded[0], padded[1], np.inf, padded[2])
    thresholds = nothing(len(model.levels) - 1, SEPARATED)
    if slopes.why[0] != OK:  # other columns add up to the ones
        thresholds = nothing(len(model.levels) - 1, int(slopes.why[0]))
    else:
        fitted_cuts = _without_column(fit, slice(k, None))
        at = [(i, low) for i, low in enumerate(present[:-1].tolist()) if present[i + 1] == low + 1]
        for values, fitted_values in zip(
            thresholds[:2] + thresholds[3:], fitted_cuts[:2] + fitted_cuts[3:], strict=True
        ):
            for i, low in at:
                values[low] = fitted_values[i]
    return _joined(Solved(slopes.estimate[1:], slopes.se[1:], np.inf, slopes.why[1:]), thresholds)


def _maximum(model: Any, n: int, size: int, **how: Any) -> _Fit:
    """The maximum of a likelihood of ``size`` parameters: statsmodels' own search, then Newton's steps until they
    change nothing."""
    try:
        result = model.fit(maxiter=5 * _ITERATIONS, disp=False, skip_hessian=True, **how)
        params = np.ravel(result.params, order="F")
        for _ in range(_POLISH):
            information, height = -model.hessian(params), model.loglike(params)
            step = np.linalg.solve(information, np.ravel(model.score(params)))
            # near the top rounding decides, so a fall that is no more than rounding counts as none
            if np.abs(step).max() < _SETTLED or not model.loglike(params + step) >= height - 1e-12 * abs(height):
                break
            params = params + step
        variance = np.diagonal(np.linalg.inv(information))
        settled = np.abs(step).max() < _SETTLED
        moving = np.zeros(size, bool) if settled else unsettled(step, information, n)
    except np.linalg.LinAlgError:  # no curvature left: no maximum
        return _unsettled(size)
    return _Fit(params, variance, moving | ~(variance > 0))


def _unsettled(k: int) -> _Fit:
    """No estimates: there is no maximum."""
    return _Fit(np.full(k, np.nan), np.full(k, np.nan), np.ones(k, bool))


def _without_column(fit: _Fit, which: slice) -> Solved:
    lost = fit.moving[which]
    estimate, se = np.where(lost, np.nan, fit.estimate[which]), np.where(lost, np.nan, np.sqrt(fit.variance[which]))
    return Solved(estimate, se, np.inf, np.where(lost, SEPARATED, OK).astype(np.int8))


def _joined(*solved: Solved) -> Solved:
    return Solved(
        np.concatenate([result.estimate for result in solved]),
        np.concatenate([result.se for result in solved]),
        np.inf,
        np.concatenate([result.why for result in solved]),
    )


def _records(problem: Scaled, values: np.ndarray) -> np.ndarray:
    """A row per record, where rows stand for many."""
    return values if problem.weights is None else np.repeat(values, problem.weights.astype(np.int64), axis=0)
