"""The general location model: its posterior against exact laws, its probabilities against the twin, its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bartlett, beta, chi2, kstest

from engine.common.errors import EngineError, UsageError
from engine.mechanisms.maps import MAPS
from engine.models import location
from tests.location_draws import natural, predictive
from tests.numeric_data import numbered
from tests.twins import location as twin

X = np.repeat(np.arange(4), [1, 3, 5, 8])
Z = np.random.default_rng(2).normal(size=(17, 3)) @ [[1, 0.5, 0], [0, 1, 2], [0, 0, 0.2]] + X[:, None]
NAMES = ("a", "b", "c")
AGREES = 1e-4
"""A right draw must be likelier than this; keys are fixed, so nothing flakes."""


def model(p: int = 3) -> location.Model:
    return location.fit(Z[:, :p], X, 4, NAMES[:p])


def draws(count: int, p: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fitted, rng = model(p), np.random.default_rng(7)
    thetas = [location.draw(fitted, rng) for _ in range(count)]
    naturals = [natural(theta, fitted) for theta in thetas]
    log_pi = np.array([theta.log_pi for theta in thetas])
    return log_pi, np.array([mu for mu, _ in naturals]), np.array([sigma for _, sigma in naturals])


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2, 3])
def test_sigma_is_inverse_wishart_with_the_sum_of_squares_as_scale(p: int):
    ss, df = twin.sum_of_squares(list(X), list(Z[:, :p])), len(X) - 4
    _, _, sigma = draws(2500, p)
    for j in range(p):  # a diagonal entry is SS_jj / chi2 with df - p + 1 degrees of freedom
        assert kstest(ss[j, j] / sigma[:, j, j], chi2(df - p + 1).cdf).pvalue > AGREES
    u = np.linspace(1, 2, p)  # and so is any linear combination
    assert kstest((u @ ss @ u) / np.einsum("i,nij,j->n", u, sigma, u), chi2(df - p + 1).cdf).pvalue > AGREES
    precision = np.linalg.inv(sigma)[:, 0, 0]  # Wishart: an entry is that of the inverse of SS times chi2 with df
    assert kstest(precision / np.linalg.inv(ss)[0, 0], chi2(df).cdf).pvalue > AGREES
    expected = ss / (df - p - 1)
    se = sigma.std(axis=0) / np.sqrt(len(sigma))
    assert (np.abs(sigma.mean(axis=0) - expected) < 4 * se).all()
    assert (np.abs(sigma.mean(axis=0) - expected / df) > 4 * se).diagonal().all()  # the papers' literal scale


@pytest.mark.slow
def test_mu_is_normal_around_the_cell_means_with_sigma_over_n():
    _, mu, sigma = draws(2000)
    means = twin.cell_means(list(X), list(Z))
    for k, size in twin.sizes(list(X)).items():
        gap = mu[:, k] - means[k]
        squares = size * np.einsum("ni,nij,nj->n", gap, np.linalg.inv(sigma), gap)
        assert kstest(squares, chi2(3).cdf).pvalue > AGREES
        assert (np.abs(gap.mean(axis=0)) < 4 * gap.std(axis=0) / np.sqrt(len(gap))).all()


@pytest.mark.slow
def test_pi_is_dirichlet_with_a_half_added():
    log_pi, _, _ = draws(2000)
    assert np.allclose(np.exp(log_pi).sum(axis=1), 1)
    for k, size in twin.sizes(list(X)).items():
        law = beta(size + 0.5, len(X) + 2 - size - 0.5)
        assert kstest(np.exp(log_pi[:, k]), law.cdf).pvalue > AGREES


def test_probabilities_are_those_of_the_full_normal_density():
    fitted, rng = model(), np.random.default_rng(3)
    for _ in range(20):
        theta = location.draw(fitted, rng)
        mu, sigma = natural(theta, fitted)
        assert theta.log_pi is not None
        pi = np.exp(theta.log_pi)
        ours = predictive(theta, location.turned(location.whiten(Z, fitted.factor), theta.turn))
        slow = [twin.probabilities(twin.Theta(list(pi), list(mu), sigma), y) for y in Z]
        assert np.abs(ours - slow).max() < 1e-10


def test_equal_cells_are_equally_likely():
    same = location.Theta(np.log(np.full(3, 1 / 3)), np.tile([0.3, -2.0], (3, 1)), np.eye(2))
    assert np.allclose(predictive(same, np.random.default_rng(1).normal(size=(5, 2))), 1 / 3, atol=1e-15)


def test_plug_in_estimates_are_means_shares_and_the_pooled_covariance():
    fitted = model()
    theta = location.plug_in(fitted)
    mu, sigma = natural(theta, fitted)
    assert np.allclose(mu, list(twin.cell_means(list(X), list(Z)).values()))
    assert np.allclose(sigma, twin.sum_of_squares(list(X), list(Z)) / 13)
    assert theta.log_pi is not None
    assert np.allclose(np.exp(theta.log_pi), np.array([1, 3, 5, 8]) / 17)


def test_other_counts_for_pi():
    fitted = location.fit(Z, X, 4, NAMES, np.array([1, 1, 1, 300]))
    log_pi = location.draw(fitted, np.random.default_rng(1)).log_pi
    assert log_pi is not None and np.exp(log_pi)[3] > 0.9
    assert fitted.sizes.tolist() == [1, 3, 5, 8]


def test_a_draw_without_pi_has_no_probabilities():
    with pytest.raises(ValueError, match="without π"):
        location.log_weights(location.draw(model(), np.random.default_rng(1), with_pi=False), Z)


def test_too_few_records_beyond_the_cells():
    with pytest.raises(EngineError) as refused:
        location.fit(Z[:, :2], np.minimum(np.arange(17), 15), 16, ("a", "b"))
    assert str(refused.value) == (
        "model needs at least p=2 more records than key cells (n=17, K=16): merge key categories or use fewer numeric "
        "variables"
    )
    with pytest.raises(EngineError, match=r"n=17, K=17"):
        location.fit(Z[:, :1], np.arange(17), 17, ("a",))


@pytest.mark.parametrize(
    ("third", "rank", "culprits"),
    [
        (Z[:, 0] * 2 - 5, 2, "a, c"),
        (Z[:, 0] + Z[:, 1], 2, "a, b, c"),
        (X * 1.0, 2, "c"),
        (np.zeros(17), 2, "c"),
    ],
)
def test_dependent_variables_are_named(third: np.ndarray, rank: int, culprits: str):
    with pytest.raises(EngineError) as refused:
        location.fit(np.column_stack([Z[:, :2], third]), X, 4, NAMES)
    assert str(refused.value) == (
        f"numeric variables are linearly dependent within key cells (rank {rank} of 3); drop one of: {culprits}"
    )


def test_nearly_dependent_variables_are_accepted():
    noise = np.random.default_rng(5).normal(size=17)
    z = np.column_stack([Z[:, 0], Z[:, 0] + 1e-4 * noise])
    fitted = location.fit(z, X, 4, ("a", "b"))
    _, sigma = natural(location.plug_in(fitted), fitted)
    assert np.allclose(sigma, twin.sum_of_squares(list(X), list(z)) / 13, rtol=1e-9)
    assert 0.99999 < sigma[0, 1] / np.sqrt(sigma[0, 0] * sigma[1, 1]) < 1, "nearly dependent, and not quite"


def chosen(
    numbers: dict[str, list[float]], y: str = "", log: str = "", numeric: tuple[str, ...] = ("a", "b")
) -> location.Variables:
    data = numbered({"K": [0, 0, 1, 1]}, numbers)
    return location.variables(MAPS.setting(data, {"y": y, "log": log}, (0,), numeric), "MaPS")


def test_variables_are_standardised_and_may_be_logarithms():
    found = chosen({"a": [1, 2, 4, 8], "b": [7, 7, 7, 7]}, log="a")
    assert found.names == ("a", "b")
    logs = np.log([1, 2, 4, 8])
    assert np.allclose(found.z[:, 0], (logs - logs.mean()) / logs.std())
    assert not found.z[:, 1].any()
    assert chosen({"a": [1, 2, 4, 8], "b": [0, 1, 0, 3]}, y="b").names == ("b",)


A = [0.0, 1.0, 2.0, 3.0]
MISSING = "column 'a' has 2 missing values; fill, drop or recode them as a level before using it in MaPS"
NO_NUMBERS = "MaPS/SMIKe here model numeric variables only; column 'a' holds no number"
NO_LOGARITHM = "column 'a' has 2 values that are not positive; it has no logarithm"
UNKNOWN = "log names 'b', which is not a variable of the model. Known: a."
OF_A_KEY = "column 'K' belongs to the key 'K' and cannot be modelled given it"
NONE = "MaPS needs at least one numeric column outside the keys; name it in y"


@pytest.mark.parametrize(
    ("numbers", "y", "log", "numeric", "error", "message"),
    [
        ({"a": [1, np.nan, np.nan, 3]}, "a", "", (), EngineError, MISSING),
        ({"a": [np.nan] * 4}, "a", "", (), UsageError, NO_NUMBERS),
        ({"a": [1, np.inf, 2, 3]}, "a", "", (), EngineError, "column 'a' has 1 infinite values"),
        ({"a": [0, -1, 2, 3]}, "a", "a", (), EngineError, NO_LOGARITHM),
        ({"a": A}, "a", "b", (), UsageError, UNKNOWN),
        ({"a": A}, "aa", "", (), UsageError, "unknown column 'aa'. Did you mean 'a'?"),
        ({"a": A}, "K", "", (), UsageError, OF_A_KEY),
        ({"a": A}, "a+a", "", (), UsageError, "y == 'a+a', names a column twice."),
        ({"a": A}, "", "", ("K",), UsageError, NONE),
    ],
)
def test_variables_that_cannot_be_modelled(
    numbers: dict[str, list[float]], y: str, log: str, numeric: tuple[str, ...], error: type[Exception], message: str
):
    with pytest.raises(error) as refused:
        chosen(numbers, y, log, numeric)
    assert str(refused.value) == message


def test_an_attribute_is_no_number():
    data = numbered({"K": [0, 0, 1, 1], "L": [0, 1, 0, 1]}, {})
    with pytest.raises(UsageError, match="numeric variables only; column 'L' holds no number"):
        location.variables(MAPS.setting(data, {"y": "L"}, (0,)), "MaPS")


def test_thresholds_in_words():
    words = [location.in_words(s, rule) for s, rule in [(3, "le"), (3, "lt"), (2, "lt"), (1, "lt")]]
    assert words == [
        "cells with 3 or fewer records", "cells with 2 or fewer records", "cells with 1 record",
        "no cell (fewer than 1 record)",
    ]  # fmt: skip


def test_keys_must_be_named():
    with pytest.raises(UsageError, match="no key attribute is named"):
        location.key_cells(numbered({"K": [0, 1]}, {}), (), 3, "le")


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
def test_checks_of_a_fitting_model_are_spread_over_0_to_1(p: int):
    rng, x = np.random.default_rng(11), np.repeat(np.arange(20), 30)
    sizes = np.bincount(x)
    found = [location.checks(rng.normal(size=(600, p)) + x[:, None], x, sizes) for _ in range(150)]
    for name in found[0]:
        values = [one[name] for one in found]
        assert kstest(values, "uniform").pvalue > 1e-3, name


def test_checks_reject_what_does_not_fit():
    rng, x = np.random.default_rng(12), np.repeat(np.arange(20), 30)
    sizes = np.bincount(x)
    skewed = location.checks(rng.exponential(size=(600, 2)), x, sizes)
    assert skewed["normal_skewness_p"] < 1e-6 and skewed["normal_kurtosis_p"] < 1e-6
    unequal = location.checks(rng.normal(size=(600, 2)) * (1 + x[:, None] / 10), x, sizes)
    assert unequal["common_covariance_p"] < 1e-6
    assert np.isnan(list(location.checks(rng.normal(size=(3, 1)), np.arange(3), np.ones(3, int)).values())).all()


def test_one_variable_makes_box_nearly_bartlett():
    y, x = np.random.default_rng(4).normal(size=90), np.repeat(np.arange(3), 30)
    ours = location.checks(y[:, None], x, np.bincount(x))["common_covariance_p"]
    assert ours == pytest.approx(bartlett(*np.split(y, 3)).pvalue, abs=1e-3)
