"""An argument of a wrong kind is refused in one sentence that names it."""

from __future__ import annotations

from typing import Any

import pytest

import engine as sf
from tests.engine.scripting.people import KEY, SPACE, people

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


@pytest.fixture(scope="module")
def swaps():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made


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
