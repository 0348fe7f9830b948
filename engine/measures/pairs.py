"""Two-way margins of many candidates at once, shared by all measures on pairs of attributes.

A margin changes only in the cells that some record left or entered, so only those are kept: the margins of one
candidate are a few dozen numbers, and three distances and two associations read the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from engine.common.registry import Cache
from engine.release.batch import ReleaseBatch, unpack

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


def pair_margins(batch: ReleaseBatch) -> PairMargins:
    """The two-way margins of every pair of a batch's attributes; formed once per batch."""
    return batch.own.cached("pair margins", lambda: _pair_margins(batch))


def _pair_margins(batch: ReleaseBatch) -> PairMargins:
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
    """Counts before at some places of some pairs' tables."""
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
