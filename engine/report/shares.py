"""Percentages, means, associations and named tables before and after, from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.data.table import occupied
from engine.measures.association import STATISTICS, phi_squared, strength
from engine.models.columns import numbers_of, numeric_columns
from engine.report.facts import (
    CellRow,
    Distance,
    MeanRow,
    NamedTable,
    PairRow,
    ShareRow,
    Statistic,
    Tally,
    Tolerances,
)
from engine.report.redaction import SATURATED, SPARSE_CELLS, two_digits

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable

_Row = TypeVar("_Row", ShareRow, MeanRow)
MOST = 200
"""Most rows of a kind in the findings; those that change most come first, and tallies count all."""
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


def relative(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Change as a share of the original figure; NaN where that is 0 and the release's is not, 0 where both are."""
    change = after - before
    result: np.ndarray = np.divide(change, np.abs(before), out=np.where(change == 0, 0.0, np.nan), where=before != 0)
    return result


def optional(value: float) -> float | None:
    """A figure, None where it is undefined."""
    return float(value) if np.isfinite(value) else None


class _Shares:
    """Counts of a coded table before and after (a mean over a release's tables), weighted or not, as percentages."""

    def __init__(
        self, before: np.ndarray, after: Sequence[np.ndarray], size: int, weights: np.ndarray | None, counts: np.ndarray
    ) -> None:
        # without any weight there is no weighted percentage
        total = len(before) if weights is None else float(weights.sum()) or np.nan
        self.n = counts
        self.before = 100 * np.bincount(before, weights, size) / total
        self.after = 100 * np.mean([np.bincount(codes, weights, size) for codes in after], axis=0) / total
        share = self.before / 100
        squares = counts if weights is None else np.bincount(before, weights**2, size)
        spread = (1 - share) ** 2 * squares + share**2 * (squares.sum() - squares)
        self.errors_unit = 100 * np.sqrt(spread) / total

    def rows(self, table: str, names: Sequence[str], weighted: bool, tolerances: Tolerances) -> list[ShareRow]:
        relatives = relative(self.before, self.after)
        errors = np.divide(
            np.abs(self.after - self.before),
            self.errors_unit,
            out=np.full(len(self.before), np.nan),
            where=self.errors_unit > 0,
        )
        flagged = (self.n > tolerances.min_n) & (np.abs(relatives) > tolerances.change)
        return [
            ShareRow(
                table,
                names[i],
                weighted,
                int(self.n[i]),
                float(self.before[i]),
                float(self.after[i]),
                optional(relatives[i]),
                optional(errors[i]),
                bool(flagged[i]),
            )
            for i in np.flatnonzero((self.before > 0) | (self.after > 0)).tolist()
        ]


def _largest(rows: list[_Row], least: int) -> list[_Row]:
    """Those that change most; rows on at most ``least`` records, which a handful of records changes much, come last."""

    def order(row: _Row) -> tuple[bool, float, int]:
        return row.n <= least, -abs(row.relative) if row.relative is not None else -np.inf, -row.n

    return sorted(rows, key=order)[:MOST]


def _tally(kind: str, rows: Sequence[ShareRow] | Sequence[MeanRow], tolerances: Tolerances) -> Tally:
    return Tally(kind, len(rows), sum(r.n > tolerances.min_n for r in rows), sum(r.flagged for r in rows))


def percentages(
    release: RecordRelease, attributes: Sequence[int], tolerances: Tolerances
) -> tuple[list[ShareRow], list[Tally]]:
    """One-way percentages of all attributes and two-way ones of some, unweighted and weighted, most changed first."""
    data, original = release.data, release.original
    names, shape = data.domain.names, data.domain.shape
    levels = [attribute.levels for attribute in data.domain.attributes]
    weights, n = weights_of(original), data.n_records
    largest: list[ShareRow] = []
    tallies = []
    one_way: dict[bool, list[ShareRow]] = {False: [], True: []}
    two_way: dict[bool, list[ShareRow]] = {False: [], True: []}
    forms = [(False, None)] + ([(True, weights)] if weights is not None else [])
    for j, name in enumerate(names):
        counts = np.bincount(data.codes[j], minlength=shape[j])
        for weighted, by in forms:
            shares = _Shares(data.codes[j], [t.codes(j) for t in release.tables], shape[j], by, counts)
            one_way[weighted] += shares.rows(name, levels[j], weighted, tolerances)
    for i, j in pairs(release, attributes):
        size = shape[i] * shape[j]
        if size > max(_MOST_CELLS, 4 * n):
            continue
        before = data.codes[i].astype(np.int64) * shape[j] + data.codes[j]
        after = [t.codes(i).astype(np.int64) * shape[j] + t.codes(j) for t in release.tables]
        pairs_of_levels = [f"{a}, {b}" for a in levels[i] for b in levels[j]]
        counts = np.bincount(before, minlength=size)
        for weighted, by in forms:
            shares = _Shares(before, after, size, by, counts)
            two_way[weighted] += shares.rows(f"{names[i]} × {names[j]}", pairs_of_levels, weighted, tolerances)
    for weighted, _ in forms:
        weighting = "weighted " if weighted else ""
        tallies.append(_tally(f"{weighting}percentages of one attribute", one_way[weighted], tolerances))
        if two_way[weighted]:
            limit = " of which one has changed" if len(attributes) > _MANY else ""
            tallies.append(_tally(f"{weighting}percentages of two attributes{limit}", two_way[weighted], tolerances))
        largest += _largest(one_way[weighted], tolerances.min_n) + _largest(two_way[weighted], tolerances.min_n)
    return largest, tallies


@dataclass(frozen=True)
class _Grouping:
    """Groups of records by the levels of an attribute: a code per record before, and after in every released table."""

    name: str
    levels: Sequence[str]
    before: np.ndarray
    after: Sequence[np.ndarray]


@dataclass(frozen=True)
class _Numbers:
    """A numeric column: a number per record before, and after in every released table; NaN where there is none."""

    column: str
    before: np.ndarray
    after: Sequence[np.ndarray]


def means(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> tuple[list[MeanRow], list[Tally]]:
    """Means of numeric columns overall and in every level of the analysed attributes, most changed first."""
    data, original = release.data, release.original
    weights = weights_of(original)
    one_group = np.zeros(data.n_records, np.int64)
    groupings = [_Grouping("all records", [""], one_group, [one_group] * len(release.tables))]
    for j in data.domain.indices(plan.analyse):
        attribute, after = data.domain.attributes[j], [table.codes(j) for table in release.tables]
        groupings.append(_Grouping(attribute.name, attribute.levels, data.codes[j], after))
    rows: dict[bool, list[MeanRow]] = {False: []} if weights is None else {False: [], True: []}
    for column in numeric_columns(plan, data):  # one at a time: all of a large file would fill the memory
        before = numbers_of(original, original, column, plan)
        numbers = _Numbers(column, before, [numbers_of(table, original, column, plan) for table in release.tables])
        for weighted, of_kind in rows.items():
            for groups in groupings:
                of_kind += _means(numbers, groups, weights if weighted else None, tolerances)
    named = (("weighted means" if weighted else "means", of_kind) for weighted, of_kind in rows.items() if of_kind)
    largest = [row for of_kind in rows.values() for row in _largest(of_kind, tolerances.min_n)]
    return largest, [_tally(kind, of_kind, tolerances) for kind, of_kind in named]


def _means(numbers: _Numbers, groups: _Grouping, weights: np.ndarray | None, tolerances: Tolerances) -> list[MeanRow]:
    """The means of a column in every group, with the standard error of the original's."""
    size, is_known = len(groups.levels), ~np.isnan(numbers.before)
    values, codes = numbers.before[is_known], groups.before[is_known]
    counts = np.bincount(codes, minlength=size)
    record_weights = np.ones(len(values)) if weights is None else weights[is_known]
    before = _mean(groups.before, numbers.before, weights, size)
    squares = np.bincount(codes, (record_weights * (values - before[codes])) ** 2, size)
    pairs = zip(groups.after, numbers.after, strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(squares * counts / np.maximum(counts - 1.0, 0)) / np.bincount(codes, record_weights, size)
        after = np.mean([_mean(released, figures, weights, size) for released, figures in pairs], axis=0)
        errors = np.abs(after - before) / error
    change = relative(before, after)
    return [
        MeanRow(
            numbers.column,
            f"{groups.name}: {groups.levels[i]}" if groups.levels[i] else groups.name,
            weights is not None,
            int(counts[i]),
            float(before[i]),
            float(after[i]),
            optional(change[i]),
            optional(errors[i]),
            bool(counts[i] > tolerances.min_n and abs(change[i]) > tolerances.change),
        )
        for i in np.flatnonzero(np.isfinite(before) & np.isfinite(after)).tolist()
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


def correlations(release: RecordRelease, plan: Plan) -> list[PairRow]:
    """Pearson's r of every pair of numeric columns over records that have both, most changed first."""
    original = release.original
    rows = []
    for a, b in combinations(numeric_columns(plan, release.data), 2):
        figures = []
        for table in (original, *release.tables):
            x, y = (numbers_of(table, original, name, plan) for name in (a, b))
            is_known = ~np.isnan(x) & ~np.isnan(y)
            x, y = x[is_known], y[is_known]
            is_constant = len(x) < 2 or x.std() == 0 or y.std() == 0
            figures.append(np.nan if is_constant else float(np.corrcoef(x, y)[0, 1]))
        rows.append(PairRow(a, b, "Pearson's r", optional(figures[0]), optional(float(np.mean(figures[1:])))))
    return sorted(rows, key=_change)[:MOST]


def _change(row: PairRow) -> float:
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
    return sorted(rows, key=_change)[: 2 * MOST]


def named_tables(release: RecordRelease, plan: Plan) -> list[NamedTable]:
    """The tables that the plan names, before and after; of long ones the cells that changed most."""
    data, tables = release.data, []
    for table in plan.tables:
        attributes = data.domain.indices(table.attributes)
        cells, before, after = _counts(release, attributes)
        order = np.arange(len(cells))
        if len(cells) > MOST // 2:
            order = np.argsort(-np.abs(after - before), kind="stable")[: MOST // 2]
        rows = tuple(
            CellRow(
                tuple(data.domain.attributes[j].levels[c] for j, c in zip(attributes, cells[i].tolist(), strict=True)),
                int(before[i]),
                round(float(after[i])),
            )
            for i in order.tolist()
        )
        changed = int(np.count_nonzero(np.rint(after) != before))
        tables.append(NamedTable(table.name, table.attributes, len(cells), changed, rows))
    return tables


def _counts(release: RecordRelease, attributes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells that occur before or after, their counts before, and after (a mean over tables)."""
    data, n = release.data, release.data.n_records
    columns = [np.concatenate([data.codes[j], *(t.codes(j) for t in release.tables)]) for j in attributes]
    cells, inverse = occupied(columns, [data.domain.shape[j] for j in attributes], n * (1 + len(release.tables)))
    counts = [np.bincount(inverse[k * n : (k + 1) * n], minlength=len(cells)) for k in range(1 + len(release.tables))]
    return cells, counts[0], np.mean(counts[1:], axis=0)


def distance(release: RecordRelease, attributes: Sequence[int], fewest: int) -> Distance:
    """The Hellinger distance over some attributes, with and without cells of fewer than ``fewest`` records; withheld
    where most records stand in such cells."""
    data, n = release.data, release.data.n_records
    all_cells, large_cells = [], []
    share = records = float("nan")
    for table in release.tables:
        columns = [np.concatenate([data.codes[j], table.codes(j)]) for j in attributes]
        cells, inverse = occupied(columns, [data.domain.shape[j] for j in attributes], 2 * n)
        before = np.bincount(inverse[:n], minlength=len(cells))
        after = np.bincount(inverse[n:], minlength=len(cells))
        roots = (np.sqrt(after) - np.sqrt(before)) ** 2
        all_cells.append(np.sqrt(roots.sum() / (2 * n)))
        large_cells.append(np.sqrt(roots[before >= fewest].sum() / (2 * n)) if (before >= fewest).any() else np.nan)
        occupied_before = before > 0
        share = float(np.count_nonzero(occupied_before & (before < fewest)) / np.count_nonzero(occupied_before))
        records = float(before[before < max(fewest, _SMALL)].sum() / n)
    distances = np.array([np.mean(all_cells), np.mean(large_cells)])
    if share > SPARSE_CELLS:
        distances = two_digits(distances)
    hellinger = None if records > SATURATED else float(distances[0])
    return Distance(hellinger, optional(distances[1]), fewest, share)
