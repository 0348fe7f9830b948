"""Columns are found by name, label or value, with what keeps one from being given a role."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.column_search import ColumnFound, Obstacle, find_columns, searchable
from engine.plan.samples import load

RAW, PLAN = load("survey")
COLUMNS = searchable(RAW)


def _found(typed: str) -> dict[str, ColumnFound]:
    return {column.name: column for column in find_columns(COLUMNS, PLAN, typed)}


def test_every_column_is_found_by_its_name_and_offered_or_told_why_not() -> None:
    for name in RAW.names:
        column = _found(name)[name]
        assert (column.attribute is None) == (column.obstacle is not None)
        assert next(iter(_found(name))) == name, "the column of exactly this name comes first"


def test_columns_are_found_by_label_and_by_value() -> None:
    assert "psu" in _found("primary SAMPLING")
    married = _found("widowed")
    assert "marital" in married and any("idowed" in value for value in married["marital"].values)
    assert not _found("no such words") and not _found("  ")


def test_a_column_of_a_block_is_offered_by_the_name_of_its_attribute() -> None:
    assert _found("psu")["psu"].attribute == "region"


def test_what_is_not_offered_has_its_obstacle() -> None:
    expected = {
        "wt_final": Obstacle.WEIGHT,
        "caseid": Obstacle.ID,
        "wt_rep01": Obstacle.DROPPED,
        "wt_base": Obstacle.TOO_MANY_VALUES,
    }
    assert {name: _found(name)[name].obstacle for name in expected} == expected
    without = replace(PLAN, data=replace(PLAN.data, carry=()))
    undecided = {column.obstacle for column in find_columns(COLUMNS, without, "wt_base")}
    assert undecided == {Obstacle.UNDECIDED}


def test_values_of_what_names_records_are_not_searched() -> None:
    assert COLUMNS["caseid"].values == ()
