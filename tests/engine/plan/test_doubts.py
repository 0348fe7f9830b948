"""Values in doubt: possible answers, codes, and texts that look alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import engine as sf
from engine.common.errors import EngineError, UsageError
from engine.data.io.stream import open_stream
from engine.data.microdata import ColumnLabels, RawTable
from engine.models.record_release import missing_values
from engine.plan import AttributePlan, DataPlan, Plan, accept, first_plan, guess_plan, propose
from engine.plan.check import mismatches, settle
from engine.plan.coding import code, tabulate
from engine.plan.doubts import look_alikes, possible_answers, possible_codes, texts_among_numbers
from engine.plan.entries import labelled
from engine.sweeps.sweep import ready
from tests.engine.plan.tables import table_of

SEX = ["f", "m"] * 3
SAME_KIND = [
    ("NA", ["ZW", "BW", "ZA", "NA", "ZW", "NA"]),
    ("NA", ["EU", "NA", "APAC", "EU", "NA", "EU"]),
    ("null", ["eins", "null", "zwei", "eins", "zwei", "null"]),
    ("NaN", ["Dad", "Mum", "NaN", "Dad", "NaN", "Mum"]),
    (".", ["+", "-", ".", "+", "-", "."]),
    ("N/A", ["A/B", "N/A", "B/C", "A/B", "N/A", "A/B"]),
]


def levels_of(table: RawTable, plan: Plan, name: str = "x") -> tuple[str, ...]:
    domain = code(table, plan).domain
    return tuple(domain.attributes[domain.index(name)].levels)


@pytest.mark.parametrize(("value", "values"), SAME_KIND)
def test_a_possible_answer_is_a_level_until_somebody_decides(value: str, values: list[str]) -> None:
    table = table_of(x=values, sex=SEX)
    for plan in (first_plan(table), guess_plan(table)):
        assert levels_of(table, plan) == tuple(sorted(set(values)))
        assert not mismatches(plan, table)
    (proposal,) = [found for found in propose(table, first_plan(table)) if found.key == f"code:x:{value}"]
    assert f"'{value}' (2 records)" in proposal.sentence and not proposal.certain
    decided = accept(first_plan(table), proposal)
    assert levels_of(table, decided) == (*sorted(set(values) - {value}), "missing")
    assert not mismatches(decided, table)


@pytest.mark.parametrize(
    ("values", "code"),
    [(["Namibia", "Zambia", "NA"], "NA"), (["SPD", "CDU", "N/A"], "N/A"), (["Yes", "No", "null"], "null")],
)
def test_texts_that_mean_missing_by_default_are_listed_with_their_records(values: list[str], code: str) -> None:
    table = table_of(x=values * 2, sex=SEX)
    (listed,) = [found for found in propose(table, first_plan(table)) if found.key == f"code:x:{code}"]
    assert "2 records" in listed.sentence and not listed.certain
    assert not mismatches(first_plan(table), table)
    numbers = table_of(x=["1", "2", "NA"] * 2, sex=SEX)
    assert not [found for found in propose(numbers, first_plan(numbers)) if found.kind == "code"]


AMOUNTS = [
    "€ {}",
    "{} €",
    "$1,{}.50",
    "{} %",
    "{}%",
    "69,42,{}",
    "{},5E+02",
    "{} kg",
    "EUR {}",
    "({})",
    "{}-",
    "Rs. {}",
]


@pytest.mark.parametrize("written", AMOUNTS)
def test_a_column_of_amounts_that_are_read_as_texts_is_asked_about(written: str) -> None:
    table = table_of(x=[written.format(100 + i) for i in range(60)] * 2, sex=["f", "m"] * 60)
    (asked,) = [found for found in propose(table) if found.kind == "number"]
    assert asked.columns == ("x",) and not asked.certain


@pytest.mark.parametrize("written", ["{}", "H{}", "{}A{}", "{}-{}", "0{}.01.2020", "street {}", "{}:30", "10.0.0.{}"])
def test_codes_bands_and_dates_are_no_amounts(written: str) -> None:
    table = table_of(x=[written.format(100 + i, 101 + i) for i in range(60)] * 2, sex=["f", "m"] * 60)
    assert not [found for found in propose(table) if found.kind == "number"]


@pytest.mark.parametrize(("value", "values"), SAME_KIND)
def test_a_plan_that_takes_one_as_missing_in_silence_is_not_swept(value: str, values: list[str]) -> None:
    table = table_of(x=values, sex=SEX)
    silent = Plan(DataPlan((AttributePlan("x", on_missing="level"), AttributePlan("sex"))))
    with pytest.raises(EngineError, match=r"attribute 'x' takes '.*' as missing, in 2 records"):
        ready(table, silent)
    (found,) = mismatches(silent, table)
    assert found.key == f"code:x:{value}"
    kept = settle(silent, table, [found], "level")
    assert levels_of(table, kept) == (*sorted(set(values)), "missing")
    missing = settle(silent, table, [found], "missing")
    assert levels_of(table, missing) == (*sorted(set(values) - {value}), "missing")
    for plan in (kept, missing):
        assert not mismatches(plan, table)
        ready(table, plan)
    # a study that was begun so goes on, and what the plan itself lists is decided
    ready(table, silent, ready(table, kept).question.calls)
    assert not mismatches(Plan(DataPlan(silent.attributes, missing=("", value))), table)


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "NA", "3", "NA", "1"],
        ["Married", "Single", "NA", "Single", "Married", "NA"],
        ["m", "f", "NA", "m", "f", "NA"],
        ["yes", "no", ".", "yes", "no", "."],
    ],
)
def test_codes_of_another_kind_mean_missing(values: list[str]) -> None:
    table = table_of(x=values, sex=SEX)
    assert possible_answers(table.columns["x"]) == ()
    assert levels_of(table, first_plan(table))[-1] == "missing"


def test_a_label_of_the_file_says_whether_a_code_is_an_answer() -> None:
    values = ["NA", "Z1", "B2", "NA", "Z1", "B2"]
    namibia = ColumnLabels(values=(("NA", "Namibia"), ("Z1", "Zimbabwe"), ("B2", "Botswana")))
    missing = ColumnLabels(values=(("NA", "No answer"), ("Z1", "Zimbabwe"), ("B2", "Botswana")))
    from tests.engine.plan.tables import with_labels

    table = with_labels(table_of(x=values, sex=SEX), "x", namibia)
    assert set(levels_of(table, first_plan(table))) == {"Botswana", "Namibia", "Zimbabwe"}
    assert possible_answers(with_labels(table, "x", missing).columns["x"]) == ()


def test_an_answer_is_no_missing_code_of_the_release() -> None:
    table = table_of(x=SAME_KIND[0][1], sex=SEX)
    plan = first_plan(table)
    assert "NA" not in missing_values(plan, "x", ColumnLabels()).missing
    assert "NA" in missing_values(plan, "sex", ColumnLabels()).missing


def test_streamed_records_and_data_frames_say_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": SAME_KIND[0][1], "sex": SEX})
    frame.to_csv(tmp_path / "a.csv", index=False)
    silent = Plan(DataPlan((AttributePlan("x", on_missing="level"), AttributePlan("sex"))))
    (found,) = mismatches(silent, tabulate(open_stream(tmp_path / "a.csv"), silent))
    assert found.key == "code:x:NA"
    for column in (frame["x"], frame["x"].astype("category")):
        swept = sf.sweep(frame.assign(x=column), attributes=["x", "sex"], rates=["0.5"], replicates=1)
        assert "NA" in swept.plan.attributes[0].levels


@pytest.mark.parametrize(
    "word",
    [
        *("None", "n/a", "-", "not_asked_code", "Refused", "Don't know", "NULL", ".a", ".Z", " ", "Prefer not to say"),
        *("k. A.", "keine Angabe", "weiß nicht", "NS/NC", "No contesta", "ne sait pas", "Não sabe", "non so", "refus"),
    ],
)
def test_words_that_may_mean_missing_are_listed(word: str) -> None:
    table = table_of(x=["some", word, "all", "some", word, "all"], sex=SEX)
    assert possible_codes(table.columns["x"]) == (word,)
    assert word in levels_of(table, first_plan(table))


def test_look_alikes_are_listed_and_put_together_when_accepted() -> None:
    table = table_of(x=["1", "01", " 1", "1.0", "1", "2"], y=["NULL", "None", "a", "A ", "A", "A"])
    assert look_alikes(table.columns["x"]) == (("1", "01", " 1", "1.0"),)
    assert look_alikes(table.columns["y"]) == (("NULL", "None"), ("A", "a", "A "))
    plan = first_plan(table)
    alike = [found for found in propose(table, plan) if found.kind == "alike"]
    assert [found.key for found in alike] == ["alike:x", "alike:y"]
    assert "'01' (1 record)" in alike[0].sentence
    for found in alike:
        plan = accept(plan, found)
    assert levels_of(table, plan) == ("1", "2")
    assert levels_of(table, plan, "y") == ("A", "NULL")
    assert not [found for found in propose(table, plan) if found.kind == "alike"]
    assert look_alikes(table_of(z=["01", "02", "10", "1a"]).columns["z"]) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("é", "e\u0301"), ("x", "x\u200b"), ("1", "\uff11"), ("a-b", "a\u2013b"), ("1.0", "1,0"), ("-1", "\u22121")],
    ids=ascii,
)
def test_values_that_only_their_signs_tell_apart_look_alike(one: str, other: str) -> None:
    assert look_alikes(table_of(x=[one, other, one, "q"]).columns["x"]) == ((one, other),)


def test_thousands_do_not_look_like_units() -> None:
    assert look_alikes(table_of(x=["1", "1,000", "2"]).columns["x"]) == ()


NUMBERS = [str(100 + 7 * i) for i in range(60)]


@pytest.mark.parametrize("words", [["see note"], ["circa", "below", "12 or so"], ["k. A."]])
@pytest.mark.parametrize("written", [NUMBERS, [f"{text[:2]},{text[2]}5" for text in NUMBERS]])
def test_texts_beside_many_numbers_are_asked_about_and_make_no_levels(words: list[str], written: list[str]) -> None:
    table = table_of(x=[*written, *written, *words, words[0]], sex=["f", "m"] * 60 + ["f"] * (len(words) + 1))
    plan = first_plan(table)
    assert plan.names == ("sex",) and plan.data.carry == ("x",)
    with pytest.raises(UsageError, match="numeric with"):
        guess_plan(table, attributes=["x", "sex"])
    (asked,) = [found for found in propose(table, plan) if found.kind == "number"]
    assert f"'{words[0]}' (2 records)" in asked.sentence and not asked.certain
    decided = accept(plan, asked)
    assert decided.data.columns[0].missing == tuple(words)
    assert not [found for found in propose(table, decided) if found.kind == "number"]
    read = labelled(table, decided.data.columns).columns["x"]
    assert np.isnan(read.numbers).sum() == len(words)


@pytest.mark.parametrize("fix", ["missing", "level"])
def test_a_plan_that_makes_a_level_of_a_text_beside_numbers_is_not_swept(fix: str) -> None:
    table = table_of(x=[*NUMBERS, "see note", "see note"], sex=["f", "m"] * 31)
    plan = Plan(DataPlan((AttributePlan("x"), AttributePlan("sex"))))
    (found,) = mismatches(plan, table)
    assert found.key == "code:x:see note" and "2 records" in found.sentence
    with pytest.raises(EngineError, match="beside numbers"):
        ready(table, plan)
    settled = settle(plan, table, [found], fix)
    assert not mismatches(settled, table)
    assert ("see note" in levels_of(table, settled)) == (fix == "level")


@pytest.mark.parametrize(
    "values", [[f"A{i}" for i in range(60)], [*NUMBERS[:20], "x"], [*NUMBERS, *(f"A{i}" for i in range(20))]]
)
def test_categories_and_codes_are_not_taken_for_numbers_with_words(values: list[str]) -> None:
    assert texts_among_numbers(table_of(x=values).columns["x"]) == ()


def test_an_id_with_a_word_among_its_numbers_is_still_one() -> None:
    table = table_of(no=[*map(str, range(1, 100)), "lost"], sex=["f", "m"] * 50)
    assert first_plan(table).data.id == "no"
