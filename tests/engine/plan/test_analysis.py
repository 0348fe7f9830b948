"""Declared analyses: read, refused in words, the same after a journey through TOML, and heeded by edits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan, edit_plan, plan_from_toml, plan_to_toml

HEAD = "".join(f'[[attribute]]\nname = "{name}"\n' for name in "ABC")


def plan_of(*analyses: AnalysisPlan, **data: Any) -> Plan:
    return Plan(DataPlan(tuple(AttributePlan(name) for name in "ABC"), **data), analyses=analyses)


def test_every_entry_is_read() -> None:
    text = (
        '[data]\nweight = "wt"\ncarry = ["x"]\nnumeric = ["x"]\n'
        + HEAD
        + """
[[analysis]]
name = "first"
formula = "A ~ B + x"
family = "logistic"
by = ["C"]
weighted = true

[[analysis]]
name = "second"
formula = "x ~ B"
"""
    )
    assert plan_from_toml(text) == plan_of(
        AnalysisPlan("first", "A ~ B + x", "logistic", ("C",), True),
        AnalysisPlan("second", "x ~ B", "linear"),
        weight="wt",
        carry=("x",),
        numeric=("x",),
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("formula = 'A ~ B'", '[[analysis]] number 1 has no name; add name = "survival"'),
        ("name = 'a'", '[[analysis]] number 1 has no formula; add formula = "Survived ~ Sex + Age"'),
        ("name = 'a'\nformula = 'A'", "analysis 'a': formula is 'A', must be written as \"outcome ~ first + second\""),
        ("name = 'a'\nformula = '~ B'", "analysis 'a': formula is '~ B', must be written"),
        ("name = 'a'\nformula = 'A ~ B ~ C'", "analysis 'a': formula is 'A ~ B ~ C', must be written"),
        ("name = 'a'\nformula = 3", "[[analysis]] number 1: formula is 3, must be a text"),
        ("name = 'a'\nformla = 'A ~ B'", "has the unknown entry 'formla'. Did you mean 'formula'?"),
        (
            "name = 'a'\nformula = 'A ~ B'\nfamily = 'logit'",
            "analysis 'a': family is 'logit', must be one of linear, logistic, poisson, probit, ordered logit, ordered "
            "probit, multinomial logit, negative binomial, gamma, quantile. Did you mean 'logistic'?",
        ),
        (
            "name = 'a'\nformula = 'A ~ B'\nfamily = 'ordered logit'\nweighted = true",
            "analysis 'a': the family 'ordered logit' takes no weights here; leave weighted out, or use one of linear, "
            "logistic, poisson, probit, gamma",
        ),
        ("name = 'a'\nformula = 'A ~ B'\ntau = '0.5'", "analysis 'a': tau is the quantile of family = \"quantile\""),
        (
            "name = 'a'\nformula = 'A ~ B'\nfamily = 'quantile'\ntau = 1",
            "analysis 'a': tau == 1, must be above 0 and below 1",
        ),
        (
            "name = 'a'\nformula = 'A ~ B'\nfamily = 'quantile'\ntau = true",
            "[[analysis]] number 1: tau is true, must be a decimal number in quotes",
        ),
        ("name = 'a'\nformula = 'A ~ B'\nby = []", "[[analysis]] number 1: by is empty"),
        ("name = 'a'\nformula = 'A ~ B'\nby = ['D']", "analysis 'a': by names the unknown attribute 'D'."),
        ("name = 'a'\nformula = 'A ~ B'\nweighted = 1", "[[analysis]] number 1: weighted is 1, must be true or false"),
        ("name = 'a'\nformula = 'A ~ B'\nweighted = true", "analysis 'a' is weighted, but the plan declares no weight"),
        ("name = 'all'\nformula = 'A ~ B'", "analysis 'all' needs another name"),
        ("name = 'a;b'\nformula = 'A ~ B'", "analysis 'a;b' needs another name"),
        (
            "name = 'a'\nformula = 'A ~ B'\n[[analysis]]\nname = 'a'\nformula = 'A ~ C'",
            "the analyses names 'a' more than once",
        ),
    ],
)
def test_a_wrong_entry_is_refused_by_name(entry: str, message: str) -> None:
    with pytest.raises(UsageError) as got:
        plan_from_toml(f"{HEAD}[[analysis]]\n{entry}")
    assert message in str(got.value)


def test_a_quantile_regression_has_its_quantile_and_keeps_it() -> None:
    text = f"{HEAD}[[analysis]]\nname = 'a'\nformula = 'A ~ B'\nfamily = 'quantile'\n"
    assert plan_from_toml(text).analyses[0].tau == "0.5"
    plan = plan_from_toml(text + "tau = '0.90'")
    assert plan.analyses[0].family_words == "quantile 0.9"
    assert 'family = "quantile"\ntau = "0.9"\n' in plan_to_toml(plan) and plan_from_toml(plan_to_toml(plan)) == plan


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"numeric": ("x",), "drop": ("x",)}, "numeric names column 'x', which is dropped"),
        ({"numeric": ("x",), "id": "x"}, "numeric names column 'x', which is the id"),
        ({"numeric": ("x", "x")}, "numeric names 'x' more than once"),
    ],
)
def test_numbers_come_from_columns_that_stay(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as got:
        plan_of(**data)
    assert message in str(got.value)


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ a + b", ("y", "a", "b")),
        ("log(y) ~ a*b - 1 + np.log(c) + I(d**2.5)", ("y", "a", "b", "c", "d")),
        ("Q('a ~ b') ~ C(s, Treatment(reference='x ~ y')) + Q(\"t's\")", ("a ~ b", "s", "t's")),
        ("s == '>50K' ~ a:a + (a + b)**2 + True", ("s", "a", "b")),
    ],
)
def test_the_columns_of_a_formula(formula: str, columns: tuple[str, ...]) -> None:
    assert AnalysisPlan("a", formula).columns == columns


formulas = st.sampled_from(["A ~ B", "A == 'it\\'s' ~ Q(\"B\") + C", 'A ~ C(B, Treatment("é#"))'])


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            AnalysisPlan,
            st.sampled_from(["r", "two words", "é", '"q"', "#1"]),
            formulas,
            st.sampled_from(["linear", "logistic", "poisson"]),
            st.sampled_from([(), ("A",), ("B", "C")]),
            st.booleans(),
        ),
        max_size=3,
        unique_by=lambda analysis: analysis.name,
    ),
    st.sampled_from([(), ("x",), ("x y", "ü")]),
)
def test_toml_brings_back_equal_analyses(analyses: list[AnalysisPlan], numeric: tuple[str, ...]) -> None:
    plan = plan_of(*analyses, weight="wt", numeric=numeric)
    assert plan_from_toml(plan_to_toml(plan)) == plan


def test_an_attribute_of_an_analysis_stays_or_is_missed_aloud() -> None:
    plan = plan_of(AnalysisPlan("r", "A ~ B", by=("C",)))
    assert edit_plan(plan, keys=["A"], swap=["A"], analyse=["A"]).names == ("A", "B", "C")
    for kept, gone in ((["A", "B"], "C"), (["A", "C"], "B")):
        with pytest.raises(UsageError, match=f"analysis 'r' uses '{gone}', which would no longer be an attribute"):
            edit_plan(plan, attributes=kept)
