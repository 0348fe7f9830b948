"""The plan that the arguments of :func:`engine.sweep` describe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.data.frames import category_order
from engine.data.microdata import RawTable
from engine.plan import DEFAULT_MISSING, AttributePlan, MechanismPlan, Plan, edit_plan, guess_plan, plan_from_toml
from engine.plan.attribute import MISSING_LEVEL
from engine.plan.column_assignment import sort_columns
from engine.plan.guess import facts
from engine.plan.toml import read_plan
from engine.scripting.data import Data

if TYPE_CHECKING:
    import pandas as pd

PlanSource = Plan | str | Path
"""A plan, the path of a plan.toml, or its text."""
Mechanisms = Mapping[str, Any] | Sequence[str | tuple[str, Mapping[str, Any]]]
"""Mechanisms by name with their parameters, or names alone; a list of (name, parameters) may name one twice."""
_LISTS = ("keys", "swap", "analyse", "carry", "drop", "swap_sizes", "specs", "fix", "change", "rates", "measures")
_TEXT_LISTS = (
    "attributes",
    "keys",
    "swap",
    "analyse",
    "carry",
    "drop",
    "specs",
    "fix",
    "change",
    "measures",
    "objectives",
)
_TEXTS = ("weight", "id", "rule", "risk", "utility")
_SWITCHES = ("all_specs", "search", "adaptive")
_FIRST_PLAN = ("cut", "carry", "drop", "weight", "id")


class SweepOptions(TypedDict, total=False):
    """What :func:`engine.sweep` takes besides its named parameters: entries of the plan."""

    keys: Sequence[str]
    swap: Sequence[str]
    analyse: Sequence[str]
    cut: Mapping[str, Sequence[float]]
    carry: Sequence[str]
    drop: Sequence[str]
    weight: str
    id: str
    swap_sizes: Sequence[int]
    all_specs: bool
    specs: Sequence[str]
    search: bool
    budget: int
    adaptive: bool
    screen: int
    fix: Sequence[str]
    change: Sequence[str]
    rule: str
    rates: Sequence[float | str]
    replicates: int
    measures: Sequence[str]
    mechanisms: Mechanisms
    risk: str
    utility: str
    max_risk: float | str
    slope: float | str


def check_options(options: Mapping[str, object], named: Sequence[str]) -> None:
    """Refuse (:class:`UsageError`) an argument that there is not, with the nearest ones, and one value for a list."""
    known = [*SweepOptions.__annotations__, *named]
    for name, value in options.items():
        if name not in SweepOptions.__annotations__:
            raise UsageError(f"there is no argument '{name}'.{did_you_mean(name, known)}")
        check_kind(name, value)


def check_list(name: str, value: object) -> None:
    """Refuse (:class:`UsageError`) one value in the place of a list; a text is no list of its letters."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"{name} is {value!r}, must be a list such as [{value!r}]")


def check_kind(name: str, value: object) -> None:
    """Refuse (:class:`UsageError`) what is no list, no text, no truth value or no mapping where an argument is one; the
    texts and switches that are None stand for what the plan says."""
    if name in _LISTS or name in _TEXT_LISTS:
        check_list(name, value)
    if name in _TEXT_LISTS and isinstance(value, Iterable):
        for one in value:
            if not isinstance(one, str):
                raise UsageError(f"{name} holds {one!r}, must hold texts such as 'a'")
    if name in _TEXTS and not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r}, must be a text such as 'a'")
    if name in _SWITCHES and not isinstance(value, bool | None):
        raise UsageError(f"{name} is {value!r}, must be True or False")
    if name == "cut" and value is not None:
        if not isinstance(value, Mapping):
            raise UsageError(f"cut is {value!r}, must name columns with their edges such as {{'age': [25, 55]}}")
        for column, edges in value.items():
            check_list(f"cut of {column!r}", edges)


def plan_of(source: PlanSource) -> Plan:
    """Return the plan of a path, a text or a plan; a text of several lines is the plan itself."""
    if isinstance(source, Plan):
        return source
    if not isinstance(source, str | Path):
        raise UsageError(f"plan is of type {type(source).__name__}, must be a Plan, a path or the text of one")
    if "\n" in str(source):
        return plan_from_toml(str(source))
    return read_plan(source)


def described_plan(
    data: Data, raw: RawTable, attributes: Iterable[str] | None, base: Plan | None, options: SweepOptions
) -> Plan:
    """Return the plan that arguments describe: ``base`` edited, or a first one from the columns of the data."""
    if attributes is not None:
        check_list("attributes", attributes)
        attributes = tuple(attributes)
        check_kind("attributes", attributes)
    if base is None:
        base = first_plan(data, raw, attributes, options)
    elif given := [name for name in _FIRST_PLAN if name in options]:
        raise UsageError(
            f"{given[0]} describes a first plan and cannot change this one; write it into the plan's [data] section "
            "instead"
        )
    changes: dict[str, Any] = {name: value for name, value in options.items() if name not in _FIRST_PLAN}
    for name in _LISTS:
        if name in changes:  # whole numbers of an array are no whole numbers of a plan
            changes[name] = [one.item() if isinstance(one, np.generic) else one for one in changes[name]]
    for name in ("max_risk", "slope"):
        if name in changes:
            changes[name] = str(changes[name])
    if "mechanisms" in changes:
        changes["mechanisms"] = mechanism_plans(changes["mechanisms"])
    return edit_plan(base, attributes=attributes, **changes)


def mechanism_plans(mechanisms: Mechanisms) -> list[MechanismPlan]:
    """Return declared mechanisms: every combination of the values of their parameters is a candidate."""
    if isinstance(mechanisms, str):
        raise UsageError(f"mechanisms is {mechanisms!r}, must be names with parameters such as {{'rds': {{'s': 3}}}}")
    pairs = mechanisms.items() if isinstance(mechanisms, Mapping) else mechanisms
    named = [(pair, {}) if isinstance(pair, str) else pair for pair in pairs]
    for name, grid in named:
        if not isinstance(name, str) or not isinstance(grid, Mapping):
            raise UsageError(
                f"mechanisms has {grid!r} for {name!r}, must be names with parameters such as {{'rds': {{'s': 3}}}}"
            )
    return [MechanismPlan.of(name, dict(grid)) for name, grid in named]


def first_plan(data: Data, raw: RawTable, attributes: tuple[str, ...] | None, options: SweepOptions) -> Plan:
    """Return a plan from the columns of the data.

    Where attributes are named, all columns that nothing names stay with their record, but for those that look like ids,
    which have to be named.  Missing values of an attribute become a level, and categoricals keep the order of their
    categories.
    """
    carry, drop = list(options.get("carry", ())), list(options.get("drop", ()))
    named = {column: column for column in (*(attributes or ()), options.get("weight"), options.get("id")) if column}
    if attributes is not None:
        unnamed = sort_columns(named, carry, drop, raw.names).unassigned
        carry += [name for name in unnamed if not facts(raw.columns[name], raw.n_records).looks_like_id]
    plan = guess_plan(
        raw,
        attributes=attributes,
        carry=carry,
        drop=drop,
        weight=options.get("weight"),
        id=options.get("id"),
        cut=options.get("cut"),
    )
    parts = tuple(_as_the_data_say(part, data, raw) for part in plan.attributes)
    return replace(plan, data=replace(plan.data, attributes=parts))


def _as_the_data_say(part: AttributePlan, data: Data, raw: RawTable) -> AttributePlan:
    """An attribute with the order of its categories, and with a level for missing values where it has some."""
    name = part.columns[0]
    values = () if isinstance(data, str | Path) or part.cut else _levels(data[name])
    if facts(raw.columns[name], raw.n_records).n_missing:
        own = (MISSING_LEVEL,) if MISSING_LEVEL in values else ()
        values = tuple(value for value in values if value not in own)
        return replace(part, levels=values, missing=(*part.missing, *own), on_missing="level")
    return replace(part, levels=values)


def _levels(column: pd.Series) -> tuple[str, ...]:
    """The categories that occur and mean something."""
    return tuple(value for value in category_order(column) if value not in DEFAULT_MISSING)
