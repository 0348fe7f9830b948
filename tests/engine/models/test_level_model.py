"""The logit of a swapped attribute: as statsmodels fits it, finite with separated levels, symmetric in levels."""

from __future__ import annotations

import numpy as np
import pytest

from engine.common.errors import EngineError, UsageError
from engine.models import level_model
from engine.models.level_model import design_of, fit_levels, n_terms

SHAPE = (3, 2, 2)


def patterns() -> np.ndarray:
    return np.array(list(np.ndindex(*SHAPE)))


def counts(levels: int, seed: int = 4) -> np.ndarray:
    """Records by combination of the others (rows) and level: none empty."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.uniform(20, 300, (len(patterns()), levels))) + 1


def by_statsmodels(y: np.ndarray, pairs: bool) -> np.ndarray:
    """Chances of the levels by pattern, from statsmodels' multinomial logit of one row per record."""
    from statsmodels.discrete.discrete_model import MNLogit

    cells = patterns()
    columns = [np.ones(len(cells))]
    dummies = [[(cells[:, j] == v).astype(float) for v in range(1, SHAPE[j])] for j in range(len(SHAPE))]
    columns += [column for block in dummies for column in block]
    if pairs:
        columns += [a * b for j in range(3) for k in range(j) for a in dummies[j] for b in dummies[k]]
    design = np.column_stack(columns)
    rows, levels = np.repeat(np.arange(y.size), y.ravel()) // y.shape[1], np.repeat(np.arange(y.size), y.ravel())
    model = MNLogit(levels % y.shape[1], design[rows])
    result = model.fit(method="newton", maxiter=50, tol=1e-12, disp=False)
    return np.asarray(model.predict(result.params, design))


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("model", ["two_way", "main"])
def test_without_a_ridge_as_statsmodels(levels, model):
    y = counts(levels)
    design = design_of(patterns(), y.sum(axis=1), SHAPE, model, ridge=1e-7)
    got = fit_levels(design, y)
    np.testing.assert_allclose(got, by_statsmodels(y, model == "two_way"), rtol=1e-6)
    # the other model is another one, and so are wrong totals: the comparison can fail
    other = "main" if model == "two_way" else "two_way"
    wrong = fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, other, ridge=1e-7), y)
    assert np.abs(wrong / got - 1).max() > 0.01


@pytest.mark.parametrize("levels", [2, 4])
def test_the_ridge_of_a_release_changes_chances_by_little(levels):
    y = 20 * counts(levels)
    chances = [
        fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way", ridge=ridge), y)
        for ridge in (1e-7, level_model.RIDGE)
    ]
    assert np.abs(chances[0] - chances[1]).max() < 0.005


@pytest.mark.parametrize("levels", [2, 3])
def test_separated_levels_have_a_finite_fit(levels):
    """A level that one combination decides has no finite estimate; the ridge gives it one, inside (0, 1)."""
    y = counts(levels)
    y[patterns()[:, 0] == 1, 0] = 0
    y[patterns()[:, 0] == 2, 1:] = 0
    fit = fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way"), y)
    assert (fit > 0).all() and (fit < 1).all()
    np.testing.assert_allclose(fit.sum(axis=1), 1)
    assert fit[patterns()[:, 0] == 1, 0].max() < 0.02


def test_at_the_maximum_the_gradient_is_nought():
    y = counts(3)
    design = design_of(patterns(), y.sum(axis=1), SHAPE, "two_way")
    problem = level_model._Logit(design, y.astype(float))
    assert np.abs(problem.gradient(level_model._maximise(problem))).max() < 1e-8 * y.sum()
    # the gradient and the Hessian are those of the value, by differences
    rng = np.random.default_rng(0)
    b, step = rng.normal(size=problem.shape) / 10, rng.normal(size=problem.shape)
    slope = (problem.value(b + 1e-5 * step) - problem.value(b - 1e-5 * step)) / 2e-5
    assert slope == pytest.approx(float((problem.gradient(b) * step).sum()), rel=1e-6)
    bend = (problem.gradient(b - 1e-5 * step) - problem.gradient(b + 1e-5 * step)) / 2e-5
    np.testing.assert_allclose((problem.hessian(b) @ step.T.ravel()).reshape(step.shape[::-1]).T, bend, rtol=1e-4)


def test_levels_and_terms_may_have_any_order():
    y, cells = counts(3), patterns()
    got = fit_levels(design_of(cells, y.sum(axis=1), SHAPE, "two_way"), y)
    renamed = np.array([2, 0, 1])[cells[:, 0]]
    other = fit_levels(
        design_of(np.column_stack([cells[:, 2], renamed, cells[:, 1]]), y.sum(axis=1), (2, 3, 2), "two_way"),
        y[:, [1, 2, 0]],
    )
    np.testing.assert_allclose(other[:, [2, 0, 1]], got, rtol=1e-9)


def test_levels_without_records_and_models_without_terms():
    y = counts(3)
    y[:, 1] = 0
    fit = fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way"), y)
    two = fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way"), y[:, [0, 2]])
    assert (fit[:, 1] == 0).all()
    np.testing.assert_allclose(fit[:, [0, 2]], two)
    none = fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "level"), y)
    np.testing.assert_allclose(none, np.tile(y.sum(axis=0) / y.sum(), (len(y), 1)))
    assert n_terms(patterns(), SHAPE, "level") == 0
    assert n_terms(patterns(), SHAPE, "main") == 7 and n_terms(patterns(), SHAPE, "two_way") == 7 + 6 + 6 + 4


def test_a_fit_that_does_not_settle_is_told(monkeypatch):
    monkeypatch.setattr(level_model, "_MOST_STEPS", 2)
    y = counts(3)
    with pytest.raises(EngineError, match="had not settled after 2 steps"):
        fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way"), y)


def test_more_coefficients_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(level_model, "MOST_COEFFICIENTS", 20)
    y = counts(4)
    with pytest.raises(UsageError, match=r"an attribute of 4 levels has 30 coefficients, must have at most 20; name"):
        fit_levels(design_of(patterns(), y.sum(axis=1), SHAPE, "two_way"), y)
