"""Every model says which level it predicts and which levels its coefficients are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from engine.models.analyses import fit, ready
from engine.models.formulas import MEAN, Levels, design, levels_of
from engine.plan.coding import code
from engine.plan.entries import AnalysisPlan
from engine.release.records import ReleasedTable
from tests.engine.report.conftest import plan_of, raw_table


def _levels(formula: str, family: str = "logistic") -> Levels:
    plan = plan_of(analyses=())
    original = ReleasedTable(code(raw_table(), plan))
    return levels_of(design(AnalysisPlan("m", formula, family), original, plan), original.data.domain)


@pytest.mark.parametrize(
    ("formula", "family", "predicts"),
    [
        ("B ~ A", "logistic", "B is b1"),
        ("D ~ A", "probit", "D is d1"),
        ('A == "a2" ~ B', "logistic", "A is a2"),
        ('A != "a0" ~ B', "logistic", "A is not a0"),
        ("(x > 12) ~ B", "logistic", "(x > 12) holds"),
        ("x ~ B", "linear", "the mean of x"),
        ("w ~ B", "poisson", "the logarithm of the mean of w"),
        ("w ~ B", "gamma", "the logarithm of the mean of w"),
        ("x ~ B", "quantile", "the 0.5 quantile of x"),
        ("A ~ B", "multinomial logit", "each level of A against a0"),
        ("A ~ B", "ordered logit", "a higher level of A in the order a0, a1, a2"),
    ],
)
def test_what_a_model_predicts(formula: str, family: str, predicts: str):
    assert _levels(formula, family).predicts == predicts


@pytest.mark.parametrize(
    ("right", "references"),
    [
        ("A + D", (("A", "a0"), ("D", "d0"))),
        ('C(A, Treatment("a2")) + x', (("A", "a2"),)),
        ("C(A, Sum())", (("A", MEAN),)),
        ("A - 1", ()),
        ("A * D", (("A", "a0"), ("D", "d0"))),
        ("(x > 12)", (("x > 12", "false"),)),
    ],
)
def test_reference_levels(right: str, references: tuple[tuple[str, str], ...]):
    assert _levels(f"B ~ {right}").references == references


def test_the_level_named_is_the_one_that_a_positive_coefficient_makes_likelier():
    """Counted in the records: by it the sign of the coefficient is read rightly."""
    plan = plan_of(analyses=())
    original = ReleasedTable(code(raw_table(), plan))
    analysis = AnalysisPlan("m", "B ~ D", "logistic")
    prepared = ready(analysis, original, plan)
    levels = levels_of(prepared.design, original.data.domain)
    (b, d), domain = (original.codes(j) for j in (1, 3)), original.data.domain
    assert levels.predicts == f"B is {domain.attributes[1].levels[1]}"
    assert levels.references == (("D", domain.attributes[3].levels[0]),)
    odds = [np.mean(b[d == level] == 1) / np.mean(b[d == level] == 0) for level in (0, 1)]
    slope = fit(prepared, original, original).estimate[prepared.names.index("D[T.d1]")]
    assert slope == pytest.approx(np.log(odds[1] / odds[0]), abs=1e-6)
