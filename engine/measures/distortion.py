"""Distortion of contingency tables: distances between the released table and the original one.

Gomatam, Karr and Sanil (2005), section 4.1, eq. 8–11, on proportions; utility is the negative of distortion.  All are
sums over touched cells only, because every other cell contributes nothing.

Two-way margins are shared by all measures on pairs of attributes.  A margin changes only in the cells that some record
left or entered, so only those are kept: the margins of one candidate are a few dozen numbers, and three distances and
two associations read the same ones.

Cramér's V and the contingency coefficient (same paper, Appendix B) measure associations.  With ``phi2 = chi2 / n`` of a
two-way table over the rows and columns that occur, ``V = sqrt(phi2 / (min(rows, columns) - 1))`` and ``C = sqrt(phi2 /
(1 + phi2))``; both are 0 when an attribute has one level.  Changes are original less release: positive where an
association got weaker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import prod
from typing import Any, Literal, Protocol, get_args

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.registry import Cache, remembered
from engine.measures.base import Measure, Natural, Several, Summary
from engine.release.batch import ReleaseBatch, SummedBatch, unpack

_DENSE = 1 << 22  # most cells that are tabulated at once
_GROUP = 64  # combinations of the attributes whose margins are formed together


@dataclass
class PairMargins:
    """Cells of two-way margins whose counts changed, margin after margin.

    There is one table per candidate and pair; table ``t`` belongs to candidate ``t // len(pairs)`` and to pair
    ``pairs[t % len(pairs)]``.  ``table``, ``cell``, ``before`` and ``after`` have one entry per changed cell; ``cell``
    is the row-major place in the pair's table.  ``original[p]`` are the occupied places of pair ``p`` before, with
    their counts.
    """

    n_records: int
    n_candidates: int
    pairs: tuple[tuple[int, int], ...]
    sizes: tuple[tuple[int, int], ...]
    table: np.ndarray
    cell: np.ndarray
    before: np.ndarray
    after: np.ndarray
    original: tuple[tuple[np.ndarray, np.ndarray], ...]
    own: Cache = field(default_factory=Cache)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums per table, added in the order of the cells (so the same alone as among others)."""
        return np.bincount(self.table, weights=values, minlength=self.n_candidates * len(self.pairs))

    def per_pair(self, values: np.ndarray) -> np.ndarray:
        """Figures per table, shape ``(candidates, pairs)``."""
        return values.reshape(self.n_candidates, len(self.pairs))


def mean_over_pairs(figures: np.ndarray) -> np.ndarray:
    """Mean over the last axis of ``(candidates, pairs)``, added in order: the same bits alone as among others."""
    n_candidates, n_pairs = figures.shape
    owner = np.repeat(np.arange(n_candidates), n_pairs)
    result: np.ndarray = np.bincount(owner, weights=figures.reshape(-1), minlength=n_candidates) / n_pairs
    return result


def largest_over_pairs(figures: np.ndarray) -> np.ndarray:
    """The figure of ``(candidates, pairs)`` that is largest in size, with its sign; the first of equals."""
    result: np.ndarray = figures[np.arange(len(figures)), np.abs(figures).argmax(axis=1)]
    return result


@remembered("own")
def pair_margins(batch: ReleaseBatch) -> PairMargins:
    """The two-way margins of every pair of a batch's attributes; formed once per batch."""
    shape, d, n = batch.shape, len(batch.shape), len(batch)
    pairs = tuple(combinations(range(d), 2))
    pair_index = {pair: p for p, pair in enumerate(pairs)}
    codes = [unpack(batch.index_words, layout) for layout in batch.layout]
    original = batch.shared.cached("pair originals", lambda: _originals(batch, pairs, codes))
    moved = np.flatnonzero(batch.after != batch.before)
    cell, change = batch.cell[moved], (batch.after - batch.before)[moved].astype(float)
    ends = np.searchsorted(moved, batch.ends)
    length = np.diff(ends, prepend=0)
    changes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # table, cell, change
    for i in range(d):
        # the margins of i and another attribute move only where records changed on one of the two
        candidates = np.flatnonzero(batch.swaps[:, i])
        if len(candidates) == 0:
            continue
        size = length[candidates]
        if len(candidates) == n:
            at, amounts = cell, change
        else:
            chosen = np.repeat(ends[candidates] - np.cumsum(size), size) + np.arange(int(size.sum()))
            at, amounts = cell[chosen], change[chosen]
        rows = len(candidates) * shape[i]
        # first the margin of i and a few others, then of it the two-way margins: its cells are far fewer
        for group in _groups([j for j in range(d) if j != i], shape):
            width = prod(shape[j] for j in group)
            combined = codes[i]
            for j in group:
                combined = combined * shape[j] + codes[j]
            first = np.repeat(np.arange(len(candidates)) * (shape[i] * width), size)
            where, amount = _sums(first + combined[at], amounts, rows * width)
            row_of, in_group = np.divmod(where, width)
            levels = np.unravel_index(np.arange(width), [shape[j] for j in group])
            for j, level in zip(group, levels, strict=True):
                if len(group) == 1:
                    final, by_pair = where, amount
                else:
                    final, by_pair = _sums(row_of * shape[j] + level[in_group], amount, rows * shape[j])
                local, pair_cell = np.divmod(final, shape[i] * shape[j])
                who = candidates[local]
                if j < i:  # a candidate that changed on both was counted when j was first
                    once = ~batch.swaps[who, j]
                    who, pair_cell, by_pair = who[once], pair_cell[once], by_pair[once]
                    pair_cell = (pair_cell % shape[j]) * shape[i] + pair_cell // shape[j]
                changes.append((who * len(pairs) + pair_index[min(i, j), max(i, j)], pair_cell, by_pair))
    none = np.zeros(0, np.int64)
    table = np.concatenate([none, *(change_part[0] for change_part in changes)])
    pair_cell = np.concatenate([none, *(change_part[1] for change_part in changes)])
    amount = np.concatenate([none, *(change_part[2] for change_part in changes)])
    largest_table = max((shape[i] * shape[j] for i, j in pairs), default=1)
    order = np.argsort(table * largest_table + pair_cell, kind="stable")
    table, pair_cell, amount = table[order], pair_cell[order], amount[order].astype(np.int64)
    sizes = tuple((shape[i], shape[j]) for i, j in pairs)
    before = _counts_at(original, sizes, table % max(1, len(pairs)), pair_cell)
    return PairMargins(batch.n_records, n, pairs, sizes, table, pair_cell, before, before + amount, original)


def _groups(attributes: list[int], shape: tuple[int, ...]) -> list[list[int]]:
    """Attributes packed so that each group has few combinations; one with many levels stands alone."""
    groups: list[list[int]] = []
    for j in attributes:
        if groups and prod(shape[k] for k in groups[-1]) * shape[j] <= _GROUP:
            groups[-1].append(j)
        else:
            groups.append([j])
    return groups


def _originals(
    batch: ReleaseBatch, pairs: tuple[tuple[int, int], ...], codes: list[np.ndarray]
) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    first = [column[: len(batch.original)] for column in codes]
    margins = [
        _sums(first[i] * batch.shape[j] + first[j], batch.original.astype(float), batch.shape[i] * batch.shape[j])
        for i, j in pairs
    ]
    return tuple((cells, counts.astype(np.int64)) for cells, counts in margins)


def _counts_at(
    original: tuple[tuple[np.ndarray, np.ndarray], ...],
    sizes: tuple[tuple[int, int], ...],
    pair: np.ndarray,
    cell: np.ndarray,
) -> np.ndarray:
    start = np.cumsum([0, *(rows * columns for rows, columns in sizes)])
    none = np.zeros(0, np.int64)
    occupied = np.concatenate(
        [none, *(positions + cells for positions, (cells, _) in zip(start, original, strict=False))]
    )
    counts = np.concatenate([none, *(counts for _, counts in original)])
    numbers = start[pair] + cell
    if start[-1] <= _DENSE:
        dense = np.zeros(start[-1], np.int64)
        dense[occupied] = counts
        result: np.ndarray = dense[numbers]
        return result
    positions = np.minimum(np.searchsorted(occupied, numbers), len(occupied) - 1)
    return np.where(occupied[positions] == numbers, counts[positions], 0)


def _sums(number: np.ndarray, change: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Places whose changes do not cancel, in order, with their sums (whole numbers, so in any order the same)."""
    if size <= 4 * len(number) + _DENSE:
        sums = np.bincount(number, weights=change, minlength=size)
        where = np.flatnonzero(sums)
        return where, sums[where]
    distinct, inverse = np.unique(number, return_inverse=True)
    sums = np.bincount(inverse, weights=change)
    nonzero = sums != 0
    return distinct[nonzero], sums[nonzero]


SUMMARIES: tuple[Summary, ...] = get_args(Summary)


class Tables(Protocol):
    """Tables with their counts before and after in the cells that changed: releases, or their two-way margins."""

    n_records: int
    before: np.ndarray
    after: np.ndarray
    own: Cache

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums per table."""


Distance = Callable[[Tables], np.ndarray]


def hellinger(batch: Tables | SummedBatch) -> np.ndarray:
    """Hellinger distance, eq. 9: ``sqrt(sum (sqrt p - sqrt q)^2 / 2)``.  In [0, 1]; lower is better; 0 for identical
    tables.

    Squared differences are summed, since ``1 - sum sqrt(pq)`` cancels near zero.
    """
    root_changes = batch.root_changes if isinstance(batch, SummedBatch) else batch.total(_root_changes(batch))
    return np.sqrt(root_changes / (2 * batch.n_records))


@remembered("own")
def _root_changes(batch: Tables) -> np.ndarray:
    changes: np.ndarray = (np.sqrt(batch.after) - np.sqrt(batch.before)) ** 2
    return changes


def total_variation(batch: Tables | SummedBatch) -> np.ndarray:
    """Total variation distance, eq. 10: ``sum |p - q| / 2``.  In [0, 1]; lower is better; at most the share of changed
    records."""
    if isinstance(batch, SummedBatch):
        return batch.moved / (2 * batch.n_records)
    return batch.total(np.abs(batch.after - batch.before)) / (2 * batch.n_records)


def entropy_change(batch: Tables | SummedBatch) -> np.ndarray:
    """Change of Shannon entropy, eq. 11, ``h(post) - h(pre)`` in natural units.  Signed; nearer to zero is better."""
    if isinstance(batch, SummedBatch):
        return batch.x_log_x / batch.n_records
    return batch.total(x_log_x(batch.before) - x_log_x(batch.after)) / batch.n_records


def x_log_x(counts: np.ndarray) -> np.ndarray:
    """``x log x`` of whole numbers from 0 on."""
    result: np.ndarray = counts * np.log(np.maximum(counts, 1))
    return result


def false_zeros(batch: ReleaseBatch) -> np.ndarray:
    """Number of cells occupied in the original table and empty in the released one.  A count; lower is better."""
    return batch.total((batch.before > 0) & (batch.after == 0))


def false_nonzeros(batch: ReleaseBatch) -> np.ndarray:
    """Number of cells empty in the original table and occupied in the released one.  A count; lower is better."""
    return batch.total((batch.before == 0) & (batch.after > 0))


def new_combinations(batch: ReleaseBatch) -> np.ndarray:
    """Number of released records with a pair of values, of any two of the attributes, that no original record has.  A
    count; lower is better; NaN where there is only one attribute."""
    pairs = list(combinations(range(len(batch.shape)), 2))
    if not pairs:
        return np.full(len(batch), np.nan)
    arrived = (batch.before == 0) & (batch.after > 0)  # a cell with a new pair was empty
    cells, cell_of = np.unique(batch.cell[arrived], return_inverse=True)
    new = np.zeros(len(cells), bool)
    for i, j in pairs:
        existing = batch.shared.cached(("pairs that exist", i, j), partial(_pairs, batch, i, j))
        new |= ~np.isin(_pairs(batch, i, j, cells), existing)
    records = np.zeros(len(batch.after), np.int64)
    records[arrived] = batch.after[arrived] * new[cell_of]
    return batch.total(records)


def _pairs(batch: ReleaseBatch, i: int, j: int, cells: np.ndarray | None = None) -> np.ndarray:
    """A number for the levels of two attributes in each of some cells, of the original's where none are named."""
    words = batch.index_words[: len(batch.original)] if cells is None else batch.index_words[cells]
    first, second = (unpack(words, batch.layout[k]).astype(np.int64) for k in (i, j))
    return first * batch.shape[j] + second


def hellinger_large(batch: ReleaseBatch, n_rule: Several = 3) -> np.ndarray:
    """Hellinger distance over large cells: eq. 9 summed over the cells that held at least ``n_rule`` records before.

    Cells that were small or empty before are left out of the sum and nothing else changes: shares are still of all
    records, so the figure is never above :func:`hellinger`.  In [0, 1]; lower is better; NaN when no cell is large.
    """
    figures = np.sqrt(batch.total(_root_changes(batch) * (batch.before >= n_rule)) / (2 * batch.n_records))
    return figures if (batch.original >= n_rule).any() else np.full(len(batch), np.nan)


def two_way_figures(batch: ReleaseBatch, distance: Distance) -> np.ndarray:
    """A distance on the margin of every pair of attributes, shape ``(candidates, pairs)``, pairs in order."""
    margins = pair_margins(batch)
    return margins.per_pair(distance(margins))


def two_way(distance: Distance) -> Callable[..., np.ndarray]:
    """A distance summarised over the margins of every pair of attributes (Gomatam, Karr and Sanil 2005, Appendix B).

    ``summary`` is mean or max; a signed distance is summarised by the largest in size, with its sign, under max.
    """

    def compute(batch: ReleaseBatch, summary: Summary) -> np.ndarray:
        if len(batch.shape) < 2:
            return np.full(len(batch), np.nan)
        figures = two_way_figures(batch, distance)
        return mean_over_pairs(figures) if summary == "mean" else largest_over_pairs(figures)

    return compute


def largest_two_way(batch: ReleaseBatch) -> np.ndarray:
    """The largest total variation distance among the margins of all pairs of attributes.  In [0, 1]; lower is
    better."""
    if len(batch.shape) < 2:
        return np.full(len(batch), np.nan)
    return largest_over_pairs(two_way_figures(batch, total_variation))


_PAPER = "Gomatam, Karr and Sanil (2005), "

HELLINGER = Measure.of(
    hellinger,
    "utility",
    symbol="HD",
    title="Hellinger distance",
    least=0.0,
    most=1.0,
    unit="distance",
    source=_PAPER + "eq. 9",
    meaning=(
        "The distance of the released table from the original one; a shift in a small cell counts more than the "
        "same shift in a large one."
    ),
)
HELLINGER_LARGE = Measure.of(
    hellinger_large,
    "utility",
    symbol="HD₊",
    title="Hellinger distance without small cells",
    least=0.0,
    most=1.0,
    unit="distance",
    source=_PAPER + "eq. 9, summed over the cells with at least n_rule records before",
    meaning=(
        "The distance of the released table from the original one over the cells that held at least n_rule records. "
        "Where most cells are smaller, it says little."
    ),
    undefined="every cell of the original table is small, so nothing is left to compare",
)
TOTAL_VARIATION = Measure.of(
    total_variation,
    "utility",
    symbol="TV",
    title="Total variation distance",
    share_of="records",
    source=_PAPER + "eq. 10",
    meaning=(
        "The share of records that would have to move to another cell to turn the released table back "
        "into the original one."
    ),
)
ENTROPY_CHANGE = Measure.of(
    entropy_change,
    "utility",
    symbol="Δh",
    title="Entropy change",
    better="zero",
    range="-log(cells) to log(cells)",
    unit="nats",
    source=_PAPER + "eq. 11",
    meaning=(
        "How much more (positive) or less (negative) evenly the released records spread over the cells; zero means "
        "unchanged."
    ),
)
FALSE_ZEROS = Measure.of(
    false_zeros,
    "utility",
    symbol="FZ",
    title="False zeros",
    range="0 to the number of occupied cells",
    unit="cells",
    unit_kind="count",
    source="count of cells with N(c) > 0 before and 0 after",
    meaning="The number of combinations of values that the original holds and the release does not.",
)
FALSE_NONZEROS = Measure.of(
    false_nonzeros,
    "utility",
    symbol="FN",
    title="False non-zeros",
    range="0 to the number of released cells",
    unit="cells",
    unit_kind="count",
    source="count of cells with N(c) = 0 before and > 0 after",
    meaning="The number of combinations of values that the release holds and the original does not.",
)


NEW_COMBINATIONS = Measure.of(
    new_combinations,
    "utility",
    symbol="NC",
    title="New combinations",
    unit="records",
    unit_kind="count",
    source="count of records in cells of two-way tables with N(c) = 0 before",
    meaning=(
        "The number of released records that hold two values together which no original record does, such as a kind of "
        "dwelling in a place where there was none."
    ),
    undefined="there is only one attribute, so there are no two-way tables",
)


def _over_pairs(full: Measure, compute: Callable[..., Any], meaning: str, **own: Any) -> Measure:
    """A measure of the whole table as one of the two-way tables; ``own`` says what else differs."""
    own = {"name": f"{full.name}_two_way", "symbol": f"{full.symbol}₂", "title": f"{full.title}, two-way tables", **own}
    return replace(
        full,
        **{"source": _PAPER + "Appendix B", **own},
        two_way=True,
        meaning=meaning,
        compute=compute,
        undefined="there is only one attribute, so there are no two-way tables",
    )


def _two_way(full: Measure, meaning: str) -> Measure:
    return _over_pairs(full, two_way(full.compute), meaning, parameters={"summary": "mean"})


HELLINGER_TWO_WAY = _two_way(
    HELLINGER,
    "The Hellinger distance of the table of every two attributes: the mean over all pairs, or the largest "
    "where the plan asks for it.",
)
TOTAL_VARIATION_TWO_WAY = _two_way(
    TOTAL_VARIATION,
    "The total variation distance of the table of every two attributes: the mean over all pairs, or the largest "
    "where the plan asks for it.",
)
ENTROPY_CHANGE_TWO_WAY = _two_way(
    ENTROPY_CHANGE,
    "The entropy change of the table of every two attributes: the mean over all pairs, or the largest in size "
    "where the plan asks for it.",
)
LARGEST_TWO_WAY = _over_pairs(
    TOTAL_VARIATION,
    largest_two_way,
    "The share of records that would have to move to another cell to restore the two-way table that changed most. All "
    "pairs of attributes count, whether users tabulate them or not.",
    name="largest_two_way",
    symbol="TV₂ max",
    title="Largest change of a two-way table",
    source=_PAPER + "eq. 10 and Appendix B, the largest over all attributes that are released",
    over="all",
)


Statistic = Literal["cramers_v", "contingency"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
_MOST_CELLS = 1 << 22  # most cells of two-way tables that are held at once


def phi_squared(counts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``chi2 / n`` of several tables, and for each the smaller number of rows or columns that occur, less one.

    ``sizes`` holds rows and columns of each table, shape ``(tables, 2)``; ``counts`` their whole counts, table after
    table and row after row.  Independence gives exactly 0.
    """
    rows, columns = sizes.T
    length = rows * columns
    table = np.repeat(np.arange(len(sizes)), length)
    position_in_table = np.arange(len(counts)) - np.repeat(np.cumsum(length) - length, length)
    wide = columns[table]
    row_start, column_start = np.cumsum(rows) - rows, np.cumsum(columns) - columns
    row = row_start[table] + position_in_table // wide
    column = column_start[table] + position_in_table % wide
    of_row = np.bincount(row, weights=counts, minlength=int(rows.sum()))
    of_column = np.bincount(column, weights=counts, minlength=int(columns.sum()))
    n = np.bincount(np.repeat(np.arange(len(sizes)), rows), weights=of_row, minlength=len(sizes))[table]
    expected = of_row[row] * of_column[column]
    # whole numbers up to the division, so nothing cancels (up to 90 million records)
    terms = (n * counts - expected) ** 2 / (n * n * np.maximum(expected, 1))
    phi2 = np.bincount(table, weights=terms, minlength=len(sizes))
    used = [
        np.bincount(np.repeat(np.arange(len(sizes)), per), weights=sums > 0, minlength=len(sizes))
        for per, sums in ((rows, of_row), (columns, of_column))
    ]
    return phi2, np.minimum(*used) - 1


def strength(phi2: np.ndarray, free: np.ndarray, statistic: Statistic) -> np.ndarray:
    """Cramér's V or the contingency coefficient from what :func:`phi_squared` gives; in [0, 1]."""
    if statistic == "cramers_v":
        result: np.ndarray = np.minimum(1.0, np.sqrt(np.divide(phi2, free, out=np.zeros_like(phi2), where=free > 0)))
        return result
    if statistic == "contingency":
        result = np.sqrt(phi2 / (1 + phi2))
        return result
    raise UsageError(
        f"statistic == '{statistic}', must be cramers_v or contingency.{did_you_mean(statistic, STATISTICS)}"
    )


def association_change(batch: ReleaseBatch, statistic: Statistic) -> np.ndarray:
    """Original less released association of every pair of attributes, shape ``(candidates, pairs)``, pairs in order.

    In [-1, 1]; exactly 0 for a pair whose table did not change.
    """
    before, after = (strength(*phi, statistic) for phi in _phi_of_pairs(pair_margins(batch)))
    result: np.ndarray = before - after
    return result


Phi = tuple[np.ndarray, np.ndarray]


@remembered("own")
def _phi_of_pairs(margins: PairMargins) -> tuple[Phi, Phi]:
    """Results of :func:`phi_squared` for every pair before, and for every candidate and pair after."""
    n_pairs, sizes = len(margins.pairs), np.array(margins.sizes, np.int64).reshape(-1, 2)
    length = sizes.prod(axis=1)
    if (length > _MOST_CELLS).any():
        rows, columns = sizes[length.argmax()]
        raise EngineError(
            f"two attributes have {rows} and {columns} levels, too many for an association; merge levels or leave "
            "one out with attributes="
        )
    start = np.cumsum(length) - length
    original = np.zeros(int(length.sum()), np.int64)
    for first, (cells, counts) in zip(start, margins.original, strict=True):
        original[first + cells] = counts
    before = phi_squared(original, sizes)
    after = tuple(np.tile(values_after, margins.n_candidates) for values_after in before)
    changed, rank = np.unique(margins.table, return_inverse=True)  # tables that changed at all
    length_of = length[changed % n_pairs] if n_pairs else changed
    ends = np.cumsum(length_of)
    first = 0
    while first < len(changed):
        # as many tables as fit, at least one
        last = max(first + 1, int(np.searchsorted(ends, ends[first] - length_of[first] + _MOST_CELLS, side="right")))
        pairs_here = changed[first:last] % n_pairs
        table_start = ends[first:last] - length_of[first:last] - (ends[first] - length_of[first])
        at = np.arange(int(length_of[first:last].sum())) + np.repeat(
            start[pairs_here] - table_start, length_of[first:last]
        )
        counts = original[at]
        changed_cells = slice(*np.searchsorted(rank, [first, last]))
        counts[table_start[rank[changed_cells] - first] + margins.cell[changed_cells]] = margins.after[changed_cells]
        for values_after, values in zip(after, phi_squared(counts, sizes[pairs_here]), strict=True):
            values_after[changed[first:last]] = values
        first = last
    return before, (margins.per_pair(after[0]), margins.per_pair(after[1]))


def _association(statistic: Statistic, statistic_name: str, quantity: str, **fields: Any) -> Measure:
    def compute(batch: ReleaseBatch, summary: Summary) -> np.ndarray:
        """Change of a statistic of association in size, averaged over all pairs of attributes, or the largest.  In [0,
        1]; lower is better; 0 for identical tables; NaN with one attribute."""
        if len(batch.shape) < 2:
            return np.full(len(batch), np.nan)
        sizes = np.abs(association_change(batch, statistic))
        return mean_over_pairs(sizes) if summary == "mean" else largest_over_pairs(sizes)

    return Measure(
        title=f"Change of {statistic_name}",
        kind="utility",
        least=0.0,
        most=1.0,
        unit="change of association",
        source="Gomatam, Karr and Sanil (2005), Appendix B",
        meaning=(
            f"How much {quantity} changed, up or down: the mean over all pairs, or the largest change "
            "where the plan asks for it."
        ),
        compute=compute,
        parameters={"summary": "mean"},
        undefined="there is only one attribute, so there are no pairs",
        **fields,
    )


CRAMERS_V_CHANGE = _association(
    "cramers_v",
    "Cramér's V",
    "the strength of association between two attributes",
    name="cramers_v_change",
    symbol="|ΔV|",
)
CONTINGENCY_CHANGE = _association(
    "contingency",
    "the contingency coefficient",
    "Pearson's contingency coefficient of two attributes",
    name="contingency_change",
    symbol="|ΔC|",
    range="0 to below 1",
)


def edit_failures(batch: ReleaseBatch, rule_no: Natural = 0) -> np.ndarray:
    """Number of released records whose combination of levels an edit rule forbids: the one of that number, from 1 on,
    or any.  A count; lower is better; NaN without such a rule."""
    if batch.failing is None or rule_no > batch.failing.shape[1]:
        return np.full(len(batch), np.nan)
    failing = np.asarray(batch.failing[:, rule_no - 1] if rule_no else batch.failing.any(axis=1))
    base = int(batch.original[failing[: len(batch.original)]].sum())
    return base + batch.total((batch.after - batch.before) * failing[batch.cell])


EDIT_FAILURES = Measure.of(
    edit_failures,
    "utility",
    symbol="EF",
    title="Edit failures",
    unit="records",
    unit_kind="count",
    source="count of records in forbidden combinations (edit rules of the plan)",
    meaning=(
        "The number of released records whose combination of values an edit rule of the plan forbids; the original "
        "may hold some already."
    ),
    over="all",
    undefined="the plan declares no such edit rule",
)
