"""Every figure of users before and after, held against the tolerances by one rule and counted; the largest losses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.common.wording import listed
from engine.data.table import occupied
from engine.measures.distortion import STATISTICS, phi_squared, strength
from engine.models.analyses import Compared, compare
from engine.models.formulas import design, levels_of
from engine.models.record_release import numbers_of, numeric_columns, variable
from engine.models.regression import WHY
from engine.plan.entries import TolerancePlan
from engine.plan.households import places_of
from engine.plan.types import in_no_use
from engine.report.facts import Figure, FigureKind, ModelRow, NamedTable, NewValue, Tally, Tolerances, Utility

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.plan.entries import AnalysisPlan
    from engine.release.records import ReleasedTable

MOST_UNFLAGGED = 5000
"""Most figures within the tolerances that findings hold, those that change most; all others are held."""
MOST_CELLS = 1 << 22
"""Cells of a table of two attributes from which on nobody would read its association."""
_MANY = 20  # attributes from which on pairs that cannot have changed are passed over
_LEVEL = re.compile(r"\[(?:T\.)?([^\]]*)\]")  # within a coefficient's name, such as ``Race[T.White]``
_STATISTIC_TITLES: dict[str, str] = {"cramers_v": "Cramér's V", "contingency": "contingency coefficient C"}


@dataclass(frozen=True)
class Alterable:
    """What may differ between the original and its release, by how the release is made and not by how it came out.

    ``attributes`` (places) and ``columns`` (raw ones) may be altered.  Where ``exchanged`` is true whole records trade
    all of them at once, so that a figure which uses nothing else stays as it is; so does one that uses besides them
    only attributes on which the two records of a pair agree (``agreeing``).
    """

    attributes: frozenset[int]
    columns: frozenset[str]
    exchanged: bool
    agreeing: frozenset[int]

    @classmethod
    def of(cls, release: RecordRelease) -> Alterable:
        """What the tables of a release may alter."""
        attributes: set[int] = set()
        columns: set[str] = set()
        exchanged, moved = True, set()
        for table in release.tables:
            swapped = table.swapped if table.source is not None else frozenset()
            drawn = {j for j in range(len(table.data.domain)) if table.is_replaced(j)}
            numbers = {name for name in table.data.raw.names if table.is_renumbered(name)}
            exchanged = exchanged and not drawn and not numbers
            moved.add(swapped)
            attributes |= swapped | drawn
            columns |= (table.swapped_columns if swapped else set()) | numbers
            columns |= {name for j in drawn for name in table.data.domain.attributes[j].columns}
        spec = release.spec
        agreeing = spec.attributes.having("F") if spec is not None and spec.by_roles else ()
        return cls(frozenset(attributes), frozenset(columns), exchanged and len(moved) == 1, frozenset(agreeing))

    def can_change(self, attributes: Iterable[int], columns: Iterable[str | None] = ()) -> bool:
        """Whether a figure that uses these attributes and raw columns (a weight among them; None: none) may differ."""
        attributes, columns = set(attributes), {name for name in columns if name is not None}
        if not (attributes & self.attributes or columns & self.columns):
            return False
        others = attributes - self.attributes
        return not self.exchanged or bool(others - self.agreeing or columns - self.columns)


def flags(
    before: np.ndarray, after: np.ndarray, error: np.ndarray, is_large: np.ndarray | bool, tolerances: Tolerances
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hold changes against the tolerances; ``error`` is the standard error that the change is measured in.

    Returned are, one entry each, changes in standard errors (NaN where there is none), whether the rule can judge them,
    and whether they are beyond the tolerance of changes and beyond that of standard errors.

    A figure is beyond them where it moves by more than ``tolerances.se`` standard errors, or by more than
    ``tolerances.change`` of itself.  The second is asked only of figures that rest on many records (``is_large``) and
    stand out from 0 by more than ``tolerances.se`` standard errors: of others a share of themselves says nothing.
    """
    before, after, error = (np.asarray(values, float) for values in (before, after, error))
    moved = after - before
    relative = np.divide(moved, np.abs(before), out=np.where(moved == 0, 0.0, np.nan), where=before != 0)
    has_error = np.isfinite(error) & (error > 0)
    errors = np.divide(np.abs(moved), error, out=np.where(moved == 0, 0.0, np.nan), where=has_error)
    stands_out = is_large & ~(has_error & (np.abs(before) <= tolerances.se * error))
    with np.errstate(invalid="ignore"):
        by_change = stands_out & (np.abs(relative) > tolerances.change)
        return errors, has_error | stands_out, by_change, errors > tolerances.se


class Batch(NamedTuple):
    """Figures of one table, column or analysis (``of``), one entry each: group and value, records before and after (a
    mean over released tables), the figure before and after, and the standard error of its change.  Percentages have
    the records of their group too; a value that nobody of the group had is new."""

    of: str
    groups: Sequence[str]
    names: Sequence[str]
    n: np.ndarray
    n_after: np.ndarray
    before: np.ndarray
    after: np.ndarray
    error: np.ndarray
    within: np.ndarray | None = None
    within_after: np.ndarray | None = None


class Collection:
    """Figures of one kind, weighted by a column or not: counts of all, and the figures that change."""

    def __init__(
        self, kind: FigureKind, tally: str, tolerances: Tolerances, column: str = "", weights: np.ndarray | None = None
    ) -> None:
        self.kind, self.tolerances, self.column, self.weights = kind, tolerances, column or None, weights
        self.tally = Tally(f"{'weighted ' if column else ''}{tally}", 0, 0, 0)
        self.figures: list[Figure] = []

    def add(self, batch: Batch, can_change: bool, *, is_counted: bool = True) -> list[Figure]:
        """Compare figures, each of which exists before and after, and return those that change; they are kept unless
        another table has them already.

        Values that did not exist are not judged: the original has no standard error of them, and no share to change.
        """
        is_large = np.maximum(batch.n, batch.n_after) > self.tolerances.min_n
        is_new = (batch.n == 0) & (batch.within is not None)
        errors, asked, *beyond = flags(batch.before, batch.after, batch.error, is_large, self.tolerances)
        eligible = asked & ~is_new & can_change
        flagged = eligible & (beyond[0] | beyond[1])
        moved = (batch.after != batch.before) | (np.rint(batch.n_after) != batch.n)
        figures = [
            Figure(
                kind=self.kind,
                of=batch.of,
                group=batch.groups[i],
                what=batch.names[i],
                weighted=self.weights is not None,
                n=int(batch.n[i]),
                n_after=round(float(batch.n_after[i])),
                within=None if batch.within is None else int(batch.within[i]),
                within_after=None if batch.within_after is None else round(float(batch.within_after[i])),
                before=float(batch.before[i]),
                se=None if is_new[i] else optional(batch.error[i]),
                after=float(batch.after[i]),
                errors=None if is_new[i] else optional(errors[i]),
                flagged=None if is_new[i] else bool(flagged[i]),
                note="new value" if is_new[i] else "",
            )
            for i in np.flatnonzero(moved & can_change).tolist()
        ]
        if is_counted:
            self.count(beyond, eligible, flagged, can_change, new=int(is_new.sum()))
            self.keep(figure for figure in figures if figure.before != figure.after)
        return figures

    def count(
        self, beyond: Sequence[np.ndarray], eligible: np.ndarray, flagged: np.ndarray, can_change: bool, new: int = 0
    ) -> None:
        """Add to the numbers of the tally."""
        further = {
            "compared": len(eligible),
            "eligible": int(eligible.sum()),
            "flagged": int(flagged.sum()),
            "unchangeable": 0 if can_change else len(eligible),
            "by_change": int((eligible & beyond[0]).sum()),
            "by_errors": int((eligible & beyond[1]).sum()),
            "new": new,
        }
        self.tally = replace(self.tally, **{name: getattr(self.tally, name) + n for name, n in further.items()})

    def keep(self, figures: Iterable[Figure]) -> None:
        """Add figures, of those within the tolerances only as many as findings can hold."""
        self.figures += figures
        if len(self.figures) > 4 * MOST_UNFLAGGED:
            self.figures = _held(self.figures)


def optional(value: float) -> float | None:
    """A figure, None where it is undefined."""
    return float(value) if np.isfinite(value) else None


def by_size(figure: Figure) -> tuple[int, float, int]:
    """The key by which losses are sorted: figures that are lost, then by standard errors, then values that did not
    exist by their records."""
    if figure.note == "lost":
        return 0, 0.0, 0
    if figure.errors is None:
        return 2, 0.0, -(figure.n_after or 0)
    return 1, -figure.errors, -(figure.n or 0)


def _held(figures: Sequence[Figure]) -> list[Figure]:
    """Figures that are flagged, new or not estimable, whatever their size, and of the others the largest."""
    kept = [figure for figure in figures if figure.flagged or figure.note]
    others = sorted((figure for figure in figures if not (figure.flagged or figure.note)), key=by_size)
    return [*kept, *others[:MOST_UNFLAGGED]]


def collected(collections: Sequence[Collection]) -> tuple[tuple[Tally, ...], tuple[Figure, ...]]:
    """The counts of collections that compared anything, and the figures that findings hold in the order of their
    size."""
    figures = _held([figure for collection in collections for figure in collection.figures])
    tallies = tuple(collection.tally for collection in collections if collection.tally.compared)
    return tallies, tuple(sorted(figures, key=by_size))


def largest(figures: Iterable[Figure]) -> list[Figure]:
    """The figures that change, largest first, each once: weighted or not, whichever changes more.

    Values that did not exist and figures that are not judged are left out.
    """
    first: dict[tuple[str, ...], Figure] = {}
    for figure in sorted(figures, key=by_size):
        if figure.flagged is not None and (figure.errors or figure.note == "lost"):
            first.setdefault((figure.kind, figure.of, figure.group, figure.what), figure)
    return list(first.values())


def new_values(figures: Iterable[Figure]) -> list[NewValue]:
    """Values that some groups have in the release and did not have before, those with most records first."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.note == "new value" and figure.group and not figure.weighted:
            found.setdefault((figure.of, figure.what), []).append(figure)
    rows = []
    for (of, what), members in found.items():
        most = max(members, key=lambda figure: figure.n_after or 0)
        rows.append(NewValue(of, what, len(members), sum(figure.n_after or 0 for figure in members), most))
    return sorted(rows, key=lambda row: (-row.records, -row.groups))


class TableLosses(NamedTuple):
    """Figures of one table, column or analysis beyond the tolerances, and values that did not exist in their group."""

    of: str
    flagged: int
    new: int


def by_table(figures: Iterable[Figure]) -> list[TableLosses]:
    """The tables, columns and analyses with a flagged figure or a value that did not exist, those with most first;
    weighted figures count once."""
    rows: dict[str, tuple[set[tuple[str, str]], set[tuple[str, str]]]] = {}
    for figure in figures:
        is_new = figure.note == "new value"
        if figure.flagged or is_new:
            rows.setdefault(figure.of, (set(), set()))[is_new].add((figure.group, figure.what))
    losses = [TableLosses(of, len(flagged - new), len(new)) for of, (flagged, new) in rows.items()]
    return sorted(losses, key=lambda row: (-row.flagged - row.new, -row.flagged))


def flagged_of(utility: Utility) -> tuple[int, int]:
    """How many figures are beyond the tolerances, of how many that the release can change."""
    return sum(tally.flagged for tally in utility.tallies), sum(tally.eligible for tally in utility.tallies)


def weights_of(original: ReleasedTable) -> np.ndarray | None:
    """The records' weights, missing ones as 0; None where the plan declares none."""
    return None if original.weights is None else np.nan_to_num(original.weights, nan=0.0)


def _collections(kind: FigureKind, tally: str, release: RecordRelease, tolerances: Tolerances) -> list[Collection]:
    """A collection without weights, and one with them where there are any."""
    weights = weights_of(release.original)
    plain = [Collection(kind, tally, tolerances)]
    column = release.data.weight or ""
    return plain if weights is None else [*plain, Collection(kind, tally, tolerances, column, weights)]


class Cells(NamedTuple):
    """Cells of a table that hold anybody before or after: the ``cell`` of each record in the original and in every
    released table, the number of each cell's group, and the words for its group and for itself."""

    cell: Sequence[np.ndarray]
    group: np.ndarray
    groups: Sequence[str]
    names: Sequence[str]

    def batch(self, of: str, weights: np.ndarray | None, min_n: int) -> Batch:
        """Percentages of their group, weighted or not; after is a mean over the release's tables.

        The standard error is that of the original's percentage.  Where few records have the value or few of the group
        lack it, it is the larger one of the original's and the release's, so that a cell with next to nobody in it does
        not divide by next to nothing.  Without any weight there is no weighted percentage; a value is at 0 in a group
        that holds nobody.
        """
        sides, size = [], len(self.group)
        for tables in (self.cell[:1], self.cell[1:]):
            powers = (None, weights, weights if weights is None else weights**2)
            n, part, squares = (
                np.mean([np.bincount(table, power, size) for table in tables], axis=0) for power in powers
            )
            within, whole, all_squares = (np.bincount(self.group, v)[self.group] for v in (n, part, squares))
            with np.errstate(divide="ignore", invalid="ignore"):
                share = part / whole
                spread = (1 - share) ** 2 * squares + share**2 * np.maximum(all_squares - squares, 0)
                error = 100 * np.sqrt(spread) / whole
            sides.append((n, within, np.where(n == 0, 0.0, 100 * share), error))
        (n, within, before, error), (n_after, within_after, after, error_after) = sides
        is_rare = np.minimum(n, within - n) <= min_n
        error = np.where(is_rare, np.fmax(error, error_after), error)
        at = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
        groups, names = ([texts[i] for i in at.tolist()] for texts in (self.groups, self.names))
        return Batch(of, groups, names, *(v[at] for v in (n, n_after, before, after, error, within, within_after)))


def group_of(names: Sequence[str], plan: Plan) -> int:
    """The place, among attributes of a table, of the one whose levels are its groups: the finest place, else the
    first."""
    places = places_of(plan)
    return max(range(len(names)), key=lambda k: (places.index(names[k]) if names[k] in places else -1, -k))


def pairs(release: RecordRelease, attributes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of attributes that are compared: all, or among many attributes those of which one has changed.

    The table of two attributes that no record has altered is the same, so nothing is missed.
    """
    all_pairs = list(combinations(attributes, 2))
    if len(attributes) <= _MANY:
        return all_pairs
    altered = {j for j in attributes if any(release.changed(table, (j,)).any() for table in release.tables)}
    return [pair for pair in all_pairs if altered.intersection(pair)]


def percentages(
    release: RecordRelease, plan: Plan, tolerances: Tolerances
) -> tuple[list[Collection], list[Collection], list[NamedTable]]:
    """Percentages of every attribute and of pairs of those that users tabulate, the cells of tables that the plan
    names, and these tables.

    Cells that a table before holds already are counted there alone.
    """
    data, domain, analysed = release.data, release.data.domain, release.data.domain.indices(plan.analyse)
    most_cells, alterable = max(MOST_CELLS, 4 * data.n_records), Alterable.of(release)
    limit = " of which one has changed" if len(analysed) > _MANY else ""
    one_way = _collections("percentage of one attribute", "percentages of one attribute", release, tolerances)
    two_way = _collections("percentage of two attributes", f"percentages of two attributes{limit}", release, tolerances)
    declared = _collections("cell of a declared table", "cells of declared tables", release, tolerances)
    wanted: list[tuple[list[Collection], str, tuple[int, ...]]]
    wanted = [(one_way, name, (j,)) for j, name in enumerate(domain.names)]
    for i, j in pairs(release, analysed):
        if domain.shape[i] * domain.shape[j] <= most_cells:
            wanted.append((two_way, f"{domain.names[i]} × {domain.names[j]}", (i, j)))
    wanted += [(declared, table.name, domain.indices(table.attributes)) for table in plan.tables]
    tables, counted = [], set()
    for collections, of, attributes in wanted:
        own = [domain.attributes[j] for j in attributes]
        columns = [np.concatenate([data.codes[j], *(t.codes(j) for t in release.tables)]) for j in attributes]
        cells, inverse = occupied(columns, [each.size for each in own], len(columns[0]))
        at = group_of([each.name for each in own], plan) if len(own) > 1 else None
        heads = ["" if collections is one_way else f"{each.name}: " for each in own]
        words = [
            np.array([head + level for level in each.levels], object)[codes]
            for head, each, codes in zip(heads, own, cells.T, strict=True)
        ]
        table = Cells(
            np.split(inverse, 1 + len(release.tables)),
            np.zeros(len(cells), np.int64) if at is None else cells[:, at],
            [""] * len(cells) if at is None else words.pop(at),
            [", ".join(texts) for texts in zip(*words, strict=True)],
        )
        batches = [table.batch(of, collection.weights, tolerances.min_n) for collection in collections]
        is_counted = frozenset(attributes) not in counted
        changed = [
            collection.add(batch, alterable.can_change(attributes, (collection.column,)), is_counted=is_counted)
            for collection, batch in zip(collections, batches, strict=True)
        ]
        counted.add(frozenset(attributes))
        if collections is declared:
            moved = [figure for figure in changed[0] if figure.n_after != figure.n]
            names, most_moved = tuple(each.name for each in own), min(moved, key=by_size, default=None)
            tables.append(NamedTable(of, names, len(cells), len(moved), most_moved, reverses(cells, batches[0])))
    return [each for pair in zip(one_way, two_way, strict=True) for each in pair], declared, tables


def reverses(cells: np.ndarray, batch: Batch) -> bool:
    """Whether two attributes of two levels each have an association of the other sign after."""
    if cells.shape != (4, 2) or any(len(np.unique(column)) != 2 for column in cells.T):
        return False
    signs = [np.sign(a * d - b * c) for a, b, c, d in (batch.n, batch.n_after)]
    return bool(signs[0] * signs[1] < 0)


def means(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> list[Collection]:
    """Means of numeric columns overall and in every level of the analysed attributes."""
    data, original, alterable = release.data, release.original, Alterable.of(release)
    everybody = np.zeros(data.n_records, np.int64)
    groupings: list[tuple[str, list[str], list[np.ndarray], tuple[int, ...]]]
    groupings = [("", [""], [everybody] * (1 + len(release.tables)), ())]
    for j in data.domain.indices(plan.analyse):
        name, levels = data.domain.attributes[j].name, data.domain.attributes[j].levels
        labels = [f"{name}: {level}" for level in levels]
        groupings.append((f" by {name}", labels, [data.codes[j], *(table.codes(j) for table in release.tables)], (j,)))
    collections = _collections("mean", "means", release, tolerances)
    for column in numeric_columns(plan, data):  # one at a time: all of a large file would fill the memory
        numbers = [numbers_of(table, original, column, plan) for table in (original, *release.tables)]
        for collection in collections:
            for by, labels, codes, attributes in groupings:
                batch = means_of(column + by, labels, codes, numbers, collection.weights)
                collection.add(batch, alterable.can_change(attributes, (column, collection.column)))
    return collections


def means_of(
    of: str,
    groups: Sequence[str],
    codes: Sequence[np.ndarray],
    numbers: Sequence[np.ndarray],
    weights: np.ndarray | None,
) -> Batch:
    """The means of a column in every group, with the standard error of the original's.

    ``codes`` are each record's group and ``numbers`` its number (NaN: none) in the original and in every released
    table.
    """
    size, figures, counts = len(groups), [], []
    for group, values in zip(codes, numbers, strict=True):
        is_known = ~np.isnan(values)
        group, values = group[is_known], values[is_known]
        by = np.ones(len(values)) if weights is None else weights[is_known]
        total = np.bincount(group, by, size)
        sums = np.bincount(group, by * values, size)
        figures.append(np.divide(sums, total, out=np.full(size, np.nan), where=total > 0))
        counts.append(np.bincount(group, minlength=size))
        if len(figures) == 1:
            squares = np.bincount(group, (by * (values - figures[0][group])) ** 2, size)
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.sqrt(squares * counts[0] / np.maximum(counts[0] - 1.0, 0)) / total
    arrays = counts[0], np.mean(counts[1:], axis=0), figures[0], np.mean(figures[1:], axis=0), error
    at = np.flatnonzero(np.isfinite(arrays[2]) & np.isfinite(arrays[3]))
    return Batch(of, [groups[i] for i in at.tolist()], ["mean"] * len(at), *(values[at] for values in arrays))


def correlations(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> Collection:
    """Pearson's r of every pair of numeric columns over records that have both, without weights."""
    original, alterable = release.original, Alterable.of(release)
    collection = Collection("correlation", "correlations", tolerances)
    for a, b in combinations(numeric_columns(plan, release.data), 2):
        known, figures = [], []
        for table in (original, *release.tables):
            x, y = (numbers_of(table, original, name, plan) for name in (a, b))
            is_known = ~np.isnan(x) & ~np.isnan(y)
            x, y = x[is_known], y[is_known]
            is_constant = len(x) < 2 or x.std() == 0 or y.std() == 0
            known.append(len(x))
            figures.append(np.nan if is_constant else float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1)))
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


def association(tables: Sequence[ReleasedTable], i: int, j: int) -> dict[str, list[float]]:
    """How strongly two attributes are associated, by statistic, in each of some tables."""
    shape = tables[0].data.domain.shape
    counts = [
        np.bincount(table.codes(i).astype(np.int64) * shape[j] + table.codes(j), minlength=shape[i] * shape[j])
        for table in tables
    ]
    phi2, degrees = phi_squared(np.concatenate(counts), np.array([[shape[i], shape[j]]] * len(tables), np.int64))
    return {statistic: strength(phi2, degrees, statistic).tolist() for statistic in STATISTICS}


def associations(release: RecordRelease, between: Iterable[tuple[int, int]]) -> list[Figure]:
    """Cramér's V and the contingency coefficient of pairs of attributes, most changed first; they are not judged,
    because they sum up percentages of two attributes."""
    names, shape, n = release.data.domain.names, release.data.domain.shape, release.data.n_records
    rows = []
    for i, j in between:
        if shape[i] * shape[j] > MOST_CELLS:
            continue
        for statistic, (before, *after) in association((release.original, *release.tables), i, j).items():
            row = Figure("association", f"{names[i]} × {names[j]}", "", _STATISTIC_TITLES[statistic], False)
            rows.append(replace(row, n=n, n_after=n, before=before, after=float(np.mean(after))))
    return sorted(rows, key=lambda row: -abs((row.after or 0) - (row.before or 0)))


def coefficient_flags(comparison: Compared, tolerances: Tolerances) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Changes of an analysis's coefficients in standard errors, which are beyond the tolerances, and which by change
    and by errors: also beyond are those whose standard error changes by too large a factor or that can no longer be
    estimated."""
    before = comparison.before
    errors, _, *beyond = flags(before.estimate, comparison.after, before.se, True, tolerances)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = comparison.se_after / before.se
        is_wide = (ratio > tolerances.se_ratio) | (ratio < 1 / tolerances.se_ratio)
    lost = comparison.usable & ~np.isfinite(comparison.after)
    return errors, comparison.usable & (beyond[0] | beyond[1] | is_wide | lost), beyond


def coefficient_name(comparison: Compared, i: int) -> str:
    """A coefficient as people read it: its level after a colon."""
    return _LEVEL.sub(r": \1", comparison.ready.names[i])


def coefficient_figures(comparison: Compared, analysis: AnalysisPlan, tolerances: Tolerances) -> list[Figure]:
    """Every coefficient of an analysis; those that the original does not estimate are no losses."""
    errors, flagged, _ = coefficient_flags(comparison, tolerances)
    before, figures = comparison.before, []
    for i, is_usable in enumerate(comparison.usable.tolist()):
        is_lost = is_usable and not np.isfinite(comparison.after[i])
        why = int((comparison.why if is_lost else before.why)[i])
        values = (before.estimate[i], before.se[i], comparison.after[i], comparison.se_after[i], errors[i])
        estimate, se, after, se_after, moved = (optional(value) if is_usable else None for value in values)
        figures.append(
            Figure(
                kind="coefficient",
                of=analysis.name,
                group="",
                what=coefficient_name(comparison, i),
                weighted=analysis.weighted,
                before=estimate,
                se=se,
                after=after,
                se_after=se_after,
                errors=moved,
                flagged=bool(flagged[i]),
                note="lost" if is_lost else "" if is_usable else "not estimable",
                why=WHY[why] if is_lost or not is_usable else "",
            )
        )
    return figures


def coefficients(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> Collection:
    """Every coefficient of every declared analysis."""
    alterable, weight = Alterable.of(release), release.data.weight
    collection = Collection("coefficient", "regression coefficients", tolerances)
    for analysis in plan.analyses:
        comparison, who = compare(release, analysis, reported=True), f"analysis '{analysis.name}'"
        _, flagged, beyond = coefficient_flags(comparison, tolerances)
        used = [variable(name, plan, release.data, who) for name in (*analysis.columns, *analysis.by)]
        columns = [*(use.column for use in used), *([weight] if analysis.weighted else [])]
        can_change = alterable.can_change((use.attribute for use in used if use.attribute is not None), columns)
        collection.count(beyond, comparison.usable & can_change, flagged, can_change)
        collection.keep(coefficient_figures(comparison, analysis, tolerances))
    return collection


def model_rows(original: ReleasedTable, plan: Plan) -> list[ModelRow]:
    """What every declared analysis predicts, and the levels that its coefficients are compared with."""
    rows = []
    for analysis in plan.analyses:
        levels = levels_of(design(analysis, original, plan), original.data.domain)
        formula = analysis.formula + (f", in each stratum of {listed(analysis.by)}" if analysis.by else "")
        family = analysis.family_words + (", weighted" if analysis.weighted else "")
        rows.append(ModelRow(analysis.name, family, formula, levels.predicts, levels.references))
    return rows


def tolerances_of(plan: Plan) -> Tolerances:
    """A plan's tolerances as numbers."""
    planned = plan.tolerances
    is_own = planned != TolerancePlan()
    return Tolerances(float(planned.change), planned.min_n, float(planned.se), float(planned.se_ratio), is_own)


def utility(release: RecordRelease, plan: Plan) -> Utility:
    """Everything that is compared for users."""
    tolerances, domain = tolerances_of(plan), release.data.domain
    shares, declared, tables = percentages(release, plan, tolerances)
    others = (*means(release, plan, tolerances), correlations(release, plan, tolerances))
    tallies, figures = collected((*shares, *others, coefficients(release, plan, tolerances), *declared))
    return Utility(
        tolerances=tolerances,
        tallies=tallies,
        figures=figures,
        associations=tuple(associations(release, pairs(release, domain.indices(plan.analyse)))),
        tables=tuple(tables),
        models=tuple(model_rows(release.original, plan)),
        unused=in_no_use(plan, [domain.names[j] for j in sorted(Alterable.of(release).attributes)]),
    )
