"""Suspicion of records, or of whole households, from two-way tables of the original beside the release.

An agency that publishes counts of its original by place and another attribute, and later a file in which households
exchanged their places, shows both sides of each cell.  A cell with more persons than before has taken in somebody; one
with few, and as many as before, hardly has.  Nothing here sees pairs, flags or original records.

Units are records, or households that move as one.  Scores are formed from the cells of a unit's members:

* ``excess``: the sum over members and tables of ``max(0, after - before) / after``, the least share of the cell's
  persons that came from elsewhere; ``mean_excess`` is its mean over members;
* ``likelihood``: the sum over a unit's cells of the log likelihood ratio of the change ``after - before``, with the
  unit's own members among those that came against among those that stayed.  The others that came and those that left
  are taken as Poisson, ``r (after - m)`` and ``r before`` in number for m members, and the ratio by the saddle point
  ``z`` of their difference: ``a z - b / z = d``;
* a unit is ``certain`` to have come where a cell held fewer persons before than the unit has members in it.

Each of them, and the mean excess, mean change and least count of each table, are ``traces`` that
:mod:`engine.models.table_excess` weighs.

The rate r is that of the tables: the sum of squared changes over the sum of all counts before and after.

How strongly each trace speaks is learned from cases that are known.  An intruder who knows a method simulates it under
other keys, on the release or on any like file, and learns from the simulated swaps which traces altered units have.
The agency, which knows the altered units, gets the same weights without simulation: it learns them from some units and
applies them to others, so that no unit is judged by itself.

The model is a logit of the standardised features with a ridge, fitted by Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.common.processes import one_thread
from engine.data.microdata import Units

_MOST = 30.0  # log likelihood ratio that one cell may add
_RATES = (1e-6, 0.5)
_MOST_CHANGE = 3.0  # persons in one cell, of either sign, beyond which a change says no more
MOST_TABLES = 24
"""Tables with traces of their own, those that changed most; the others are in sums only."""


class CellsOfUnits(NamedTuple):
    """One table: counts ``before`` and ``after`` of the cell of each unit's members, unit by unit.

    ``unit`` has a row for each cell that a unit has members in, ``members`` is how many; ``spread`` is the rate's part
    of this table, squared changes and counts summed over its cells.  Counts may be weighted: then they and the members
    are in units of the cell's mean weight.
    """

    unit: np.ndarray
    members: np.ndarray
    before: np.ndarray
    after: np.ndarray
    spread: tuple[float, float]


class Suspicion(NamedTuple):
    """By unit: three scores, higher is more suspect; whether it is ``certain`` to have come from elsewhere; and its
    ``traces``, shape ``(units, traces)``."""

    excess: np.ndarray
    mean_excess: np.ndarray
    likelihood: np.ndarray
    certain: np.ndarray
    traces: np.ndarray


def cells_of_units(
    before: np.ndarray, after: np.ndarray, units: Units | None, weights: np.ndarray | None = None
) -> CellsOfUnits | None:
    """A table of the original and of the release from the number of each record's cell ``before`` and ``after``.

    The two may come in any order: only their counts are used.  None where no cell changed its count.
    """
    n = len(after)
    n_cells = int(max(before.max(), after.max())) + 1
    if n_cells > 8 * n + 10_000:
        cells, joint = np.unique(np.concatenate([before, after]), return_inverse=True)
        before, after, n_cells = joint[:n], joint[n:], len(cells)
    was = np.bincount(before, weights=weights, minlength=n_cells)
    now = np.bincount(after, weights=weights, minlength=n_cells)
    scale = np.ones(n_cells)
    if weights is not None:
        squares = np.bincount(after, weights=weights**2, minlength=n_cells)
        scale = np.divide(squares, now, out=np.ones(n_cells), where=squares > 0)
        was, now = np.round(was / scale, 9), np.round(now / scale, 9)
    if np.array_equal(was, now):
        return None
    spread = float(((now - was) ** 2).sum()), float((now + was).sum())
    if units is None:
        own = np.ones(n) if weights is None else weights / scale[after]
        return CellsOfUnits(np.arange(n), own, was[after], now[after], spread)
    key = units.of_record * n_cells + after
    if weights is None:
        key, members = np.unique(key, return_counts=True)
    else:
        key, rows = np.unique(key, return_inverse=True)
        members = np.bincount(rows, weights=weights) / scale[key % n_cells]
    unit, cell = key // n_cells, key % n_cells
    return CellsOfUnits(unit, members, was[cell], now[cell], spread)


def suspicion(tables: Sequence[CellsOfUnits], n_units: int) -> Suspicion:
    """The scores of all units from some tables."""
    changes, counts = (sum(table.spread[k] for table in tables) for k in (0, 1))
    rate = float(np.clip(changes / max(counts, 1.0), *_RATES))
    shares, members, likelihood = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    certain, extremes, traces = np.zeros(n_units, bool), _Extremes.of(n_units), []
    traced = sorted(range(len(tables)), key=lambda t: -tables[t].spread[0] / tables[t].spread[1])[:MOST_TABLES]
    for t, (unit, own, before, after, _) in enumerate(tables):
        change = after - before
        excess = np.divide(np.maximum(change, 0), after, out=np.zeros(len(after)), where=after > 0)
        share, present = (np.bincount(unit, weights=x, minlength=n_units) for x in (own * excess, own))
        shares, members = shares + share, members + present
        impossible = before < own - 1e-6
        certain[unit[impossible]] = True
        ratio = own * _log_saddle(change - own / 2, rate * np.maximum(after - own, 0), rate * before)
        ratio = np.where(impossible, _MOST, np.clip(ratio, -_MOST, _MOST))
        likelihood += np.bincount(unit, weights=ratio, minlength=n_units)
        extremes.add(unit, own, change, excess, impossible)
        if t in traced:
            bounded = own * np.clip(change, -_MOST_CHANGE, _MOST_CHANGE)
            least = np.full(n_units, np.inf)
            np.minimum.at(least, unit, after)
            traces += [_per(share, present), _per(np.bincount(unit, weights=bounded, minlength=n_units), present)]
            traces.append(np.log(np.where((least > 0) & (least < np.inf), least, 1.0)))
    mean = _per(len(tables) * shares, members)
    per_member = _per(len(tables) * likelihood, members)
    size = np.log(np.where(members > 0, members, 1.0))
    traces += [shares, mean, likelihood, per_member, size, certain.astype(float), *extremes.traces()]
    return Suspicion(shares, mean, likelihood, certain, np.column_stack(traces))


class _Extremes(NamedTuple):
    """Over the ``cells`` of each unit: how many had no room for its members (``short``), how many gained as many as it
    has there or more (``full``), and the ``least`` and ``most`` excess."""

    cells: np.ndarray
    short: np.ndarray
    full: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, n_units: int) -> _Extremes:
        cells, short, full, most = (np.zeros(n_units) for _ in range(4))
        return cls(cells, short, full, np.ones(n_units), most)

    def add(
        self, unit: np.ndarray, own: np.ndarray, change: np.ndarray, excess: np.ndarray, impossible: np.ndarray
    ) -> None:
        """Take in the cells of one table."""
        for total, part in ((self.cells, None), (self.short, impossible), (self.full, change >= own - 1e-6)):
            total += np.bincount(unit, weights=part, minlength=len(total))
        np.minimum.at(self.least, unit, excess)
        np.maximum.at(self.most, unit, excess)

    def traces(self) -> list[np.ndarray]:
        return [_per(self.short, self.cells), _per(self.full, self.cells), self.least, self.most]


def _per(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(total, number, out=np.zeros(len(total)), where=number > 0))


def _log_saddle(change: np.ndarray, come: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """The logarithm of the z with ``come z - gone / z = change``: the tilt that makes a change the expected one."""
    root = np.sqrt(change**2 + 4 * come * gone)
    up = change > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(up, (change + root) / (2 * come), 2 * gone / (root - change))
        return np.asarray(np.nan_to_num(np.log(z), nan=0.0, posinf=np.inf, neginf=-np.inf))


RIDGE = 10.0
"""Penalty: half the sum of squares of the coefficients of standardised features."""
MOST_CASES = 20_000
"""Units of either kind, altered or not, of each half from which weights are learned at most."""
_STEPS, _HALVINGS, _STILL = 30, 20, 1e-9


def learned(features: np.ndarray, altered: np.ndarray) -> np.ndarray | None:
    """The log odds of each unit, by weights learned from the other half; None where a half has not both kinds.

    ``features`` has a row for each unit.  Units with equal features are in the same half.
    """
    group = np.unique(np.round(features @ np.arange(1.0, features.shape[1] + 1), 6), return_inverse=True)[1]
    half = group % 2
    n_kind = np.bincount(half * 2 + altered, minlength=4)
    if not n_kind.all():
        return None
    cases = np.zeros(len(altered), bool)
    for h in range(2):
        for kind in (False, True):
            of_kind = np.flatnonzero((half == h) & (altered == kind))
            cases[of_kind[:: -(-len(of_kind) // MOST_CASES)]] = True
    spread = features.std(axis=0)
    kept = spread > 1e-9 * np.abs(features).max(axis=0, initial=1.0)
    x = np.column_stack([np.ones(len(altered)), (features[:, kept] - features[:, kept].mean(axis=0)) / spread[kept]])
    odds = np.zeros(len(altered))
    with one_thread():
        for h in range(2):
            known = cases & (half != h)
            odds[half == h] = x[half == h] @ _fit(x[known], altered[known].astype(float))
    return odds


def _fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients of the penalised logit; the first column, the constant, bears no penalty."""
    penalty = np.full(x.shape[1], RIDGE)
    penalty[0] = 0.0
    beta = np.zeros(x.shape[1])
    height, chance = _height(x, y, beta, penalty)
    for _ in range(_STEPS):
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, x.T @ (y - chance) - penalty * beta)
        for _ in range(_HALVINGS):
            now, chance = _height(x, y, beta + step, penalty)
            if now >= height:
                break
            step = step / 2
        beta, gained, height = beta + step, now - height, now
        if gained <= _STILL * abs(height):
            break
    return beta


def _height(x: np.ndarray, y: np.ndarray, beta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray]:
    odds = x @ beta
    small = np.exp(-np.abs(odds))
    chance = np.where(odds >= 0, 1, small) / (1 + small)
    height = y @ odds - np.maximum(odds, 0).sum() - np.log1p(small).sum() - (penalty * beta**2).sum() / 2
    return float(height), chance
