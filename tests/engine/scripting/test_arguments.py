"""Every argument of the face is checked in one place, and a wrong one is refused in a sentence that names it."""

from __future__ import annotations

import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import engine as sf
from tests.engine.scripting.people import KEY, SPACE, people

NOTHING: Any = None
BYTES: Any = b"a.study"


def public_calls():
    yield from (sf.sweep, sf.open_study, sf.load, sf.risk_utility)
    for kind in (sf.Sweep, sf.Candidate):
        yield from (f for name, f in vars(kind).items() if inspect.isfunction(f) and not name.startswith("_"))


@pytest.mark.parametrize("call", [*public_calls()], ids=lambda call: call.__qualname__)
def test_every_argument_of_a_public_call_has_its_check(call):
    if inspect.signature(call).parameters.keys() - {"self"}:
        with pytest.raises(sf.UsageError, match=f"{call.__name__} has no argument 'nonsense'"):
            call(nonsense=1)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("choose", {"max_risk": "0.1"}, "max_risk is '0.1', must be a number such as 0.01"),
        ("choose", {"max_risk": float("nan")}, "max_risk is nan, must be a number"),
        ("choose", {"max_risk": Decimal("nan")}, r"max_risk is Decimal\('NaN'\), must be a number"),
        ("choose", {"slope": [1]}, r"slope is \[1\], must be a number"),
        ("choose", {"max_risk": 10**400}, r"max_risk is 10+\.\.\., must be a number"),
        ("choose", {"why": 5}, "why is 5, must be a text"),
        ("choose", {"why": "a\ud800"}, "why is 'a.ud800', which holds a half of a character"),
        (
            "recheck",
            {"data": people(), "candidates": ["\ud800"]},
            "a text of candidates is '.ud800', which holds a half",
        ),
        ("save", {"path": "\ud800"}, "path is '.ud800', which is no path of a file"),
        ("choose", {"max_risk": 1, "why": "so", "by": 5}, "by is 5, must be a text"),
        ("plot", {"max_risk": "a"}, "max_risk is 'a', must be a number"),
        ("plot", {"drawn": 5}, "drawn is 5, must be a text"),
        ("plot", {"color": "rate"}, "plot has no argument 'color'. Did you mean 'colour'"),
        ("frontier", {"risks": "small_cells"}, "frontier has no argument 'risks'. Did you mean 'risk'"),
        ("frontier", {"nonsense": 1}, "Known: risk, utility, objectives, allow_partial"),
        ("to_frame", {"runs": 1}, "runs is 1, must be True or False"),
        ("save", {"path": 5}, "path is of type int, must be a path"),
        ("save", {}, "save: missing a required argument: 'path'"),
        ("recheck", {"data": None}, "data is of type NoneType, must be a pandas DataFrame, the path"),
        ("recheck", {"data": people(), "candidates": 5}, "candidates is 5, must be a list"),
        ("recheck", {"data": people(), "replicates": "3"}, "replicates is '3', must be a whole number"),
        ("resume", {"data": people(), "workers": -1}, "workers == -1, must be at least 1"),
        (
            "add_measures",
            {"data": people(), "measures": [], "workers": 10**9},
            "workers == 1000000000, must be at most",
        ),
        ("save", {"path": ""}, "path is '', which is no path of a file"),
        ("save", {"path": "a\0.study"}, "path is 'a.x00.study', which is no path of a file"),
        ("save", {"path": 300 * "a"}, r"path is 'a+\.\.\., which is no path of a file"),
        ("resume", {"data": people()["age"]}, "data is of type Series, must be a pandas DataFrame"),
        ("extend", {"data": people(), "nonsense": 1}, "extend has no argument 'nonsense'"),
        ("add_measures", {"data": people(), "measures": None}, "measures is None, must be a list"),
    ],
)
def test_a_method_names_its_wrong_argument(swaps, name, arguments, sentence):
    with pytest.raises(sf.UsageError, match=sentence):
        getattr(swaps, name)(**arguments)


def test_a_function_names_its_wrong_argument(swaps, tmp_path):
    frame: Any = people()
    with pytest.raises(sf.UsageError, match="released is of type NoneType, must be a pandas DataFrame"):
        sf.risk_utility(frame, NOTHING)
    with pytest.raises(sf.UsageError, match="name_or_path is of type DataFrame, must be a path"):
        sf.load(frame)
    with pytest.raises(sf.UsageError, match="path is of type bytes, must be a path"):
        sf.open_study(BYTES)
    with pytest.raises(sf.UsageError, match="include is 'id', must be a list"):
        swaps[0].release(people(), include="id")
    with pytest.raises(sf.UsageError, match=r"plan 'nowhere.toml' does not exist.*attributes=\['a', 'b'\]"):
        sf.sweep(people(), plan=tmp_path / "nowhere.toml")


@pytest.mark.parametrize("name", ["study", "key", "plan"])
def test_a_path_that_no_file_has_is_refused(name):
    wrong: dict[str, Any] = {name: "a\0"}
    with pytest.raises(sf.UsageError, match=f"{name} is .*, which is no path of a file"):
        sf.sweep(people(), **wrong)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"cut": {5: [1]}}, "the columns of cut holds 5, must hold texts"),
        ({"mechanisms": {"rds": {5: 1}}}, "the parameters of 'rds' holds 5, must hold texts"),
        ({"attributes": []}, "attributes is empty; name at least one"),
    ],
)
def test_names_are_texts_and_a_list_of_attributes_is_not_empty(wrong, sentence):
    with pytest.raises(sf.UsageError, match=sentence):
        sf.sweep(people(), **wrong)


@pytest.mark.parametrize(
    "mechanisms",
    [
        {"\ud800": {}},
        {"pram": {"matrix": "\ud800"}},
        {"pram": {"matrix": "a\0"}},
        {"pram": {"vars": ["\ud800"]}},
        {"cgs": {"pairs": "\ud800"}},
        {"random_swap": {"near": "\ud800"}},
    ],
)
def test_half_a_character_is_refused_in_words_that_can_be_printed(mechanisms):
    with pytest.raises(sf.UsageError) as refused:
        sf.sweep(people(), ["age", "sex", "race"], mechanisms=mechanisms)
    assert str(refused.value).encode()


def test_none_stands_for_an_argument_that_is_left_out(swaps):
    other = sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**SPACE, "keys": None, "budget": None, "cut": None})
    assert other.plan == swaps.plan
    assert swaps.frontier(risk=None).equals(swaps.frontier())


def test_numbers_of_other_libraries_are_numbers(swaps):
    numbers = {"replicates": np.int64(12), "rates": np.array([0.05, 0.2], np.float32), "workers": np.int8(1)}
    other = sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**SPACE, **numbers})
    assert other.plan == swaps.plan
    bound = swaps.original["small_cells"]
    assert swaps.choose(max_risk=np.float64(bound)).id == swaps.choose(max_risk=Decimal(float(bound))).id


def test_lists_may_be_made_as_they_are_read_and_sets_have_no_order(swaps):
    listed = {name: (item for item in SPACE[name]) for name in ("swap_sizes", "rates", "measures")}
    attributes = (name for name in ("age", "sex", "race"))
    assert sf.sweep(people(), attributes, key=KEY, **{**SPACE, **listed}).plan == swaps.plan
    keys = dict.fromkeys(("age", "sex", "race")).keys()
    assert sf.sweep(people(), keys, key=KEY, **SPACE).plan == swaps.plan
    with pytest.raises(sf.UsageError, match="attributes is of type set, must be a list"):
        sf.sweep(people(), {"age", "sex"})


def test_a_grid_of_a_mechanism_may_be_an_array():
    space = {"rds": {"s": np.array([20, 30])}}
    keys = ["age", "sex"]
    swaps = sf.sweep(people(), ["age", "sex", "race"], keys=keys, key=KEY, mechanisms=space, replicates=10)
    assert sorted(candidate.parameters["s"] for candidate in swaps) == ["20", "30"]


@pytest.mark.parametrize(("idle", "needed"), [({"budget": 5}, "search"), ({"screen": 2}, "adaptive or search")])
def test_an_argument_without_effect_is_refused(idle, needed):
    with pytest.raises(sf.UsageError, match=f"{next(iter(idle))} has no effect without {needed}"):
        sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**SPACE, **idle})


def test_a_weight_of_texts_is_refused():
    with pytest.raises(sf.UsageError, match=r"weight names column 'race', which holds no numbers"):
        sf.sweep(people(), ["age", "sex"], weight="race")


def test_negative_zero_is_zero():
    df = pd.DataFrame({"gain": [0.0, -0.0, 1.0, 1.0, 2.0] * 9, "sex": ["m", "f", "f"] * 15})
    swaps = sf.sweep(df, ["gain", "sex"], swap_sizes=[1], rates=[0.1], replicates=10)
    assert swaps.study.about["levels"] == [3, 2]


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (people().iloc[:0], "has no records"),
        (people()[[]], "has no columns"),
        (people().iloc[:1], "one record"),
        (
            people()[["age", "sex"]].set_axis(["age", "age"], axis=1),
            "columns 1 and 2 of 2 are both called 'age'.*'age_2'",
        ),
        (people()[["age"]].set_axis(pd.MultiIndex.from_tuples([("a", "b")]), axis=1), "is called \\('a', 'b'\\)"),
    ],
)
def test_a_frame_that_is_no_table_of_records_is_refused(frame, sentence):
    with pytest.raises(sf.EngineError, match=sentence):
        sf.sweep(frame, [str(name) for name in frame.columns] or None)
    with pytest.raises(sf.EngineError, match=sentence):
        sf.risk_utility(frame, frame)


@pytest.mark.parametrize("blank", ["", " ", "\ud800", "\u202e"])
def test_a_column_without_a_name_that_can_be_seen_gets_one_by_the_way_out(blank):
    df = people()
    df.columns = pd.Index([blank if name == "race" else name for name in df.columns], dtype=object)
    with pytest.raises(sf.UsageError, match="can be seen") as refused:
        sf.sweep(df, ["age", "sex"])
    given = {"df": df}
    exec(str(refused.value).partition("; ")[2], given)
    with sf.sweep(given["df"], ["age", "sex"], swap_sizes=[1], rates=[0.1], replicates=1) as made:
        assert len(made)


@pytest.mark.parametrize(
    "call",
    [
        lambda swaps, text: swaps[text],
        lambda swaps, text: swaps.choose(text),
        lambda swaps, text: swaps.frontier(risk=text),
        lambda swaps, text: swaps.add_measures(people(), [text]),
        lambda swaps, text: sf.sweep(people(), ["age", "sex"], mechanisms=[text]),
    ],
)
def test_a_text_of_many_signs_or_lines_is_quoted_on_one_short_line(swaps, call):
    for text in ("x" * 20_000, "a\nb\x1b[31m"):
        with pytest.raises(sf.UsageError) as refused:
            call(swaps, text)
        assert len(str(refused.value)) < 500 and str(refused.value).isprintable()


def test_an_object_within_a_list_is_called_one(swaps):
    with pytest.raises(sf.UsageError, match="measures holds an object of type ndarray, must hold texts"):
        swaps.add_measures(people(), [np.array([1])])
    with pytest.raises(sf.UsageError, match=r"unit is 5, must be a list of texts such as \['a'\]"):
        sf.sweep(people(), unit=5)  # type: ignore[arg-type]


def test_paths_are_texts_or_paths(swaps, tmp_path):
    swaps.save(str(tmp_path / "a.study"))
    with sf.open_study(Path(tmp_path / "a.study")) as again:
        assert len(again) == len(swaps)


@pytest.mark.parametrize("key", [b"", b"k", b"k" * 15, b"k" * 17])
def test_a_key_of_another_length_is_refused(key):
    with pytest.raises(sf.UsageError, match=f"has {len(key)} bytes, must have 16"):
        sf.open_study("a.study", key)


def test_an_empty_path_is_none():
    with pytest.raises(sf.UsageError, match="no path of a file"):
        sf.load("")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"attributes": [1]}, "attributes holds 1, must hold texts"),
    ({"attributes": [["age"]]}, "attributes holds \\['age'\\], must hold texts"),
    ({"keys": [None]}, "keys holds None, must hold texts"),
    ({"specs": [1]}, "specs holds 1, must hold texts"),
    ({"weight": 5}, "weight is 5, must be a text"),
    ({"id": ["age"]}, "id is \\['age'\\], must be a text"),
    ({"search": {"budget": 5}}, "search is {'budget': 5}, must be True or False"),
    ({"all_specs": 1}, "all_specs is 1, must be True or False"),
    ({"cut": [1]}, "cut is \\[1\\], must be columns with their edges"),
    ({"cut": {"age": 5}}, "cut of 'age' is 5, must be a list"),
    ({"mechanisms": {"pram": 0.9}}, "mechanisms has 0.9 for 'pram', must be names with parameters"),
    ({"mechanisms": {1: {}}}, "mechanisms has {} for 1, must be names with parameters"),
    ({"plan": 5}, "plan is of type int, must be a Plan"),
    ({"key": 16}, "key is of type int, must be 16 bytes or the path of the file that holds them"),
    ({"workers": "2"}, "workers is '2', must be a whole number"),
    ({"workers": 1.5}, "workers is 1.5, must be a whole number"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG, ids=str)
def test_an_argument_of_a_wrong_kind_is_named(wrong, sentence):
    with pytest.raises(sf.UsageError, match=sentence):
        sf.sweep(people().drop(columns="income"), **{"key": KEY, **wrong})


def test_a_view_of_a_wrong_kind_is_named(swaps):
    with pytest.raises(sf.UsageError, match="utility is 5, must be a text"):
        swaps.frontier(utility=5)
    with pytest.raises(sf.UsageError, match="objectives is 'small_cells', must be a list"):
        swaps.to_frame(objectives="small_cells")


def test_one_name_in_the_place_of_a_list_is_no_list_of_its_letters(swaps):
    with pytest.raises(sf.UsageError, match="measures is 'entropy_change', must be a list"):
        swaps.add_measures(people(), "entropy_change")
    with pytest.raises(sf.UsageError, match="candidates is 'x7f3', must be a list"):
        swaps.recheck(people(), "x7f3")


def test_a_candidate_is_named_by_its_id(swaps):
    with pytest.raises(sf.UsageError, match=r"candidate is 0\.01, must be a text"):
        swaps.choose(0.01)
