"""Compare a plan with a new file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.plan.attribute import AttributePlan
from engine.plan.column_assignment import assign_columns
from engine.plan.column_lists import count, listed
from engine.plan.types import Plan
from engine.plan.view import AttributeView, check_levels, view_of


def check_plan(plan: Plan, table: RawTable) -> list[str]:
    """One sentence for each way in which ``table`` does not fit ``plan``; an empty list when it fits.

    Says: columns that are missing or without a use, levels that are new or have vanished, values of a cut column that
    are no numbers, missing values where the plan refuses them, edit rules on levels that are not there.
    """
    return list(_problems(plan, table))


def _problems(plan: Plan, table: RawTable) -> Iterator[str]:
    try:
        assigned = assign_columns(plan.data, table.names)
    except EngineError as error:
        yield str(error)
        return
    claims = dict(plan.data.claims())
    for column in assigned.absent:
        yield f"column '{column}' ({claims[column]}) is not in the data"
    for column in assigned.unassigned:
        yield f"column '{column}' of the data has no use in the plan"
    levels: dict[str, tuple[str, ...]] = {}
    table.keep_in_memory(column for attribute in plan.attributes for column in attribute.columns)
    for attribute in plan.attributes:
        if set(attribute.columns) & set(assigned.absent):
            continue
        try:
            view = view_of(attribute, table, plan.data.missing)
        except EngineError as error:
            yield str(error)
            continue
        levels[attribute.name] = view.levels
        yield from _view_problems(attribute, view)
    for rule in plan.edits:
        for name, forbidden in rule.forbid:
            if name in levels:
                try:
                    check_levels(name, levels[name], forbidden, f"edit rule '{rule.name}'")
                except EngineError as error:
                    yield str(error)


def _view_problems(attribute: AttributePlan, view: AttributeView) -> Iterator[str]:
    if view.outside:
        yield f"attribute '{attribute.name}' has {_levels(view.outside)} not declared in the plan"
    if attribute.levels or attribute.cut:
        counts = np.bincount(view.level_of[view.rows] + 2, minlength=len(view.levels) + 2)
        vanished = tuple(
            level
            for level, kind, count in zip(view.levels, view.kinds, counts[2:], strict=True)
            if kind == "value" and count == 0
        )
        if vanished:
            yield f"attribute '{attribute.name}' has {_levels(vanished)} in the plan but not in the data"
    n_missing = view.n_refused_missing
    if n_missing:
        yield (
            f"attribute '{attribute.name}' has {count(n_missing, 'missing value')}, which the plan refuses "
            '(on_missing = "level" makes them a level)'
        )


def _levels(levels: tuple[str, ...]) -> str:
    return f"{count(len(levels), 'level')} ({listed(levels)})"
