"""Inference from two-way tables: the swapped attributes, the rate, and tables fitted to them.

An agency that publishes two-way tables of its data and later a swapped file shows both sides of the exchange.  A swap
moves only tables between a swapped and an unswapped attribute; all others stay equal to the record.  How far the moved
tables went towards independence tells how many records moved.  Nothing here sees records, pairs or flags.

Iterative proportional fitting (Deming and Stephan 1940) adjusts a table of patterns and levels to published tables.
The rows are patterns of attributes that are known exactly, the columns levels of one attribute, or combinations of
several.  The table keeps the odds ratios of the table that it starts from wherever no published table speaks, and the
counts of its rows.  It has no other cells, so that a product space of all attributes is never laid out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import Cache, remembered

TOLERANCE = 0.05
"""Records by which a cell of a fitted margin may differ from the published one."""
MOST_SWEEPS = 500
MOST_CELLS = 10_000_000
"""Rows times columns beyond which no table is fitted."""
_FIRST, _STILL = 50, 0.999  # a difference that shrinks less from sweep to sweep than this stays


class Margin(NamedTuple):
    """A published table: its ``counts``, and to which of its rows and columns those of the fitted table belong."""

    row: np.ndarray
    column: np.ndarray
    counts: np.ndarray


class TablesFit(NamedTuple):
    """The fit of a table to ``margins`` published ones: the sweeps over all of them, and the largest ``difference`` of
    a cell of a margin from its published count, in records (infinite where the table was too large to be fitted)."""

    margins: int
    sweeps: int
    difference: float

    @property
    def converged(self) -> bool:
        """Return whether all margins are met; they cannot be where no table has them all."""
        return self.difference <= TOLERANCE


class AdjustedTable(NamedTuple):
    """A fit, and the ``chance`` of each column within its row."""

    chance: np.ndarray
    summary: TablesFit

    @property
    def converged(self) -> bool:
        """Return whether all margins are met."""
        return self.summary.converged

    @classmethod
    def too_large(cls) -> AdjustedTable:
        """Return what stands for a table of more than :data:`MOST_CELLS` cells."""
        return cls(np.zeros((0, 0)), TablesFit(0, 0, np.inf))


def adjusted(start: np.ndarray, totals: np.ndarray, margins: Sequence[Margin]) -> AdjustedTable:
    """Fit a table with positive cells ``start`` to margins and to the ``totals`` of its rows, one after the other."""
    from scipy.sparse import csr_array

    rows, columns = start.shape
    sums = [
        (
            csr_array((np.ones(rows), (margin.row, np.arange(rows))), (margin.counts.shape[0], rows)),
            csr_array((np.ones(columns), (np.arange(columns), margin.column)), (columns, margin.counts.shape[1])),
        )
        for margin in margins
    ]
    table, difference = _scaled_rows(start, totals), np.inf
    for sweep in range(1, MOST_SWEEPS + 1):
        before, difference = difference, 0.0
        for (by_row, by_column), margin in zip(sums, margins, strict=True):
            fitted = (by_row @ table) @ by_column
            difference = max(difference, float(np.abs(fitted - margin.counts).max(initial=0.0)))
            factor = np.divide(margin.counts, fitted, out=np.zeros_like(fitted), where=fitted > 0)
            table = table * factor[margin.row[:, None], margin.column]
        table = _scaled_rows(table, totals)
        if difference <= TOLERANCE or (sweep > _FIRST and difference > _STILL * before):
            break
    return AdjustedTable(table / totals[:, None], TablesFit(len(margins), sweep, difference))


def _scaled_rows(table: np.ndarray, totals: np.ndarray) -> np.ndarray:
    sums = table.sum(axis=1)
    factor = np.divide(totals, sums, out=np.zeros(len(sums)), where=sums > 0)
    return np.asarray(table * factor[:, None])


Name = Hashable
Tables = Mapping[tuple[Name, Name], np.ndarray]
"""Counts by pair of attributes: rows are the levels of the first one, columns those of the second."""

Z95 = 1.959963984540054
_SURE = 1e-6
_NONE = 1e-9  # a difference of shares, or a part of the records, that is rounding


class _AttributeRate(NamedTuple):
    """The rate as one swapped attribute tells it: the share of all records that changed, its standard ``error`` with
    cells taken as independent, the 95 % interval ``low`` to ``high`` with their dependence, and the weight among
    several attributes."""

    rate: float
    error: float
    low: float
    high: float
    information: float


@dataclass(frozen=True)
class MarginInference:
    """The knowledge that two-way tables of the original and of the release give.

    ``attributes`` were swapped (a swap of all others that are not fixed would be the same release), ``fixed`` ones
    moved with none of them: partners agreed on these.  ``rate`` is the estimated share of changed records with its
    standard error (cells taken as independent) and 95 % interval ``low`` to ``high``; ``moved`` is the distance of each
    pair of tables, the sum of absolute differences.  Where nothing moved, no attribute is named and the rate is 0.
    """

    attributes: tuple[Name, ...]
    fixed: tuple[Name, ...]
    rate: float
    error: float
    low: float
    high: float
    n_records: int
    moved: Mapping[tuple[Name, Name], int]

    @property
    def k(self) -> float:
        """Estimated number of pairs that exchanged values."""
        return self.rate * self.n_records / 2


def two_way_tables(
    cells: np.ndarray, counts: np.ndarray, shape: Sequence[int], names: Sequence[Name] | None = None
) -> dict[tuple[Name, Name], np.ndarray]:
    """All two-way tables of a table given by its ``cells`` (rows of level codes) and their ``counts``."""
    names = range(len(shape)) if names is None else names
    tables: dict[tuple[Name, Name], np.ndarray] = {}
    for j, first in enumerate(names):
        for k in range(j + 1, len(shape)):
            flat = cells[:, j].astype(np.int64) * shape[k] + cells[:, k]
            sums = np.bincount(flat, weights=counts, minlength=shape[j] * shape[k])
            tables[first, names[k]] = np.rint(sums).astype(np.int64).reshape(shape[j], shape[k])
    return tables


def infer_from_margins(original: Tables, released: Tables) -> MarginInference:
    """Swapped attributes and rate from published two-way tables of the original and those of a release.

    The swapped attributes are the fewest that leave no moved table among the others.  For level l of one of them and
    level x of an unswapped attribute, k records leave l and as many arrive, so the cell (x, l) is expected to change by
    ``k d(x)`` with ``d(x) = p(x | partners of l) - p(x | l)``: the partners have the other level where there are two,
    else the other levels in the shares in which these form pairs with l.  k is fitted
    by least squares over all x, with weights ``1 / (p(x|l)(1 - p(x|l)) + p(x|not l)(1 - p(x|not l)))``, and the rate is
    the sum of k over levels as a share of the records; where there are more than two, each level has its known part of
    the sum.  With attributes on which partners agreed (``fixed``) the shares are given
    these: a linear regression of x on the levels and on them, whose normal equations are two-way tables.  The 95 %
    interval takes the dependence of the cells from the pooled correlation within levels, again from two-way tables.

    Some things are beyond two-way tables: that partners differ on several swapped attributes at once, what x hangs on
    beyond single attributes, and the pairs that the strict rule leaves out because they would change nothing (the
    estimate is too high by the share of these).  With several swapped attributes it is off by up to a tenth of the
    rate, by up to a fifth where these go together, which the interval does not contain; where partners differ on
    another attribute, by up to a half.
    """
    margins = _Margins(original)
    moved = {pair: int(np.abs(released[pair] - table).sum()) for pair, table in original.items()}
    swapped = _fewest_covering([pair for pair, distance in moved.items() if distance], margins.names)
    if not swapped:
        return MarginInference((), (), 0.0, 0.0, 0.0, 0.0, margins.n, moved)
    others = [name for name in margins.names if name not in swapped]
    still = {name for name in others if not any(moved[margins.pair(s, name)] for s in swapped)}
    moving = [name for name in others if name not in still]
    after = _Margins(released)
    fixed = tuple(name for name in others if name in still)
    estimates = tuple(_rate(margins, after, _Roles(name, moving, fixed)) for name in swapped)
    weights = np.array([estimate.information for estimate in estimates])
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(estimates), 1 / len(estimates))
    rate, error, low, high = (
        float(weights @ [getattr(estimate, field) for estimate in estimates])
        for field in ("rate", "error", "low", "high")
    )
    return MarginInference(tuple(swapped), fixed, rate, error, low, high, margins.n, moved)


class _Margins(Cache):
    """Two-way tables in either direction, and the one-way tables in them; what is made of them is remembered, and must
    not be changed."""

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        if not tables:
            raise UsageError("the rate cannot be inferred: there is no two-way table; give those of two attributes.")
        self._tables = tables
        self.names: list[Name] = list(dict.fromkeys(name for pair in tables for name in pair))
        for j, first in enumerate(self.names):
            for second in self.names[j + 1 :]:
                if (first, second) not in tables and (second, first) not in tables:
                    raise UsageError(f"the two-way table of '{first}' and '{second}' is missing; give all pairs.")
        self.n = int(next(iter(tables.values())).sum())

    def pair(self, first: Name, second: Name) -> tuple[Name, Name]:
        return (first, second) if (first, second) in self._tables else (second, first)

    @remembered()
    def one_way(self, name: Name) -> np.ndarray:
        other = self.names[self.names[0] == name]
        return np.asarray(self.between(name, other).sum(axis=1))

    def between(self, first: Name, second: Name) -> np.ndarray:
        """Counts by level of the first (rows) and of the second; of an attribute with itself a diagonal."""
        if first == second:
            return np.diag(self.one_way(first))
        table = self._tables.get((first, second))
        return self._tables[second, first].T if table is None else table

    @remembered()
    def blocks(self, rows: Sequence[Name], columns: Sequence[Name]) -> np.ndarray:
        """Counts by all levels of some attributes and all levels of others."""
        side_by_side = [
            np.concatenate([self.between(first, second) for second in columns], axis=1, dtype=float) for first in rows
        ]
        return np.concatenate(side_by_side)


def _fewest_covering(moved: Sequence[tuple[Name, Name]], names: Sequence[Name]) -> list[Name]:
    """The fewest attributes of which each moved table has one, so that the others are the largest set among which
    nothing moved; of several such sets the one that comes first in the order of attributes."""
    place = {name: j for j, name in enumerate(names)}
    edges = frozenset((place[a], place[b]) for a, b in moved)
    return [names[j] for j in _cover(edges, len(names)) or ()]


def _cover(edges: frozenset[tuple[int, int]], most: int) -> tuple[int, ...] | None:
    """The first of the smallest sets that meet every edge, None when it takes more than ``most``."""
    if not edges:
        return ()
    ends = [j for edge in edges for j in edge]
    busiest = min(set(ends), key=lambda j: (-ends.count(j), j))
    near = {a + b - busiest for a, b in edges if busiest in (a, b)}
    best: tuple[int, ...] | None = None
    for chosen in ({busiest}, near):
        limit = most if best is None else len(best)
        if len(chosen) <= limit:
            left = frozenset(edge for edge in edges if not chosen.intersection(edge))
            remaining = _cover(left, limit - len(chosen))
            if remaining is not None:
                cover = tuple(sorted((*chosen, *remaining)))
                best = cover if best is None else min(best, cover, key=lambda covering: (len(covering), covering))
    return best


# -- the rate --------------------------------------------------------------------------------------------------------


class _Roles(NamedTuple):
    """A swapped attribute, the attributes whose tables with it moved, and those held equal."""

    swapped: Name
    moving: Sequence[Name]
    fixed: Sequence[Name]


class _Level(NamedTuple):
    """One level: expected change of each cell per record that leaves, weights, shares of x among the records of the
    level and among the others."""

    change: np.ndarray
    weight: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    @property
    def information(self) -> float:
        return float(self.weight @ self.change**2)


def _rate(before: _Margins, after: _Margins, roles: _Roles) -> _AttributeRate:
    sizes = before.one_way(roles.swapped).astype(float)
    levels = {at: _level(before, roles, at) for at in np.flatnonzero((sizes > 0) & (sizes < before.n)).tolist()}
    delta = after.blocks([roles.swapped], roles.moving) - before.blocks([roles.swapped], roles.moving)
    telling = {at: level for at, level in levels.items() if level is not None and level.information > 0}
    if not telling:
        return _AttributeRate(0.0, 0.0, 0.0, 1.0, 0.0)
    # the part that each level has in all that leave is known, so that one rate is fitted to the cells of all levels
    parts = pair_shares(sizes).sum(axis=1)
    total = before.n * sum(parts[at] * level.information for at, level in telling.items())
    slopes = np.zeros_like(delta)  # of the rate, in the change of each cell
    for at, level in telling.items():
        slopes[at] = level.weight * level.change / total
    rate = min(max(float((slopes * delta).sum()), 0.0), 1.0)
    # what leaves one level arrives at others, so that one level less than there are tells something of its own
    information = float(total * max(len(telling) - 1, 1) / len(telling))
    variance = _variance(before, roles, slopes, rate)
    # the rates from which the estimate is not 1.96 standard errors away, the error being that of the rate itself
    middle = rate + Z95**2 * variance / 2
    half = Z95 * math.sqrt(max(variance * rate + Z95**2 * variance**2 / 4, 0.0))
    low, high = float(max(0.0, middle - half)), float(min(1.0, middle + half))
    error = math.sqrt(rate / information)
    return _AttributeRate(rate, error, low, high, information)


def _level(before: _Margins, roles: _Roles, level: int) -> _Level | None:
    """The expectation for one level; None where the controlled attributes decide it."""
    controls = roles.fixed
    sizes = before.one_way(roles.swapped).astype(float)
    x = before.blocks([roles.swapped], roles.moving)
    totals = np.concatenate([before.one_way(name) for name in roles.moving]).astype(float)
    inside, outside = x[level] / sizes[level], (totals - x[level]) / (before.n - sizes[level])
    # records that arrive come from the other levels in the shares in which these find partners of this one
    partners = pair_shares(sizes)[level]
    contrast = partners / partners.sum()
    contrast[level] -= 1
    if controls:
        own = before.blocks([roles.swapped], controls)
        among, with_x = before.blocks(controls, controls), before.blocks(controls, roles.moving)
        solved = np.linalg.lstsq(among, np.column_stack([own.T, with_x]), rcond=1e-10)[0]
        of_levels, of_x = solved[:, : len(sizes)], solved[:, len(sizes) :]
        left = np.diag(sizes) - own @ of_levels
        slopes = np.linalg.pinv(left, rcond=1e-10, hermitian=True) @ np.column_stack([x - own @ of_x, left])
        if np.abs(contrast @ slopes[:, len(totals) :] - contrast).max() > _SURE:
            return None
        slopes = slopes[:, : len(totals)]
        change = contrast @ slopes
    else:
        change = contrast @ (x / np.maximum(sizes, 1)[:, None])
    change = np.where(np.abs(change) < _NONE, 0.0, change)
    spread = inside * (1 - inside) + outside * (1 - outside)
    return _Level(change, 1 / np.maximum(spread, 1 / before.n), inside, outside)


# -- its interval ----------------------------------------------------------------------------------------------------


def pair_shares(sizes: np.ndarray, may_pair: np.ndarray | None = None) -> np.ndarray:
    """Share of all pairs that form between each two levels, shape ``(levels, levels)``, either order counted: a record
    is drawn and then, uniformly, a partner of another level, of one that it ``may_pair`` with where this is given."""
    if may_pair is None:
        may_pair = ~np.eye(len(sizes), dtype=bool)
    partners = may_pair @ sizes
    odds = np.divide(sizes, partners, out=np.zeros(len(sizes)), where=partners > 0)
    pairs = np.where(may_pair, np.outer(odds, sizes), 0.0)
    pairs += pairs.T
    total = float(pairs.sum())
    return pairs / total if total > 0 else pairs


def _variance(before: _Margins, roles: _Roles, slopes: np.ndarray, rate: float) -> float:
    """Variance of the estimated rate per unit of the rate.

    An exchange between levels l and m adds ``g(x of the one) - g(x of the other)`` to the estimate, where g is the
    difference of the slopes.  The variance of g within a level has the pooled correlation of all cells within levels,
    and that level's own variances; records are used up, hence the finite population's correction.  The mean of g's
    differences varies between pairs of other levels.
    """
    sizes = before.one_way(roles.swapped).astype(float)
    counts = before.blocks([roles.swapped], roles.moving)
    given = counts / np.maximum(sizes, 1)[:, None]
    within = before.blocks(roles.moving, roles.moving) / before.n - (given.T * (sizes / before.n)) @ given
    scale = np.sqrt(np.maximum(np.diag(within), 0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > _NONE)
    correlation = within * np.outer(inverse, inverse)
    pairs = pair_shares(sizes)
    used = np.minimum(rate * before.n * pairs.sum(axis=1) / np.maximum(sizes, 1), 1.0)
    variance, means = 0.0, np.zeros_like(pairs)
    for level in np.flatnonzero(pairs.sum(axis=1)):
        spread = np.sqrt(given[level] * (1 - given[level]))
        g = slopes - slopes[level]  # of all partners' levels
        variances = np.einsum("mx,xy,my->m", g * spread, correlation, g * spread)
        variance += float(pairs[level] @ variances) * (1 - used[level])
        means[level] = (g * (given[level] - given)).sum(axis=1)
    # how many pairs form between which levels is chance as well
    variance += (float((pairs * means**2).sum()) - float((pairs * means).sum()) ** 2) / 2
    return max(variance, 0.0) * before.n
