"""Proposals for a plan, and what accepting them makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.make_survey import survey
from engine.common.errors import EngineError, UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawTable
from engine.mechanisms import mechanism
from engine.mechanisms import names as mechanism_names
from engine.mechanisms.targeted import Profiles
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    Link,
    MechanismPlan,
    Plan,
    Proposal,
    SpacePlan,
    TablePlan,
    accept,
    dependencies,
    edit_plan,
    first_plan,
    propose,
)
from engine.plan.coding import code
from engine.plan.dependencies import Dependencies
from engine.plan.edit import take_out
from engine.plan.entries import attributes_named
from engine.plan.guess import first_plan as first_plan_of_accept_all
from engine.plan.propose import accept_all, unused_weight
from engine.sweeps.sweep import ready
from tests.engine.proposals import blocks, first_plan_of, made, table_of
from tests.examples import examples

RNG = np.random.default_rng(5)
WEIGHTS = np.random.default_rng(6).gamma(4, 5, 1000)
SEXES = ["f", "m"] * 500


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


@pytest.mark.parametrize("name", ["PWSSWGT", "poids"])
@pytest.mark.parametrize("codes", [["-1"], ["-99", "-1", "-1"]])
def test_codes_in_place_of_weights_hide_no_weight(name: str, codes: list[str]) -> None:
    rng = np.random.default_rng(7)
    weights = [f"{weight:.3f}" for weight in rng.uniform(10, 900, 400 - len(codes))]
    columns: dict[str, Any] = {"sex": ["f", "m"] * 200, name: [*weights, *codes]}
    table = table_of(**columns)
    plan = first_plan(table)
    (found,) = [p for p in propose(table, plan) if p.kind == "weight"]
    assert found.columns == (name,) and not found.certain
    for value in set(codes):
        assert f"'{value}' ({codes.count(value)} record{'s' * (codes.count(value) > 1)})" in found.sentence
    told = unused_weight(table, plan)
    assert (told == found) == (name == "PWSSWGT")
    assert unused_weight(table, accept(plan, found)) is None
    with pytest.raises(EngineError, match=r"negative in .* or carry the column"):
        ready(table, accept(plan, found))


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


NUMERIC = ("y", "log", "cols")
"""Parameters that name numeric columns, which stay columns whatever becomes of attributes."""
BLOCK = Proposal("block", ("a", "b"), "s.", "e.")


def plan_of(*names: str, **more: Any) -> Plan:
    data = {k: more.pop(k) for k in ("carry", "drop", "id", "weight") if k in more}
    return Plan(DataPlan(tuple(AttributePlan(name) for name in names), **data), **more)


def test_joined_attributes_hand_over_their_roles() -> None:
    plan = plan_of("a", "b", "c", keys=("b",), swap=("a", "b", "c"), analyse=("c",), space=SpacePlan(fix=("b",)))
    after = accept(plan, BLOCK)
    assert after.attributes == (AttributePlan("b", columns=("b", "a")), AttributePlan("c"))
    assert (after.keys, after.swap, after.analyse, after.space.fix) == (("b",), ("b", "c"), ("c",), ("b",))
    assert accept(after, BLOCK) == after


@pytest.mark.parametrize(
    "more",
    [
        {"keys": ("b", "c")},
        {"analyse": ("b",)},
        {"space": SpacePlan(fix=("b",))},
        {"space": SpacePlan(specs=("b:S",))},
        {"tables": (TablePlan("t", ("b", "c")),)},
        {"mechanisms": (MechanismPlan.of("pram", {"vars": "b"}),)},
    ],
)
def test_a_block_keeps_the_name_of_the_attribute_that_the_plan_names(more: dict[str, Any]) -> None:
    assert accept(plan_of("a", "b", "c", **more), BLOCK).names == ("b", "c")
    assert accept(plan_of("a", "b", "c"), BLOCK).names == ("a", "c"), "the finest, where nothing was chosen"


def test_a_block_keeps_the_attribute_that_was_cut() -> None:
    plan = Plan(DataPlan((AttributePlan("a"), AttributePlan("b", cut=(10,)), AttributePlan("c"))))
    assert accept(plan, BLOCK).attributes[0] == AttributePlan("b", columns=("b", "a"), cut=(10,))


def test_a_block_takes_carried_columns_and_leaves_dropped_ones() -> None:
    assert accept(plan_of("b", carry=("a",)), BLOCK).data == DataPlan((AttributePlan("b", columns=("b", "a")),))
    assert accept(plan_of("b", carry=("a*",)), BLOCK).attributes[0].columns == ("b", "a")
    for drop in (("a",), ("a*",)):
        plan = plan_of("b", drop=drop)
        assert accept(plan, BLOCK) == plan
    plan = plan_of("c", carry=("a", "b"))
    assert accept(plan, BLOCK) == plan, "columns that stay with their record stay together"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"edits": (EditRule("r", (("b", ("1",)),)),)}, "edit rule 'r' uses 'b', which would become part of 'a'"),
        ({"analyses": (AnalysisPlan("m", "c ~ b"),)}, "analysis 'm' uses 'b'"),
        ({"tables": (TablePlan("t", ("b", "c")),)}, "table 't' uses 'b'"),
        ({"space": SpacePlan(specs=("b:S",))}, "the spec 'b:S' uses 'b'"),
        *(
            (
                {"mechanisms": (MechanismPlan.of(name, {entry: text}),)},
                f"{use} uses 'b', which would become part of 'a'",
            )
            for name, entry, text, use in (
                ("trs", "similar", "c|b+c", "the exchange of households"),
                ("survey_swap", "swap", "b", "mechanism 'survey_swap'"),
                ("survey_swap", "boundary", "c+b", "mechanism 'survey_swap'"),
                ("survey_swap", "linked", "b", "mechanism 'survey_swap'"),
                ("survey_swap", "stratum", "b", "mechanism 'survey_swap'"),
                ("random_swap", "near", "c:1+b:2", "mechanism 'random_swap'"),
                ("pram", "vars", "b", "mechanism 'pram'"),
                ("cgs", "strata", "b", "mechanism 'cgs'"),
                ("smike", "within", "b", "mechanism 'smike'"),
                ("of_a_script", "vars", "b", "mechanism 'of_a_script'"),
            )
        ),
    ],
)
def test_what_names_a_joined_attribute_must_be_changed_first(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        accept(plan_of("a", "b", "c", keys=("a",), **more), BLOCK)


def test_words_of_a_mechanism_that_name_no_attribute_keep_nothing_back() -> None:
    plan = plan_of("a", "class", "c", mechanisms=(MechanismPlan.of("survey_swap", {"size": "class", "swap": "c"}),))
    joined = accept(plan, Proposal("block", ("a", "class"), "s.", "e."))
    assert joined.names == ("a", "c")


def test_every_parameter_that_names_attributes_is_known_to_the_plan() -> None:
    for name in mechanism_names():
        for parameter in mechanism(name).parameters:
            holds_names = parameter.kind == "names" or isinstance(parameter, Profiles)
            named = attributes_named(MechanismPlan.of(name, {parameter.name: "b"}))
            assert named == (("b",) if holds_names and parameter.name not in NUMERIC else ()), (name, parameter.name)


def test_ids_weights_and_constants_leave_the_attributes() -> None:
    plan = plan_of("a", "i", "j", "w", "v", "k")
    plan = accept(plan, Proposal("id", ("i", "j"), "s.", "e."))
    plan = accept(plan, Proposal("weight", ("w", "v"), "s.", "e."))
    plan = accept(plan, Proposal("constant", ("k",), "s.", "e."))
    assert plan.data == DataPlan((AttributePlan("a"),), id="i", weight="w", carry=("v", "k"), drop=("j",))
    assert plan.keys == ("a",)
    kept = plan_of("a", "i", id="j", weight="v")
    assert accept(kept, Proposal("id", ("i", "j"), "s.", "e.")).data.id == "j", "an id that was chosen stays"


def test_missing_codes_leave_the_levels() -> None:
    part = AttributePlan("a", merge=(("No", ("0",)), ("Gone", ("9",))), levels=("No", "Gone"))
    plan = Plan(DataPlan((part, AttributePlan("b", skip=("9",)))))
    after = accept(plan, Proposal("missing", ("a", "b"), "s.", "e.", codes=(("a", ("9",)), ("b", ("9",)))))
    assert after.attributes[0] == AttributePlan(
        "a", merge=(("No", ("0",)),), levels=("No",), missing=("9",), on_missing="level"
    )
    assert after.attributes[1] == plan.attributes[1]


@pytest.mark.slow
@examples(8)
@given(st.data())
def test_accepting_in_any_order_leaves_a_plan_that_codes_the_file(data: st.DataObject) -> None:
    table, _, found = made(500)
    plan = first_plan_of(500)
    names = data.draw(st.lists(st.sampled_from(plan.names), min_size=2, max_size=6, unique=True))
    plan = edit_plan(plan, attributes=names)
    while waiting := propose(table, plan, found):
        plan = accept(plan, data.draw(st.sampled_from(waiting)))
    code(table, plan)
    for proposal in propose(table, None, found):
        if proposal.kind in ("block", "skip"):
            free = set(proposal.columns) - {plan.data.id, plan.data.weight}
            holds = [a for a in plan.attributes if free & set(a.columns)]
            assert not holds or free <= set(holds[0].columns)


def test_whole_attributes_are_not_compared_to_take_some_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of columns that took seconds: their number was squared."""

    def compared(one: object, other: object) -> bool:
        raise AssertionError("attributes have names")

    plan = Plan(data=DataPlan(tuple(AttributePlan(name) for name in "abc")))
    monkeypatch.setattr(AttributePlan, "__eq__", compared)
    assert take_out(plan, carry=["a"], drop=["c"]).names == ("b",)


@pytest.fixture(scope="module")
def raw() -> RawTable:
    """The records of a survey."""
    return survey(1500)[0]


@pytest.fixture(scope="module")
def known(raw: RawTable) -> Dependencies:
    """What its columns say about each other."""
    return dependencies(raw)


@pytest.mark.slow
def test_nothing_is_left_after_one_pass(raw: RawTable, known: Dependencies) -> None:
    plan = first_plan_of_accept_all(raw)
    before = [proposal.key for proposal in propose(raw, plan, known) if proposal.certain]
    done = accept_all(raw, plan, known, lambda proposal: proposal.certain)
    assert not done.refused and {*before} <= {proposal.key for proposal in done.accepted}
    assert not [proposal for proposal in propose(raw, done.plan, known) if proposal.certain]


@pytest.mark.slow
def test_what_is_not_wanted_stays_open(raw: RawTable, known: Dependencies) -> None:
    done = accept_all(raw, first_plan_of_accept_all(raw), known, lambda proposal: proposal.kind == "unit")
    assert [proposal.kind for proposal in done.accepted] == ["unit"]
    assert "block" in {proposal.kind for proposal in propose(raw, done.plan, known)}


@pytest.mark.slow
def test_what_cannot_be_carried_out_is_told_and_the_others_are_done(raw: RawTable, known: Dependencies) -> None:
    plan = first_plan_of_accept_all(raw)
    blocks = [proposal for proposal in propose(raw, plan, known) if proposal.kind == "block"]
    (other,) = [p for p in blocks if "agegrp" in p.columns]
    # One name can be the block's; the table would lose the other.
    named = replace(plan, tables=(TablePlan("t", ("agegrp", "age5")),))
    done = accept_all(raw, named, known, lambda proposal: proposal.kind == "block")
    assert [proposal.key for proposal, _ in done.refused] == [other.key]
    assert "'t'" in str(done.refused[0][1]) and len(done.accepted) == len(blocks) - 1
