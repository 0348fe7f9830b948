"""Fixes of mismatches between a plan and a file: what may be done about each, as functions from plan to plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from typing import Literal

from engine.common.errors import UsageError, did_you_mean
from engine.common.raw_values import Notation, texts
from engine.common.wording import listed
from engine.data.microdata import RawTable
from engine.plan import adapt
from engine.plan.check import column_mismatches
from engine.plan.columns import facts, numbers_units
from engine.plan.doubtful_numbers import doubtful_numbers
from engine.plan.edit import add_attribute, split_levels
from engine.plan.entries import ColumnPlan, SingleUse, labelled_as_far, with_missing, with_notation
from engine.plan.guess import first_part, value_levels
from engine.plan.mismatches import (
    AbsentColumn,
    Clash,
    DoubtfulNumber,
    Mismatch,
    NewColumn,
    NewLevel,
    NewMissingCode,
    NewValue,
    NotNumbers,
    NoValues,
    RefusedMissing,
    RuleOnUnknownLevel,
    UnclearNumbers,
    UndecidedCode,
    UnusedLevels,
)
from engine.plan.types import Plan

Verb = Literal[
    "drop", "rename", "carry", "attribute", "weight", "id", "unit", "level", "merge", "missing", "skip", "keep", "redo",
    "comma", "point"
]  # fmt: skip
"""What a fix does: ``redo`` makes levels anew, ``keep`` leaves the plan as it is; ``comma`` and ``point`` name
the decimal sign."""
_LIKE = 0.6  # from which similarity on two names may be one column's


@dataclass(frozen=True)
class Fix:
    """One way to settle a mismatch.

    ``target`` is the column or level that a ``rename`` or ``merge`` leads to.  ``label`` are few words for a button,
    ``done`` says what will have been done, and ``apply`` does it to a plan.  ``takes_along`` are the parts of the plan
    that go too, in words.  ``likely`` marks what the file suggests.
    """

    verb: Verb
    label: str
    done: str
    apply: Callable[[Plan], Plan]
    target: str = ""
    takes_along: tuple[str, ...] = ()
    likely: bool = False

    @property
    def name(self) -> str:
        """The name of the fix where it is typed: ``drop``, ``merge:Single``."""
        return f"{self.verb}:{self.target}" if self.target else self.verb


def fixes(mismatch: Mismatch, plan: Plan, table: RawTable) -> tuple[Fix, ...]:
    """The fixes of one of the mismatches of ``plan`` and ``table``, the likeliest first."""
    found = list(_ways(mismatch, plan, table))
    return tuple(sorted(found, key=lambda fix: not fix.likely))


def settle(plan: Plan, table: RawTable, chosen: Sequence[Mismatch], fix_name: str) -> Plan:
    """``plan`` with the fix of that name carried out for each of the ``chosen`` mismatches that still exists.

    A mismatch without such a fix is a :class:`UsageError`.
    """
    for mismatch in chosen:
        if not _is_open(mismatch, plan, table):
            continue
        offered = {fix.name: fix for fix in fixes(mismatch, plan, table)}
        if fix_name not in offered:
            raise UsageError(f"'{fix_name}' does not settle {mismatch.key}.{did_you_mean(fix_name, offered)}")
        plan = offered[fix_name].apply(plan)
    return plan


def _is_open(mismatch: Mismatch, plan: Plan, table: RawTable) -> bool:
    """Return whether a mismatch is still there when others have been settled: its attribute may have gone with a
    column."""
    if isinstance(mismatch, AbsentColumn | NewColumn):
        return any(mismatch.key == left.key for left in column_mismatches(plan, table))
    if isinstance(mismatch, RuleOnUnknownLevel):
        forbidden = {(rule.name, *pair) for rule in plan.edits for pair in rule.forbid}
        return any(one[:2] == mismatch.subject[:2] and mismatch.level in one[2] for one in forbidden)
    if isinstance(mismatch, UnclearNumbers):
        return all(column.name != mismatch.column or column.notation is None for column in plan.data.columns)
    if isinstance(mismatch, DoubtfulNumber):
        seen = labelled_as_far(table, plan.data.columns)
        return any(mismatch.key == left.key for left in doubtful_numbers(plan, seen))
    return not mismatch.subject or mismatch.subject[0] in plan.names


def _ways(mismatch: Mismatch, plan: Plan, table: RawTable) -> Iterator[Fix]:
    if isinstance(mismatch, AbsentColumn):
        yield from _of_absent(mismatch, plan, table)
    elif isinstance(mismatch, NewColumn):
        yield from _of_new(mismatch, plan, table)
    elif isinstance(mismatch, NewLevel | NewMissingCode):
        yield from _of_value(mismatch, plan, table)
    elif isinstance(mismatch, DoubtfulNumber):
        yield from _of_doubtful(mismatch, table)
    elif isinstance(mismatch, RefusedMissing):
        name = mismatch.attribute
        yield Fix(
            "level",
            "Let missing be a level",
            f"missing values of {name} are a level",
            partial(adapt.with_missing_as_level, name=name),
            likely=True,
        )
    elif isinstance(mismatch, NotNumbers):
        yield from _of_not_numbers(mismatch)
    elif isinstance(mismatch, UnclearNumbers):
        yield from _of_unclear(mismatch, plan, table)
    elif isinstance(mismatch, NoValues):
        yield from _dropping(mismatch.attribute, plan, table)
    elif isinstance(mismatch, RuleOnUnknownLevel):
        yield from _of_rule(mismatch)
    elif isinstance(mismatch, UnusedLevels):
        yield from _of_unused(mismatch, plan)
    elif isinstance(mismatch, Clash):
        yield from _of_clash(mismatch.attribute, plan, table)


def _of_absent(mismatch: AbsentColumn, plan: Plan, table: RawTable) -> Iterator[Fix]:
    column = mismatch.column
    gone = adapt.uses_of(plan, column)
    also = f" with {listed(gone)}" if gone else ""
    yield Fix(
        "drop",
        "Take it out of the plan",
        f"{column} is out of the plan{also}",
        partial(adapt.without_column, column=column, table=table),
        takes_along=gone,
    )
    candidates = [m.column for m in column_mismatches(plan, table) if isinstance(m, NewColumn)]
    for new in sorted(candidates, key=lambda name: -_likeness(column, name)):
        yield Fix(
            "rename",
            f"It is now called {new}",
            f"{column} is now called {new}",
            partial(adapt.with_column_renamed, old=column, new=new),
            new,
            likely=_likeness(column, new) >= _LIKE and _values_fit(plan, column, new, table),
        )


def _likeness(old: str, new: str) -> float:
    return SequenceMatcher(None, old.casefold(), new.casefold()).ratio()


def _values_fit(plan: Plan, old: str, new: str, table: RawTable) -> bool:
    """Return whether a new column holds what the plan declares for an old one that made an attribute's levels alone."""
    part = next((a for a in plan.attributes if a.view == (old,)), None)
    if part is None or not part.levels:
        return True
    merged = {raw for _, values in part.merge for raw in values}
    declared = {*merged, *(level for level in part.levels if level not in dict(part.merge))}
    if not table.in_memory(new):
        return False
    present = set(texts(table.columns[new].values))
    return len(declared & present) >= len(declared) / 2


def _of_new(mismatch: NewColumn, plan: Plan, table: RawTable) -> Iterator[Fix]:
    column = mismatch.column
    carried = f"{column} is carried: it stays with its record and is released"
    yield Fix("drop", "Drop it", f"{column} is dropped: it never leaves", _use(column, "drop"))
    yield Fix("carry", "Carry it", carried, _use(column, "carry"))
    if not table.in_memory(column):
        return
    seen = facts(table.columns[column], table.n_records)
    if seen.looks_like_id and plan.data.id is None:
        yield Fix("id", "It is the id", f"{column} is the id", _use(column, "id"))
    if plan.data.unit is None and numbers_units(table.columns[column], seen):
        done = f"{column} numbers the households"
        yield Fix("unit", "It numbers households", done, _use(column, "unit"), likely=True)
    if seen.numeric and not seen.labelled and plan.data.weight is None:
        yield Fix("weight", "It is the weight", f"{column} is the weight", _use(column, "weight"))
    if seen.categorical and first_part(table, column).levels:
        yield Fix(
            "attribute",
            "Make it an attribute",
            f"{column} is an attribute: known to an intruder, exchanged and tabulated",
            partial(_with_attribute, column=column, table=table),
        )


def _use(column: str, use: Literal["carry", "drop"] | SingleUse) -> Callable[[Plan], Plan]:
    return lambda plan: adapt.with_use(plan, column, use)


def _with_attribute(plan: Plan, column: str, table: RawTable) -> Plan:
    return add_attribute(plan, first_part(table, column))


def _of_value(mismatch: NewValue, plan: Plan, table: RawTable) -> Iterator[Fix]:
    name, value = mismatch.attribute, mismatch.value
    part = next(a for a in plan.attributes if a.name == name)
    declared = part.levels or value_levels(part, table, plan.data.missing)
    missing = isinstance(mismatch, NewMissingCode) and not isinstance(mismatch, UndecidedCode)
    same = mismatch.label in part.levels
    yield Fix(
        "level",
        "Accept it as a level",
        f"{mismatch.named} is a level of {name}",
        lambda plan: adapt.with_level(
            adapt.with_part(plan, replace(part, levels=declared)), name, value, mismatch.label
        ),
        likely=not missing and not same,
    )
    if len(part.view) > 1:
        return  # a combination of several columns is no code
    yield Fix(
        "missing",
        "It means missing",
        f"{mismatch.named} means missing in {name}",
        partial(adapt.with_missing_codes, name=name, codes=(value,)),
        likely=missing,
    )
    yield Fix(
        "skip",
        "It means not asked",
        f"{mismatch.named} means not asked in {name}",
        partial(adapt.with_skip_codes, name=name, codes=(value,)),
    )
    for level in declared:
        yield Fix(
            "merge",
            f"It counts as {level}",
            f"{mismatch.named} counts as {level} in {name}",
            partial(adapt.with_value_as, name=name, value=value, level=level),
            level,
            likely=not missing and level == mismatch.label,
        )


def _of_doubtful(mismatch: DoubtfulNumber, table: RawTable) -> Iterator[Fix]:
    name = mismatch.column
    shown = f"one value of {name}" if mismatch.first else f"'{mismatch.value}' of {name}"
    yield Fix(
        "missing",
        "It means missing",
        f"{shown} means missing",
        partial(_with_missing_number, mismatch=mismatch, table=table),
        likely=not mismatch.first,
    )
    yield Fix("keep", f"It is a real {mismatch.noun}", f"all values of {name} are real", partial(_with_real, name=name))


def _with_missing_number(plan: Plan, mismatch: DoubtfulNumber, table: RawTable) -> Plan:
    name, value = mismatch.column, mismatch.value
    if mismatch.use == "place":
        part = next(a for a in plan.attributes if a.view == (name,))
        levels = tuple(level for level in part.levels if level != value)
        return adapt.with_missing_codes(adapt.with_part(plan, replace(part, levels=levels)), part.name, (value,))
    columns = with_missing(plan.data.columns, name, value, table.about(name))
    return replace(plan, data=replace(plan.data, columns=columns))


def _with_real(plan: Plan, name: str) -> Plan:
    said = {column.name: column for column in plan.data.columns}
    said[name] = replace(said.get(name, ColumnPlan(name)), real=True)
    return replace(plan, data=replace(plan.data, columns=tuple(said.values())))


def _of_not_numbers(mismatch: NotNumbers) -> Iterator[Fix]:
    name, values = mismatch.attribute, mismatch.values
    yield Fix(
        "missing",
        "They mean missing",
        f"{listed(values)} of {name} mean missing",
        partial(adapt.with_missing_codes, name=name, codes=values),
        likely=True,
    )
    yield Fix(
        "skip",
        "They mean not asked",
        f"{listed(values)} of {name} mean not asked",
        partial(adapt.with_skip_codes, name=name, codes=values),
    )


def _of_unclear(mismatch: UnclearNumbers, plan: Plan, table: RawTable) -> Iterator[Fix]:
    name = mismatch.column
    for way in mismatch.ways:
        yield Fix(
            way.name,
            f"Decimal {way.name}",
            f"{name} has {way.words}",
            partial(_with_notation, name=name, notation=way),
        )
    if not mismatch.ways:
        for part in plan.attributes:
            if part.cut and name in part.view:
                yield from _dropping(part.name, plan, table)


def _with_notation(plan: Plan, name: str, notation: Notation) -> Plan:
    return replace(plan, data=replace(plan.data, columns=with_notation(plan.data.columns, name, notation)))


def _of_rule(mismatch: RuleOnUnknownLevel) -> Iterator[Fix]:
    rule, name, level = mismatch.rule, mismatch.attribute, mismatch.level
    yield Fix(
        "drop",
        "Take it out of the rule",
        f"the edit rule '{rule}' no longer names {level}",
        partial(adapt.without_rule_level, rule=rule, name=name, level=level),
    )
    for new in mismatch.known:
        yield Fix(
            "rename",
            f"It is now called {new}",
            f"the edit rule '{rule}' names {new} instead of {level}",
            partial(adapt.with_rule_level, rule=rule, name=name, old=level, new=new),
            new,
            likely=_likeness(level, new) >= _LIKE,
        )


def _of_unused(mismatch: UnusedLevels, plan: Plan) -> Iterator[Fix]:
    name, levels = mismatch.attribute, mismatch.levels
    part = next(a for a in plan.attributes if a.name == name)
    yield Fix(
        "keep", "Keep in the plan", f"{listed(levels)} of {name} stay in the plan", lambda plan: plan, likely=True
    )
    if not part.cut and len(part.levels) > len(levels):
        yield Fix(
            "drop",
            "Take out of the plan",
            f"{listed(levels)} of {name} are out of the plan",
            partial(adapt.without_levels, name=name, levels=levels),
        )


def _of_clash(name: str, plan: Plan, table: RawTable) -> Iterator[Fix]:
    if not name:
        done = "columns with two uses are dropped"
        yield Fix("drop", "Drop such columns", done, partial(adapt.with_one_use_each, names=table.names))
        return
    part = next(a for a in plan.attributes if a.name == name)
    if len(part.view) == 1:
        yield Fix(
            "redo",
            "Make its levels anew",
            f"the levels of {name} are those of the file",
            lambda plan: adapt.with_part(plan, split_levels(part, table)),
        )
    yield from _dropping(name, plan, table)


def _dropping(name: str, plan: Plan, table: RawTable) -> Iterator[Fix]:
    """An attribute that is there is dropped with its columns, and with what names it."""
    part = next(a for a in plan.attributes if a.name == name)

    def dropped(plan: Plan) -> Plan:
        for column in part.columns:
            plan = adapt.with_use(adapt.without_column(plan, column, table), column, "drop")
        return plan

    yield Fix("drop", "Drop it", f"{name} is dropped: {listed(part.columns)} never leave", dropped)
