"""Proposals: what hangs together is found exactly, and what only seems to is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.data.microdata import ColumnLabels
from engine.plan import AttributePlan, DataPlan, Link, Plan, Proposal, accept, dependencies, first_plan, propose
from engine.plan.coding import code
from tests.engine.proposals import blocks, table_of

RNG = np.random.default_rng(5)
WEIGHTS = np.random.default_rng(6).gamma(4, 5, 1000)
SEXES = ["f", "m"] * 500


# What must not be proposed


@pytest.mark.slow
def test_noise_gives_no_proposal() -> None:
    columns = {}
    for i in range(40):
        levels = (2, 3, 5, 10, 50, 200, 1000)[i % 7]
        columns[f"c{i}"] = RNG.choice(levels, 3000, p=RNG.dirichlet(np.full(levels, (0.05, 1)[i % 2]))).tolist()
    assert blocks(propose(table_of(**columns)), ("block", "skip")) == []


@pytest.mark.parametrize("n", [40, 300])
def test_small_files_give_no_accidents(n: int) -> None:
    columns = {f"c{i}": RNG.choice((2, 3, 5, 20)[i % 4], n).tolist() for i in range(30)}
    assert blocks(propose(table_of(**columns)), ("block", "skip")) == []


def test_ids_and_exact_weights_decide_nothing() -> None:
    n = 2000
    region, sex = RNG.integers(0, 4, n), RNG.integers(0, 2, n)
    weight = np.array([1.25, 2.5, 3.75, 0.5, 1.75, 4.5, 0.25, 2.25])[region * 2 + sex]
    household = np.repeat(np.arange(n // 2), 2)
    table = table_of(
        hhid=household.tolist(),
        serial=(np.arange(n) + 5).tolist(),
        wt=weight.tolist(),
        region=region[household * 2].tolist(),
        sex=sex.tolist(),
    )
    found = dependencies(table)
    assert found.units == ("hhid",) and found.ids == ("serial",)
    assert found.weights == ("wt",)
    assert found.recodes == found.same == ()


def test_a_body_weight_is_no_survey_weight() -> None:
    kg = RNG.integers(40, 140, 500).tolist()
    table = table_of({"weight": ColumnLabels("Body weight (kg)")}, weight=kg, weight_lbs=kg, wt=kg)
    assert dependencies(table).weights == ("wt",)


@pytest.mark.parametrize(
    "name",
    ["WTFINAL", "PWGTP", "WTS", "W_FINAL", "WTINT2YR", "ASECWTH", "REPW12", "pspwght", "dweight", "wt", "pw_weights"],
)
def test_weights_are_known_by_the_names_that_agencies_give_them(name: str) -> None:
    assert dependencies(table_of(**{name: WEIGHTS.tolist(), "sex": SEXES})).weights == (name,)


@pytest.mark.parametrize("name", ["growth", "work", "week", "wave", "W1", "w_finance", "wtkg3", "factor"])
def test_other_names_make_no_weight(name: str) -> None:
    assert dependencies(table_of(**{name: WEIGHTS.tolist(), "sex": SEXES})).weights == ()


@pytest.mark.slow
def test_weights_are_known_by_their_values_too() -> None:
    table = table_of(
        v1=RNG.lognormal(3, 1, 1000).tolist(),
        v7=WEIGHTS.tolist(),
        v8=(WEIGHTS * 2.5).tolist(),
        v9=np.ceil(WEIGHTS).tolist(),
        sex=SEXES,
    )
    assert dependencies(table).possible_weights == ("v7", "v8", "v1", "v9"), "multiples of each other come first"
    plan = first_plan(table)
    proposals = propose(table, plan)
    assert [(p.kind, p.columns, p.certain) for p in proposals][:2] == [
        ("weight", ("v7",), False),
        ("weight", ("v8",), False),
    ]
    assert "positive in every record and has 1,000 values in 1,000 records" in proposals[0].sentence
    accepted = accept(plan, proposals[0])
    assert accepted.data.weight == "v7" and "v8" in accepted.data.carry
    assert propose(table, accepted) == []
    dropped = replace(plan, data=replace(plan.data, carry=("v7",), drop=("v1", "v8", "v9")))
    assert [p.columns for p in propose(table, dropped)] == [("v7",)]


@pytest.mark.parametrize(
    "values",
    [
        (WEIGHTS * 10).round(-1),
        WEIGHTS - WEIGHTS.min(),
        np.where(WEIGHTS > 20, np.nan, WEIGHTS),
        np.round(WEIGHTS % 40) + 1,
        np.arange(1000) + 7,
    ],
    ids=["heaped", "one is zero", "missing ones", "few values", "an id"],
)
def test_other_numbers_are_no_possible_weights(values: np.ndarray) -> None:
    listed = [None if np.isnan(value) else float(value) for value in values]
    assert dependencies(table_of(x=listed, sex=SEXES)).possible_weights == ()


def test_a_measurement_with_classes_or_a_flag_is_no_possible_weight() -> None:
    classes = np.searchsorted(np.quantile(WEIGHTS, [0.3, 0.7]), WEIGHTS)
    table = table_of(pay=WEIGHTS.tolist(), band=classes.tolist(), rent=(WEIGHTS + 1).tolist(), rent_flag=SEXES)
    assert dependencies(table).possible_weights == ()


def test_a_rare_value_is_no_evidence() -> None:
    a = RNG.integers(0, 20, 1000)
    rare = (a == 3) & (np.cumsum(a == 3) <= 5)
    b = np.where(rare, 1, 0)
    a[(a == 3) & ~rare] = 4
    assert dependencies(table_of(a=a.tolist(), b=b.tolist())).recodes == ()


# What must be


def test_recodes_flags_and_doubles_make_blocks() -> None:
    age = RNG.integers(0, 90, 3000)
    table = table_of(
        age=age.tolist(),
        group=(age // 30).tolist(),
        label=[f"a{x}" for x in age],
        imp_age=RNG.integers(0, 2, 3000).tolist(),
        other=RNG.integers(0, 5, 3000).tolist(),
    )
    (block,) = propose(table)
    assert block.columns == ("age", "label", "group", "imp_age")
    assert set(block.links) == {
        Link("label", "age", "same"),
        Link("group", "age", "recode"),
        Link("imp_age", "age", "flag"),
    }
    assert "'age' decides 'group'" in block.sentence


def test_a_measurement_is_cut_by_its_groups_only_in_intervals() -> None:
    pay = RNG.permutation(np.arange(10_000, 40_000, 10)) + 0.5
    table = table_of(pay=pay.tolist(), band=(pay // 10_000).tolist(), parity=(pay // 10 % 2).tolist())
    assert dependencies(table).recodes == (("pay", "band"),), "every pay is there once, so it decides all: no evidence"


def test_empty_values_show_a_skip() -> None:
    asked = RNG.integers(0, 3, 1000)
    hours = [int(h) if a == 1 else None for h, a in zip(RNG.integers(1, 60, 1000), asked, strict=True)]
    table = table_of(asked=asked.tolist(), hours=hours, text=["" if h is None else f"t{h % 5}" for h in hours])
    (skip,) = [p for p in propose(table) if p.kind == "skip"]
    assert skip.columns == ("asked", "hours", "text")
    assert {(link.column, link.code) for link in skip.links} == {("hours", None), ("text", "")}
    assert set(skip.links[0].values) == {"0", "2"}
    plan = accept(Plan(DataPlan((AttributePlan("text"), AttributePlan("asked")), carry=("hours",))), skip)
    assert plan.names == ("asked",)
    text = accept(Plan(DataPlan((AttributePlan("text"),), carry=("hours", "asked"))), skip)
    assert text.attributes == (AttributePlan("text", columns=("text", "asked", "hours"), on_missing="level"),)
    code(table, text)


def test_columns_that_share_a_skip_no_column_decides() -> None:
    closed = RNG.random(500) < 0.3
    values = {name: np.where(closed, -1, RNG.integers(1, 4, 500)).tolist() for name in ("a", "b")}
    about = ColumnLabels("", (("-1", "Valid skip"),))
    (skip,) = propose(table_of({"a": about, "b": about}, **values))
    assert (skip.kind, skip.columns) == ("skip", ("a", "b"))
    assert propose(table_of(**values)) == [], "without a word of it, a shared code may mean anything"


def test_unlabelled_negative_codes_that_many_columns_share_are_missing() -> None:
    columns = {c: np.where(RNG.random(400) < 0.1, -9, RNG.integers(0, 5, 400)).tolist() for c in "abc"}
    (missing,) = propose(table_of(**columns))
    assert missing.codes == (("a", ("-9",)), ("b", ("-9",)), ("c", ("-9",)))
    plan = accept(first_plan(table_of(**columns)), missing)
    assert plan.attributes[0] == AttributePlan(
        "a", levels=("0", "1", "2", "3", "4"), missing=("-9",), on_missing="level"
    )


def test_a_proposal_without_columns_is_refused() -> None:
    with pytest.raises(EngineError, match="names no column"):
        Proposal("id", (), "", "")


def test_infinite_numbers_bring_no_warning() -> None:
    """A damaged file may hold them."""
    numbers = [float(i) for i in range(120)]
    ends = [-np.inf, -np.inf, *numbers[:116], np.inf, np.inf]
    table = table_of(a=ends, b=[-x for x in ends], c=[-np.inf, 1.0, 2.0] * 40, d=["x", "y", "z"] * 40)
    assert not [p for p in propose(table, None, dependencies(table)) if p.kind == "missing"]


def test_distinct_numbers_with_an_infinite_one_bring_no_warning() -> None:
    table = table_of(a=[float(i) for i in range(99)] + [np.inf], b=["x", "y"] * 50)
    assert first_plan(table).names == ("b",)
