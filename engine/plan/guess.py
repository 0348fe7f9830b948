"""A first plan from the columns of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.notation import PLAIN, written_unclearly
from engine.common.raw_values import as_text, texts
from engine.data.microdata import RawColumn, RawTable
from engine.plan.attribute import MISSING_LEVEL, AttributePlan
from engine.plan.column_assignment import sort_columns, with_seen
from engine.plan.column_heuristics import is_weight
from engine.plan.context import UnitColumns, unit_columns
from engine.plan.doubtful_values import codes_beside_numbers, possible_answers
from engine.plan.household_numbers import household_numbers
from engine.plan.level_order import natural_order
from engine.plan.types import DEFAULT_MISSING, DataPlan, Plan
from engine.plan.view import in_order, missing_mask, n_missing, view_of

MOST_NUMERIC_LEVELS = 30
"""A numeric column with more distinct values than this is taken for a measurement, not for a category."""
MOST_TEXT_LEVELS = 1000
"""A text column with more distinct values than this looks like an id."""
_SAMPLE = 2000  # distinct values that decide whether a long column is numeric


@dataclass(frozen=True)
class Facts:
    """Facts about a column's values, missing ones aside; ``labelled``: the file names its values one by one.
    ``numeric`` are also numbers beside some codes for missing, and those that can be read in two ways."""

    n_distinct: int
    n_missing: int
    numeric: bool
    looks_like_id: bool
    labelled: bool = False

    @property
    def categorical(self) -> bool:
        """Return whether the column can be an attribute as it stands."""
        return (
            self.n_distinct > 0
            and not self.looks_like_id
            and not (self.numeric and self.n_distinct > MOST_NUMERIC_LEVELS and not self.labelled)
        )


def _all_whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all()) and bool((np.mod(values, 1) == 0).all())


def default_missing(column: RawColumn) -> tuple[str, ...]:
    """Raw values that mean missing in a column of which nobody has decided: all default codes but possible answers."""
    answers = possible_answers(column)
    return tuple(code for code in DEFAULT_MISSING if code not in answers)


def facts(column: RawColumn, n_records: int, missing: Sequence[str] | None = None) -> Facts:
    """The :class:`Facts` of one column, with the codes of :func:`default_missing` or these ``missing`` ones; linear in
    its distinct values."""
    mask = missing_mask(column, default_missing(column) if missing is None else missing)
    n_distinct = int(np.count_nonzero(~mask))
    first = ~mask[:_SAMPLE]
    sample = RawColumn(column.name, column.values.slice(0, _SAMPLE), column.codes)
    odd = first & np.isnan(column.notation.numbers(sample.values))
    # codes for missing do not make texts of numbers
    numeric = bool(first.any()) and (not odd.any() or not column.notation.clear or bool(codes_beside_numbers(sample)))
    missing_records = n_missing(column, mask)
    all_distinct = n_records > 50 and n_distinct == n_records - missing_records and n_distinct > 50
    # a measurement may be all distinct too, but hardly in whole numbers; an id has no signs between its thousands
    could_count = numeric and all_distinct and not missing_records and column.notation == PLAIN
    counts_up = could_count and _all_whole(column.numbers)
    looks_like_id = counts_up or (not numeric and (n_distinct > MOST_TEXT_LEVELS or all_distinct))
    label_of = column.about.label_of
    labelled = len(label_of) >= n_distinct > 0 and all(text in label_of for text in texts(column.values.filter(~mask)))
    return Facts(n_distinct, missing_records, numeric, looks_like_id and not labelled, labelled)


def guess_plan(
    table: RawTable,
    *,
    attributes: Sequence[str] | None = None,
    carry: Sequence[str] = (),
    drop: Sequence[str] = (),
    weight: str | None = None,
    id: str | None = None,
    unit: UnitColumns = None,
    cut: Mapping[str, Sequence[float]] | None = None,
) -> Plan:
    """The plan that flags alone describe.

    Attributes are the named ones, or every column that looks categorical; other categorical columns are then carried.
    A numeric column of many values or one that looks like an id, which nothing names, is refused with what to do.
    """
    cut = dict(cut or {})
    single = {column: use for column, use in ((weight, "weight"), (id, "id")) if column is not None}
    single |= dict.fromkeys(unit_columns(unit), "unit")
    for name in (*(attributes or ()), *cut, *single):
        if name not in table.columns:
            raise UsageError(f"unknown column '{name}'.{did_you_mean(name, table.names)}")
    for name in cut:
        if attributes is not None and name not in attributes:
            raise UsageError(f"cut names '{name}', which is not among the attributes; add it to them")
    named = tuple(attributes) if attributes is not None else tuple(cut)
    claimed = {name: f"attribute '{name}'" for name in named}
    claimed |= single
    assigned = sort_columns(claimed, carry, drop, table.names)
    if assigned.absent:
        raise UsageError(f"unknown column '{assigned.absent[0]}'.{did_you_mean(assigned.absent[0], table.names)}")
    set_aside = {*assigned.carried, *assigned.dropped}
    attribute_names, carried, dropped = [], [], list(drop)
    profiles = {name: facts(column, table.n_records) for name, column in table.columns.items()}
    households = household_numbers(table, profiles)
    for name, column in table.columns.items():
        if name in set_aside or (name in claimed and name not in named):
            continue
        profile = profiles[name]
        if name in named:
            if profile.numeric and not column.notation.clear:
                raise UsageError(written_unclearly(name))
            if profile.numeric and profile.n_distinct > MOST_NUMERIC_LEVELS and name not in cut:
                raise UsageError(
                    f"attribute '{name}' is numeric with {profile.n_distinct} distinct values; "
                    f"give the edges of its levels, for example {example_edges(column)}",
                    Remedy.CUT,
                    column=name,
                    edges=example_edges(column),
                )
            continue
        if name in households.lines or _is_weight(column, profile):
            carried.append(name)
            continue
        _refuse_unnamed(name, column, profile)
        if name in households.numbers:
            dropped.append(name)
        elif attributes is None:
            attribute_names.append(name)
        else:
            carried.append(name)
    names = (
        named
        if attributes is not None
        else tuple(name for name in table.names if name in attribute_names or name in named)
    )
    if not names:
        raise UsageError(
            "no column of the data looks categorical; name the attributes, and the edges of numeric ones",
            Remedy.ATTRIBUTES_AND_CUTS,
        )
    attribute_plans = tuple(_unguessed(table, name, tuple(cut.get(name, ()))) for name in names)
    data = DataPlan(attribute_plans, DEFAULT_MISSING, weight, id, (*carry, *carried), tuple(dropped), unit=unit)
    return Plan(with_seen(data, table.names))


def _unguessed(table: RawTable, name: str, cut: tuple[float, ...]) -> AttributePlan:
    """The attribute of one column as it stands; where values that may be answers mean missing by default, its levels
    say that they are answers."""
    part, answers = AttributePlan(name, cut=cut), possible_answers(table.columns[name])
    if answers and not cut:
        return replace(part, levels=value_levels(part, table, default_missing(table.columns[name])))
    return in_said_order(part, table, DEFAULT_MISSING)


def in_said_order(part: AttributePlan, table: RawTable, missing: Sequence[str]) -> AttributePlan:
    """The attribute with its levels in the order that they say, where that is another than it has without."""
    if part.levels or part.cut or len(part.view) > 1 or part.view[0] not in table.distinct.columns:
        return part
    try:
        view, levels = view_of(part, table, missing), value_levels(part, table, missing)
    except EngineError:  # the plan does not fit the data, of which its check says more
        return part
    return part if levels == view.levels[: len(levels)] else replace(part, levels=levels)


def with_levels_in_order(plan: Plan, table: RawTable, before: Plan | None = None) -> Plan:
    """The plan whose attributes without declared levels have them in the order that these say (bands of ages, months),
    as a first plan has; ``before`` is the plan of the study that goes on, whose order stays.  An approved plan is as it
    was approved.
    """
    if plan.lock is not None:
        return plan
    known = {part.name: part for part in before.attributes} if before is not None else {}
    parts = []
    for part in plan.attributes:
        same = known.get(part.name)
        if before is None:
            parts.append(in_said_order(part, table, plan.data.missing))
        else:
            parts.append(same if same is not None and part == replace(same, levels=()) else part)
    return plan if tuple(parts) == plan.attributes else replace(plan, data=replace(plan.data, attributes=tuple(parts)))


def value_levels(attribute: AttributePlan, table: RawTable, missing: Sequence[str]) -> tuple[str, ...]:
    """The levels of an attribute that are answers, in the order that they say, where ``missing`` are the plan's
    codes."""
    view = view_of(attribute, table, missing)
    levels = [level for level, kind in zip(view.levels, view.kinds, strict=True) if kind == "value"]
    return tuple(levels if attribute.levels else natural_order(levels))


def _is_weight(column: RawColumn, profile: Facts) -> bool:
    """Return whether a column of few values is a weight, which is no category."""
    return profile.categorical and not profile.labelled and is_weight(column, profile)


def _refuse_unnamed(name: str, column: RawColumn, profile: Facts) -> None:
    if profile.n_distinct == 0:
        raise EngineError(f"column '{name}' has no values at all; leave it out", Remedy.DROP, column=name)
    if profile.looks_like_id:
        raise EngineError(
            f"column '{name}' looks like an id: {profile.n_distinct} distinct values; declare it as the id, keep it "
            "with its record, or leave it out",
            Remedy.ID_COLUMN,
            column=name,
        )
    if not profile.categorical and not column.notation.clear:
        raise EngineError(f"{written_unclearly(name)}, or leave it out", Remedy.DROP, column=name)
    if not profile.categorical:
        raise EngineError(
            f"column '{name}' is numeric with {profile.n_distinct} distinct values; give the edges of its levels, for "
            f"example {example_edges(column)}, keep it with its record, or leave it out",
            Remedy.NUMERIC_COLUMN,
            column=name,
            edges=example_edges(column),
        )


def example_edges(column: RawColumn) -> str:
    """Two round example edges inside the range of a numeric column (from its distinct values, so no record shows); ""
    for a column without numbers."""
    values = column.numbers
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    low, high = (float(f"{q:.1g}") for q in np.quantile(values, [1 / 3, 2 / 3]))
    return f"{low:g},{high:g}" if low < high else f"{low:g}"


def first_plan(table: RawTable) -> Plan:
    """A plan for ``table`` that never refuses: measurements are carried, missing values become a level.

    The first id-like column is the ``id``, and others are dropped, as the numbers of households and their parts are:
    carried, they would be released.  Line numbers of a household's members are carried.  Attributes have
    explicit levels, so that a later file can be checked; a file's value labels name them where they say all of them.
    """
    attributes, carried, dropped, id = [], [], [], None
    profiles = {name: facts(column, table.n_records) for name, column in table.columns.items()}
    households = household_numbers(table, profiles)
    for name, profile in profiles.items():
        if name in households.lines or (name not in households.numbers and _is_weight(table.columns[name], profile)):
            carried.append(name)
            continue
        if name in households.numbers and not profile.looks_like_id:
            dropped.append(name)
            continue
        if not profile.categorical:
            if not profile.looks_like_id:
                carried.append(name)
            elif id is None:
                id = name
            else:
                dropped.append(name)
            continue
        attribute = first_part(table, name)
        if attribute.levels:
            attributes.append(attribute)
        else:
            carried.append(name)
    if not attributes:
        raise EngineError(
            "no column of the data looks categorical; write a plan by hand with a cut for each numeric attribute"
        )
    return Plan(DataPlan(tuple(attributes), DEFAULT_MISSING, None, id, tuple(carried), tuple(dropped)))


def first_part(table: RawTable, name: str, *, missing: Sequence[str] = (), skip: Sequence[str] = ()) -> AttributePlan:
    """The attribute that :func:`first_plan` makes of one column, with further raw values that mean missing or validly
    skipped; its ``levels`` are empty where the column holds no answers."""
    column = table.columns[name]
    profile = facts(column, table.n_records)
    attribute = AttributePlan(
        name,
        missing=tuple(missing),
        skip=tuple(skip),
        on_missing="level" if profile.n_missing or missing else "refuse",
    )
    if profile.n_missing and "missing" in as_text(column.values).to_pylist():
        attribute = replace(attribute, missing=tuple(dict.fromkeys((*attribute.missing, "missing"))))
    attribute = _with_labels(attribute, column)
    values = value_levels(attribute, table, default_missing(column))
    if attribute.merge:
        values = tuple(level for level, _ in attribute.merge)
    return replace(attribute, levels=values)


def _with_labels(attribute: AttributePlan, column: RawColumn) -> AttributePlan:
    """The attribute with the file's value labels as its levels, in the order of the codes; as it is where a value has
    none, two values share one, or a label is a word that levels of other kinds have."""
    label_of = column.about.label_of
    if not label_of:
        return attribute
    excluded = (*default_missing(column), *attribute.missing, *attribute.skip)
    coded = [text for text in as_text(column.values).to_pylist() if text not in excluded]
    named = [label_of.get(text, "") for text in coded]
    if not all(named) or len(set(named)) < len(named) or MISSING_LEVEL in named:
        return attribute
    return replace(attribute, merge=tuple((label_of[text], (text,)) for text in in_order(coded)))
