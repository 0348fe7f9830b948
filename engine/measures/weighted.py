"""Distortion of weighted tables: every record counts with its declared weight, as in published totals.

Gomatam, Karr and Sanil (2005), eq. 9–11, with weight sums in place of counts.  Weights stay with their record, so an
exchange between two records of different weight changes weighted totals even where it leaves every count as it was.
The note of each measure names the level whose weighted total changed most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.common.errors import EngineError
from engine.common.registry import remembered
from engine.measures.base import Figure, Measure
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable

NO_WEIGHT = "no weight is declared"


def weighted_hellinger(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Hellinger distance of the weighted tables, eq. 9.  In [0, 1]; lower is better; NaN without weights."""
    return _mean(release, places, lambda p, q: np.sqrt(((np.sqrt(q) - np.sqrt(p)) ** 2).sum() / 2))


def weighted_total_variation(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Total variation distance of the weighted tables, eq. 10.  In [0, 1]; lower is better; NaN without weights."""
    return _mean(release, places, lambda p, q: np.abs(q - p).sum() / 2)


def weighted_entropy_change(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Change of Shannon entropy of the weighted tables, eq. 11.  Signed; nearer to zero is better; NaN without
    weights."""
    return _mean(release, places, lambda p, q: (_p_log_p(p) - _p_log_p(q)).sum())


def weighted_margin_change(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """The largest relative change of a weighted total of one level, in size.

    At least 0; lower is better; levels without weight before are left out; NaN without weights.
    """
    weights = _weights(release.original)
    if weights is None:
        return Figure(float("nan"), NO_WEIGHT)
    size, _, _ = _worst_level(release, places)
    return Figure(size, _note(release, places))


def _p_log_p(p: np.ndarray) -> np.ndarray:
    return p * np.log(np.where(p > 0, p, 1.0))


def _mean(
    release: RecordRelease, places: tuple[int, ...], distance: Callable[[np.ndarray, np.ndarray], float]
) -> Figure:
    """A distance between weighted shares, averaged over the release's tables."""
    if _weights(release.original) is None:
        return Figure(float("nan"), NO_WEIGHT)
    figures = [float(distance(*_shares(release, table, places))) for table in release.tables]
    return Figure(sum(figures) / len(figures), _note(release, places))


@remembered()
def _weights(table: ReleasedTable) -> np.ndarray | None:
    """The weights, checked once; None when none are declared."""
    weights = table.weights
    if weights is None:
        return None
    bad = int((~np.isfinite(weights) | (weights < 0)).sum())
    if bad:
        raise EngineError(f"records whose weight is missing, negative or no number: {bad}")
    if not weights.any():
        raise EngineError("every weight is 0")
    return weights


def _needed(table: ReleasedTable) -> np.ndarray:
    weights = _weights(table)
    if weights is None:
        raise EngineError(NO_WEIGHT)
    return weights


@remembered(at=1)
def _shares(release: RecordRelease, table: ReleasedTable, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Weighted shares of the cells that occur before or after; remembered for the next measure."""
    original = release.original
    numbers, cell = original.cached(
        ("numbered cells", places), lambda: np.unique(original.cells(places), return_inverse=True)
    )
    changed = np.flatnonzero(table.cells(places) != original.cells(places))
    entered = table.cells(places)[changed]
    at = np.minimum(np.searchsorted(numbers, entered), len(numbers) - 1)
    unknown = numbers[at] != entered
    new_numbers, new = np.unique(entered[unknown], return_inverse=True)
    at[unknown] = len(numbers) + new
    after = cell.copy()
    after[changed] = at
    size = len(numbers) + len(new_numbers)
    old, new_weights = _needed(original), _needed(table)
    before_sums = np.bincount(cell, weights=old, minlength=size)
    after_sums = np.bincount(after, weights=new_weights, minlength=size)
    return before_sums / before_sums.sum(), after_sums / after_sums.sum()


@remembered()
def _worst_level(release: RecordRelease, places: tuple[int, ...]) -> tuple[float, float, tuple[int, int]]:
    """Size and sign of the largest relative change of a level's weighted total, and its attribute and level."""
    worst = (0.0, 0.0, (-1, -1))
    for j in places:
        size = release.data.domain.shape[j]
        before = _level_totals(release.original, j, size)
        for table in release.tables:
            after = _level_totals(table, j, size)
            change = np.divide(after - before, before, out=np.zeros(size), where=before > 0)
            level = int(np.abs(change).argmax())
            if abs(change[level]) > worst[0]:
                worst = (float(abs(change[level])), float(change[level]), (j, level))
    return worst


@remembered()
def _level_totals(table: ReleasedTable, attribute: int, size: int) -> np.ndarray:
    return np.bincount(table.codes(attribute), weights=_needed(table), minlength=size)


def _note(release: RecordRelease, places: tuple[int, ...]) -> str:
    size, change, (j, level) = _worst_level(release, places)
    if size == 0:
        return ""
    attribute = release.data.domain.attributes[j]
    return f"largest change of a weighted total: {attribute.name} '{attribute.levels[level]}' {change:+.2%}"


_SOURCE = "Gomatam, Karr and Sanil (2005), "
_COST = "a few milliseconds per 50,000 records"

WEIGHTED_HELLINGER = Measure.of(
    weighted_hellinger,
    "utility",
    symbol="HDw",
    title="Hellinger distance, weighted",
    least=0.0,
    most=1.0,
    unit="distance",
    source=_SOURCE + "eq. 9, on weight sums",
    meaning=(
        "The distance of the released weighted table from the original one; a shift in a small cell counts more "
        "than the same shift in a large one."
    ),
    undefined=NO_WEIGHT,
    needs="records",
    cost=_COST,
)
WEIGHTED_TOTAL_VARIATION = Measure.of(
    weighted_total_variation,
    "utility",
    symbol="TVw",
    title="Total variation distance, weighted",
    share_of="total weight",
    source=_SOURCE + "eq. 10, on weight sums",
    meaning=(
        "The share of the population, as the weights count it, that would have to move to another cell to turn the "
        "released table back into the original one."
    ),
    undefined=NO_WEIGHT,
    needs="records",
    cost=_COST,
)
WEIGHTED_ENTROPY_CHANGE = Measure.of(
    weighted_entropy_change,
    "utility",
    symbol="Δhw",
    title="Entropy change, weighted",
    better="zero",
    range="-log(cells) to log(cells)",
    unit="nats",
    source=_SOURCE + "eq. 11, on weight sums",
    meaning=(
        "How much more (positive) or less (negative) evenly the weighted records spread over the cells; zero means "
        "unchanged."
    ),
    undefined=NO_WEIGHT,
    needs="records",
    cost=_COST,
)
WEIGHTED_MARGIN_CHANGE = Measure.of(
    weighted_margin_change,
    "utility",
    symbol="ΔWmax",
    title="Largest change of a weighted total",
    least=0.0,
    unit="share of the original weighted total",
    source="largest |relative change| of a weighted one-way total",
    meaning=(
        "The largest relative change of any level's weighted total, such as the estimated number of people in one age "
        "group."
    ),
    undefined=NO_WEIGHT,
    needs="records",
    cost=_COST,
)
