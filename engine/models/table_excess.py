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

The rate r is that of the tables: the sum of squared changes over the sum of all counts before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.data.units import Units

_MOST = 30.0  # log likelihood ratio that one cell may add
_RATES = (1e-6, 0.5)


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
    """By unit: three scores, higher is more suspect, and whether it is ``certain`` to have come from elsewhere."""

    excess: np.ndarray
    mean_excess: np.ndarray
    likelihood: np.ndarray
    certain: np.ndarray


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
    certain = np.zeros(n_units, bool)
    for unit, own, before, after, _ in tables:
        excess = np.divide(np.maximum(after - before, 0), after, out=np.zeros(len(after)), where=after > 0)
        shares += np.bincount(unit, weights=own * excess, minlength=n_units)
        members += np.bincount(unit, weights=own, minlength=n_units)
        impossible = before < own - 1e-6
        certain[unit[impossible]] = True
        ratio = own * _log_saddle(after - before - own / 2, rate * np.maximum(after - own, 0), rate * before)
        ratio = np.where(impossible, _MOST, np.clip(ratio, -_MOST, _MOST))
        likelihood += np.bincount(unit, weights=ratio, minlength=n_units)
    mean = np.divide(len(tables) * shares, members, out=np.zeros(n_units), where=members > 0)
    return Suspicion(shares, mean, likelihood, certain)


def _log_saddle(change: np.ndarray, come: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """The logarithm of the z with ``come z - gone / z = change``: the tilt that makes a change the expected one."""
    root = np.sqrt(change**2 + 4 * come * gone)
    up = change > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(up, (change + root) / (2 * come), 2 * gone / (root - change))
        return np.asarray(np.nan_to_num(np.log(z), nan=0.0, posinf=np.inf, neginf=-np.inf))
