"""Compare a plan with a new file, and fix what does not fit: each fix is a function from plan to plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from functools import partial
from typing import Literal

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.raw_values import Notation, could_be_thousands, is_number, readings, texts
from engine.common.wording import listed
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan.coding import AttributeView, assign_columns, missing_mask, n_records, view_of
from engine.plan.columns import facts, numbers_units, says_missing
from engine.plan.doubts import undecided_codes
from engine.plan.edit import add_attribute, edit_plan, split_levels, viewed_by
from engine.plan.entries import (
    MISSING_LEVEL,
    AnalysisPlan,
    AttributePlan,
    ColumnPlan,
    SingleUse,
    labelled_as_far,
    with_missing,
    with_notation,
)
from engine.plan.guess import first_part, natural_order, value_levels
from engine.plan.households import doubtful_numbers
from engine.plan.mismatches import (
    KINDS,
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
    TextAmongNumbers,
    UnclearNumbers,
    UndecidedCode,
    UnusedLevels,
)
from engine.plan.types import Plan, is_pattern
from engine.release.spec import AttributeSpec


def check_plan(plan: Plan, table: RawTable) -> list[str]:
    """One sentence for each way in which ``table`` does not fit ``plan`` (:func:`mismatches`); an empty list when it
    fits."""
    return [mismatch.sentence for mismatch in mismatches(plan, table)]


def mismatches(plan: Plan, table: RawTable) -> tuple[Mismatch, ...]:
    """All ways in which ``table`` does not fit ``plan``, by kind; none when it fits.

    Columns that are missing or without a use, values that no declared level holds, levels that nobody has, values of a
    cut column that are no numbers, missing values where the plan refuses them or that may be answers, edit rules on
    levels that are not there.
    """
    found = list(_found(plan, table))
    return tuple(sorted(found, key=lambda mismatch: KINDS.index(mismatch.kind)))


def _found(plan: Plan, table: RawTable) -> Iterator[Mismatch]:
    absent = []
    for mismatch in column_mismatches(plan, table):
        yield mismatch
        if isinstance(mismatch, Clash):
            return
        absent += [mismatch.column] if isinstance(mismatch, AbsentColumn) else []
    table = labelled_as_far(table, plan.data.columns)
    unclear = tuple(unclear_numbers(plan, table))
    yield from unclear
    levels: dict[str, tuple[str, ...]] = {}
    codes = {code for attribute in plan.attributes for code in attribute.missing}
    table.keep_in_memory(column for attribute in plan.attributes for column in attribute.columns)
    for attribute in plan.attributes:
        if not set(absent).isdisjoint(attribute.columns):
            continue
        if attribute.cut and any(mismatch.column in attribute.view for mismatch in unclear):
            continue
        if attribute.cut and (unread := _unread(plan, attribute, table)):
            yield unread
            continue
        try:
            view = view_of(attribute, table, plan.data.missing)
        except EngineError as error:
            yield Clash(str(error), attribute.name)
            continue
        yield from undecided_codes(plan, attribute, table)
        levels[attribute.name] = view.levels
        yield from _of_levels(attribute, table, view, codes)
    yield from doubtful_numbers(plan, table)
    for rule in plan.edits:
        for name, forbidden in rule.forbid:
            for level in forbidden:
                if name in levels and level not in levels[name]:
                    yield RuleOnUnknownLevel(rule.name, name, level, levels[name])


def column_mismatches(plan: Plan, table: RawTable) -> Iterator[AbsentColumn | NewColumn | Clash]:
    """Columns that the plan names and ``table`` does not have, columns without a use or with that of a pattern
    alone, or that uses contradict each other; fast, since no record is looked at."""
    try:
        assigned = assign_columns(plan.data, table.names)
    except EngineError as error:
        yield Clash(str(error))
        return
    claims, names = dict(plan.data.claims()), tuple(table.names)
    for column in assigned.absent:
        yield AbsentColumn(column, claims[column], names)
    yield from _absent_from_uses(plan, table, assigned.absent)
    for column in assigned.unassigned:
        yield NewColumn(column, table.about(column).label)
    for column in assigned.unseen(plan.data):
        use = "carried" if column in assigned.carried else "dropped"
        yield NewColumn(column, table.about(column).label, use)


def _absent_from_uses(plan: Plan, table: RawTable, known: Iterable[str]) -> Iterator[AbsentColumn]:
    """Columns that only ``numeric`` or an analysis names; ``known`` are those that are absent besides."""
    there = {*table.names, *plan.names, *known}
    uses = [(name, "numeric") for name in plan.data.numeric]
    uses += [(name, f"analysis '{analysis.name}'") for analysis in plan.analyses for name in analysis.columns]
    uses += [(column.name, "[[column]]") for column in plan.data.columns]
    for name, use in uses:
        if name not in there and name.removesuffix("_raw") not in there:
            there.add(name)
            yield AbsentColumn(name, use, tuple(table.names))


def unclear_numbers(plan: Plan, table: RawTable) -> Iterator[UnclearNumbers]:
    """Columns that the plan uses as numbers and that can be read in several ways."""
    for column in _used_as_numbers(plan, table):
        if not column.notation.clear:
            yield UnclearNumbers(column.name, readings(column.values))


def points_between_thousands(plan: Plan, table: RawTable) -> Iterator[str]:
    """A sentence on each column that the plan uses as numbers, whose points are read as decimal ones and could all
    stand between thousands."""
    for column in _used_as_numbers(plan, table):
        said = any(part.name == column.name and part.notation is not None for part in plan.data.columns)
        if not said and could_be_thousands(column.values):
            yield (
                f"the numbers of column '{column.name}' are read with a decimal point, and every point could stand "
                f'between thousands; say which in the plan, as [[column]] with name = "{column.name}" and decimal = '
                '"." (or decimal = "," and thousands = ".")'
            )


def _used_as_numbers(plan: Plan, table: RawTable) -> Iterator[RawColumn]:
    """Columns that the plan uses as numbers: edges, weight, measures, analyses."""
    used = [name for attribute in plan.attributes if attribute.cut for name in attribute.view]
    used += [*plan.data.numeric, *([plan.data.weight] if plan.data.weight else [])]
    used += [name for a in plan.analyses for name in a.columns if name not in plan.names]
    for name in dict.fromkeys(name if name in table.columns else name.removesuffix("_raw") for name in used):
        if name in table.columns and table.in_memory(name):
            yield table.distinct.columns[name]


def _unread(plan: Plan, attribute: AttributePlan, table: RawTable) -> NotNumbers | None:
    """The values that cannot be cut, where the attribute is cut by numbers."""
    column = table.distinct.columns[attribute.view[0]]
    counted = (*attribute.missing_codes(plan.data.missing), *attribute.skip)
    bad = ~missing_mask(column, counted) & np.isnan(column.numbers)
    if not bad.any():
        return None
    values = tuple(text for text, is_bad in zip(texts(column.values), bad, strict=True) if is_bad)
    n_bad = n_records(np.append(bad, False)[column.codes], table.multiplicity)
    return NotNumbers(attribute.name, column.name, values, n_bad)


def _of_levels(
    attribute: AttributePlan, table: RawTable, view: AttributeView, codes: Container[str]
) -> Iterator[Mismatch]:
    if not view.levels:
        yield NoValues(attribute.name)
        return
    yield from _new_values(attribute, table, view, codes)
    if attribute.levels or attribute.cut:
        counts = np.bincount(view.level_of[view.rows] + 2, minlength=len(view.levels) + 2)
        unused = tuple(
            level
            for level, kind, count in zip(view.levels, view.kinds, counts[2:], strict=True)
            if kind == "value" and count == 0
        )
        if unused:
            yield UnusedLevels(attribute.name, unused)
    if view.n_refused_missing:
        yield RefusedMissing(attribute.name, view.n_refused_missing)


def _new_values(
    attribute: AttributePlan, table: RawTable, view: AttributeView, codes: Container[str]
) -> Iterator[NewLevel | NewMissingCode]:
    """The values of an attribute that none of its levels holds; ``codes`` are what stands for missing in any."""
    # A combination of several columns has no label and is no code.
    about = table.about(attribute.view[0]) if len(attribute.view) == 1 else ColumnLabels()
    declared = {*attribute.levels, *(raw for _, values in attribute.merge for raw in values)}
    for value, n_outside in zip(view.outside, view.n_outside, strict=True):
        missing = value in codes or says_missing(about, value, declared)
        kind = NewMissingCode if missing else NewLevel
        yield kind(attribute.name, value, n_outside, about.label_of.get(value, ""))


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
            partial(with_missing_as_level, name=name),
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
    gone = uses_of(plan, column)
    also = f" with {listed(gone)}" if gone else ""
    yield Fix(
        "drop",
        "Take it out of the plan",
        f"{column} is out of the plan{also}",
        partial(without_column, column=column, table=table),
        takes_along=gone,
    )
    candidates = [m.column for m in column_mismatches(plan, table) if isinstance(m, NewColumn)]
    for new in sorted(candidates, key=lambda name: -_likeness(column, name)):
        yield Fix(
            "rename",
            f"It is now called {new}",
            f"{column} is now called {new}",
            partial(with_column_renamed, old=column, new=new),
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
    return lambda plan: with_use(plan, column, use)


def _with_attribute(plan: Plan, column: str, table: RawTable) -> Plan:
    return add_attribute(plan, first_part(table, column))


def _of_value(mismatch: NewValue, plan: Plan, table: RawTable) -> Iterator[Fix]:
    name, value = mismatch.attribute, mismatch.value
    part = next(a for a in plan.attributes if a.name == name)
    declared = part.levels or value_levels(part, table, plan.data.missing)
    declared = tuple(level for level in declared if level != value)
    undecided = isinstance(mismatch, UndecidedCode) and not isinstance(mismatch, TextAmongNumbers)
    missing = isinstance(mismatch, NewMissingCode) and not undecided
    same = mismatch.label in part.levels
    yield Fix(
        "level",
        "Accept it as a level",
        f"{mismatch.named} is a level of {name}",
        lambda plan: with_level(with_part(plan, replace(part, levels=declared)), name, value, mismatch.label),
        likely=not missing and not same,
    )
    if len(part.view) > 1:
        return  # a combination of several columns is no code
    yield Fix(
        "missing",
        "It means missing",
        f"{mismatch.named} means missing in {name}",
        partial(with_missing_codes, name=name, codes=(value,)),
        likely=missing,
    )
    yield Fix(
        "skip",
        "It means not asked",
        f"{mismatch.named} means not asked in {name}",
        partial(with_skip_codes, name=name, codes=(value,)),
    )
    for level in declared:
        yield Fix(
            "merge",
            f"It counts as {level}",
            f"{mismatch.named} counts as {level} in {name}",
            partial(with_value_as, name=name, value=value, level=level),
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
        return with_missing_codes(with_part(plan, replace(part, levels=levels)), part.name, (value,))
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
        partial(with_missing_codes, name=name, codes=values),
        likely=True,
    )
    yield Fix(
        "skip",
        "They mean not asked",
        f"{listed(values)} of {name} mean not asked",
        partial(with_skip_codes, name=name, codes=values),
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
        partial(without_rule_level, rule=rule, name=name, level=level),
    )
    for new in mismatch.known:
        yield Fix(
            "rename",
            f"It is now called {new}",
            f"the edit rule '{rule}' names {new} instead of {level}",
            partial(with_rule_level, rule=rule, name=name, old=level, new=new),
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
            partial(without_levels, name=name, levels=levels),
        )


def _of_clash(name: str, plan: Plan, table: RawTable) -> Iterator[Fix]:
    if not name:
        done = "columns with two uses are dropped"
        yield Fix("drop", "Drop such columns", done, partial(with_one_use_each, names=table.names))
        return
    part = next(a for a in plan.attributes if a.name == name)
    if len(part.view) == 1:
        yield Fix(
            "redo",
            "Make its levels anew",
            f"the levels of {name} are those of the file",
            lambda plan: with_part(plan, split_levels(part, table)),
        )
    yield from _dropping(name, plan, table)


def _dropping(name: str, plan: Plan, table: RawTable) -> Iterator[Fix]:
    """An attribute that is there is dropped with its columns, and with what names it."""
    part = next(a for a in plan.attributes if a.name == name)

    def dropped(plan: Plan) -> Plan:
        for column in part.columns:
            plan = with_use(without_column(plan, column, table), column, "drop")
        return plan

    yield Fix("drop", "Drop it", f"{name} is dropped: {listed(part.columns)} never leave", dropped)
