"""Columns are found by name, label or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.columns import ColumnFound, Obstacle, SearchableColumn, find_columns, searchable
from engine.plan.samples import load


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
