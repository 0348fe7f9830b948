"""Estimates from PRAM data: unbiased over every possible release, with the covariance that every release adds up to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.mechanisms import pram as estimates
from engine.mechanisms.pram import kronecker
from tests.pram_matrices import invariant
from tests.twins import pram as twin

X = [0, 0, 1, 1, 1, 2]
T = np.bincount(X)
A = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.25, 0.25, 0.5]])
B = np.array([[0.8, 0.2], [0.3, 0.7]])
OUTCOMES = [(p, np.array(shown)) for p, shown in twin.outcomes(X, A.tolist())]


def covariance_of_released(original: np.ndarray, *matrices: np.ndarray) -> np.ndarray:
    """Covariance V of released counts given original ones, cells in C order, shape ``(K, K)``.

    With invariant matrices and one axis, released counts are unbiased and this is all there is to know about their
    error; ``original`` may also be an estimate.
    """
    known = np.asarray(original, float)
    if known.shape != tuple(len(matrix) for matrix in matrices):
        raise UsageError(f"counts have shape {known.shape}, but there are {len(matrices)} matrices of other sizes")
    matrix = kronecker(matrices)
    result: np.ndarray = np.diag(known.ravel() @ matrix) - (matrix.T * known.ravel()) @ matrix
    return result


def invariant_determinant(original: np.ndarray, theta: float) -> float:
    """Determinant of the invariant matrix in closed form, from the original counts (K,) above 0.

    With ``u_k = θ T_min / T(k)`` and ``v_k = 1 - u_k K / (K - 1)`` it is ``Π v_k + Σ_k u_k Π_{j≠k} v_j / (K - 1)``.
    0 means that counts could not be corrected by inversion.
    """
    known = np.asarray(original, float)
    size = len(known)
    u = theta * known.min() / known
    v = 1 - u * size / (size - 1)
    ahead = np.concatenate([[1.0], np.cumprod(v)])
    behind = np.concatenate([np.cumprod(v[::-1])[::-1], [1.0]])
    return float(ahead[-1] + np.sum(u * ahead[:-1] * behind[1:]) / (size - 1))


def moments(values: list[np.ndarray], weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean and covariance over all outcomes."""
    v, p = np.array(values), np.array(weights)
    mean = p @ v
    return mean, (v - mean).T @ ((v - mean) * p[:, None])


@pytest.mark.slow
def test_counts_are_unbiased_and_so_is_their_covariance():
    found = [(p, estimates.counts(np.bincount(shown, minlength=3), A)) for p, shown in OUTCOMES]
    weights = [p for p, _ in found]
    mean, covariance = moments([one.raw for _, one in found], weights)
    assert np.allclose(mean, T)
    inverse = np.linalg.inv(A)
    assert np.allclose(covariance, inverse.T @ twin.count_covariance(X, A.tolist()) @ inverse)
    assert np.allclose(covariance, sum(p * one.covariance for p, one in found))


def test_sums_are_unbiased_and_so_is_their_covariance():
    y = np.array([1.5, -2.0, 0.25, 3.0, 1.0, -1.0])
    found = [(p, estimates.sums(shown, y, A)) for p, shown in OUTCOMES]
    mean, covariance = moments([one.raw for _, one in found], [p for p, _ in found])
    assert np.allclose(mean, np.bincount(X, weights=y))
    assert np.allclose(covariance, sum(p * one.covariance for p, one in found))
    assert np.isnan(found[0][1].clipped).all()


def test_released_counts_have_the_covariance_of_independent_draws():
    seen = [np.bincount(shown, minlength=3).astype(float) for _, shown in OUTCOMES]
    mean, covariance = moments(seen, [p for p, _ in OUTCOMES])
    assert np.allclose(mean, T @ A)
    assert np.allclose(covariance, covariance_of_released(T, A))
    assert np.allclose(covariance, twin.count_covariance(X, A.tolist()))


def test_released_counts_of_an_invariant_matrix_are_unbiased_as_they_are():
    t = np.array([5, 3, 2])
    matrix = invariant(t, 0.8)
    assert np.allclose(t @ matrix, t)
    variances = np.diagonal(covariance_of_released(t, matrix))
    assert np.allclose(variances, [2.15467, 1.89867, 1.57867], atol=5e-6)
    assert np.allclose(variances, [sum(t[k] * matrix[k, m] * (1 - matrix[k, m]) for k in range(3)) for m in range(3)])


@pytest.mark.slow
def test_two_attributes_that_are_perturbed_independently():
    """The table of both, over every outcome of four records."""
    a, b = [0, 0, 1, 2], [0, 1, 1, 0]
    both = estimates.kronecker([A, B])
    joint = [2 * i + j for i, j in zip(a, b, strict=True)]
    found = []
    for p, shown_a in twin.outcomes(a, A.tolist()):
        for q, shown_b in twin.outcomes(b, B.tolist()):
            table = np.zeros((3, 2))
            np.add.at(table, (shown_a, shown_b), 1)
            found.append((p * q, estimates.counts(table, A, B)))
    mean, covariance = moments([one.raw.ravel() for _, one in found], [p for p, _ in found])
    assert np.allclose(mean, np.bincount(joint, minlength=6))
    assert np.allclose(covariance, sum(p * one.covariance for p, one in found))
    v = twin.count_covariance(joint, both.tolist())
    assert np.allclose(covariance, np.linalg.inv(both).T @ v @ np.linalg.inv(both))
    true = np.bincount(joint, minlength=6).reshape(3, 2)
    assert np.allclose(covariance_of_released(true, A, B), v)


def test_a_table_of_both_is_the_kronecker_product_of_one():
    table = np.array([[5.0, 2.0], [1.0, 0.0], [3.0, 4.0]])
    two, one = estimates.counts(table, A, B), estimates.counts(table.ravel(), np.kron(A, B))
    assert np.allclose(two.raw.ravel(), one.raw) and np.allclose(two.covariance, one.covariance)
    assert np.allclose(two.clipped.ravel(), one.clipped)
    assert two.se.shape == (3, 2)
    assert estimates.condition(A, B) == pytest.approx(np.linalg.cond(np.kron(A, B)))


matrices = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.floats(0.01, 1), min_size=k, max_size=k), min_size=k, max_size=k)
)


@pytest.mark.slow
@given(matrices, st.data())
def test_estimates_undo_the_matrix(rows: list[list[float]], data: st.DataObject):
    matrix = np.array(rows) + np.eye(len(rows))
    matrix /= matrix.sum(axis=1, keepdims=True)
    assume(np.linalg.cond(matrix) < 1e4)
    counts = st.lists(st.integers(0, 50), min_size=len(rows), max_size=len(rows)).filter(any)
    seen = np.array(data.draw(counts))
    found = estimates.counts(seen, matrix)
    assert np.allclose(found.raw @ matrix, seen, atol=1e-8)
    assert found.raw.sum() == pytest.approx(seen.sum()) == pytest.approx(found.clipped.sum())
    assert (found.clipped >= 0).all() and np.allclose(found.covariance.sum(), 0, atol=1e-6)
    if (found.raw >= 0).all():
        assert np.allclose(found.clipped, found.raw)


def test_clipping_takes_negative_counts_to_0_and_keeps_the_total():
    found = estimates.counts(np.array([0, 9, 1]), A)
    assert found.raw[0] < 0 == found.clipped[0]
    assert found.clipped.sum() == pytest.approx(10)
    assert np.isnan(estimates.counts(np.zeros(3), A).clipped).all()


@given(st.lists(st.integers(1, 30), min_size=2, max_size=7), st.floats(0, 1))
def test_the_determinant_in_closed_form(counts: list[int], theta: float):
    t = np.array(counts)
    assert invariant_determinant(t, theta) == pytest.approx(np.linalg.det(invariant(t, theta)), rel=1e-9, abs=1e-12)


def test_determinants_that_are_known():
    assert invariant_determinant(np.array([5, 3, 2]), 0.8) == pytest.approx(-0.013333, abs=1e-6)
    assert invariant_determinant(np.array([4, 4]), 0.5) == 0
    assert invariant_determinant(np.array([4, 2, 7]), 0) == 1


def test_matrices_that_cannot_be_undone():
    with pytest.raises(
        EngineError, match=r"^transition matrix is nearly singular \(cond .*\); counts cannot be corrected"
    ):
        estimates.counts(np.array([3, 5]), invariant(np.array([4, 4]), 0.5))
    near = np.array([[0.5 + 1e-9 / 6, 0.5 - 1e-9 / 6], [0.5 - 1e-9 / 6, 0.5 + 1e-9 / 6]])
    with pytest.raises(EngineError) as refused:
        estimates.sums(np.array([0, 1]), np.array([1.0, 2.0]), near)
    assert str(refused.value) == "transition matrix is nearly singular (cond 3e9); counts cannot be corrected"
    square = np.array([[0.5 + 1e-5, 0.5 - 1e-5], [0.5 - 1e-5, 0.5 + 1e-5]])
    estimates.counts(np.array([3, 5]), square)
    with pytest.raises(EngineError, match=r"cond [23]e9"):  # 5e4 each, too much together
        estimates.counts(np.ones((2, 2)), square, square)


def test_shapes_that_do_not_fit():
    with pytest.raises(UsageError, match=r"^counts have shape \(2,\), but the transition matrices are for \(3,\)$"):
        estimates.counts(np.array([1, 2]), A)
    with pytest.raises(UsageError, match=r"^counts have shape \(2,\)"):
        covariance_of_released(np.array([1, 2]), A)
