"""Percentages, means, associations and named tables before and after, from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.data.table import occupied
from engine.measures.association import STATISTICS, phi_squared, strength
from engine.models.record_release import numbers_of, numeric_columns
from engine.report.alterable import Alterable
from engine.report.facts import (
    CellRow,
    Distance,
    MeanRow,
    NamedTable,
    PairRow,
    ShareRow,
    Statistic,
    Tolerances,
)
from engine.report.loss_facts import LossKind
from engine.report.losses import Collection, Figures

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable

_Row = TypeVar("_Row", ShareRow, MeanRow)
MOST = 200
"""Most rows of a kind in the findings by their relative change; tallies count all."""
_MOST_CELLS = 1 << 22
_SMALL = 3  # a cell of fewer records is small, whatever the risk measure says
_MANY = 20  # attributes from which on pairs that cannot have changed are passed over
_STATISTIC_TITLES: dict[str, Statistic] = {"cramers_v": "Cramér's V", "contingency": "contingency coefficient C"}


def pairs(release: RecordRelease, attributes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of attributes that are compared: all, or among many attributes those of which one has changed.

    The table of two attributes that no record has altered is the same, so nothing is missed.
    """
    all_pairs = list(combinations(attributes, 2))
    if len(attributes) <= _MANY:
        return all_pairs
    codes = release.data.codes
    altered = {j for j in attributes if any(not np.array_equal(codes[j], t.codes(j)) for t in release.tables)}
    return [pair for pair in all_pairs if altered.intersection(pair)]


def weights_of(original: ReleasedTable) -> np.ndarray | None:
    """The records' weights, missing ones as 0; None where the plan declares none."""
    return None if original.weights is None else np.nan_to_num(original.weights, nan=0.0)


def optional(value: float) -> float | None:
    """A figure, None where it is undefined."""
    return float(value) if np.isfinite(value) else None


class _Shares:
    """Counts of a coded table before and after (a mean over a release's tables), weighted or not, as percentages.

    ``error`` is the standard error of the original's percentage; where that rests on few records, the release's if it
    is larger, so that a cell with next to nobody in it does not divide by next to nothing.
    """

    def __init__(
        self, before: np.ndarray, after: Sequence[np.ndarray], size: int, weights: np.ndarray | None, min_n: int
    ) -> None:
        # without any weight there is no weighted percentage
        total = len(before) if weights is None else float(weights.sum()) or np.nan
        self.n = np.bincount(before, minlength=size)
        self.n_after = np.mean([np.bincount(codes, minlength=size) for codes in after], axis=0)
        self.before = 100 * np.bincount(before, weights, size) / total
        self.after = 100 * np.mean([np.bincount(codes, weights, size) for codes in after], axis=0) / total
        squares, squares_after = self.n, self.n_after
        if weights is not None:
            squares = np.bincount(before, weights**2, size)
            squares_after = np.mean([np.bincount(codes, weights**2, size) for codes in after], axis=0)
        error = _share_error(self.before / 100, squares, total)
        with np.errstate(invalid="ignore"):
            larger = np.maximum(error, _share_error(self.after / 100, squares_after, total))
        self.error = np.where(self.n > min_n, error, larger)

    def figures(self, table: str, names: Sequence[str]) -> tuple[np.ndarray, Figures]:
        """Places of the cells that hold anybody before or after, and their figures; weighted ones are as many."""
        at = np.flatnonzero(((self.n > 0) | (self.n_after > 0)) & np.isfinite(self.before))
        values = (values[at] for values in (self.n, self.n_after, self.before, self.after, self.error))
        return at, Figures(table, [names[i] for i in at.tolist()], *values)

    def rows(self, table: str, names: Sequence[str], collection: Collection, can_change: bool) -> list[ShareRow]:
        _, figures = self.figures(table, names)
        changes, flagged = collection.add(figures, can_change)
        return [
            ShareRow(
                table,
                figures.names[i],
                collection.weighted,
                int(figures.n[i]),
                float(figures.before[i]),
                float(figures.after[i]),
                optional(changes.relative[i]),
                optional(changes.errors[i]),
                bool(flagged[i]),
            )
            for i in range(len(figures.names))
        ]


def _share_error(share: np.ndarray, squares: np.ndarray, total: float) -> np.ndarray:
    """Standard errors of percentages; ``squares`` are sums of squared weights of the records that count."""
    spread = (1 - share) ** 2 * squares + share**2 * np.maximum(squares.sum() - squares, 0)
    result: np.ndarray = 100 * np.sqrt(spread) / total
    return result


def _largest(rows: list[_Row], least: int) -> list[_Row]:
    """Those that change most; rows on at most ``least`` records, which a handful of records changes much, come last.

    Those that change most in standard errors are always among them: their share of an empty cell is of nothing.
    """

    def order(k: int) -> tuple[bool, float, int]:
        row = rows[k]
        return row.n <= least, -abs(row.relative) if row.relative is not None else -np.inf, -row.n

    places: list[int] = sorted(range(len(rows)), key=order)[:MOST]
    places += nlargest(MOST // 4, range(len(rows)), key=lambda k: rows[k].errors or 0)
    return [rows[k] for k in sorted(set(places), key=order)]


def _collections(kind: LossKind, tally: str, weights: np.ndarray | None, tolerances: Tolerances) -> list[Collection]:
    """A collection without weights, and one with them where there are any."""
    return [Collection(kind, tally, weighted, tolerances) for weighted in (False, True)[: 1 + (weights is not None)]]


def percentages(
    release: RecordRelease, attributes: Sequence[int], tolerances: Tolerances
) -> tuple[list[ShareRow], list[Collection]]:
    """One-way percentages of all attributes and two-way ones of some, unweighted and weighted, most changed first."""
    data, original = release.data, release.original
    names, shape = data.domain.names, data.domain.shape
    levels = [attribute.levels for attribute in data.domain.attributes]
    weights, n, alterable = weights_of(original), data.n_records, Alterable.of(release)
    limit = " of which one has changed" if len(attributes) > _MANY else ""
    one_way = _collections("percentage of one attribute", "percentages of one attribute", weights, tolerances)
    two_way = _collections("percentage of two attributes", f"percentages of two attributes{limit}", weights, tolerances)
    largest: list[ShareRow] = []
    for one, two in zip(one_way, two_way, strict=True):
        by, column = (weights, data.weight) if one.weighted else (None, None)
        rows = []
        for j, name in enumerate(names):
            after = [table.codes(j) for table in release.tables]
            shares = _Shares(data.codes[j], after, shape[j], by, tolerances.min_n)
            rows += shares.rows(name, levels[j], one, alterable.can_change((j,), (column,)))
        largest += _largest(rows, tolerances.min_n)
        rows = []
        for i, j in pairs(release, attributes):
            size = shape[i] * shape[j]
            if size > max(_MOST_CELLS, 4 * n):
                continue
            before = data.codes[i].astype(np.int64) * shape[j] + data.codes[j]
            after = [table.codes(i).astype(np.int64) * shape[j] + table.codes(j) for table in release.tables]
            cells = [f"{a}, {b}" for a in levels[i] for b in levels[j]]
            shares = _Shares(before, after, size, by, tolerances.min_n)
            rows += shares.rows(f"{names[i]} × {names[j]}", cells, two, alterable.can_change((i, j), (column,)))
        largest += _largest(rows, tolerances.min_n)
    return largest, [collection for pair in zip(one_way, two_way, strict=True) for collection in pair]


@dataclass(frozen=True)
class _Grouping:
    """Groups of records by the levels of an attribute (its place, None for all records): a code per record before, and
    after in every released table."""

    name: str
    levels: Sequence[str]
    before: np.ndarray
    after: Sequence[np.ndarray]
    attribute: int | None


@dataclass(frozen=True)
class _Numbers:
    """A numeric column: a number per record before, and after in every released table; NaN where there is none."""

    column: str
    before: np.ndarray
    after: Sequence[np.ndarray]


def means(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> tuple[list[MeanRow], list[Collection]]:
    """Means of numeric columns overall and in every level of the analysed attributes, most changed first."""
    data, original = release.data, release.original
    weights, alterable = weights_of(original), Alterable.of(release)
    one_group = np.zeros(data.n_records, np.int64)
    groupings = [_Grouping("all records", [""], one_group, [one_group] * len(release.tables), None)]
    for j in data.domain.indices(plan.analyse):
        attribute, after = data.domain.attributes[j], [table.codes(j) for table in release.tables]
        groupings.append(_Grouping(attribute.name, attribute.levels, data.codes[j], after, j))
    collections = _collections("mean", "means", weights, tolerances)
    rows: list[list[MeanRow]] = [[] for _ in collections]
    for column in numeric_columns(plan, data):  # one at a time: all of a large file would fill the memory
        before = numbers_of(original, original, column, plan)
        numbers = _Numbers(column, before, [numbers_of(table, original, column, plan) for table in release.tables])
        for of_kind, collection in zip(rows, collections, strict=True):
            by, weight = (weights, data.weight) if collection.weighted else (None, None)
            for groups in groupings:
                group_attributes = () if groups.attribute is None else (groups.attribute,)
                can_change = alterable.can_change(group_attributes, (column, weight))
                of_kind += _means(numbers, groups, by, collection, can_change)
    return [row for of_kind in rows for row in _largest(of_kind, tolerances.min_n)], collections


def _means(
    numbers: _Numbers, groups: _Grouping, weights: np.ndarray | None, collection: Collection, can_change: bool
) -> list[MeanRow]:
    """The means of a column in every group, with the standard error of the original's."""
    size, is_known = len(groups.levels), ~np.isnan(numbers.before)
    values, codes = numbers.before[is_known], groups.before[is_known]
    counts = np.bincount(codes, minlength=size)
    record_weights = np.ones(len(values)) if weights is None else weights[is_known]
    before = _mean(groups.before, numbers.before, weights, size)
    squares = np.bincount(codes, (record_weights * (values - before[codes])) ** 2, size)
    pairs = list(zip(groups.after, numbers.after, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(squares * counts / np.maximum(counts - 1.0, 0)) / np.bincount(codes, record_weights, size)
        after = np.mean([_mean(released, figures, weights, size) for released, figures in pairs], axis=0)
    counts_after = np.mean(
        [np.bincount(released[~np.isnan(figures)], minlength=size) for released, figures in pairs], axis=0
    )
    at = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    names = [f"{groups.name}: {groups.levels[i]}" if groups.levels[i] else groups.name for i in at.tolist()]
    arrays = (values[at] for values in (counts, counts_after, before, after, error))
    figures = Figures(numbers.column, names, *arrays)
    changes, flagged = collection.add(figures, can_change)
    return [
        MeanRow(
            numbers.column,
            names[i],
            collection.weighted,
            int(figures.n[i]),
            float(figures.before[i]),
            float(figures.after[i]),
            optional(changes.relative[i]),
            optional(changes.errors[i]),
            bool(flagged[i]),
        )
        for i in range(len(names))
    ]


def _mean(codes: np.ndarray, values: np.ndarray, weights: np.ndarray | None, size: int) -> np.ndarray:
    is_known = ~np.isnan(values)
    record_weights = np.ones(int(is_known.sum())) if weights is None else weights[is_known]
    total = np.bincount(codes[is_known], record_weights, size)
    result: np.ndarray = np.divide(
        np.bincount(codes[is_known], record_weights * values[is_known], size),
        total,
        out=np.full(size, np.nan),
        where=total > 0,
    )
    return result


def size_of_change(row: PairRow) -> float:
    """The key by which associations stand in order, most changed first."""
    return -abs(row.after - row.before) if row.before is not None and row.after is not None else -np.inf


def associations(release: RecordRelease, attributes: Sequence[int]) -> list[PairRow]:
    """Cramér's V and the contingency coefficient of every pair of attributes, most changed first."""
    data = release.data
    names, shape = data.domain.names, data.domain.shape
    rows = []
    for i, j in pairs(release, attributes):
        size = shape[i] * shape[j]
        if size > _MOST_CELLS:
            continue
        tables = [(data.codes[i], data.codes[j])] + [(t.codes(i), t.codes(j)) for t in release.tables]
        counts = [np.bincount(a.astype(np.int64) * shape[j] + b, minlength=size) for a, b in tables]
        sizes = np.array([[shape[i], shape[j]]] * len(tables), np.int64)
        phi2, degrees = phi_squared(np.concatenate(counts), sizes)
        for statistic in STATISTICS:
            figures = strength(phi2, degrees, statistic)
            after = float(figures[1:].mean())
            rows.append(PairRow(names[i], names[j], _STATISTIC_TITLES[statistic], float(figures[0]), after))
    return sorted(rows, key=size_of_change)[: 2 * MOST]


def named_tables(
    release: RecordRelease, plan: Plan, tolerances: Tolerances
) -> tuple[list[NamedTable], list[Collection]]:
    """The tables that the plan names, before and after; of long ones the cells that changed most."""
    data, n, tables = release.data, release.data.n_records, []
    weights, alterable = weights_of(release.original), Alterable.of(release)
    collections = _collections("cell of a declared table", "cells of declared tables", weights, tolerances)
    analysed = set(data.domain.indices(plan.analyse))
    for table in plan.tables:
        attributes = data.domain.indices(table.attributes)
        columns = [np.concatenate([data.codes[j], *(t.codes(j) for t in release.tables)]) for j in attributes]
        cells, inverse = occupied(columns, [data.domain.shape[j] for j in attributes], n * (1 + len(release.tables)))
        codes = [inverse[k * n : (k + 1) * n] for k in range(1 + len(release.tables))]
        levels = [
            tuple(data.domain.attributes[j].levels[c] for j, c in zip(attributes, cell, strict=True))
            for cell in cells.tolist()
        ]
        names = [", ".join(cell) for cell in levels]
        is_percentage = len(attributes) < 2 or (len(attributes) == 2 and analysed.issuperset(attributes))
        compared = []
        for collection in collections:
            by, column = (weights, data.weight) if collection.weighted else (None, None)
            shares = _Shares(codes[0], codes[1:], len(cells), by, tolerances.min_n)
            # percentages of one and two attributes rank the same cells already
            collection.ranked = not is_percentage
            at, figures = shares.figures(table.name, names)
            compared.append((shares, at, *collection.add(figures, alterable.can_change(attributes, (column,)))))
        shares, _, changes, flagged = compared[0]  # without weights every cell is occupied before or after
        order = np.arange(len(cells))
        if len(cells) > MOST // 2:
            order = np.argsort(-np.abs(shares.n_after - shares.n), kind="stable")[: MOST // 2]
        rows = tuple(
            CellRow(
                levels[i],
                int(shares.n[i]),
                round(float(shares.n_after[i])),
                optional(changes.relative[i]),
                optional(changes.errors[i]),
                bool(flagged[i]),
            )
            for i in order.tolist()
        )
        changed = int(np.count_nonzero(np.rint(shares.n_after) != shares.n))
        tables.append(NamedTable(table.name, table.attributes, len(cells), changed, rows))
    return tables, collections


def distance(release: RecordRelease, attributes: Sequence[int], fewest: int) -> Distance:
    """The Hellinger distance over some attributes, with and without cells of fewer than ``fewest`` records."""
    data, n = release.data, release.data.n_records
    all_cells, large_cells, moved = [], [], []
    share = float("nan")
    for table in release.tables:
        columns = [np.concatenate([data.codes[j], table.codes(j)]) for j in attributes]
        cells, inverse = occupied(columns, [data.domain.shape[j] for j in attributes], 2 * n)
        before = np.bincount(inverse[:n], minlength=len(cells))
        after = np.bincount(inverse[n:], minlength=len(cells))
        roots = (np.sqrt(after) - np.sqrt(before)) ** 2
        all_cells.append(np.sqrt(roots.sum() / (2 * n)))
        moved.append(np.abs(after - before).sum() / (2 * n))
        large_cells.append(np.sqrt(roots[before >= fewest].sum() / (2 * n)) if (before >= fewest).any() else np.nan)
        occupied_before = before > 0
        share = float(np.count_nonzero(occupied_before & (before < fewest)) / np.count_nonzero(occupied_before))
    large = optional(float(np.mean(large_cells)))
    return Distance(float(np.mean(all_cells)), large, fewest, share, float(np.mean(moved)))
