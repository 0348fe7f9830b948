"""Entries of a plan are checked when they are made, and say what is wrong."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.plan import (
    AboutPlan,
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    DecisionPlan,
    Plan,
    PublishPlan,
    SpacePlan,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
    edit_plan,
    plan_from_toml,
    plan_to_toml,
)
from engine.plan.differences import PlanDifference, approved_plan, departures, lock
from engine.plan.entries import rate_range
from engine.plan.samples import load


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (AttributePlan, {"name": 5}, "an attribute's name is 5, must be a text that is not empty"),
        (AttributePlan, {"name": "A", "levels": ["a", 1]}, "attribute 'A': levels holds 1, must hold texts"),
        (AttributePlan, {"name": "A", "skip": ["a", "a"]}, "attribute 'A': skip names 'a' more than once"),
        (AttributePlan, {"name": "A", "merge": {"x": "ab"}}, "attribute 'A': merge of 'x' is 'ab', must be a list"),
        (DataPlan, {"attributes": (AttributePlan("A"),), "weight": 5}, "weight is 5, must be the name of one column"),
        (SpacePlan, {"swap_sizes": "a"}, "swap_sizes is 'a', must be a list of whole numbers such as"),
        (SpacePlan, {"all_specs": 1}, "all_specs is 1, must be true or false"),
        (SpacePlan, {"replicates": True}, "replicates is True, must be a whole number"),
        (DecisionPlan, {"risk": "a b"}, "decision risk is 'a b', must be the name of a measure"),
        (TolerancePlan, {"min_n": -1}, "tolerances min_n == -1, must be at least 0."),
        (AboutPlan, {"survey": 3}, "about survey is 3, must be a text"),
        (AboutPlan, {"release_type": "old"}, "about release_type is 'old', must be one of new, series, re-release"),
        (AnalysisPlan, {"name": "x", "formula": 3}, "analysis 'x': formula is 3, must be a text"),
    ],
)
def test_a_field_of_another_type_is_refused(kind: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**fields)
    assert str(caught.value).startswith(message)


def test_lists_become_tuples() -> None:
    assert AttributePlan("A", ["a", "b"]).columns == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("between 1 and 5 percent", "1", "5"),
        ("from 0.5 to 1 %", "0.5", "1"),
        ("1% - 2%", "1", "2"),
        ("one to five per cent", "1", "5"),
        ("Between  0 and 10 percent", "0", "10"),
        ("below 5 percent", "0", "5"),
        ("at most 20 %", "0", "20"),
    ],
)
def test_a_wide_range_is_read(text: str, low: str, high: str) -> None:
    found = rate_range(text)
    assert (found.low, found.high) == (Decimal(low), Decimal(high))
    assert found.holds(found.low / 100) and found.holds(float(high) / 100)
    assert not found.holds(float(high) / 100 + 0.001) and not found.holds(float(low) / 100 - 0.001)


@pytest.mark.parametrize(
    "text",
    [
        "1.9 to 2.1 percent",
        "between 2 and 3 percent",
        "between 1.5 and 5 percent",
        "between 1 and 15 percent",
        "between 5 and 1 percent",
        "0 to 0 percent",
        "below 0 percent",
        "between 1 and 500 percent",
        "between 1 and 5 percent, mostly 2",
        "2 percent",
        "a few percent",
        "between 0.01 and 0.05",
    ],
)
def test_one_that_tells_the_rate_or_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"the range for the public is '{text}', must read like .* as the rate itself"):
        rate_range(text)


_PLAN = load("czech")[1]
_FULL = replace(
    _PLAN,
    data=replace(_PLAN.data, weight="wt"),
    about=AboutPlan("Car workers", "1981", contact="Ada", release_type="series", changes="one more year"),
    threat=ThreatPlan("a colleague who knows four answers", ("staff list",), "dismissal", "yes"),
    tables=(TablePlan("work", _PLAN.names[:2]),),
    tolerances=TolerancePlan("0.05", 30, "2", "1.2"),
    publish=PublishPlan("Car workers 1981", "range", "between 1 and 5 percent", include=("weight",)),
)


def test_it_comes_back_equal() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert plan_from_toml(plan_to_toml(_FULL)) == _FULL
    assert plan_from_toml(plan_to_toml(locked)) == locked


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[about]\nrelease_type = "old"', "release_type is 'old', must be one of new"),
        ("[about]\nsurvey = 3", "must be a text"),
        ('[publish]\nrate_policy = "tell"', "rate_policy is 'tell'"),
        ('[publish]\nrate_policy = "range"', "belong together"),
        ('[publish]\nrate_range = "few"', "belong together"),
        ('[publish]\nrate_policy = "range"\nrate_range = "1.9 to 2.1 %"', "at least twice the lower"),
        ('[publish]\ninclude = ["wt"]', "publish include names 'wt', must be weight, id or unit. They"),
        ('[publish]\ninclude = "weight"', "include names is of type str, must be a list"),
        ('[publish]\ninclude = ["id"]', r"names the id, but the plan declares none; name it as id in \[data\]"),
        ("[tolerances]\nchange = 0", "must be above 0"),
        ("[tolerances]\nmin_n = -1", "must be at least 0"),
        ('[[table]]\nname = "t"\nattributes = ["Q"]', "table 't' names the unknown attribute 'Q'"),
        ('[[table]]\nname = "t"', "has no attributes"),
        ('[[table]]\nname = " "\nattributes = ["A"]', "not empty"),
        ('[[table]]\nname = "t"\nattributes = []', "is empty"),
        ('[lock]\nnumber = "1"', r"\[lock\] has no by"),
        ('[lock]\nnumber = ""\nby = "a"\nat = "b"\ndigest = "c"\napproved = "d"', "lock number is empty"),
        ('[threat]\npublic_files = ["a", "a"]', "more than once"),
        ('[threat]\npublished_tables = "some"', "published_tables is 'some', must be one of yes"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(toml: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan_from_toml(plan_to_toml(_PLAN) + "\n" + toml)


def _sentences(found: dict[str, PlanDifference]) -> list[str]:
    assert all(entry == difference.entry for entry, difference in found.items())
    return [difference.sentence for difference in found.values()]


def test_a_lock_notices_every_change_but_replicates_and_wording() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert not departures(_FULL) and not departures(locked)
    assert approved_plan(_FULL) is None and approved_plan(locked) == replace(
        _FULL, about=AboutPlan(), publish=PublishPlan(include=("weight",))
    )
    assert not departures(replace(locked, space=replace(locked.space, replicates=99)))
    assert not departures(replace(locked, about=AboutPlan("Renamed")))
    fewer = replace(locked, space=replace(locked.space, replicates=5))
    assert _sentences(departures(fewer)) == ["space.replicates: approved was 20, now it is 5"]
    assert list(departures(replace(locked, keys=locked.names[:3]))) == ["keys"]
    assert [*departures(replace(locked, tolerances=TolerancePlan("0.05", 30, "2")))] == ["tolerances.se_ratio"]
    assert departures(replace(locked, space=replace(locked.space, rates=("0.03",))))
    assert departures(replace(locked, tables=()))
    words = replace(locked, publish=PublishPlan("Other", wording="Ask us.", include=("weight",)))
    assert not departures(words)
    assert _sentences(departures(replace(locked, publish=PublishPlan()))) == [
        "publish.include: approved was weight, now it is nothing"
    ]
    with pytest.raises(UsageError, match="locked already"):
        lock(locked, "DRB-8", "Grace")


def test_a_lock_that_was_written_by_hand_is_refused() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert locked.lock is not None
    forged = replace(locked, lock=replace(locked.lock, approved=locked.lock.approved.replace("0.02", "0.03")))
    with pytest.raises(EngineError, match="damaged"):
        departures(forged)


def test_published_tables_are_written_only_where_the_plan_knows_of_them_and_an_approval_fixes_them() -> None:
    """Plans that were locked before there was the entry keep their digest."""
    plain = replace(_FULL, threat=replace(_FULL.threat, published_tables="not known"))
    assert "published_tables" not in plan_to_toml(plain) and 'published_tables = "yes"' in plan_to_toml(_FULL)
    assert plan_from_toml(plan_to_toml(plain)).threat.published_tables == "not known"
    locked = lock(plain, "DRB-7", "Grace")
    assert list(departures(replace(locked, threat=_FULL.threat))) == ["threat.published_tables"]


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
        ("name = 'a'\nformula = 3", "analysis 'a': formula is 3, must be a text"),
        ("name = 'a'\nformla = 'A ~ B'", "has the unknown entry 'formla'. Did you mean 'formula'?"),
        (
            "name = 'a'\nformula = 'A ~ B'\nfamily = 'logit'",
            "analysis 'a': family is 'logit', must be one of linear, logistic, poisson, probit, ordered logit, ordered "
            "probit, multinomial logit, negative binomial, gamma, quantile",
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
            "analysis 'a': tau is 'True', must be a decimal number",
        ),
        ("name = 'a'\nformula = 'A ~ B'\nby = []", "[[analysis]] number 1: by is empty"),
        ("name = 'a'\nformula = 'A ~ B'\nby = ['D']", "analysis 'a': by names the unknown attribute 'D'."),
        ("name = 'a'\nformula = 'A ~ B'\nweighted = 1", "analysis 'a': weighted is 1, must be true or false"),
        ("name = 'a'\nformula = 'A ~ B'\nweighted = true", "analysis 'a' is weighted, but the plan declares no weight"),
        ("name = 'all'\nformula = 'A ~ B'", "analysis 'all' needs another name"),
        ("name = 'a;b'\nformula = 'A ~ B'", "analysis 'a;b' needs another name"),
        (
            "name = 'a'\nformula = 'A ~ B'\n[[analysis]]\nname = 'a'\nformula = 'A ~ C'",
            "the analyses names 'a' more than once",
        ),
    ],
)
def test_a_wrong_entry_is_refused_by_name_of_analysis(entry: str, message: str) -> None:
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
