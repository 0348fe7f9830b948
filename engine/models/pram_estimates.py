"""Estimates of the original counts and sums from data that PRAM has perturbed, with their covariance.

Given the original counts T, released counts T* have expectation ``Aᵀ T`` and covariance
``V = Σ_k T(k) (diag(a_k) - a_k a_kᵀ)``, with ``a_k`` row ``k`` of the transition matrix A.  So ``T̂ = A⁻ᵀ T*`` is
unbiased, with covariance ``A⁻ᵀ V A⁻¹``.  (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998, Journal of Official
Statistics 14, 463–478.)  As V is linear in T, putting T̂ in its place estimates the covariance without bias; because
``Aᵀ T̂ = T*``, that estimate is ``A⁻ᵀ diag(T*) A⁻¹ - diag(T̂)``.

With an invariant matrix, T* itself is unbiased for T and nothing has to be inverted; its covariance is V.  Attributes
that were perturbed independently have the Kronecker product of their matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError

MOST = 1e8
"""Largest condition number (2-norm) of a matrix that is inverted."""


class Estimate(NamedTuple):
    """``raw`` is unbiased and may be negative; ``clipped`` has negative entries at 0 and is scaled to the same total
    (biased; NaN where nothing is above 0).  Both have the shape of the released counts.  ``covariance`` is the
    estimated covariance of ``raw`` over perturbations, its entries in C order, shape ``(K, K)``.
    """

    raw: np.ndarray
    clipped: np.ndarray
    covariance: np.ndarray

    @property
    def se(self) -> np.ndarray:
        """Standard errors of ``raw``, in its shape; NaN where the estimated variance is negative."""
        with np.errstate(invalid="ignore"):
            result: np.ndarray = np.sqrt(np.diagonal(self.covariance)).reshape(self.raw.shape)
            return result


def condition(*matrices: np.ndarray) -> float:
    """Condition number (2-norm) of a transition matrix or of the Kronecker product of several; 1 upwards."""
    return float(np.prod([np.linalg.cond(matrix) for matrix in matrices]))


def _power_of_ten(number: float) -> str:
    if not np.isfinite(number):
        return "infinite"
    mantissa, power = f"{number:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def _inverses(matrices: Sequence[np.ndarray], shape: Sequence[int]) -> list[np.ndarray]:
    sizes = tuple(len(matrix) for matrix in matrices)
    if tuple(shape) != sizes:
        raise UsageError(f"counts have shape {tuple(shape)}, but the transition matrices are for {sizes}")
    condition_number = condition(*matrices)
    if not condition_number <= MOST:
        raise EngineError(
            f"transition matrix is nearly singular (cond {_power_of_ten(condition_number)}); counts cannot be corrected"
        )
    return [np.linalg.inv(matrix) for matrix in matrices]


def _times(matrices: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
    """``values`` (K1, ..., Km) times each matrix along its axis: ``Σ values[k1, ...] M1[k1, l1] ...``."""
    for axis, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(values, matrix, axes=([axis], [0])), -1, axis)
    return values


def kronecker(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """The transition matrix of the table over independently perturbed attributes, cells in C order."""
    product = np.ones((1, 1))
    for matrix in matrices:
        product = np.kron(product, matrix)
    return product


def _clipped(raw: np.ndarray) -> np.ndarray:
    positive = np.maximum(raw, 0.0)
    if not positive.any():
        return np.full_like(raw, np.nan)
    result: np.ndarray = positive * (raw.sum() / positive.sum())
    return result


def counts(released: np.ndarray, *matrices: np.ndarray) -> Estimate:
    """Original counts from released ones.

    ``released`` has shape ``(K1, ..., Km)`` with one transition matrix per axis.  Refuses matrices whose condition
    number (their product, for several) is above 1e8.
    """
    observed = np.asarray(released, float)
    inverses = _inverses(matrices, observed.shape)
    raw = _times(inverses, observed)
    inverse = kronecker(inverses)
    covariance = (inverse.T * observed.ravel()) @ inverse - np.diag(raw.ravel())
    return Estimate(raw, _clipped(raw), covariance)


def sums(x: np.ndarray, y: np.ndarray, matrix: np.ndarray) -> Estimate:
    """Sums of a number by original category, from released categories ``x`` (n,) and the numbers ``y`` (n,).

    Unbiased as counts are, as long as the numbers were not perturbed.  The covariance is
    ``A⁻ᵀ diag(q*) A⁻¹ - diag(q̂)`` with ``q`` the sums of squares.  ``clipped`` is NaN: sums may be negative.
    """
    (inverse,) = _inverses([matrix], (len(matrix),))
    size = len(matrix)
    raw = np.bincount(x, weights=y, minlength=size) @ inverse
    squares = np.bincount(x, weights=np.square(y), minlength=size)
    covariance = (inverse.T * squares) @ inverse - np.diag(squares @ inverse)
    return Estimate(raw, np.full(size, np.nan), covariance)
