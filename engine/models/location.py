"""The general location model of key cells and numeric variables, which MaPS and SMIKe draw from.

A record's key cell is ``k`` with probability ``π_k``, and its numbers are ``N_p(μ_k, Σ)`` with one Σ for all cells
(Olkin and Tate 1961).  Under the prior ``Π π_k^(-1/2) |Σ|^(-(p+1)/2)``, with cell counts ``n_k``, cell means ``ȳ_k``
and the sum of squares ``SS`` within cells,

    π ~ Dirichlet(n_k + 1/2),   Σ ~ inverse Wishart(n - K, scale SS),   μ_k | Σ ~ N_p(ȳ_k, Σ / n_k).

(R. J. A. Little and F. Liu, "Selective multiple imputation of keys", 2003, eq. 11 to 13; F. Liu, "Multiple and
probabilistic swapping of categorical keys", section 3.)  Both papers call the scale a pooled sample variance; the prior
they state gives the sum of squares.

Units.  Numbers are centred and scaled once (:func:`variables`), then whitened by the Cholesky factor of ``SS``, and a
draw of θ whitens them fully, so that nothing is ever inverted and results do not depend on the variables' units.  Rows
are worked on column by column, so equal rows give equal bits: the weight between two records of equal numbers is
exactly 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.microdata import Microdata
from engine.data.table import occupied
from engine.models.record_release import complete_numbers
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable

_FLAT = 1e-24  # mean square within cells, in overall variances, below which a variable is constant within cells
_DEPENDENT = 1e-11  # smallest eigenvalue of a correlation matrix within cells that counts as more than rounding

THRESHOLD = (
    Parameter(
        "s",
        "whole",
        "3",
        "most records of a sensitive key cell (one fewer with rule lt)",
        label="Largest sensitive key cell, in records",
    ),
    Parameter(
        "rule",
        "choice",
        "le",
        "sensitive key cells: those of s or fewer records (le), or of fewer than s (lt)",
        choices=("le", "lt"),
        label="Whether a cell of exactly so many is sensitive",
    ),
)
VARIABLES = (
    Parameter(
        "y",
        "names",
        "",
        "numeric columns of the model, joined by +; by default those the plan names",
        label="Numeric columns of the model",
    ),
    Parameter(
        "log",
        "names",
        "",
        "those of them that the model takes in logarithms; released values stay as they are",
        label="Columns that the model takes in logarithms",
    ),
)


def check_threshold(values: Mapping[str, Any]) -> None:
    """Refuse a threshold below 1."""
    if values["s"] < 1:
        raise UsageError("sensitivity threshold must be a positive integer")


class KeyCells(NamedTuple):
    """Occupied key cells.

    ``x`` of shape ``(n_records,)`` names each record's cell, ``cells`` (``K`` × keys) their level codes in
    lexicographic order, ``counts`` their sizes, ``sensitive`` which of them are small.
    """

    x: np.ndarray
    cells: np.ndarray
    counts: np.ndarray
    sensitive: np.ndarray

    @property
    def records(self) -> np.ndarray:
        """The sensitive records, ascending."""
        return np.flatnonzero(self.sensitive[self.x])

    def about(self, setting: Setting) -> dict[str, float | str]:
        """Diagnostics of a draw: the rule in words, and how many cells and records are sensitive."""
        return {
            "sensitive": in_words(setting["s"], setting["rule"]),
            "sensitive_cells": float(self.sensitive.sum()),
            "sensitive_records": float(len(self.records)),
        }


def key_cells(data: Microdata, keys: Sequence[int], s: int, rule: str) -> KeyCells:
    """Key cells of the original data; sensitive are those of at most ``s`` records ("lt": fewer than ``s``)."""
    if not keys:
        raise UsageError("no key attribute is named; keys are what would be changed")
    cells, x = occupied([data.codes[j] for j in keys], [data.domain.shape[j] for j in keys], data.n_records)
    counts = np.bincount(x, minlength=len(cells)).astype(np.int64)
    return KeyCells(x.astype(np.int64), cells, counts, counts <= (s if rule == "le" else s - 1))


def in_words(s: int, rule: str) -> str:
    """The sensitivity rule as a phrase."""
    largest = s if rule == "le" else s - 1
    if largest < 1:
        return "no cell (fewer than 1 record)"
    return "cells with 1 record" if largest == 1 else f"cells with {largest} or fewer records"


class Variables(NamedTuple):
    """Numeric variables of the model: ``names`` and ``z`` of shape ``(n_records, p)``, each column with mean 0 and
    standard deviation 1 (0 throughout where it is constant), after logarithms where asked."""

    names: tuple[str, ...]
    z: np.ndarray


def variables(setting: Setting, mechanism: str) -> Variables:
    """The variables that the parameters ``y`` and ``log`` name, or else the plan's numeric columns outside the keys.

    Refuses unknown columns, columns of a key, columns that hold no numbers, missing values, and logarithms of what is
    not positive.
    """
    data = setting.data
    of_key = {c: data.domain.names[j] for j in setting.keys for c in data.domain.attributes[j].columns}
    names = setting["y"] or tuple(name for name in setting.numeric if name not in of_key)
    if not names:
        raise UsageError(f"{mechanism} needs at least one numeric column outside the keys; name it in y")
    for name in setting["log"]:
        if name not in names:
            raise UsageError(f"log names '{name}', which is not a variable of the model.{did_you_mean(name, names)}")
    for name in names:
        if name in of_key:
            raise UsageError(f"column '{name}' belongs to the key '{of_key[name]}' and cannot be modelled given it")
    if len(set(names)) < len(names):
        raise UsageError(f"y == '{'+'.join(names)}', names a column twice.")
    original = ReleasedTable(data)
    z = np.empty((data.n_records, len(names)))
    for c, name in enumerate(names):
        values = complete_numbers(original, name, mechanism, "MaPS/SMIKe here model numeric variables only; ")
        if name in setting["log"]:
            bad = int(np.count_nonzero(values <= 0))
            if bad:
                raise EngineError(f"column '{name}' has {bad} values that are not positive; it has no logarithm")
            values = np.log(values)
        values = values - values[0]  # a constant column becomes exactly 0
        values = values - values.mean()
        spread = np.sqrt(np.mean(values * values))
        z[:, c] = values / (spread if spread > 0 else 1.0)
    return Variables(tuple(names), z)


class Model(NamedTuple):
    """The posterior, ready to be drawn from.

    ``counts`` (K,) are those of π, ``sizes`` (K,) those of μ; ``means`` (K, p) are cell means in whitened units
    ``C⁻¹ z`` with ``C`` = ``factor`` and ``C Cᵀ = SS``; ``df`` is ``n - K``.
    """

    counts: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    factor: np.ndarray
    df: int


class Theta(NamedTuple):
    """One draw in units where Σ is the identity: ``log_pi`` (K,) or None, ``mu`` (K, p), and ``turn`` (p, p) that takes
    whitened numbers there."""

    log_pi: np.ndarray | None
    mu: np.ndarray
    turn: np.ndarray


def fit(z: np.ndarray, x: np.ndarray, n_cells: int, names: Sequence[str], counts: np.ndarray | None = None) -> Model:
    """The posterior given records ``z`` (n, p) in cells ``x`` (n,) of which all ``n_cells`` are occupied.

    ``counts`` are other records' cell counts for π (default: these records').  Refuses fewer than ``p`` records beyond
    one per cell, and variables that are linearly dependent within cells.
    """
    n, p = z.shape
    if n - n_cells < p:
        raise EngineError(
            f"model needs at least p={p} more records than key cells (n={n}, K={n_cells}): merge key categories or use "
            "fewer numeric variables"
        )
    sizes = np.bincount(x, minlength=n_cells)
    means, ss = within(z, x, sizes)
    _check_rank(ss, n, names)
    factor = np.linalg.cholesky(ss)
    return Model(sizes if counts is None else counts, sizes, whiten(means, factor), factor, n - n_cells)


def fitted(
    setting: Setting, keys: KeyCells, mechanism: str, about: dict[str, float | str]
) -> tuple[Variables, Model, np.ndarray]:
    """The variables of a mechanism, their posterior in all key cells and the whitened numbers; ``about`` receives what
    diagnostics say of them."""
    numbers = variables(setting, mechanism)
    model = fit(numbers.z, keys.x, len(keys.counts), numbers.names)
    v = whiten(numbers.z, model.factor)
    about["variables"] = ", ".join(numbers.names)
    about.update(checks(v, keys.x, keys.counts))
    return numbers, model, v


def within(z: np.ndarray, x: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cell means (K, p) and the sum-of-squares matrix within cells (p, p)."""
    means = np.column_stack([np.bincount(x, weights=column, minlength=len(sizes)) for column in z.T]) / sizes[:, None]
    residuals = z - means[x]
    return means, residuals.T @ residuals


def _check_rank(ss: np.ndarray, n: int, names: Sequence[str]) -> None:
    p = len(ss)
    moving = np.diagonal(ss) > _FLAT * n
    spread = np.sqrt(np.where(moving, np.diagonal(ss), 1.0))
    correlation = np.where(np.outer(moving, moving), ss, 0.0) / np.outer(spread, spread)
    values, vectors = np.linalg.eigh(correlation)
    null = values <= _DEPENDENT
    if null.any():
        involved = np.abs(vectors[:, null]).max(axis=1) > 1e-4
        culprits = ", ".join(name for name, in_it in zip(names, involved, strict=True) if in_it)
        raise EngineError(
            f"numeric variables are linearly dependent within key cells (rank {p - int(null.sum())} of {p}); drop one "
            f"of: {culprits}"
        )


def whiten(z: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """``C⁻¹ z`` for each row, by forward substitution, shape kept."""
    v = np.empty_like(z)
    for c in range(z.shape[1]):
        residuals = z[:, c]
        for b in range(c):
            residuals = residuals - factor[c, b] * v[:, b]
        v[:, c] = residuals / factor[c, c]
    return v


def turned(v: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Whitened numbers in the units of a draw, ``turnᵀ v`` for each row, shape kept."""
    t = np.empty_like(v)
    for c in range(v.shape[1]):
        t[:, c] = dot(v[:, c:], turn[c:, c])
    return t


def dot(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Inner products of ``rows`` (n, p) with a vector or with as many vectors, summed in the order of columns."""
    components = vector.T  # numbers, or a column for each: none is spread out first, which would take longer
    total = rows[:, 0] * components[0]
    for c in range(1, rows.shape[1]):
        total += rows[:, c] * components[c]
    result: np.ndarray = total
    return result


def products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Inner products of every row of ``left`` (m, p) with every row of ``right`` (n, p), shape ``(m, n)``, summed as
    :func:`dot` does."""
    total: np.ndarray = left[:, :1] * right[:, 0]
    for c in range(1, left.shape[1]):
        total += left[:, c : c + 1] * right[:, c]
    return total


@cache
def _below_diagonal(p: int) -> tuple[np.ndarray, ...]:
    return np.tril_indices(p, -1)


def draw(model: Model, rng: np.random.Generator, with_pi: bool = True) -> Theta:
    """One draw of θ: π (unless it cancels), then Σ by Bartlett's decomposition, then μ, in this order of random
    numbers."""
    k, p = model.means.shape
    log_pi = None
    if with_pi:
        gamma = rng.standard_gamma(model.counts + 0.5)
        log_pi = np.log(np.maximum(gamma, 1e-300)) - np.log(gamma.sum())
    turn = np.zeros((p, p))
    np.fill_diagonal(turn, np.sqrt(rng.chisquare(model.df - np.arange(p))))
    turn[_below_diagonal(p)] = rng.standard_normal(p * (p - 1) // 2)
    noise = rng.standard_normal((k, p)) / np.sqrt(model.sizes)[:, None]
    return Theta(log_pi, turned(model.means, turn) + noise, turn)


def plug_in(model: Model) -> Theta:
    """θ at its estimates: shares of ``counts``, ``Σ = SS / (n - K)``, cell means."""
    turn = np.eye(model.means.shape[1]) * np.sqrt(model.df)
    return Theta(np.log(model.counts / model.counts.sum()), turned(model.means, turn), turn)


def log_weights(theta: Theta, t: np.ndarray) -> np.ndarray:
    """``log π_k + y_iᵀ Σ⁻¹ μ_k - ½ μ_kᵀ Σ⁻¹ μ_k`` for numbers ``t`` (n, p) in the draw's units, shape ``(n, K)``: the
    logarithm of a cell's probability up to a constant per record (eq. 12 and 13)."""
    if theta.log_pi is None:
        raise ValueError("θ was drawn without π")
    weights = t @ theta.mu.T
    weights += theta.log_pi - 0.5 * dot(theta.mu, theta.mu)
    result: np.ndarray = weights
    return result


def checks(v: np.ndarray, x: np.ndarray, sizes: np.ndarray) -> dict[str, float]:
    """Checks of the model's fit: p-values of Mardia's skewness and kurtosis of residuals within cells, and of Box's M
    for one covariance matrix; NaN where too few records allow a test.

    ``v`` (n, p) are numbers in any units.  Small p-values speak against the model.  Residuals of a cell of ``m``
    records are scaled by ``sqrt(m / (m - 1))``; cells of one record have none.  K. V. Mardia (1970),
    doi:10.1093/biomet/57.3.519; G. E. P. Box (1949), doi:10.1093/biomet/36.3-4.317, with his chi-square approximation.
    """
    from scipy.special import chdtrc, ndtr

    p = v.shape[1]
    p_values = {"normal_skewness_p": np.nan, "normal_kurtosis_p": np.nan, "common_covariance_p": np.nan}
    means, _ = within(v, x, sizes)
    several = sizes[x] > 1
    residuals = (v - means[x])[several] * np.sqrt(sizes[x] / np.maximum(sizes[x] - 1, 1))[several, None]
    m = len(residuals)
    if m > p + 1 and np.linalg.matrix_rank(residuals.T @ residuals) == p:
        residuals = whiten(residuals, np.linalg.cholesky(residuals.T @ residuals / m))
        third = np.einsum("ia,ib,ic->abc", residuals, residuals, residuals) / m
        p_values["normal_skewness_p"] = float(chdtrc(p * (p + 1) * (p + 2) / 6, m / 6 * np.sum(third**2)))
        fourth = float(np.mean(dot(residuals, residuals) ** 2))
        p_values["normal_kurtosis_p"] = float(2 * ndtr(-abs(fourth - p * (p + 2)) / np.sqrt(8 * p * (p + 2) / m)))
    p_values["common_covariance_p"] = _box(v - means[x], x, sizes)
    return p_values


def _box(residuals: np.ndarray, x: np.ndarray, sizes: np.ndarray) -> float:
    from scipy.special import chdtrc

    p = residuals.shape[1]
    products = [
        [np.bincount(x, weights=residuals[:, a] * residuals[:, b], minlength=len(sizes)) for b in range(p)]
        for a in range(p)
    ]
    squares = np.moveaxis(np.array(products), -1, 0)  # (K, p, p)
    freedom = sizes - 1
    use = freedom >= p
    signs, logs = np.linalg.slogdet(squares[use] / freedom[use, None, None])
    good = (signs > 0) & (logs > -60)
    freedom, logs, squares = freedom[use][good], logs[good], squares[use][good]
    g, total = len(freedom), freedom.sum()
    if g < 2:
        return float("nan")
    statistic = total * np.linalg.slogdet(squares.sum(axis=0) / total)[1] - np.sum(freedom * logs)
    small = (2 * p * p + 3 * p - 1) / (6 * (p + 1) * (g - 1)) * (np.sum(1 / freedom) - 1 / total)
    return float(chdtrc(p * (p + 1) * (g - 1) / 2, max(0.0, (1 - small) * statistic)))
