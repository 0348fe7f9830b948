"""Adapt a plan to a new file: columns that went or came, levels and codes that are new or that nobody has any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Literal

from engine.common.errors import UsageError
from engine.common.raw_values import is_number
from engine.data.microdata import RawTable
from engine.plan.columns import facts
from engine.plan.edit import edit_plan, viewed_by
from engine.plan.entries import MISSING_LEVEL, AnalysisPlan, AttributePlan, SingleUse
from engine.plan.guess import natural_order
from engine.plan.types import Plan, is_pattern
from engine.release.spec import AttributeSpec

_ROLES = {"keys": "known to an intruder", "swap": "exchanged", "analyse": "tabulated"}


def without_column(plan: Plan, column: str, table: RawTable) -> Plan:
    """``plan`` without a column that the file does not have.

    A block keeps its other columns; where the column made the levels, another one of the file does.  An attribute of
    this column alone goes with every edit rule, analysis, table and spec that names it (:func:`uses_of` lists them).
    """
    part = next((a for a in plan.attributes if column in a.columns), None)
    if part is not None and len(part.columns) == 1:
        return _forgotten(_without_attribute(plan, part.name), column)
    if part is None:
        return _forgotten(plan, column)
    others = tuple(name for name in part.columns if name != column)
    if column not in part.view:
        smaller = replace(part, columns=others)
    elif len(part.view) > 1:
        view = tuple(name for name in part.view if name != column)
        smaller = replace(part, columns=others, view=view, merge=(), levels=())
    else:
        there = [name for name in others if name in table.columns]
        coarse = [name for name in there if facts(table.columns[name], table.n_records).categorical]
        if there:
            smaller = replace(viewed_by(part, table, (*coarse, *there)[0]), columns=others)
        else:  # the next one is absent too
            smaller = AttributePlan(part.name, others, others[:1], on_missing=part.on_missing)
    return _forgotten(with_part(plan, smaller), column)


def uses_of(plan: Plan, column: str) -> tuple[str, ...]:
    """The parts, in words, that :func:`without_column` takes out of a plan besides the column."""
    part = next((a for a in plan.attributes if column in a.columns), None)
    name = part.name if part is not None and len(part.columns) == 1 else None
    names = {column, f"{column}_raw", *((name, f"{name}_raw") if name else ())}
    uses = [f"analysis '{analysis.name}'" for analysis in plan.analyses if _rests_on(analysis, names, plan, column)]
    if name is not None:
        uses += [f"edit rule '{rule.name}'" for rule in plan.edits if name in rule.attributes]
        uses += [f"table '{entry.name}'" for entry in plan.tables if name in entry.attributes]
        uses += [f"spec '{spec}'" for spec in plan.space.specs if name in _named(spec, plan)]
        uses = [f"attribute '{name}'", *uses]
    return tuple(uses)


def _rests_on(analysis: AnalysisPlan, names: set[str], plan: Plan, column: str) -> bool:
    return bool(names & {*analysis.columns, *analysis.by}) or (analysis.weighted and plan.data.weight == column)


def _named(spec: str, plan: Plan) -> set[str]:
    parsed = AttributeSpec.parse(spec, plan.names)
    return {name for name, role in zip(parsed.names, parsed.roles, strict=True) if role != "U"}


def _without_attribute(plan: Plan, name: str) -> Plan:
    """The plan without an attribute and all that names it; its columns are not carried either."""
    for role, meaning in _ROLES.items():
        if set(getattr(plan, role)) == {name}:
            raise UsageError(f"'{name}' is the only attribute that is {meaning}; let another one be it first")
    part = plan.attributes[plan.names.index(name)]
    gone = {name, f"{name}_raw"}
    plan = replace(
        plan,
        edits=tuple(rule for rule in plan.edits if name not in rule.attributes),
        analyses=tuple(a for a in plan.analyses if not gone & {*a.columns, *a.by}),
        tables=tuple(entry for entry in plan.tables if name not in entry.attributes),
    )
    remaining = [n for n in plan.names if n != name]
    plan = edit_plan(plan, attributes=remaining)
    carry = tuple(column for column in plan.data.carry if column not in part.columns)
    return replace(plan, data=replace(plan.data, carry=carry))


def _forgotten(plan: Plan, column: str) -> Plan:
    """The plan that names a column nowhere outside its attributes."""
    data = plan.data
    forgotten = replace(
        data,
        **data.single_instead(column, None),
        carry=tuple(name for name in data.carry if name != column),
        drop=tuple(name for name in data.drop if name != column),
        numeric=tuple(name for name in data.numeric if name != column),
        columns=tuple(labels for labels in data.columns if labels.name != column),
    )
    names = {column, f"{column}_raw"} - set(plan.names)
    include = tuple(role for role in plan.publish.include if role != data.single_uses.get(column))
    return replace(
        plan,
        data=forgotten,
        analyses=tuple(a for a in plan.analyses if not _rests_on(a, names, plan, column)),
        publish=replace(plan.publish, include=include),
    )


def with_column_renamed(plan: Plan, old: str, new: str) -> Plan:
    """``plan`` with ``new`` wherever it named the column ``old``; attributes keep their names, levels and roles."""
    data = plan.data

    def now(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(new if name == old else name for name in names))

    def unless_new(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name != new)

    attributes = tuple(replace(a, columns=now(a.columns), view=now(a.view)) for a in data.attributes)
    renamed = replace(
        data,
        attributes=attributes,
        **data.single_instead(old, new),
        carry=now(unless_new(data.carry)),
        drop=now(unless_new(data.drop)),
        numeric=now(data.numeric),
        columns=tuple(replace(c, name=new) if c.name == old else c for c in data.columns if c.name != new),
    )
    if old in plan.names:
        return replace(plan, data=renamed)
    return replace(plan, data=renamed, analyses=tuple(a.with_names({old: new}) for a in plan.analyses))


def with_level(plan: Plan, name: str, value: str, label: str = "") -> Plan:
    """``plan`` with a raw value as one more level of an attribute, called ``label`` where that is free.

    The level stands where its number belongs among the others, or where it belongs by its text where the others are in
    that order; else last.
    """
    part = _part(plan, name)
    taken = {*part.levels, *part.skip, MISSING_LEVEL}
    level = label if label and label not in taken else value
    merge = part.merge if level == value else (*part.merge, (level, (value,)))
    values_of = dict(part.merge)
    firsts = [values_of.get(known, (known,))[0] for known in part.levels]
    place = len(firsts)
    if is_number(value) and all(is_number(first) for first in firsts):
        place = next((i for i, first in enumerate(firsts) if float(first) > float(value)), place)
    elif firsts == natural_order(firsts):
        place = natural_order([*firsts, value]).index(value)
    levels = (*part.levels[:place], level, *part.levels[place:])
    return with_part(plan, replace(part, levels=levels, merge=merge))


def with_value_as(plan: Plan, name: str, value: str, level: str) -> Plan:
    """``plan`` in which a raw value counts as the ``level`` that an attribute has."""
    part = _part(plan, name)
    values_of = dict(part.merge)
    values_of[level] = (*values_of.get(level, (level,)), value)
    return with_part(plan, replace(part, merge=tuple(values_of.items())))


def with_missing_codes(plan: Plan, name: str, codes: Iterable[str]) -> Plan:
    """``plan`` in which raw values of an attribute mean missing, and missing is a level of its own."""
    part = _part(plan, name)
    return with_part(plan, replace(part, missing=tuple(dict.fromkeys((*part.missing, *codes))), on_missing="level"))


def with_skip_codes(plan: Plan, name: str, codes: Iterable[str]) -> Plan:
    """``plan`` in which raw values of an attribute mean that its question was not asked."""
    part = _part(plan, name)
    return with_part(plan, replace(part, skip=tuple(dict.fromkeys((*part.skip, *codes)))))


def with_missing_as_level(plan: Plan, name: str) -> Plan:
    """``plan`` in which missing values of an attribute are a level of their own."""
    return with_part(plan, replace(_part(plan, name), on_missing="level"))


def without_levels(plan: Plan, name: str, levels: Iterable[str]) -> Plan:
    """``plan`` without some levels of an attribute that is not cut, in its edit rules neither."""
    part, gone = _part(plan, name), set(levels)
    smaller = replace(
        part,
        levels=tuple(level for level in part.levels if level not in gone),
        merge=tuple((level, values) for level, values in part.merge if level not in gone),
    )
    for rule in plan.edits:
        for level in gone:
            plan = without_rule_level(plan, rule.name, name, level)
    return with_part(plan, smaller)


def without_rule_level(plan: Plan, rule: str, name: str, level: str) -> Plan:
    """``plan`` whose edit rule forbids a level no longer; a rule whose last level of an attribute goes, goes too."""
    edits = []
    for edit in plan.edits:
        forbid = tuple((n, tuple(x for x in levels if n != name or x != level)) for n, levels in edit.forbid)
        if edit.name != rule:
            edits.append(edit)
        elif all(levels for _, levels in forbid):
            edits.append(replace(edit, forbid=forbid))
    return replace(plan, edits=tuple(edits))


def with_rule_level(plan: Plan, rule: str, name: str, old: str, new: str) -> Plan:
    """``plan`` whose edit rule forbids the level ``new`` of an attribute in place of ``old``."""

    def now(levels: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(new if level == old else level for level in levels))

    edits = tuple(
        replace(edit, forbid=tuple((n, now(levels) if n == name else levels) for n, levels in edit.forbid))
        if edit.name == rule
        else edit
        for edit in plan.edits
    )
    return replace(plan, edits=edits)


def with_use(plan: Plan, column: str, use: Literal["carry", "drop"] | SingleUse) -> Plan:
    """``plan`` that says what becomes of a column without a use."""
    data = plan.data
    if use == "carry":
        data = replace(data, carry=(*data.carry, column))
    elif use == "drop":
        data = replace(data, drop=(*data.drop, column))
    else:
        data = replace(data, **data.single_after({use: column}))
    return replace(plan, data=data)


def with_one_use_each(plan: Plan, names: Collection[str]) -> Plan:
    """``plan`` that gives each column of ``names`` one use: a name counts before a pattern, and of carry and drop,
    drop."""
    data = plan.data
    claims = dict(data.claims())

    def entries(use: str) -> tuple[str, ...]:
        others = data.drop if use == "carry" else ()
        given: tuple[str, ...] = getattr(data, use)
        return tuple(c for c in given if c not in names or (claims.get(c, use) == use and c not in others))

    carry, drop = entries("carry"), entries("drop")
    named = {*claims, *carry, *drop}
    both = (c for c in names if c not in named and all(_matches(c, use) for use in (carry, drop)))
    return replace(plan, data=replace(data, carry=carry, drop=(*drop, *both)))


def _matches(column: str, entries: Iterable[str]) -> bool:
    return any(is_pattern(entry) and fnmatchcase(column, entry) for entry in entries)


def with_part(plan: Plan, part: AttributePlan) -> Plan:
    """``plan`` with another coding of the attribute of the same name."""
    attributes = tuple(part if a.name == part.name else a for a in plan.attributes)
    return replace(plan, data=replace(plan.data, attributes=attributes))


def _part(plan: Plan, name: str) -> AttributePlan:
    return plan.attributes[plan.names.index(name)]
