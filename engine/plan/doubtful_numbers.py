"""Values in doubt of household numbers, ids, weights and places: codes that may mean missing and look like one more."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import texts
from engine.data.microdata import RawColumn, RawTable, Units
from engine.plan.doubts import code_like, reads_as_missing, records_of
from engine.plan.entries import labelled
from engine.plan.households import places_of
from engine.plan.mismatches import DoubtfulNumber
from engine.plan.types import Plan

if TYPE_CHECKING:
    import pyarrow as pa

_FAR_LARGER, _CROWD, _FEW = 3, 10, 3  # times the next unit's size; its least size; units that may be so
_MARGIN = 3  # records that a unit numbered 0 or 99 has more than any other


def doubtful_numbers(plan: Plan, table: RawTable) -> Iterator[DoubtfulNumber]:
    """Values of the plan's household numbers, id, weight and places that may mean missing and that it takes for real
    ones; it says of a column that none does, or lists those that do."""
    decided = {column.name for column in plan.data.columns if column.real}
    places = [part for part in plan.attributes if part.name in places_of(plan) and len(part.view) == 1 and not part.cut]
    names = [*plan.data.single_uses, *(part.view[0] for part in places)]
    names = [name for name in names if name in table.columns]
    table.keep_in_memory(names)
    unit = [name for name in plan.data.unit_columns if name in table.columns]
    if unit and len(unit) == len(plan.data.unit_columns) and table.streamed is None:  # else a unit is refused
        yield from _of_groups(_rows(table, unit), "unit", plan, decided)
    if plan.data.id in names:
        yield from _of_groups(_rows(table, [str(plan.data.id)]), "id", plan, decided)
    if plan.data.weight in names and plan.data.weight not in decided:
        yield from _of_weight(_rows(table, [str(plan.data.weight)]), plan)
    for part in places:
        if part.view[0] in names and part.view[0] not in decided:
            column = table.distinct.columns[part.view[0]]
            answers = {raw for level, values in part.merge for raw in values if not reads_as_missing(level)}
            known = {*part.missing_codes(plan.data.missing), *part.skip, *(answers - {*column.about.label_of})}
            mask = code_like(column)[1] & ~column.about.missing_mask(column.values)
            yield from _found(column, table.multiplicity, "place", mask, known)


def refuse_doubtful(plan: Plan, table: RawTable) -> None:
    """Refuse (:class:`EngineError`) a plan that takes for a real household, record, weight or place what may mean that
    there is none, where nobody said so; ``table`` as the plan labels it."""
    for doubtful in doubtful_numbers(plan, labelled(table, plan.data.columns)):
        raise EngineError(f"{doubtful.sentence}; {doubtful.remedy}")


@dataclass(frozen=True)
class _Rows:
    """Columns with the number of records of each row and the first of these; None where each row is one record."""

    columns: tuple[RawColumn, ...]
    counts: np.ndarray | None = None
    first: np.ndarray | None = None


def _rows(table: RawTable, names: Sequence[str]) -> _Rows:
    """Columns of records, or of streamed ones the distinct values of the one column."""
    if table.streamed is None:
        return _Rows(tuple(table.columns[name] for name in names))
    (name,) = names
    counted = table.streamed.values_of(name, _tells)
    column = RawColumn(name, counted.values, np.arange(len(counted.values)), table.about(name))
    return _Rows((column,), counted.counts, counted.first)


def _tells(values: pa.Array) -> np.ndarray:
    """Mask of values that read like codes, and of the largest number among the others."""
    column = RawColumn("", values, np.arange(len(values)))
    like, figures = code_like(column)[0], column.numbers
    others = figures[~like & np.isfinite(figures)]
    mask: np.ndarray = like | (figures == others.max(initial=-np.inf))
    return mask


def _found(
    column: RawColumn, counts: np.ndarray | None, use: str, mask: np.ndarray, known: Container[str] = ()
) -> Iterator[DoubtfulNumber]:
    values = [text for i in np.flatnonzero(mask).tolist() if (text := texts(column.values.slice(i, 1))[0]) not in known]
    for value, n in records_of(column, values, counts).items():
        if n and not (use == "place" and len(value) < 3 and value.isalpha()):  # DK is Denmark among countries
            yield DoubtfulNumber(column.name, use, value, n, column.about.label_of.get(value, ""))


def _of_groups(rows: _Rows, use: str, plan: Plan, decided: set[str]) -> Iterator[DoubtfulNumber]:
    """Values of columns that number groups of records together, such as households."""
    columns = rows.columns
    absent = [np.append(c.about.absent_mask(c.values, plan.data.missing), True) for c in columns]
    units = Units.of_columns([column.codes for column in columns])
    if len(units) < 2:
        return
    value_of = [column.codes[units.first] for column in columns]
    n_of = units.size if rows.counts is None else rows.counts[units.first]
    size = np.where(np.any([mask[codes] for mask, codes in zip(absent, value_of, strict=True)], axis=0), 0, n_of)
    masks = [code_like(column) for column in columns]
    usual = ~np.any([like[codes] for (like, _), codes in zip(masks, value_of, strict=True)], axis=0)
    largest = int(size[usual].max(initial=0))
    asked = np.zeros(len(units), bool)
    for column, (like, apart), codes in zip(columns, masks, value_of, strict=True):
        most = np.zeros(len(column.values) + 1, np.int64)
        np.maximum.at(most, codes, size)
        doubtful = apart & (most[:-1] > 1)
        doubtful |= like & (most[:-1] >= largest + _MARGIN) & (2 * most[:-1] >= 3 * largest)
        asked |= np.append(doubtful, False)[codes]
        if column.name not in decided:
            yield from _found(column, rows.counts, use, doubtful)
    rest = np.sort(np.where(asked, 0, size))[::-1][: _FEW + 1]
    leaps = [i for i in range(len(rest) - 1) if rest[i] >= max(_CROWD, _FAR_LARGER * rest[i + 1])]
    if leaps and decided.isdisjoint(column.name for column in columns):
        for unit in np.flatnonzero(~asked & (size >= rest[leaps[0]])).tolist():
            column, codes = columns[-1], value_of[-1]
            value = texts(column.values.slice(int(codes[unit]), 1))[0]
            first = int(units.first[unit] if rows.first is None else rows.first[units.first[unit]]) + 1
            yield DoubtfulNumber(column.name, use, value, int(size[unit]), first=first)


def _of_weight(rows: _Rows, plan: Plan) -> Iterator[DoubtfulNumber]:
    """Weights such as 99999 that lie far above all others; what is negative or no number is refused besides."""
    (column,) = rows.columns
    figures = column.numbers
    absent = column.about.absent_mask(column.values, plan.data.missing)
    like, apart = code_like(column)
    usual = figures[~absent & ~like & np.isfinite(figures)]
    if len(usual):
        yield from _found(column, rows.counts, "weight", apart & ~absent & (figures / 2 > usual.max()))
