"""Formulas: the columns patsy would make, fixed from the original, and nothing that runs code.

Every model says which level it predicts and which levels its coefficients are compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import patsy
import pyarrow as pa
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.models.analyses import check, fit, ready
from engine.models.formulas import MEAN, Levels, design, levels_of
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from tests.engine.report.conftest import plan_of, raw_table
from tests.frames import frame_of

N = 40


def made(formula: str, family: str = "linear", **more: Any) -> tuple[Plan, Microdata]:
    """Attributes Sex, Group (3 levels) and Band (Age, cut); carried income, 'odd name', rate with missing codes."""
    random = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "Sex": random.choice(["f", "m"], N),
        "Group": random.choice(["1", "2", "3"], N),
        "age": [str(v) for v in random.integers(18, 80, N)],
        "income": [f"{v:.2f}" for v in random.lognormal(10, 1, N)],
        "odd name": [str(v) for v in random.integers(0, 9, N)],
        "rate": ["-9" if i % 10 == 0 else str(i % 7) for i in range(N)],
        "words": random.choice(["a", "7"], N),
        "secret": ["1"] * N,
        "case": [str(i) for i in range(N)],
    }
    raw = {}
    for name, values in columns.items():
        distinct, codes = np.unique(np.array(values), return_inverse=True)
        raw[name] = RawColumn(name, pa.array(distinct.tolist()), codes.astype(np.int32))
    plan = Plan(
        DataPlan(
            (AttributePlan("Sex"), AttributePlan("Group"), AttributePlan("Band", columns=("age",), cut=(30, 50))),
            carry=("income", "odd name", "rate", "words"),
            drop=("secret",),
            id="case",
            missing=("-9",),
        ),
        analyses=(AnalysisPlan("r", formula, family, **more),),
    )
    return plan, code(RawTable(raw, N, "made"), plan)


@pytest.mark.parametrize(
    ("ours", "patsys"),
    [
        ("Sex + Group", None),
        ("Sex * Group + income", None),
        ("Group:Sex", None),
        ("Sex:income + Group:income - 1", None),
        ("0 + Group + Sex:Group:income", None),
        ("Group + np.log(income) + I(income ** 2 / 1e6)", None),
        ("C(Group, Treatment('2')) * Sex", None),
        ('C(Group, Treatment(reference="3"))', None),
        ("C(Group, Sum()) + center(income) + standardize(income)", None),
        ("Band + Band_raw", "Band + age"),
        ("Q('odd name') * Sex", None),
        ("(Sex + Group + income)**2", None),
        ("I(income > 20000) + Group", None),
        ("log(income) - 1", "np.log(income) - 1"),
    ],
)
def test_the_columns_are_patsys(ours: str, patsys: str | None) -> None:
    plan, data = made(f"income ~ {ours}")
    original = ReleasedTable(data)
    found = design(plan.analyses[0], original, plan)
    frame = frame_of(original, ["Sex", "Group", "Band", "income", "odd name", "age"])
    want = patsy.dmatrix(patsys or ours, frame)
    if patsys is None:
        assert list(found.names) == want.design_info.column_names
    y, x, complete = found.build(original, original)
    np.testing.assert_allclose(x, np.asarray(want), rtol=1e-13)
    np.testing.assert_array_equal(y, original.numeric("income"))
    assert complete.all()
    # a release: other records, the same columns and centres
    source = np.roll(np.arange(N), 3)
    released = ReleasedTable(data, source, (0, 1))
    frame = frame_of(released, ["Sex", "Group", "Band", "income", "odd name", "age"])
    (again,) = patsy.build_design_matrices([want.design_info], frame)
    np.testing.assert_allclose(found.build(released, original)[1], np.asarray(again), rtol=1e-13)


def test_missing_codes_are_missing_and_not_minus_nine() -> None:
    plan, data = made("rate ~ Sex")
    y, _, complete = design(plan.analyses[0], ReleasedTable(data), plan).build(ReleasedTable(data), ReleasedTable(data))
    assert (~complete).sum() == 4 and np.isnan(y[~complete]).all() and y[complete].min() == 0


def test_a_swapped_column_takes_its_numbers_along() -> None:
    plan, data = made("Band_raw ~ Sex")
    original = ReleasedTable(data)
    found = design(plan.analyses[0], original, plan)
    source = np.roll(np.arange(N), 1)
    moved, _, _ = found.build(ReleasedTable(data, source, (2,)), original)
    np.testing.assert_array_equal(moved, original.numeric("age")[source])
    stays, _, _ = found.build(ReleasedTable(data, source, (0,)), original)
    np.testing.assert_array_equal(stays, original.numeric("age"))
    noisy, _, _ = found.build(ReleasedTable(data, numbers={"age": original.numeric("age") + 1}), original)
    np.testing.assert_array_equal(noisy, original.numeric("age") + 1)
    with pytest.raises(EngineError, match="attribute 'Band' was drawn anew, so the release holds no numbers"):
        found.build(ReleasedTable(data, replaced={2: data.codes[2]}), original)


@pytest.mark.parametrize(
    ("left", "family", "want"),
    [
        ("Sex", "logistic", lambda d: d.codes[0]),
        ("Group == '2'", "logistic", lambda d: d.codes[1] == 1),
        ("Group != '2'", "linear", lambda d: d.codes[1] != 1),
        ("Group", "poisson", lambda d: d.codes[1] + 1),
        ("Sex", "probit", lambda d: d.codes[0]),
        ("Group", "multinomial logit", lambda d: d.codes[1]),
        ("Band", "ordered probit", lambda d: d.codes[2]),
        ("income", "gamma", lambda d: ReleasedTable(d).numeric("income")),
        ("Band_raw > 40", "logistic", lambda d: ReleasedTable(d).numeric("age") > 40),
        (
            "-log10(Q('odd name') + 1) ** 2",
            "linear",
            lambda d: -(np.log10(ReleasedTable(d).numeric("odd name") + 1) ** 2),
        ),
    ],
)
def test_outcomes(left: str, family: str, want: Any) -> None:
    plan, data = made(f"{left} ~ income", family)
    check(plan, data)
    original = ReleasedTable(data)
    y, _, _ = design(plan.analyses[0], original, plan).build(original, original)
    np.testing.assert_array_equal(y, want(data))


@pytest.mark.parametrize(
    ("formula", "family", "message"),
    [
        ("incme ~ Sex", "linear", "analysis 'r' names the unknown column 'incme'. Did you mean 'income'?"),
        ("odd name ~ Sex", "linear", """Column 'odd name' is written Q("odd name")"""),
        ("log(odd.name) ~ Sex", "linear", 'is written Q("'),
        ("income ~ Sex + `odd name`", "linear", """Column 'odd name' is written Q("odd name")"""),
        ("income ~ age.income", "linear", 'A name with other signs than letters, digits and _ is written Q("'),
        ("income ~ C(age.income)", "linear", 'A name with other signs than letters, digits and _ is written Q("'),
        ("income ~ Sx", "linear", "analysis 'r' names the unknown column 'Sx'. Did you mean 'Sex'?"),
        ("income ~ Sex_raw2", "linear", "names the unknown column 'Sex_raw2'"),
        ("income ~ secret", "linear", "names column 'secret', which never leaves"),
        ("income ~ case", "linear", "names column 'case', which is the id"),
        ("income ~ words", "linear", "column 'words' is no number in"),
        ("income ~ Sex_raw", "linear", "column 'Sex' holds no numbers; make it an attribute"),
        ("income ~ log(Sex)", "linear", "attribute 'Sex' is used as a number in 'log(Sex)'"),
        ("income ~ C(income)", "linear", "C(income) needs an attribute in C(...)."),
        ("income ~ C(Group, Treatment('4'))", "linear", "the formula cannot be used"),
        ("income ~ C(Group, print('x'))", "linear", "cannot read C(Group, print('x'))"),
        ("income ~ Sex + ", "linear", "the formula cannot be used"),
        ("income ~ 0", "linear", "the formula has no predictors"),
        ("income ~ lag(income)", "linear", "'lag' is not allowed in a formula."),
        ("income ~ Sex + __import__('os').system('true')", "linear", "is not allowed in a formula"),
        ("income ~ I(income.sum())", "linear", "'income.sum' is not allowed in a formula"),
        ("income ~ I([income for _ in (1,)][0])", "linear", "names the unknown column 'for'"),
        ("exec('1') ~ Sex", "linear", "'exec' is not allowed in a formula"),
        ("center(income) ~ Sex", "linear", "center is for predictors"),
        ("Group ~ Sex", "logistic", "a logistic outcome has two levels, 'Group' has 3; write Group == \"level\""),
        ("Group == '5' ~ Sex", "logistic", "attribute 'Group' has no level '5'."),
        ("Sex ~ Group", "linear", "outcome 'Sex' is an attribute whose levels are no numbers"),
        ("income ~ Sex", "logistic", "the logistic outcome 'income' has values other than 0 and 1"),
        ("-income ~ Sex", "poisson", "the Poisson outcome '-income' has negative values"),
        ("Group ~ Sex", "probit", "a probit outcome has two levels, 'Group' has 3; write Group == \"level\""),
        ("income ~ Sex", "ordered logit", 'the outcome under family = "ordered logit" is an attribute with its levels'),
        ("Group == '2' ~ Sex", "multinomial logit", "is an attribute with its levels, not 'Group == '2''"),
        ("Group ~ Sex - 1", "ordered logit", "thresholds for its intercept; leave out 0 and -1"),
        ("Group ~ 0 + income", "ordered probit", "thresholds for its intercept; leave out 0 and -1"),
        ("-income ~ Sex", "negative binomial", "the negative binomial outcome '-income' has negative values"),
        ("Q('odd name') ~ Sex", "gamma", "the gamma outcome 'Q('odd name')' has values that are not above 0"),
        ("income ~ log(Q('odd name'))", "linear", "log(Q('odd name')) cannot be formed for"),
        ("log(Q('odd name')) ~ Sex", "linear", "log(Q('odd name')) cannot be formed for"),
    ],
)
def test_a_wrong_formula_is_refused_before_anything_runs(formula: str, family: str, message: str) -> None:
    plan, data = made(formula, family)
    with pytest.raises(EngineError) as got:
        check(plan, data)
    assert message in str(got.value)
    if "column 'words'" not in message and "cannot be formed" not in message and "values" not in message:
        assert isinstance(got.value, UsageError) or "holds no numbers" in message


def test_an_analysis_that_is_asked_for_must_be_declared() -> None:
    plan, data = made("income ~ Sex")
    check(plan, data, ["all", "r"])
    with pytest.raises(UsageError, match=r"analysis == 'R', which the plan does not declare\. Did you mean 'r'\?"):
        check(plan, data, ["R"])


def test_numeric_columns_are_the_analyses_unless_named() -> None:
    from dataclasses import replace

    from engine.models.record_release import numeric_columns

    plan, data = made("income ~ Band_raw + Sex + Q('odd name')")
    assert numeric_columns(plan, data) == ("income", "age", "odd name")
    named = replace(plan, data=replace(plan.data, numeric=("rate", "age")))
    assert numeric_columns(named, data) == ("rate", "age")
    wrong = replace(plan, data=replace(plan.data, numeric=("rte",)))
    with pytest.raises(UsageError, match=r"numeric names the unknown column 'rte'\. Did you mean 'rate'"):
        check(wrong, data)


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
