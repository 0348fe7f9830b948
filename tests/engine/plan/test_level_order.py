"""The order of levels: what they say of it is found in any order, and what they do not say changes nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pandas as pd
import pytest

import engine as sf
from engine.data.microdata import ColumnLabels
from engine.plan import AttributePlan, DataPlan, Plan, first_plan, guess_plan, plan_from_toml
from engine.plan.check import with_level
from engine.plan.coding import code
from engine.plan.differences import lock
from engine.plan.guess import natural_order, with_levels_in_order
from engine.plan.propose import plan_init_text
from engine.sweeps.sweep import open_sweep
from tests.engine.plan.test_check import with_labels
from tests.engine.plan.test_guess import table_of

BANDS = ["<5", "5-9", "10-14", "15-19", "100+"]
ORDERED = [
    BANDS,
    ["<25", "25-55", ">55"],
    ["<25", "25-<55", ">=55"],
    ["under 5", "5 to 9", "10 to 14", "65 and over"],
    ["Under 18 years", "18 to 24 years", "25 to 64 years", "65 years and over"],
    ["under 1 year", "1-4 years", "5-14 years", "75 years and over"],
    ["0-4", "5–9", "10—14", "85 or older"],
    ["0", "1", "2-4", "5+"],
    ["1 person", "2 persons", "3 persons", "4+ persons"],
    ["(0, 5]", "(5, 10]", "(10, 100]"],
    ["$0-$999", "$1,000-$4,999", "$5,000-$9,999", "$10,000+"],
    ["less than $10,000", "$10,000 to $14,999", "$200,000 or more"],
    ["up to 10k", "10k-50k", "50k-100k", "over 100k"],
    ["2009-10", "2010-11", "2011-12"],
    ["0.5-1.0", "1.5-2.0", "10.5-11"],
    ["0-9", "10-19", "100-109", "unknown"],
    ["Grade 2", "Grade 10", "Grade 11"],
    ["Q1", "Q2", "Q10"],
    ["Jan", "Feb", "Mar", "Dec"],
    ["January", "May", "September"],
    ["Monday", "Tuesday", "Friday", "Sunday"],
    ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    ["Strongly disagree", "Disagree", "Agree", "Don't know"],
    ["strongly disagree", "disagree", "neither", "agree", "strongly agree"],
    ["very dissatisfied", "dissatisfied", "neither", "satisfied", "very satisfied"],
    ["very unlikely", "unlikely", "neither", "likely", "very likely"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["low", "medium", "high"],
    ["very_poor", "poor", "good", "very_good"],
    ["2", "10", "100"],
]


@pytest.mark.parametrize("levels", ORDERED, ids=lambda levels: levels[0])
def test_levels_stand_in_the_order_that_they_say(levels: list[str]) -> None:
    for seed in range(4):
        mixed = Random(seed).sample(levels, len(levels))
        assert natural_order(mixed) == levels


@pytest.mark.parametrize(
    "levels",
    [
        ["Agriculture", "Mining", "Trade"],
        ["Married", "May", "Single"],
        ["a | 10", "a | 2"],
        ["high street", "low road"],
        ["male", "medium", "small talk"],
    ],
)
def test_other_levels_stand_by_their_text(levels: list[str]) -> None:
    from engine.plan.coding import in_order

    assert natural_order(levels[::-1]) == in_order(levels)


def test_first_plans_and_sweeps_without_a_plan_have_that_order() -> None:
    mixed = ["5-9", "15-19", "<5", "100+", "10-14", "NA"]
    table = table_of(grp=mixed, sex=["f", "m"] * 3)
    first = first_plan(table)
    assert first.attributes[0].levels == tuple(BANDS)
    assert plan_from_toml(plan_init_text(first)).attributes[0].levels == tuple(BANDS)
    assert guess_plan(table, attributes=["grp"], carry=["sex"]).attributes[0].levels == tuple(BANDS)
    assert guess_plan(table).attributes[1] == AttributePlan("sex")
    frame = pd.DataFrame({"grp": mixed, "sex": ["f", "m"] * 3})
    swept = sf.sweep(frame, attributes=["grp", "sex"], rates=["0.5"], replicates=1)
    assert swept.plan.attributes[0].levels == tuple(BANDS)


def test_labels_of_a_file_stand_in_the_order_of_their_codes() -> None:
    labels = ColumnLabels(values=(("1", "often"), ("2", "now and then"), ("10", "never")))
    table = with_labels(table_of(x=["10", "2", "1"], y=["a", "b", "a"]), "x", labels)
    assert first_plan(table).attributes[0].levels == ("often", "now and then", "never")


def test_a_new_study_of_a_plan_without_levels_has_them_in_order_and_an_old_one_stays(tmp_path: Path) -> None:
    table = table_of(grp=["5-9", "10-14", "<5", "100+"] * 3, sex=["f", "m"] * 6)
    plan = Plan(DataPlan((AttributePlan("grp"), AttributePlan("sex"))))
    study = open_sweep(table, plan, None).study
    assert study.plan.attributes == (AttributePlan("grp", levels=("<5", "5-9", "10-14", "100+")), AttributePlan("sex"))
    # the same plan goes on with it, and with a study of an earlier version, whose levels stood by their text
    assert with_levels_in_order(plan, table, study.plan) == study.plan
    assert with_levels_in_order(plan, table, plan) == plan
    assert code(table, plan).domain.attributes[0].levels == ("10-14", "100+", "5-9", "<5")
    locked = lock(plan, "1", "board")
    assert with_levels_in_order(locked, table) == locked


def test_a_level_that_is_accepted_stands_where_it_belongs() -> None:
    plan = Plan(DataPlan((AttributePlan("grp", levels=("<5", "10-14", "100+")), AttributePlan("x", levels=("b", "a")))))
    assert with_level(plan, "grp", "5-9").attributes[0].levels == ("<5", "5-9", "10-14", "100+")
    assert with_level(plan, "x", "c").attributes[1].levels == ("b", "a", "c")
