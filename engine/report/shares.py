"""Percentages, means, correlations, associations and named tables before and after, from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.data.table import occupied
from engine.measures.distortion import STATISTICS, phi_squared, strength
from engine.models.record_release import numbers_of, numeric_columns
from engine.plan.households import places_of
from engine.report.alterable import Alterable
from engine.report.facts import NamedTable, Statistic, Tolerances
from engine.report.loss_facts import Figure, FigureKind
from engine.report.losses import Batch, Collection, by_size

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable

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


def _tabulated(release: RecordRelease, attributes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs whose cells are figures of two attributes: without tables of very many cells."""
    shape, most = release.data.domain.shape, max(_MOST_CELLS, 4 * release.data.n_records)
    return [(i, j) for i, j in pairs(release, attributes) if shape[i] * shape[j] <= most]


def weights_of(original: ReleasedTable) -> np.ndarray | None:
    """The records' weights, missing ones as 0; None where the plan declares none."""
    return None if original.weights is None else np.nan_to_num(original.weights, nan=0.0)


class _Shares:
    """Counts of a coded table before and after (a mean over a release's tables), and percentages of their group,
    weighted or not; ``group`` is the number of each cell's group.

    ``error`` is the standard error of the original's percentage within its group.  Where few records have the value or
    few of the group lack it, it is the larger one of the original's and the release's, so that a cell with next to
    nobody in it does not divide by next to nothing.
    """

    def __init__(
        self,
        before: np.ndarray,
        after: Sequence[np.ndarray],
        group: np.ndarray,
        weights: np.ndarray | None,
        min_n: int,
    ) -> None:
        size = len(group)
        self.n = np.bincount(before, minlength=size)
        self.n_after = np.mean([np.bincount(codes, minlength=size) for codes in after], axis=0)
        self.within, self.within_after = (np.bincount(group, n)[group] for n in (self.n, self.n_after))
        sums, squares = [self.n, self.n_after], [self.n, self.n_after]
        if weights is not None:
            sums, squares = (
                [
                    np.bincount(before, powers, size),
                    np.mean([np.bincount(codes, powers, size) for codes in after], axis=0),
                ]
                for powers in (weights, weights**2)
            )
        (self.before, error), (self.after, error_after) = (
            _share(part, square, group) for part, square in zip(sums, squares, strict=True)
        )
        is_rare = np.minimum(self.n, self.within - self.n) <= min_n
        self.error = np.where(is_rare, np.fmax(error, error_after), error)

    def batch(self, table: str, groups: Sequence[str], names: Sequence[str]) -> Batch:
        """The figures of the cells that hold anybody before or after; weighted ones are as many.

        ``groups`` and ``names`` are each cell's group's and its own name.  Without any weight there is no weighted
        percentage; a value is at 0 in a group that holds nobody.
        """
        is_new = self.n == 0
        before, after = np.where(is_new, 0.0, self.before), np.where(self.n_after == 0, 0.0, self.after)
        at = np.flatnonzero(((self.n > 0) | (self.n_after > 0)) & np.isfinite(before) & np.isfinite(after))
        values = (self.n, self.n_after, before, after, self.error, self.within, self.within_after, is_new)
        chosen = at.tolist()
        return Batch(table, [groups[i] for i in chosen], [names[i] for i in chosen], *(v[at] for v in values))


def _share(part: np.ndarray, squares: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Percentages of a group and their standard errors from sums of weights and of squared weights of each cell; not a
    number in a group without any."""
    whole, all_squares = (np.bincount(group, values)[group] for values in (part, squares))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = part / whole
        spread = (1 - share) ** 2 * squares + share**2 * np.maximum(all_squares - squares, 0)
        return 100 * share, 100 * np.sqrt(spread) / whole


def _collections(kind: FigureKind, tally: str, weights: np.ndarray | None, tolerances: Tolerances) -> list[Collection]:
    """A collection without weights, and one with them where there are any."""
    return [Collection(kind, tally, weighted, tolerances) for weighted in (False, True)[: 1 + (weights is not None)]]


def percentages(
    release: RecordRelease, attributes: Sequence[int], plan: Plan, tolerances: Tolerances
) -> list[Collection]:
    """One-way percentages of all attributes and two-way ones of some, unweighted and weighted."""
    data, original = release.data, release.original
    names, shape = data.domain.names, data.domain.shape
    levels = [attribute.levels for attribute in data.domain.attributes]
    weights, alterable = weights_of(original), Alterable.of(release)
    limit = " of which one has changed" if len(attributes) > _MANY else ""
    one_way = _collections("percentage of one attribute", "percentages of one attribute", weights, tolerances)
    two_way = _collections("percentage of two attributes", f"percentages of two attributes{limit}", weights, tolerances)
    for one, two in zip(one_way, two_way, strict=True):
        by, column = (weights, data.weight) if one.weighted else (None, None)
        for j, name in enumerate(names):
            after = [table.codes(j) for table in release.tables]
            shares = _Shares(data.codes[j], after, np.zeros(shape[j], np.int64), by, tolerances.min_n)
            batch = shares.batch(name, [""] * shape[j], levels[j])
            one.add(batch, alterable.can_change((j,), (column,)))
        for i, j in _tabulated(release, attributes):
            size = shape[i] * shape[j]
            before = data.codes[i].astype(np.int64) * shape[j] + data.codes[j]
            after = [table.codes(i).astype(np.int64) * shape[j] + table.codes(j) for table in release.tables]
            sides = np.divmod(np.arange(size), shape[j])
            of_first = [f"{names[i]}: {level}" for level in levels[i] for _ in levels[j]]
            of_second = [f"{names[j]}: {level}" for level in levels[j]] * shape[i]
            at = _group_of((names[i], names[j]), plan)
            groups, values = (of_second, of_first) if at else (of_first, of_second)
            shares = _Shares(before, after, sides[at], by, tolerances.min_n)
            batch = shares.batch(f"{names[i]} × {names[j]}", groups, values)
            two.add(batch, alterable.can_change((i, j), (column,)))
    return [collection for pair in zip(one_way, two_way, strict=True) for collection in pair]


def _group_of(names: Sequence[str], plan: Plan) -> int:
    """The place, among attributes of a table, of the one whose levels are its groups: the finest place, else the
    first."""
    places = places_of(plan)
    return max(range(len(names)), key=lambda k: (places.index(names[k]) if names[k] in places else -1, -k))


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


def means(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> list[Collection]:
    """Means of numeric columns overall and in every level of the analysed attributes."""
    data, original = release.data, release.original
    weights, alterable = weights_of(original), Alterable.of(release)
    one_group = np.zeros(data.n_records, np.int64)
    groupings = [_Grouping("", [""], one_group, [one_group] * len(release.tables), None)]
    for j in data.domain.indices(plan.analyse):
        attribute, after = data.domain.attributes[j], [table.codes(j) for table in release.tables]
        groupings.append(_Grouping(attribute.name, attribute.levels, data.codes[j], after, j))
    collections = _collections("mean", "means", weights, tolerances)
    for column in numeric_columns(plan, data):  # one at a time: all of a large file would fill the memory
        before = numbers_of(original, original, column, plan)
        numbers = _Numbers(column, before, [numbers_of(table, original, column, plan) for table in release.tables])
        for collection in collections:
            by, weight = (weights, data.weight) if collection.weighted else (None, None)
            for groups in groupings:
                group_attributes = () if groups.attribute is None else (groups.attribute,)
                can_change = alterable.can_change(group_attributes, (column, weight))
                collection.add(_means(numbers, groups, by), can_change)
    return collections


def _means(numbers: _Numbers, groups: _Grouping, weights: np.ndarray | None) -> Batch:
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
    of = f"{numbers.column} by {groups.name}" if groups.name else numbers.column
    arrays = (values[at] for values in (counts, counts_after, before, after, error))
    labels = [f"{groups.name}: {groups.levels[i]}" if groups.name else "" for i in at.tolist()]
    return Batch(of, labels, ["mean"] * len(at), *arrays)


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


def correlations(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> Collection:
    """Pearson's r of every pair of numeric columns over records that have both, without weights."""
    original, alterable = release.original, Alterable.of(release)
    collection = Collection("correlation", "correlations", False, tolerances)
    for a, b in combinations(numeric_columns(plan, release.data), 2):
        known, figures = [], []
        for table in (original, *release.tables):
            x, y = (numbers_of(table, original, name, plan) for name in (a, b))
            is_known = ~np.isnan(x) & ~np.isnan(y)
            known.append(int(is_known.sum()))
            figures.append(_pearson(x[is_known], y[is_known]))
        before, after = figures[0], float(np.mean(figures[1:]))
        if np.isfinite(before) and np.isfinite(after):
            arrays = (known[0], np.mean(known[1:]), before, after, fisher_error(before, after, known[0]))
            of_pair = Batch(f"{a} × {b}", [""], ["Pearson's r"], *(np.array([value], float) for value in arrays))
            collection.add(of_pair, alterable.can_change((), (a, b)))
    return collection


def fisher_error(before: float, after: float, n: int) -> float:
    """The standard error of a correlation from ``n`` records, such that the change from ``before`` to ``after`` is as
    many of them as the change of ``z = artanh r`` is of its own, ``1 / sqrt(n - 3)`` (Fisher 1921; Bonett and Wright
    2000); not a number where there is none."""
    if n <= 3:
        return float("nan")
    with np.errstate(divide="ignore"):
        moved = float(np.arctanh(after) - np.arctanh(before))
    slope = 1 - before**2 if moved == 0 else (after - before) / moved
    return abs(slope) / float(np.sqrt(n - 3))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's r; not a number where a column is constant."""
    is_constant = len(x) < 2 or x.std() == 0 or y.std() == 0
    return float("nan") if is_constant else float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))


def associations(release: RecordRelease, attributes: Sequence[int]) -> list[Figure]:
    """Cramér's V and the contingency coefficient of every pair of attributes, most changed first; they are not judged,
    because they sum up percentages of two attributes."""
    data = release.data
    names, shape, n = data.domain.names, data.domain.shape, release.data.n_records
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
            rows.append(
                Figure(
                    kind="association",
                    of=f"{names[i]} × {names[j]}",
                    group="",
                    what=_STATISTIC_TITLES[statistic],
                    weighted=False,
                    n=n,
                    n_after=n,
                    within=None,
                    within_after=None,
                    before=float(figures[0]),
                    se=None,
                    after=float(figures[1:].mean()),
                    se_after=None,
                    errors=None,
                    flagged=None,
                )
            )
    return sorted(rows, key=lambda row: -abs((row.after or 0) - (row.before or 0)))


def named_tables(
    release: RecordRelease, plan: Plan, tolerances: Tolerances
) -> tuple[list[NamedTable], list[Collection]]:
    """The tables that the plan names, before and after.

    Cells that percentages of one or two attributes or an earlier table hold already are counted there alone.
    """
    data, n, tables = release.data, release.data.n_records, []
    weights, alterable = weights_of(release.original), Alterable.of(release)
    collections = _collections("cell of a declared table", "cells of declared tables", weights, tolerances)
    analysed = data.domain.indices(plan.analyse)
    counted = {frozenset(pair) for pair in _tabulated(release, analysed)}
    counted |= {frozenset((j,)) for j in range(len(data.domain.names))}
    for table in plan.tables:
        attributes = data.domain.indices(table.attributes)
        columns = [np.concatenate([data.codes[j], *(t.codes(j) for t in release.tables)]) for j in attributes]
        cells, inverse = occupied(columns, [data.domain.shape[j] for j in attributes], n * (1 + len(release.tables)))
        codes = [inverse[k * n : (k + 1) * n] for k in range(1 + len(release.tables))]
        levels = [
            tuple(
                f"{data.domain.names[j]}: {data.domain.attributes[j].levels[c]}"
                for j, c in zip(attributes, cell, strict=True)
            )
            for cell in cells.tolist()
        ]
        by_group = len(attributes) > 1
        at = _group_of(table.attributes, plan)
        groups = [cell[at] if by_group else "" for cell in levels]
        names = [", ".join(level for k, level in enumerate(cell) if k != at or not by_group) for cell in levels]
        group = cells[:, at] if by_group else np.zeros(len(cells), np.int64)
        batches = []
        for collection in collections:
            by, column = (weights, data.weight) if collection.weighted else (None, None)
            shares = _Shares(codes[0], codes[1:], group, by, tolerances.min_n)
            batches.append(shares.batch(table.name, groups, names))
            if frozenset(attributes) not in counted:
                collection.add(batches[-1], alterable.can_change(attributes, (column,)))
        counted.add(frozenset(attributes))
        first = batches[0]
        tables.append(
            NamedTable(
                table.name,
                table.attributes,
                cells=len(cells),
                changed=int(np.count_nonzero(np.rint(first.n_after) != first.n)),
                largest=_largest_of(collections[0], first),
                reverses=by_group and _reverses(cells, first),
            )
        )
    return tables, collections


def _largest_of(collection: Collection, batch: Batch) -> Figure | None:
    """The cell of a table that changes most; None where none changes."""
    changed = [figure for figure in collection.figures_of(batch) if figure.n_after != figure.n]
    return min(changed, key=by_size, default=None)


def _reverses(cells: np.ndarray, batch: Batch) -> bool:
    """Whether two attributes of two levels each have an association of the other sign after."""
    if cells.shape != (4, 2) or any(len(np.unique(column)) != 2 for column in cells.T):
        return False
    signs = [np.sign(a * d - b * c) for a, b, c, d in (batch.n.astype(float), batch.n_after)]
    return bool(signs[0] * signs[1] < 0)
