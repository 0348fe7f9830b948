"""Change the roles of attributes in a plan, make columns attributes, and merge levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from engine.common.errors import UsageError, did_you_mean
from engine.common.raw_values import texts
from engine.data.microdata import RawTable
from engine.plan.accept import refuse_uses, take_out
from engine.plan.attribute import AttributePlan
from engine.plan.attribute_names import with_attributes_renamed
from engine.plan.column_assignment import assign_columns
from engine.plan.context import SingleUse, unit_columns
from engine.plan.edit import edit_plan
from engine.plan.guess import facts, first_part
from engine.plan.types import Plan


def could_be(raw: RawTable, plan: Plan) -> tuple[str, ...]:
    """Carried columns that could be attributes as they stand, and columns that could lead the block that holds them
    (:func:`led_by`), in file order."""
    known = {*assign_columns(plan.data, raw.names).carried, *(c for a in plan.attributes for c in a.columns)}
    known -= {*plan.names, *(column for a in plan.attributes for column in a.view)}
    return tuple(name for name in raw.names if name in known and facts(raw.columns[name], raw.n_records).categorical)


def led_by(raw: RawTable, plan: Plan, names: Iterable[str]) -> Plan:
    """``plan`` in which each column in ``names`` that is only part of a block leads it: the attribute is called after
    the column and has its levels.

    Names of attributes and other columns change nothing.  Two of ``names`` in one block, and an entry of the plan that
    names the block's attribute, are a :class:`UsageError`.
    """
    chosen = dict.fromkeys(names)
    for column in chosen:
        part = next((a for a in plan.attributes if column in a.columns), None)
        if part is None or column in (*part.view, *plan.names):
            continue
        if other := next((name for name in chosen if name != column and name in (part.name, *part.columns)), None):
            raise UsageError(f"'{other}' and '{column}' move together as one block; choose one of them to name it")
        _refuse_many_values(raw, column)
        refuse_uses(plan, {part.name: column})
        plan = with_attributes_renamed(plan, {part.name: column})
        led = viewed_by(replace(part, name=column), raw, column)
        attributes = tuple(led if a.name == column else a for a in plan.attributes)
        plan = replace(plan, data=replace(plan.data, attributes=attributes))
    return plan


def add_attribute(plan: Plan, attribute: AttributePlan) -> Plan:
    """``plan`` with one more attribute, which takes part in everything; its columns are carried or dropped no more."""
    data = plan.data
    for column in attribute.columns:
        holder = next((a.name for a in data.attributes if column in a.columns), None)
        if holder is not None:
            raise UsageError(f"column '{column}' belongs to the attribute '{holder}' already")
        if column in data.single_uses:
            raise UsageError(f"column '{column}' is the plan's {data.single_uses[column]}; give that role up first")
    columns = set(attribute.columns)
    data = replace(
        data,
        attributes=(*data.attributes, attribute),
        carry=tuple(c for c in data.carry if c not in columns),
        drop=tuple(c for c in data.drop if c not in columns),
    )
    keys, swap, analyse = ((*names, attribute.name) for names in (plan.keys, plan.swap, plan.analyse))
    return replace(plan, data=data, keys=keys, swap=swap, analyse=analyse)


def set_roles(raw: RawTable, plan: Plan, *, keys: Sequence[str], swap: Sequence[str], analyse: Sequence[str]) -> Plan:
    """``plan`` with exactly these attributes in each role; those in none are carried with their record.

    A name may also be a column that could be an attribute as it stands (:func:`could_be`): it becomes one, or leads its
    block.
    What a rule, an analysis or a table names must stay an attribute, else a :class:`UsageError`.
    """
    for role, chosen in (("keys", keys), ("swap", swap), ("analyse", analyse)):
        if not chosen:
            raise UsageError(f"no attribute is chosen for {role}; choose at least one")
    chosen_names = {*keys, *swap, *analyse}
    plan = led_by(raw, plan, (*keys, *swap, *analyse))
    for name in raw.names:
        if name in chosen_names and name not in plan.names:
            plan = add_attribute(plan, _part(raw, name))
    attribute_names = set(plan.names)
    for name in (*keys, *swap, *analyse):
        if name not in attribute_names:
            raise UsageError(f"'{name}' is no attribute and no column of the data.{did_you_mean(name, plan.names)}")
    for table in plan.tables:
        gone = [name for name in table.attributes if name not in chosen_names]
        if gone:
            raise UsageError(
                f"table '{table.name}' uses '{gone[0]}', which would no longer be an attribute; keep it in one of the "
                "roles or take the table out of the plan"
            )
    remaining = [name for name in plan.names if name in chosen_names]
    return edit_plan(plan, attributes=remaining, keys=keys, swap=swap, analyse=analyse)


def _part(raw: RawTable, name: str) -> AttributePlan:
    _refuse_many_values(raw, name)
    return first_part(raw, name)


def _refuse_many_values(raw: RawTable, name: str) -> None:
    if not facts(raw.columns[name], raw.n_records).categorical:
        raise UsageError(f"column '{name}' has too many values to be an attribute as it stands; cut it into levels")


def set_use(plan: Plan, column: str, use: Literal["drop"] | SingleUse) -> Plan:
    """``plan`` with one column dropped, or as its weight, id or unit; a weight before it is carried then, and an id or
    a unit before it is dropped.  The column gives up what it was.

    A column leaves the block that it belongs to.  One that makes the levels of a block of several columns, or of an
    attribute that a rule, an analysis or a table names, is a :class:`UsageError`.
    """
    data = plan.data
    part = next((a for a in data.attributes if column in a.columns), None)
    if part is not None and len(part.columns) > 1:
        if column in part.view:
            raise UsageError(
                f"column '{column}' makes the levels of '{part.name}'; let another column of the block make them first"
            )
        without = replace(part, columns=tuple(name for name in part.columns if name != column))
        data = replace(data, attributes=tuple(without if a is part else a for a in data.attributes))
    before = () if use == "drop" else tuple(name for name in unit_columns(getattr(data, use)) if name != column)
    if use == "weight" and before:
        data = replace(data, weight=None, carry=(*data.carry, *before))
    elif use != "drop" and before:
        data = replace(data, **data.single_after({use: None}), drop=(*data.drop, *before))
    given_up = data.single_uses.get(column)
    if given_up is not None and given_up != use:
        others = tuple(name for name in data.unit_columns if name != column) if given_up == "unit" else ()
        data = replace(data, **data.single_after({given_up: None}), drop=(*data.drop, *others))
    if use == "drop":
        data = replace(data, carry=tuple(name for name in data.carry if name != column))
        return take_out(replace(plan, data=data), drop=(column,))
    return take_out(replace(plan, data=data), **{use: column})


def set_unit(plan: Plan, columns: Sequence[str]) -> Plan:
    """``plan`` whose households are numbered by these columns, one or several together; each gives up what it was."""
    for column in columns:
        plan = set_use(plan, column, "drop")
    for column in plan.data.unit_columns:
        plan = set_use(plan, column, "drop")
    return take_out(plan, unit=tuple(columns))


def merge_levels(attribute: AttributePlan, raw: RawTable, levels: Sequence[str], into: str) -> AttributePlan:
    """``attribute`` with some of its levels put together under the name ``into``, which may be one of its levels.

    Works on attributes of one column that is not cut; the new level stands where the first of them stood.
    """
    into = into.strip()
    if attribute.cut:
        raise UsageError(f"attribute '{attribute.name}' is cut; change its edges instead of merging")
    if len(attribute.view) > 1:
        raise UsageError(f"attribute '{attribute.name}' views several columns; merge its levels in the plan file")
    if len(set(levels)) < 2:
        raise UsageError("choose at least two levels to put together")
    if not into:
        raise UsageError("the level that they become needs a name")
    merged = {value for _, values in attribute.merge for value in values}
    values_of = dict(attribute.merge)
    unmerged = {text for text in texts(raw.columns[attribute.view[0]].values) if text not in merged}
    chosen = list(dict.fromkeys(levels))
    if into in {*values_of, *unmerged, *attribute.levels} and into not in chosen:
        chosen.append(into)
    values: list[str] = []
    for level in chosen:
        level_values = [*values_of.get(level, ()), *([level] if level in unmerged else [])]
        if not level_values and level not in attribute.levels:
            raise UsageError(f"attribute '{attribute.name}' has no level '{level}'")
        values += level_values
    if not values:
        raise UsageError("no record has one of these levels, so there is nothing to put together")
    merge = []
    for level, raw_values in attribute.merge:
        if level not in chosen:
            merge.append((level, raw_values))
    merge.append((into, tuple(dict.fromkeys(values))))
    declared: list[str] = []
    for level in attribute.levels:
        name = into if level in chosen else level
        if name not in declared:
            declared.append(name)
    return replace(attribute, merge=tuple(merge), levels=tuple(declared))


def split_levels(attribute: AttributePlan, raw: RawTable) -> AttributePlan:
    """``attribute`` with the levels that a first plan would give it: nothing cut or put together by hand."""
    if len(attribute.view) > 1:
        return replace(attribute, merge=(), levels=())
    fresh = first_part(raw, attribute.view[0], missing=attribute.missing, skip=attribute.skip)
    return replace(
        attribute, cut=(), labels=(), merge=fresh.merge, levels=fresh.levels, on_missing=attribute.on_missing
    )


def viewed_by(attribute: AttributePlan, raw: RawTable, column: str) -> AttributePlan:
    """``attribute`` with its levels made from another column of its block, as a first plan would make them."""
    if column not in attribute.columns:
        raise UsageError(
            f"column '{column}' is not in the block of '{attribute.name}'.{did_you_mean(column, attribute.columns)}"
        )
    if attribute.view == (column,):
        return attribute
    if not facts(raw.columns[column], raw.n_records).categorical:
        return AttributePlan(attribute.name, attribute.columns, (column,), on_missing=attribute.on_missing)
    fresh = first_part(raw, column)
    return replace(fresh, name=attribute.name, columns=attribute.columns, view=(column,))
