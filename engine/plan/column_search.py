"""Find columns of a file by name, label or value, and say what keeps one from being given a role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from engine.common.raw_values import texts
from engine.data.microdata import RawColumn, RawTable
from engine.plan.column_assignment import assign_columns
from engine.plan.guess import MOST_TEXT_LEVELS, Facts, facts
from engine.plan.types import Plan

_MOST_VALUES = 3  # values named of a column that is found by some of its values


class Obstacle(Enum):
    """An obstacle that keeps a column from being given a role as it stands."""

    WEIGHT = "it is the weight"
    ID = "it is the id"
    UNIT = "it numbers households"
    DROPPED = "it is dropped, so it never leaves"
    UNDECIDED = "the plan gives it no use yet"
    EMPTY = "it has no values"
    NAMES_RECORDS = "its values tell records apart, as ids do"
    TOO_MANY_VALUES = "it is a number with many values, which has to be cut into levels first"


@dataclass(frozen=True)
class ColumnFound:
    """A column that fits what was searched for.

    ``values`` are those of its values, or their labels, that fit, a few at most.  ``attribute`` is the name by which it
    can be given a role: its own, or its block's where it makes the levels of that or could not; None where there is an
    ``obstacle``.  ``block`` is the attribute that it is a part of.
    """

    name: str
    label: str
    values: tuple[str, ...]
    attribute: str | None
    obstacle: Obstacle | None
    block: str | None = None


@dataclass(frozen=True)
class SearchableColumn:
    """The parts of a column that are searched: its label, and its values with their labels; no values of what looks
    like an id, which name records, and none of a number with many."""

    label: str
    values: tuple[str, ...]
    facts: Facts


def searchable(raw: RawTable) -> dict[str, SearchableColumn]:
    """The searchable parts of every column, in file order; linear in all distinct values."""
    return {name: _searchable(column, raw.n_records) for name, column in raw.columns.items()}


def _searchable(column: RawColumn, n_records: int) -> SearchableColumn:
    seen = facts(column, n_records)
    label_of = column.about.label_of
    values = [text for text in texts(column.values) if text not in label_of] if _is_searched(seen) else []
    labels = [f"{value} = {label}" for value, label in column.about.values]
    return SearchableColumn(column.about.label, (*labels, *values), seen)


def _is_searched(seen: Facts) -> bool:
    return seen.categorical and seen.n_distinct <= MOST_TEXT_LEVELS


def find_columns(columns: Mapping[str, SearchableColumn], plan: Plan, typed: str) -> list[ColumnFound]:
    """The columns whose name, label or values hold ``typed``, in any case: by name first, by value last, each in file
    order; none where nothing is typed."""
    wanted = typed.strip().casefold()
    if not wanted:
        return []
    part_of = {column: part for part in plan.attributes for column in part.columns}
    assigned = assign_columns(plan.data, tuple(columns))
    carried, dropped = frozenset(assigned.carried), frozenset(assigned.dropped)
    ranked: list[tuple[int, ColumnFound]] = []
    for name, column in columns.items():
        values = tuple(value for value in column.values if wanted in value.casefold())
        ranks = (name.casefold() == wanted, wanted in name.casefold(), wanted in column.label.casefold(), bool(values))
        if True not in ranks:
            continue
        part = part_of.get(name)
        obstacle = _obstacle(name, column.facts, plan, carried, dropped) if part is None else None
        leads = part is None or (name not in part.view and column.facts.categorical)
        offered = None if obstacle is not None else name if leads or part is None else part.name
        block = part.name if part is not None else None
        found = ColumnFound(name, column.label, values[:_MOST_VALUES], offered, obstacle, block)
        ranked.append((ranks.index(True), found))
    return [found for _, found in sorted(ranked, key=lambda ranked_column: ranked_column[0])]


def _obstacle(name: str, seen: Facts, plan: Plan, carried: frozenset[str], dropped: frozenset[str]) -> Obstacle | None:
    """The obstacle that keeps a column that no attribute has from being given a role."""
    if name == plan.data.weight:
        return Obstacle.WEIGHT
    if name == plan.data.id:
        return Obstacle.ID
    if name in plan.data.unit_columns:
        return Obstacle.UNIT
    if name in dropped:
        return Obstacle.DROPPED
    if name not in carried:
        return Obstacle.UNDECIDED
    if not seen.n_distinct:
        return Obstacle.EMPTY
    if seen.looks_like_id:
        return Obstacle.NAMES_RECORDS
    return None if seen.categorical else Obstacle.TOO_MANY_VALUES
