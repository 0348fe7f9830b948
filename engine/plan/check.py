"""Compare a plan with a new file."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import readings, texts
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan.coding import AttributeView, assign_columns, missing_mask, n_records, view_of
from engine.plan.columns import says_missing
from engine.plan.doubtful_numbers import doubtful_numbers
from engine.plan.doubtful_values import undecided_codes
from engine.plan.entries import AttributePlan, labelled_as_far
from engine.plan.mismatches import (
    KINDS,
    AbsentColumn,
    Clash,
    Mismatch,
    NewColumn,
    NewLevel,
    NewMissingCode,
    NotNumbers,
    NoValues,
    RefusedMissing,
    RuleOnUnknownLevel,
    UnclearNumbers,
    UnusedLevels,
)
from engine.plan.types import Plan


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
            yield AbsentColumn(name, use)


def unclear_numbers(plan: Plan, table: RawTable) -> Iterator[UnclearNumbers]:
    """Columns that the plan uses as numbers (edges, weight, measures, analyses) and that can be read in several
    ways."""
    used = [name for attribute in plan.attributes if attribute.cut for name in attribute.view]
    used += [*plan.data.numeric, *([plan.data.weight] if plan.data.weight else [])]
    used += [name for a in plan.analyses for name in a.columns if name not in plan.names]
    for name in dict.fromkeys(name if name in table.columns else name.removesuffix("_raw") for name in used):
        if name in table.columns and table.in_memory(name):
            column = table.distinct.columns[name]
            if not column.notation.clear:
                yield UnclearNumbers(name, readings(column.values))


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
