"""A first plan follows from the columns of a file, its levels in the order that they say."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine as sf
from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan import (
    AttributePlan,
    DataPlan,
    Plan,
    check_plan,
    dependencies,
    first_plan,
    guess_plan,
    plan_from_toml,
    plan_init_text,
)
from engine.plan.check import with_level
from engine.plan.coding import code
from engine.plan.differences import lock
from engine.plan.guess import natural_order, reasons, with_levels_in_order
from engine.plan.propose import carried_remark, propose
from engine.plan.propose import plan_init_text as plan_init_text_of_level_order
from engine.sweeps.sweep import open_sweep
from tests.engine.plan.tables import table_of, with_labels

N = 60
SURVEY = table_of(
    Sex=["m", "f"] * 30,
    Kids=[str(i % 4) for i in range(N)],
    Flag=[True, False, True] * 20,
    Age=[str(18 + i % 59) for i in range(N)],
    Wage=[i * 1.5 for i in range(N)],
    Case=[f"c{i}" for i in range(N)],
    Job=["a", "", "b"] * 20,
)
NAMED = ["Sex", "Kids", "Flag", "Job"]


def test_the_first_guess_of_categorical_columns() -> None:
    plan = guess_plan(SURVEY, carry=["Wage"], drop=["Case"], cut={"Age": [25, 55]})
    assert plan.names == ("Sex", "Kids", "Flag", "Age", "Job")
    assert plan.attributes[3] == AttributePlan("Age", cut=(25, 55))
    assert (plan.data.carry, plan.data.drop) == (("Wage",), ("Case",))


def test_named_attributes_leave_the_others_carried() -> None:
    plan = guess_plan(SURVEY, attributes=["Kids", "Sex"], carry=["W*", "A*"], id="Case")
    assert plan.names == ("Kids", "Sex")
    assert plan.data.carry == ("W*", "A*", "Flag", "Job")
    micro = code(SURVEY, plan)
    assert micro.id == "Case"
    assert set(micro.carried) == {"Flag", "Age", "Wage", "Job"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"id": "Case", "drop": ["Wage"]},
            "column 'Age' is numeric with 59 distinct values; give the edges of its levels, for example 40,60, "
            "keep it with its record, or leave it out",
        ),
        (
            {"drop": ["Wage", "Age"]},
            "column 'Case' looks like an id: 60 distinct values; declare it as the id, keep it with its record, "
            "or leave it out",
        ),
        ({"attributes": ["Age"]}, "attribute 'Age' is numeric with 59 distinct values; give the edges of its levels"),
        ({"attributes": ["Sex"], "cut": {"Age": [3]}}, "cut names 'Age', which is not among the attributes"),
        ({"attributes": ["sex"]}, "unknown column 'sex'. Did you mean 'Sex'?"),
        ({"cut": {"Aeg": [3]}}, "unknown column 'Aeg'. Did you mean 'Age'?"),
        ({"weight": "w"}, "unknown column 'w'."),
        ({"carry": ["Wagee"]}, "unknown column 'Wagee'. Did you mean 'Wage'"),
        ({"attributes": ["Sex"], "drop": ["Sex"]}, "column 'Sex' is claimed by attribute 'Sex' and by drop"),
        ({"drop": ["*"]}, "no column of the data looks categorical"),
    ],
)
def test_what_nobody_named_is_refused_with_what_to_do(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError) as caught:
        guess_plan(SURVEY, **flags)
    assert str(caught.value).startswith(message)


def test_the_limits_of_a_category() -> None:
    def guess(values: list[Any]) -> Plan:
        return guess_plan(table_of(A=["a", "b"] * (len(values) // 2), x=values))

    assert "x" in guess([str(i % 30) for i in range(100)]).names
    with pytest.raises(EngineError, match="column 'x' is numeric with 31 distinct values"):
        guess([str(i % 31) for i in range(100)])
    assert "x" in guess([f"t{i % 99}" for i in range(100)]).names, "text with one value twice is no id"
    assert "x" in guess([f"t{i}" for i in range(50)]).names, "few records prove nothing"
    with pytest.raises(EngineError, match="column 'x' looks like an id: 100 distinct values"):
        guess([str(1000 + i) for i in range(100)])
    with pytest.raises(EngineError, match="column 'x' is numeric with 100 distinct values"):
        guess([str(0.5 + i) for i in range(100)])
    with pytest.raises(EngineError, match="column 'x' looks like an id: 1001 distinct values"):
        guess([f"t{i % 1001}" for i in range(2000)])
    with pytest.raises(EngineError, match="column 'x' has no values at all"):
        guess(["", "NA"])


def test_plan_init_never_refuses_and_reads_back() -> None:
    plan = first_plan(SURVEY)
    assert plan.names == ("Sex", "Kids", "Flag", "Job")
    assert plan.attributes[0].levels == ("f", "m")
    assert plan.attributes[3].on_missing == "level"
    assert (plan.data.id, plan.data.carry) == ("Case", ("Age", "Wage"))
    text = plan_init_text(plan)
    assert plan_from_toml(text) == plan
    assert check_plan(plan, SURVEY) == []
    assert max(map(len, text.splitlines())) <= 120
    for word in ("# [roles]", "# max_risk", "on_missing"):
        assert word in text
    comment = " ".join(line.removeprefix("# ") for line in text.splitlines() if line[:1] == "#")
    assert carried_remark(plan) in comment
    assert "The columns 'Age' and 'Wage' are carried, so released as in the file" in comment
    with pytest.raises(EngineError, match="no column of the data looks categorical"):
        first_plan(table_of(x=[str(i % 98) for i in range(99)]))


@pytest.mark.parametrize("sign", ["\x85", "\u2028", "\x0b", "\x1c", "\r"], ids=ascii)
def test_a_level_with_a_sign_that_may_end_a_line_reads_back(sign: str) -> None:
    plan = first_plan(table_of(x=[f"a{sign}b", "c", "c"], sex=["f", "m", "f"]))
    assert plan_from_toml(plan_init_text(plan)) == plan


def test_only_one_id_like_column_is_the_id_and_none_is_released() -> None:
    ids = [f"P{i}" for i in range(60)]
    plan = first_plan(table_of(case=ids, sex=["f", "m"] * 30, ssn=[f"S{i}" for i in range(60)]))
    assert (plan.data.id, plan.data.carry, plan.data.drop) == ("case", (), ("ssn",))


@pytest.mark.parametrize(
    "values",
    [
        [date(1950, 1, 1) + timedelta(days=37 * i) for i in range(N)],
        [timedelta(seconds=i) for i in range(N)],
        [f"{i % 28 + 1:02}.{i // 28 + 1:02}.1985" for i in range(N)],
        [f"2024-03-{i % 28 + 1:02}T{i // 28:02}:30:00+01:00" for i in range(N)],
        [f"{i % 28 + 1:02}{('JAN', 'FEB', 'MAR')[i // 28]}1985" for i in range(N)],
        [f"${i},{i % 10}00.50" for i in range(1, N + 1)],
        [f"{i},{i % 100:02},000" for i in range(1, N + 1)],
    ],
    ids=["dates", "spans", "d.m.y", "ISO times", "SAS dates", "dollars", "lakhs"],
)
def test_dates_times_and_amounts_are_no_id_and_stay_inside(values: list[Any]) -> None:
    table = table_of(when=values, case=[f"c{i}" for i in range(N)], sex=["f", "m"] * 30)
    plan = first_plan(table)
    assert (plan.data.id, plan.data.drop) == ("case", ("when",))
    assert [reason.split("'")[1] for reason in reasons(table, plan)] == ["case", "when"]
    assert plan_from_toml(plan_init_text(plan, (), reasons(table, plan))) == plan
    assert dependencies(table).ids == ("case",)


def test_numbers_of_records_that_end_in_a_letter_are_an_id() -> None:
    assert first_plan(table_of(case=[f"{i}P" for i in range(N)], sex=["f", "m"] * 30)).data.id == "case"


def test_a_column_without_values_is_carried_and_proposed_nothing() -> None:
    table = table_of(gone=[None] * N, sex=["f", "m"] * 30)
    plan = first_plan(replace(table, columns={**table.columns, "gone": _empty("gone")}))
    assert plan.data.carry == ("gone",)


def _empty(name: str) -> RawColumn:
    return RawColumn(name, pa.array([], pa.string()), np.full(N, -1, np.int8))


cells = st.sampled_from(["a", "b", "", "NA", "missing", "1", "2", "x | y"])


@pytest.mark.slow
@given(st.lists(st.tuples(cells, cells, cells), min_size=2, max_size=12))
def test_the_first_plan_codes_the_file_it_was_made_from(rows: list[tuple[str, ...]]) -> None:
    table = table_of(**{name: list(values) for name, values in zip("pqr", zip(*rows, strict=True), strict=True)})
    try:
        plan = plan_from_toml(plan_init_text(first_plan(table)))
    except EngineError as error:
        assert "no column of the data looks categorical" in str(error)
        assert all(value in ("", "NA", "missing") for row in rows for value in row)
        return
    assert check_plan(plan, table) == []
    micro = code(table, plan)
    for attribute, codes in zip(micro.domain.attributes, micro.codes, strict=True):
        raw = [row["pqr".index(attribute.name)] for row in rows]
        for text, level in zip(raw, codes, strict=True):
            assert attribute.levels[level] == (text if attribute.kinds[level] == "value" else "missing")


def labelled(about: ColumnLabels, values: list[Any]) -> RawTable:
    table = table_of(x=values)
    column = table.columns["x"]
    return RawTable({"x": RawColumn("x", column.values, column.codes, about)}, table.n_records, "test")


def test_value_labels_name_the_levels_in_the_order_of_the_codes() -> None:
    about = ColumnLabels("", (("10", "Ten"), ("9", "Nine"), ("8", "Eight")))
    (part,) = first_plan(labelled(about, [10, 9, 9, None] * 20)).attributes
    assert part == AttributePlan(
        "x", levels=("Nine", "Ten"), merge=(("Nine", ("9",)), ("Ten", ("10",))), on_missing="level"
    )


@pytest.mark.parametrize(
    "pairs",
    [(("9", "Nine"),), (("9", "Same"), ("10", "Same")), (("9", "missing"), ("10", "Ten"))],
    ids=["not all labelled", "one label twice", "a word of the plan"],
)
def test_labels_that_cannot_be_levels_leave_the_codes(pairs: tuple[tuple[str, str], ...]) -> None:
    (part,) = first_plan(labelled(ColumnLabels("", pairs), [10, 9] * 40)).attributes
    assert part == AttributePlan("x", levels=("9", "10"))


def test_many_numbers_that_are_all_labelled_are_categories() -> None:
    values = list(range(60)) * 3
    about = ColumnLabels("", tuple((str(i), f"Place {i}") for i in range(60)))
    assert first_plan(labelled(about, values)).attributes[0].levels[:2] == ("Place 0", "Place 1")
    with pytest.raises(EngineError, match="no column of the data looks categorical"):
        first_plan(labelled(ColumnLabels(), values))


def test_text_codes_with_labels_stand_as_the_labels_do() -> None:
    about = ColumnLabels("", (("S", "Against"), ("N", "Neither"), ("A", "For"), ("X", "unused")))
    (part,) = first_plan(labelled(about, ["A", "N", "S"] * 9)).attributes
    assert part.levels == ("Against", "Neither", "For")


def test_categories_that_a_file_ranks_stand_in_its_order(tmp_path: Path) -> None:
    ranked = pd.Categorical(["fine", "bad", "so-so"] * 9, ["bad", "so-so", "fine", "never seen"], ordered=True)
    pd.DataFrame({"q": ranked, "u": pd.Categorical(["b", "a", "b"] * 9, ["b", "a"])}).to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert [part.levels for part in first_plan(table).attributes] == [("bad", "so-so", "fine"), ("a", "b")]
    silent = with_levels_in_order(Plan(DataPlan((AttributePlan("q"), AttributePlan("u")))), table)
    assert [part.levels for part in silent.attributes] == [("bad", "so-so", "fine"), ()]


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
    ["1.02", "1.109", "1.2", "2", "2.013", "2.12", "inf"],
    ["unter 18", "18 bis 29", "30 bis unter 65", "65 und älter"],
    ["moins de 18 ans", "18 à 29 ans", "100 ans et plus"],
    ["menos de 5", "5 a 14", "15 a 64", "más de 64"],
    ["onder 20", "20 tot 65", "65 en ouder"],
    ["Januar", "März", "Oktober"],
    ["janv.", "févr.", "août", "déc."],
    ["ene", "abr", "ago", "dic"],
    ["lunes", "martes", "miércoles", "domingo"],
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
    assert plan_from_toml(plan_init_text_of_level_order(first)).attributes[0].levels == tuple(BANDS)
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


@pytest.mark.parametrize("word", ["inf", "-Infinity", "#DIV/0!", "#VALUE!"])
def test_a_word_for_no_number_makes_no_levels_of_a_measurement(word: str) -> None:
    table = table_of(sex=["f", "m"] * 40, peso=[word, *(f"{1 + i / 64}" for i in range(79))])
    plan = first_plan(table)
    assert [part.name for part in plan.attributes] == ["sex"] and plan.data.carry == ("peso",)
    assert f"code:peso:{word}" in [p.key for p in propose(table)]
