"""Columns are found by name, label or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.columns import (
    MOST_NUMERIC_LEVELS,
    ColumnFound,
    Facts,
    Obstacle,
    Partition,
    SearchableColumn,
    _are_years,
    facts,
    find_columns,
    histogram,
    likeliest_first,
    searchable,
)
from engine.plan.samples import load
from tests.engine.proposals import table_of


@cache
def _survey() -> tuple[RawTable, Plan, Mapping[str, SearchableColumn]]:
    """The survey, its plan and its columns: read where a test asks, not where tests are collected."""
    raw, plan = load("survey")
    return raw, plan, searchable(raw)


def _found(typed: str) -> dict[str, ColumnFound]:
    _, plan, columns = _survey()
    return {column.name: column for column in find_columns(columns, plan, typed)}


@pytest.mark.slow
def test_every_column_is_found_by_its_name_and_offered_or_told_why_not() -> None:
    for name in _survey()[0].names:
        column = _found(name)[name]
        assert (column.attribute is None) == (column.obstacle is not None)
        assert next(iter(_found(name))) == name, "the column of exactly this name comes first"


def test_columns_are_found_by_label_and_by_value() -> None:
    assert "psu" in _found("primary SAMPLING")
    married = _found("widowed")
    assert "marital" in married and any("idowed" in value for value in married["marital"].values)
    assert not _found("no such words") and not _found("  ")


def test_a_column_of_a_block_is_offered_by_its_own_name_where_it_can_lead_it() -> None:
    offered = {name: (_found(name)[name].attribute, _found(name)[name].block) for name in ("psu", "agegrp", "age5")}
    assert offered["psu"] == ("region", "region"), "too many values"
    assert (offered["agegrp"], offered["age5"]) == (("agegrp", "agegrp"), ("age5", "agegrp"))


def test_what_is_not_offered_has_its_obstacle() -> None:
    expected = {
        "wt_final": Obstacle.WEIGHT,
        "caseid": Obstacle.ID,
        "wt_rep01": Obstacle.DROPPED,
        "wt_base": Obstacle.TOO_MANY_VALUES,
    }
    assert {name: _found(name)[name].obstacle for name in expected} == expected
    _, plan, columns = _survey()
    without = replace(plan, data=replace(plan.data, carry=()))
    undecided = {column.obstacle for column in find_columns(columns, without, "wt_base")}
    assert undecided == {Obstacle.UNDECIDED}


def test_values_of_what_names_records_are_not_searched() -> None:
    assert _survey()[2]["caseid"].values == ()


@pytest.mark.parametrize(
    ("values", "are"),
    [([1850, 2100], True), ([1849, 2000], False), ([2000, 2101], False), ([1980.5, 1990], False), ([], False)],
)
def test_whole_numbers_of_this_age_are_years(values: list[float], are: bool) -> None:
    assert _are_years(np.array(values, float)) is are


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ({"x": [3, 5, 8], "y": [2, 9, 4], "one": [0.9, 1.1, 9]}, ["one", "x", "y"]),
        ({"x": [3, 5, 8], "one": [0.9, 1.1, 9], "double": [6, 10, 16]}, ["x", "double", "one"]),
        ({"x": [3, 5, 8], "one": [0.9, 1.1, 9], "nearly": [6, 10, 16.1]}, ["one", "x", "nearly"]),
        ({"far": [0.5, 1, 2], "x": [3, 5, 8]}, ["far", "x"]),
    ],
)
def test_the_likeliest_weights_are_rescaled_ones_and_then_those_of_mean_one(
    columns: dict[str, list[float]], order: list[str]
) -> None:
    kinds = [
        SimpleNamespace(name=name, position=place, raw=SimpleNamespace(numbers=np.array(values), codes=np.arange(3)))
        for place, (name, values) in enumerate(columns.items())
    ]
    for kind in kinds:
        kind.codes = kind.raw.codes
    assert [kind.name for kind in likeliest_first(cast("list[Partition]", kinds))] == order


@pytest.mark.parametrize(
    ("n_distinct", "numeric", "looks_like_id", "labelled", "can"),
    [
        (0, False, False, False, False),
        (1, False, False, False, True),
        (9, False, True, False, False),
        (MOST_NUMERIC_LEVELS, True, False, False, True),
        (MOST_NUMERIC_LEVELS + 1, True, False, False, False),
        (MOST_NUMERIC_LEVELS + 1, True, False, True, True),
        (MOST_NUMERIC_LEVELS + 1, False, False, False, True),
    ],
)
def test_a_column_can_be_an_attribute_by_its_values(
    n_distinct: int, numeric: bool, looks_like_id: bool, labelled: bool, can: bool
) -> None:
    assert Facts(n_distinct, 0, numeric, looks_like_id, labelled).categorical is can


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        (["10", "9", "9", "."] * 3, [6, 3]),
        (["b", "a", "a", None] * 3, [6, 3]),
        ([str(i) for i in range(48) for _ in range(2)], [4] * 24),
        ([f"v{i}" for i in range(30) for _ in range(1 + i)], list(range(30, 6, -1))),
        ([f"c{i}" for i in range(60)], []),
        ([None] * 9, []),
    ],
)
def test_a_histogram_counts_records_in_the_order_of_the_values(values: list[str | None], bars: list[int]) -> None:
    column = table_of(x=values).columns["x"]
    assert histogram(column, facts(column, len(values))) == bars
