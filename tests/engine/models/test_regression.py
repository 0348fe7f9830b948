"""Small regressions beside statsmodels, and what they do when coefficients cannot be estimated."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from engine.models.regression import ALIASED, FEW, OK, SEPARATED, solve
from tests.examples import examples


def data(seed: int, n: int = 120, k: int = 3, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(seed)
    z = np.column_stack([np.ones(n), random.normal(size=(n, k)) + 1])
    return z * np.array([1, *[scale] * k]), 0.3 * z @ random.normal(size=k + 1), random


@given(st.integers(0, 999), st.sampled_from([1e-3, 1.0, 1e4]))
@examples(25)
def test_linear_is_least_squares(seed: int, scale: float) -> None:
    x, eta, random = data(seed, scale=scale)
    y = eta + random.normal(size=len(eta))
    found, want = solve("linear", x, y), sm.OLS(y, x).fit()
    np.testing.assert_allclose(found.estimate, want.params, rtol=1e-8, atol=1e-11 / scale)
    np.testing.assert_allclose(found.se, want.bse, rtol=1e-8)
    assert found.df == want.df_resid and not found.why.any()


@given(st.integers(0, 999), st.sampled_from([1e-3, 1.0, 1e4]), st.booleans())
@examples(25)
def test_logistic_and_poisson_are_maximum_likelihood(seed: int, scale: float, warm: bool) -> None:
    x, eta, random = data(seed, scale=scale)
    for family, y, kind in (
        ("logistic", (random.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), sm.families.Binomial()),
        ("poisson", random.poisson(np.exp(eta)).astype(float), sm.families.Poisson()),
    ):
        want = sm.GLM(y, x, family=kind).fit(tol=1e-13, maxiter=100)
        found = solve(family, x, y, start=want.params + 0.2 / scale if warm else None)
        np.testing.assert_allclose(found.estimate, want.params, rtol=1e-7, atol=1e-9 / scale)
        np.testing.assert_allclose(found.se, want.bse, rtol=1e-6)
        assert np.isinf(found.df) and not found.why.any()


def test_weights_give_linearised_standard_errors() -> None:
    x, eta, random = data(7)
    n, weights = len(eta), random.uniform(0.2, 3, len(eta))
    y = eta + random.normal(size=n)
    want = sm.WLS(y, x, weights=weights).fit(cov_type="HC0")
    for factor in (1, 1000):
        found = solve("linear", x, y, weights * factor)
        np.testing.assert_allclose(found.estimate, want.params, rtol=1e-9)
        np.testing.assert_allclose(found.se, want.bse * np.sqrt(n / (n - 1)), rtol=1e-9)
    event = (y > 0).astype(float)
    want = sm.GLM(event, x, family=sm.families.Binomial(), freq_weights=weights).fit(tol=1e-13)
    # HC0 written out: statsmodels counts frequency weights as repeated records
    p = want.fittedvalues
    bread = np.linalg.inv((x * (weights * p * (1 - p))[:, None]).T @ x)
    scores = x * (weights * (event - p))[:, None]
    found = solve("logistic", x, event, weights)
    np.testing.assert_allclose(found.estimate, want.params, rtol=1e-7)
    np.testing.assert_allclose(found.se, np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread) * n / (n - 1)), rtol=1e-6)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_a_row_may_stand_for_many_records(family: str) -> None:
    random = np.random.default_rng(4)
    x = np.column_stack([np.ones(12), np.tile([0.0, 1], 6), np.repeat(np.arange(6.0), 2)])
    y = random.integers(0, 2 if family == "logistic" else 5, 12).astype(float)
    counts = random.integers(1, 9, 12)
    found = solve(family, x, y, counts=counts)
    want = solve(family, np.repeat(x, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(found.estimate, want.estimate, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.se, want.se, rtol=1e-8)
    assert found.df == want.df


def test_an_empty_column_leaves_the_others_alone() -> None:
    x, eta, random = data(3)
    y = eta + random.normal(size=len(eta))
    wide = np.column_stack([x[:, :2], np.zeros(len(y)), x[:, 2:]])
    found, want = solve("linear", wide, y), solve("linear", x, y)
    assert found.why.tolist() == [OK, OK, ALIASED, OK, OK] and np.isnan(found.estimate[2])
    np.testing.assert_allclose(found.estimate[[0, 1, 3, 4]], want.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.se[[0, 1, 3, 4]], want.se, rtol=1e-9)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_where_the_reference_level_is_gone_its_contrasts_are_too(family: str) -> None:
    """All three dummies add up to the intercept: none of the four has a value, the slope has."""
    random = np.random.default_rng(1)
    level = random.integers(0, 3, 200)
    z = random.normal(size=200)
    y = (z + random.normal(size=200) > 0).astype(float)
    x = np.column_stack([np.ones(200), *(level == v for v in range(3)), z])
    found = solve(family, x, y)
    assert found.why.tolist() == [ALIASED] * 4 + [OK]
    np.testing.assert_allclose(found.estimate[4], solve(family, x[:, 1:], y).estimate[3], rtol=1e-7)


def test_separation_is_told_for_the_coefficients_it_concerns() -> None:
    random = np.random.default_rng(2)
    level = np.repeat([0, 1, 2], 60)
    z = random.normal(size=180)
    y = (z + random.normal(size=180) > 0).astype(float)
    y[level == 2] = 1
    x = np.column_stack([np.ones(180), level == 1, level == 2, z])
    found = solve("logistic", x, y)
    assert found.why.tolist() == [OK, OK, SEPARATED, OK] and np.isnan(found.se[2])
    rest = level < 2
    without = solve("logistic", x[rest][:, [0, 1, 3]], y[rest])
    np.testing.assert_allclose(found.estimate[[0, 1, 3]], without.estimate, rtol=1e-4)
    np.testing.assert_allclose(found.se[[0, 1, 3]], without.se, rtol=1e-4)
    everybody = solve("logistic", x[:, :3], np.ones(180))
    assert (everybody.why == SEPARATED).all(), "with the same outcome for all, contrasts have no value either"
    perfect = solve("logistic", np.column_stack([np.ones(180), z]), (z > 0).astype(float))
    assert (perfect.why == SEPARATED).any() and np.isnan(perfect.estimate[perfect.why == SEPARATED]).all()
    counts = np.where(level == 2, 0, random.poisson(3, 180)).astype(float)
    assert solve("poisson", x[:, :3], counts).why.tolist() == [OK, OK, SEPARATED]


def test_too_few_records_give_no_figures() -> None:
    x = np.column_stack([np.ones(3), [1.0, 2, 4], [3.0, 1, 1]])
    for n in (0, 1, 3):
        found = solve("linear", x[:n], np.arange(n, dtype=float))
        assert (found.why == FEW).all() and np.isnan(found.estimate).all()


def test_a_perfect_fit_has_no_width() -> None:
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    found = solve("linear", x, 3 + 0.1 * np.arange(20.0))
    np.testing.assert_allclose(found.estimate, [3, 0.1])
    assert (found.se == 0).all()
