"""Families of declared analyses beside statsmodels, published figures and closed forms; and what has no figure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.miscmodels.ordinal_model import OrderedModel

from engine.models.regression import ALIASED, FAST, FEW, OK, SEPARATED, Solved
from engine.models.regression import solve as solve_fast
from engine.models.statsmodels_fit import Model, solve
from engine.plan.entries import FAMILIES
from tests.examples import examples

ROOT = Path(__file__).parents[3]
LEVELS = ("low", "middle", "high", "top")
N = 400


def fit(family: str, x: np.ndarray, y: np.ndarray, levels: tuple[str, ...] = LEVELS, tau: float = 0.5, **more: Any):
    columns = tuple(f"x{j}" for j in range(x.shape[1]))
    model = Model(FAMILIES[family], tau, levels if "levels" in FAMILIES[family].outcome else (), columns)
    solved = solve(model, x, y, **more)
    assert all(len(part) == len(model.parameters) for part in (solved.estimate, solved.se, solved.why))
    return solved


def matrix(seed: int = 1, n: int = N, unit: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Ones, a number in some unit and a yes or no; a linear predictor; and where the noise comes from."""
    random = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), unit * random.normal(1, 1, n), random.integers(0, 2, n)])
    return x, 0.4 + 0.6 * x[:, 1] / unit - 0.5 * x[:, 2], random


def outcomes(eta: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    latent = eta + random.logistic(size=len(eta))
    levels = np.digitize(latent, [-1, 0.5, 2]).astype(float)
    return {
        "linear": latent,
        "quantile": latent,
        "logistic": (latent > 0).astype(float),
        "probit": (latent > 0).astype(float),
        "poisson": random.poisson(np.exp(eta)).astype(float),
        "negative binomial": random.negative_binomial(2, 1 / (1 + np.exp(eta) / 2)).astype(float),
        "gamma": random.gamma(2, np.exp(eta)),
        "multinomial logit": levels,
        "ordered logit": levels,
        "ordered probit": levels,
    }


def test_every_family_has_an_outcome_here() -> None:
    assert set(outcomes(np.zeros(3), np.random.default_rng(1))) == set(FAMILIES)


def theirs(family: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard errors as statsmodels gives them, and thresholds in place of their steps."""
    kinds = sm.families
    if family in ("logistic", "probit", "poisson", "gamma"):
        kind = {
            "logistic": kinds.Binomial(),
            "probit": kinds.Binomial(kinds.links.Probit()),
            "poisson": kinds.Poisson(),
            "gamma": kinds.Gamma(kinds.links.Log()),
        }[family]
        result = sm.GLM(y, x, family=kind).fit(tol=1e-13, maxiter=200)
    elif family == "linear":
        result = sm.OLS(y, x).fit()
    elif family == "quantile":
        result = sm.QuantReg(y, x).fit(q=0.3, max_iter=5000)
    elif family == "negative binomial":
        result = sm.NegativeBinomial(y, x).fit(method="newton", maxiter=100, disp=False)
    elif family == "multinomial logit":
        result = sm.MNLogit(y, x).fit(disp=False)
        return result.params.ravel(order="F"), result.bse.ravel(order="F")
    else:
        model = OrderedModel(y.astype(int), x[:, 1:], distr=family.removeprefix("ordered "))
        result = model.fit(method="bfgs", maxiter=500, gtol=1e-8, disp=False)
        slopes, cuts = x.shape[1] - 1, model.transform_threshold_params(result.params)[1:-1]
        jacobian = np.tril(np.ones((3, 3)))
        jacobian[:, 1:] *= np.exp(result.params[slopes + 1 :])
        spread = jacobian @ result.cov_params()[slopes:, slopes:] @ jacobian.T
        return np.append(result.params[:slopes], cuts), np.append(result.bse[:slopes], np.sqrt(np.diag(spread)))
    return result.params, result.bse


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_are_those_of_statsmodels(family: str) -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)[family]
    found = fit(family, x, y, tau=0.3)
    estimate, se = theirs(family, x, y)
    loose = {"quantile": 1e-4, "ordered logit": 1e-4, "ordered probit": 1e-4}.get(family, 1e-6)
    np.testing.assert_allclose(found.estimate, estimate, rtol=loose, atol=loose)
    np.testing.assert_allclose(found.se, se, rtol=10 * loose)
    assert not found.why.any()
    assert found.df == (N - 3 if family in ("linear", "quantile") else np.inf)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_unit_of_a_column_changes_its_estimate_alone(family: str) -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)[family]
    own, other = fit(family, x, y), fit(family, x * [1, 1e5, 1], y)
    slopes = ["x1" in name for name in Model(FAMILIES[family], 0.5, LEVELS, ("x0", "x1", "x2")).parameters]
    np.testing.assert_allclose(other.estimate * np.where(slopes, 1e5, 1), own.estimate, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.se * np.where(slopes, 1e5, 1), own.se, rtol=1e-5)


@given(st.integers(0, 999), st.sampled_from(FAST), st.sampled_from(["records", "weights", "counts"]))
@examples(25)
def test_the_fast_fits_of_a_sweep_are_those_of_statsmodels(seed: int, family: str, kind: str) -> None:
    x, eta, random = matrix(seed, 150)
    y = outcomes(eta, random)[family]
    drawn = random.uniform(0.2, 3, len(y)) if kind == "weights" else random.integers(1, 9, len(y))
    more: dict[str, Any] = {} if kind == "records" else {kind: drawn}
    fast, slow = solve_fast(family, x, y, **more), fit(family, x, y, **more)
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fast.se, slow.se, rtol=1e-6)
    np.testing.assert_array_equal(fast.why, slow.why)
    assert fast.df == slow.df


@pytest.mark.parametrize("family", ["probit", "gamma"])
def test_weights_give_linearised_standard_errors(family: str) -> None:
    x, eta, random = matrix(n=300)
    y, weights = outcomes(eta, random)[family], random.uniform(0.2, 3, 300)
    links = sm.families.links
    kind = sm.families.Binomial(links.Probit()) if family == "probit" else sm.families.Gamma(links.Log())
    # statsmodels has the same sandwich for weights of precision; n / (n - 1) is survey practice
    want = sm.GLM(y, x, family=kind, var_weights=weights).fit(tol=1e-13, maxiter=200, cov_type="HC0")
    found = fit(family, x, y, weights=1000 * weights)
    np.testing.assert_allclose(found.estimate, want.params, rtol=1e-6)
    bread, gap = np.asarray(want.normalized_cov_params), (y - want.fittedvalues) * weights
    slope = kind.link.deriv(want.fittedvalues) * kind.variance(want.fittedvalues)
    scores = x * (gap / slope)[:, None]
    np.testing.assert_allclose(found.se, np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread) * 300 / 299), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in FAST])
def test_a_row_may_stand_for_many_records(family: str) -> None:
    random = np.random.default_rng(4)
    x = np.column_stack([np.ones(40), np.tile([0.0, 1], 20), np.repeat(np.arange(10.0), 4)])
    y = random.permutation(np.repeat(np.arange(4.0), 10))
    y = {"probit": y % 2, "gamma": y + 1, "quantile": y + random.random(40)}.get(family, y)
    counts = random.integers(1, 9, 40)
    found, want = fit(family, x, y, counts=counts), fit(family, np.repeat(x, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(found.estimate, want.estimate, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.se, want.se, rtol=1e-4)
    assert found.df == want.df and found.why.tolist() == want.why.tolist()


@pytest.mark.slow
def test_published_figures() -> None:
    data = sm.datasets.spector.load_pandas().data
    x = np.column_stack([np.ones(32), data[["GPA", "TUCE", "PSI"]].to_numpy()])
    grade = fit("probit", x, data["GRADE"].to_numpy())
    np.testing.assert_allclose(grade.estimate, [-7.452, 1.626, 0.052, 1.426], atol=6e-4)  # Greene, table 21.1
    engel = sm.datasets.engel.load_pandas().data
    food = fit("quantile", np.column_stack([np.ones(235), engel["income"]]), engel["foodexp"].to_numpy())
    np.testing.assert_allclose(food.estimate, [81.48225, 0.56018], atol=1e-5)  # Koenker and Bassett's median


@pytest.mark.slow
def test_closed_forms() -> None:
    group = np.repeat([0.0, 1], [60, 40])
    x = np.column_stack([np.ones(100), group])
    pay = np.random.default_rng(3).gamma(3, 2, 100)
    means = np.log([pay[group == 0].mean(), pay[group == 1].mean()])
    gamma = fit("gamma", x, pay)
    np.testing.assert_allclose(gamma.estimate, [means[0], means[1] - means[0]])
    counts = np.array([[20, 25, 15], [10, 6, 24]])
    y = np.concatenate([np.repeat(np.arange(3.0), row) for row in counts])
    levels = fit("multinomial logit", x, y, LEVELS[:3])
    odds = np.log(counts[:, 1:] / counts[:, :1])
    np.testing.assert_allclose(
        levels.estimate, [odds[0, 0], odds[1, 0] - odds[0, 0], odds[0, 1], odds[1, 1] - odds[0, 1]]
    )
    np.testing.assert_allclose(levels.se[0] ** 2, 1 / 20 + 1 / 25)
    np.testing.assert_allclose(levels.se[1] ** 2, 1 / 20 + 1 / 25 + 1 / 10 + 1 / 6)
    event = (y > 0).astype(float)
    two, logit = fit("ordered logit", x, event, LEVELS[:2]), solve_fast("logistic", x, event)
    np.testing.assert_allclose(two.estimate, [logit.estimate[1], -logit.estimate[0]], rtol=1e-6)
    np.testing.assert_allclose(two.se, logit.se[::-1], rtol=1e-4)
    alone = fit("ordered probit", x[:, :1], y, LEVELS[:3])
    from scipy.stats import norm

    np.testing.assert_allclose(alone.estimate, norm.ppf([0.30, 0.61]), rtol=1e-6)


def told(solved: Solved) -> list[int]:
    """The reasons, where figures are exactly those that have none against them."""
    assert (np.isfinite(solved.estimate) == (solved.why == OK)).all()
    assert (np.isfinite(solved.se) == (solved.why == OK)).all()
    return solved.why.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["logistic", "probit", "multinomial logit", "ordered logit", "ordered probit"])
def test_separation_is_a_reason_and_no_number(family: str) -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)[family]
    perfect = fit(family, x, (x[:, 1] > 1).astype(float), LEVELS[:2])
    assert SEPARATED in told(perfect)
    y[x[:, 2] == 1] = y.max()
    assert SEPARATED in told(fit(family, x, y))
    if not family.startswith("ordered"):
        assert told(fit(family, x, y)) == [OK, OK, SEPARATED] * (len(fit(family, x, y).why) // 3)


@pytest.mark.parametrize("family", ["logistic", "probit", "multinomial logit", "ordered logit", "ordered probit"])
def test_an_outcome_of_one_level_has_no_regression(family: str) -> None:
    x, _, _ = matrix()
    assert set(told(fit(family, x, np.zeros(N)))) == {SEPARATED}


@pytest.mark.parametrize("family", ["poisson", "negative binomial"])
def test_counts_that_are_all_zero_have_no_regression(family: str) -> None:
    x, _, _ = matrix()
    assert set(told(fit(family, x, np.zeros(N)))) == {SEPARATED}


@pytest.mark.slow
def test_a_level_that_is_gone_takes_its_own_parameters_along() -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)["ordered logit"]
    y[y == 1] = 2
    assert told(fit("multinomial logit", x, y)) == [SEPARATED] * 3 + [OK] * 6
    assert told(fit("ordered logit", x, y)) == [OK, OK, SEPARATED, SEPARATED, OK]
    y[y == 0] = 2
    assert set(told(fit("multinomial logit", x, y))) == {SEPARATED}, "nothing to compare the others with"


def test_counts_that_vary_less_than_a_poisson_have_no_dispersion() -> None:
    x, _, random = matrix()
    y = random.binomial(5, 0.5, N).astype(float)
    found = fit("negative binomial", x, y)
    assert told(found) == [OK, OK, OK, SEPARATED]
    np.testing.assert_allclose(found.estimate[:3], solve_fast("poisson", x, y).estimate, rtol=1e-3, atol=1e-4)


def test_a_quantile_without_spread_has_no_figure() -> None:
    x, _, random = matrix()
    rare = (random.random(N) < 0.05).astype(float)
    assert set(told(fit("quantile", x, rare))) == {SEPARATED}
    assert set(told(fit("quantile", x, np.full(N, 3.0)))) == {SEPARATED}


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_that_depend_on_each_other_are_not_estimable(family: str) -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)[family]
    found = told(fit(family, np.column_stack([x, x[:, 2], np.zeros(N)]), y))
    names = Model(FAMILIES[family], 0.5, LEVELS, tuple(f"x{j}" for j in range(5))).parameters
    aliased = [name.rpartition(": ")[2] in ("x2", "x3", "x4") for name in names]
    assert found == [ALIASED if gone else OK for gone in aliased]


def test_an_outcome_too_large_to_be_squared_has_no_figure() -> None:
    x, eta, _ = matrix()
    assert set(told(fit("linear", x, 1e153 * eta * x[:, 1]))) == {SEPARATED}


@pytest.mark.slow
def test_a_first_fit_prints_no_warning() -> None:
    code = (
        "import numpy as np\n"
        "from engine.models.statsmodels_fit import Model, solve\n"
        "from engine.plan.entries import FAMILIES\n"
        "x = np.column_stack([np.ones(40), np.repeat([0.0, 1], 20)])\n"
        "print(solve(Model(FAMILIES['probit'], 0.5, (), ('a', 'b')), x, x[:, 1]).why)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[2 2]\n", "")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_records_give_no_figures(family: str, n: int) -> None:
    x, eta, random = matrix()
    y = outcomes(eta, random)[family]
    assert set(told(fit(family, x[:n], y[:n]))) == {FEW}
