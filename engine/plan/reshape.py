"""Change the roles of attributes in a plan, make columns attributes, and merge levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.common.errors import UsageError, did_you_mean
from engine.common.raw_values import texts
from engine.data.microdata import RawTable
from engine.plan.attribute import AttributePlan
from engine.plan.column_assignment import assign_columns
from engine.plan.edit import edit_plan
from engine.plan.guess import facts, first_part
from engine.plan.types import Plan


def could_be(raw: RawTable, plan: Plan) -> tuple[str, ...]:
    """Carried columns that could be attributes as they stand, in file order."""
    carried = assign_columns(plan.data, raw.names).carried
    return tuple(name for name in carried if facts(raw.columns[name], raw.n_records).categorical)


def add_attribute(plan: Plan, part: AttributePlan) -> Plan:
    """``plan`` with one more attribute, which takes part in everything; its columns are carried or dropped no more."""
    data = plan.data
    for column in part.columns:
        holder = next((a.name for a in data.attributes if column in a.columns), None)
        if holder is not None:
            raise UsageError(f"column '{column}' belongs to the attribute '{holder}' already")
        if column in (data.weight, data.id):
            raise UsageError(f"column '{column}' is the plan's weight or id; give that role up first")
    gone = set(part.columns)
    data = replace(
        data,
        attributes=(*data.attributes, part),
        carry=tuple(c for c in data.carry if c not in gone),
        drop=tuple(c for c in data.drop if c not in gone),
    )
    keys, swap, analyse = ((*names, part.name) for names in (plan.keys, plan.swap, plan.analyse))
    return replace(plan, data=data, keys=keys, swap=swap, analyse=analyse)


def set_roles(raw: RawTable, plan: Plan, *, keys: Sequence[str], swap: Sequence[str], analyse: Sequence[str]) -> Plan:
    """``plan`` with exactly these attributes in each role; those in none are carried with their record.

    A name may also be a carried column that could be an attribute as it stands (:func:`could_be`): it becomes one.
    What a rule, an analysis or a table names must stay an attribute, else a :class:`UsageError`.
    """
    for role, chosen in (("keys", keys), ("swap", swap), ("analyse", analyse)):
        if not chosen:
            raise UsageError(f"no attribute is chosen for {role}; choose at least one")
    wanted = {*keys, *swap, *analyse}
    for name in raw.names:
        if name in wanted and name not in plan.names:
            plan = add_attribute(plan, _part(raw, name))
    known = set(plan.names)
    for name in (*keys, *swap, *analyse):
        if name not in known:
            raise UsageError(f"'{name}' is no attribute and no column of the data.{did_you_mean(name, plan.names)}")
    for table in plan.tables:
        gone = [name for name in table.attributes if name not in wanted]
        if gone:
            raise UsageError(
                f"table '{table.name}' uses '{gone[0]}', which would no longer be an attribute; keep it in one of the "
                "roles or take the table out of the plan"
            )
    kept = [name for name in plan.names if name in wanted]
    return edit_plan(plan, attributes=kept, keys=keys, swap=swap, analyse=analyse)


def _part(raw: RawTable, name: str) -> AttributePlan:
    column = raw.columns[name]
    if not facts(column, raw.n_records).categorical:
        raise UsageError(f"column '{name}' has too many values to be an attribute as it stands; cut it into levels")
    return first_part(raw, name)


def merge_levels(part: AttributePlan, raw: RawTable, levels: Sequence[str], into: str) -> AttributePlan:
    """``part`` with some of its levels put together under the name ``into``, which may be one of its levels.

    Works on attributes of one column that is not cut; the new level stands where the first of them stood.
    """
    into = into.strip()
    if part.cut:
        raise UsageError(f"attribute '{part.name}' is cut; change its edges instead of merging")
    if len(part.view) > 1:
        raise UsageError(f"attribute '{part.name}' views several columns; merge its levels in the plan file")
    if len(set(levels)) < 2:
        raise UsageError("choose at least two levels to put together")
    if not into:
        raise UsageError("the level that they become needs a name")
    merged = {value for _, values in part.merge for value in values}
    own = dict(part.merge)
    single = {text for text in texts(raw.columns[part.view[0]].values) if text not in merged}
    chosen = list(dict.fromkeys(levels))
    if into in {*own, *single, *part.levels} and into not in chosen:
        chosen.append(into)
    values: list[str] = []
    for level in chosen:
        made = [*own.get(level, ()), *([level] if level in single else [])]
        if not made and level not in part.levels:
            raise UsageError(f"attribute '{part.name}' has no level '{level}'")
        values += made
    if not values:
        raise UsageError("no record has one of these levels, so there is nothing to put together")
    merge = []
    for level, raws in part.merge:
        if level not in chosen:
            merge.append((level, raws))
    merge.append((into, tuple(dict.fromkeys(values))))
    declared: list[str] = []
    for level in part.levels:
        name = into if level in chosen else level
        if name not in declared:
            declared.append(name)
    return replace(part, merge=tuple(merge), levels=tuple(declared))


def split_levels(part: AttributePlan, raw: RawTable) -> AttributePlan:
    """``part`` with the levels that a first plan would give it: nothing cut or put together by hand."""
    if len(part.view) > 1:
        return replace(part, merge=(), levels=())
    fresh = first_part(raw, part.view[0], missing=part.missing, skip=part.skip)
    return replace(part, cut=(), labels=(), merge=fresh.merge, levels=fresh.levels, on_missing=part.on_missing)


def viewed_by(part: AttributePlan, raw: RawTable, column: str) -> AttributePlan:
    """``part`` with its levels made from another column of its block, as a first plan would make them."""
    if column not in part.columns:
        raise UsageError(f"column '{column}' is not in the block of '{part.name}'.{did_you_mean(column, part.columns)}")
    if part.view == (column,):
        return part
    if not facts(raw.columns[column], raw.n_records).categorical:
        return AttributePlan(part.name, part.columns, (column,), on_missing=part.on_missing)
    fresh = first_part(raw, column)
    return replace(fresh, name=part.name, columns=part.columns, view=(column,))
