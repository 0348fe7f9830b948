"""Roles, new attributes and merged levels: what a hand changes in a plan, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from datasets.make_survey import survey
from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, TablePlan, dependencies, first_plan
from engine.plan.coding import code, key_table
from engine.plan.edit import (
    add_attribute,
    could_be,
    led_by,
    merge_levels,
    set_roles,
    set_use,
    split_levels,
    viewed_by,
)
from engine.plan.propose import accept_all

LABELS = {"work": ColumnLabels(values=(("1", "paid"), ("2", "unpaid"), ("3", "none")))}


def table(**columns: list[object]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.to_numpy(), LABELS.get(name, ColumnLabels()))
    return RawTable(raw, len(next(iter(columns.values()))), "test")


RAW = table(
    sex=["m", "f"] * 30,
    region=["n", "e", "s", "w", "n", "n"] * 10,
    work=[1, 2, 3] * 20,
    income=[1000.5 + 7 * i for i in range(60)],
)
PLAN = first_plan(RAW)


def test_roles_leave_the_rest_carried_and_take_it_back() -> None:
    assert PLAN.names == ("sex", "region", "work") and could_be(RAW, PLAN) == ()
    few = set_roles(RAW, PLAN, keys=["sex"], swap=["region"], analyse=["sex", "region"])
    assert few.names == ("sex", "region") and "work" in few.data.carry
    assert (few.keys, few.swap, few.analyse) == (("sex",), ("region",), ("sex", "region"))
    assert could_be(RAW, few) == ("work",)
    again = set_roles(RAW, few, keys=["sex", "work"], swap=["region"], analyse=["sex"])
    assert again.keys == ("sex", "work") and "work" not in again.data.carry
    assert again.attributes[-1].levels == ("paid", "unpaid", "none")
    assert code(RAW, again).domain.names == ("sex", "region", "work")


BLOCKS = table(
    births=[0, 1, 2, 3, -1, -1] * 10,
    sex=["f", "f", "f", "f", "m", "m"] * 10,
    work=[1, 2, 3] * 20,
    years=list(range(60)),
)
JOINED = Plan(
    DataPlan((AttributePlan("births", columns=("births", "sex", "years"), levels=("-1", "0", "1", "2", "3")),)),
    decision=DecisionPlan(risk="attribution[by=births]"),
    measures=("attribution[by=births]", "hellinger"),
)


def test_a_column_of_a_block_that_is_chosen_gives_it_name_and_levels() -> None:
    plan = Plan(replace(JOINED.data, carry=("work",)), measures=JOINED.measures, decision=JOINED.decision)
    assert could_be(BLOCKS, plan) == ("sex", "work")
    made = set_roles(BLOCKS, plan, keys=["sex", "work"], swap=["sex"], analyse=["work"])
    assert made.attributes[0] == AttributePlan("sex", ("births", "sex", "years"), ("sex",), levels=("f", "m"))
    assert made.names == ("sex", "work") and could_be(BLOCKS, made) == ("births",)
    assert made.measures[0] == made.decision.risk == "attribution[by=sex]"
    assert code(BLOCKS, made).domain.attributes[0].levels == ("f", "m")
    assert led_by(BLOCKS, made, ["sex", "work"]) == made


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (["births", "sex"], {}, "'births' and 'sex' move together as one block"),
        (["years"], {}, "column 'years' has too many values"),
        (["sex"], {"tables": (TablePlan("t", ("births",)),)}, "table 't' uses 'births', which would become part of"),
        (["sex"], {"edits": (EditRule("r", (("births", ("-1",)),)),)}, "edit rule 'r' uses 'births'"),
    ],
)
def test_a_block_that_cannot_be_led_by_a_column_says_why(names: list[str], more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        led_by(BLOCKS, replace(JOINED, **more), names)


@pytest.mark.slow
def test_each_column_that_is_chosen_of_a_wide_file_keeps_its_name_and_levels() -> None:
    raw, _ = survey(1500)
    first = first_plan(raw)
    joined = accept_all(raw, first, dependencies(raw), lambda proposal: proposal.certain).plan
    offered = [name for name in could_be(raw, joined) if any(name in a.columns for a in joined.attributes)]
    assert {"female", "agegrp", "educ4", "employed"} < set(offered)
    own = {part.name: part.levels for part in first.attributes}
    for name in offered:
        made = set_roles(raw, joined, keys=[name], swap=[name], analyse=[name])
        assert made.names == (name,) and made.attributes[0].levels == own[name]
        assert len(made.attributes[0].columns) > 1


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"keys": []}, "no attribute is chosen for keys"),
        ({"keys": ["income"]}, "too many values"),
        ({"keys": ["six"]}, "'six' is no attribute"),
        ({"analyse": ["sex"]}, "table 'two' uses 'region'"),
    ],
)
def test_roles_that_cannot_be(roles: dict[str, list[str]], said: str) -> None:
    plan = Plan(PLAN.data, tables=(TablePlan("two", ("sex", "region")),))
    with pytest.raises(UsageError, match=said):
        set_roles(RAW, plan, **{"keys": ["sex"], "swap": ["sex"], "analyse": ["sex", "region"], **roles})


def test_roles_do_not_silently_take_an_edit_rule_along() -> None:
    plan = Plan(PLAN.data, edits=(EditRule("odd", (("work", ("none",)),)),))
    with pytest.raises(UsageError, match="edit rule 'odd'"):
        set_roles(RAW, plan, keys=["sex"], swap=["sex"], analyse=["sex"])


def test_a_carried_number_becomes_an_attribute_by_its_cut() -> None:
    plan = add_attribute(PLAN, AttributePlan("income", cut=(1100, 1300)))
    assert plan.names[-1] == "income" and "income" not in plan.data.carry
    assert "income" in plan.keys and "income" in plan.swap and "income" in plan.analyse
    with pytest.raises(UsageError, match="belongs to the attribute 'income'"):
        add_attribute(plan, AttributePlan("again", ("income",)))
    with pytest.raises(UsageError, match="the plan's weight; give that role up first"):
        add_attribute(Plan(DataPlan(PLAN.attributes, weight="income")), AttributePlan("income", cut=(1,)))


def test_merging_makes_fewer_levels_and_keeps_every_record() -> None:
    part = PLAN.attributes[1]
    merged = merge_levels(part, RAW, ["e", "w"], "other")
    assert merged.levels == ("other", "n", "s")
    plan = Plan(DataPlan((PLAN.attributes[0], merged)))
    before, after = key_table(RAW, Plan(DataPlan(PLAN.attributes[:2]))), key_table(RAW, plan)
    assert (before.cells, after.cells) == (5, 4)
    assert dict(after.levels["region"]) == {"other": 20, "n": 30, "s": 10}
    twice = merge_levels(merged, RAW, ["s", "n"], "other")
    assert twice.levels == ("other",) and set(dict(twice.merge)["other"]) == {"e", "s", "w", "n"}
    assert split_levels(twice, RAW) == part


def test_merging_labelled_values_keeps_their_codes() -> None:
    part = PLAN.attributes[2]
    merged = merge_levels(part, RAW, ["unpaid", "none"], "not paid")
    assert dict(merged.merge) == {"paid": ("1",), "not paid": ("2", "3")} and merged.levels == ("paid", "not paid")
    assert split_levels(merged, RAW) == part


@pytest.mark.parametrize(
    ("levels", "into", "said"),
    [
        (["e"], "x", "at least two"),
        (["e", "e"], "x", "at least two"),
        (["e", "s"], "  ", "needs a name"),
        (["e", "q"], "x", "no level 'q'"),
    ],
)
def test_merges_that_cannot_be(levels: list[str], into: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        merge_levels(PLAN.attributes[1], RAW, levels, into)


def test_a_cut_is_not_merged() -> None:
    with pytest.raises(UsageError, match="change its edges"):
        merge_levels(AttributePlan("income", cut=(1100,)), RAW, ["<1100", ">=1100"], "all")
    with pytest.raises(UsageError, match="several columns"):
        merge_levels(AttributePlan("two", ("sex", "region"), ("sex", "region")), RAW, ["a", "b"], "all")


def test_a_block_is_viewed_by_another_of_its_columns() -> None:
    part = AttributePlan("where", ("region", "work", "income"), levels=("n", "e", "s", "w"))
    seen = viewed_by(part, RAW, "work")
    assert (seen.name, seen.columns, seen.view) == ("where", part.columns, ("work",))
    assert seen.levels == ("paid", "unpaid", "none") and viewed_by(seen, RAW, "work") is seen
    assert viewed_by(part, RAW, "income").levels == ()
    with pytest.raises(UsageError, match="not in the block"):
        viewed_by(part, RAW, "sex")


def test_a_column_gets_another_use() -> None:
    plan = set_use(PLAN, "income", "weight")
    assert plan.data.weight == "income" and "income" not in plan.data.carry
    moved = set_use(plan, "region", "weight")
    assert moved.data.weight == "region" and "income" in moved.data.carry and moved.names == ("sex", "work")
    named = set_use(set_use(plan, "work", "id"), "region", "id")
    assert (named.data.id, named.data.drop, named.names) == ("region", ("work",), ("sex",))
    dropped = set_use(plan, "income", "drop")
    assert dropped.data.weight is None and dropped.data.drop == ("income",)
    block = AttributePlan("where", ("region", "work"), view=("region",))
    joined = Plan(DataPlan((PLAN.attributes[0], block), carry=("income",)))
    assert set_use(joined, "work", "drop").attributes[1].columns == ("region",)
    with pytest.raises(UsageError, match="'region' makes the levels of 'where'"):
        set_use(joined, "region", "drop")
    code(RAW, moved), code(RAW, named), code(RAW, dropped)
