"""One release before and after, on real records: distributions, associations, small cells, coefficients.

What is counted in :mod:`engine.report.describe` is not counted again here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.data.table import occupied
from engine.measures.distortion import phi_squared, strength
from engine.measures.reanalysis import interval_overlap
from engine.models.analyses import compare
from engine.models.record_release import RecordRelease, numbers_of
from engine.models.regression import WHY
from engine.release.records import ReleasedTable
from engine.report.losses import coefficient_flags, coefficient_name, model_rows, tolerances_of

if TYPE_CHECKING:
    from engine.plan import Plan
    from engine.report.describe import Changes
    from engine.report.loss_facts import ModelRow
    from engine.sweeps.remake import Remade

_MOST_CELLS = 1 << 22  # a two-way table with more cells has no association that anybody would read
SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 49), (50, None))
"""Sizes of cells that are counted together: from, to (None: no end)."""


@dataclass(frozen=True)
class Association:
    """Cramér's V of two attributes (places ``i`` < ``j``) in the original and in the release, each 0 to 1; NaN where a
    table is too large to be read."""

    i: int
    j: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Release less original: negative where the association has got weaker."""
        return self.after - self.before


def associations(realisation: Remade, changes: Changes, table: int = 0) -> list[Association]:
    """Pairs of attributes whose two-way table has changed, largest change of Cramér's V first.

    All other pairs are as they were, exactly.
    """

    data = realisation.data
    shape, d = data.domain.shape, len(data.domain)
    pairs = []
    for i, j in combinations(range(d), 2):
        if not changes.moved[i, j]:
            continue
        if shape[i] * shape[j] > _MOST_CELLS:
            pairs.append(Association(i, j, np.nan, np.nan))
            continue
        figures = []
        for codes in ((data.codes[i], data.codes[j]), (realisation.codes(i, table), realisation.codes(j, table))):
            counts = np.bincount(codes[0].astype(np.int64) * shape[j] + codes[1], minlength=shape[i] * shape[j])
            phi2, free = phi_squared(counts, np.array([[shape[i], shape[j]]]))
            figures.append(float(strength(phi2, free, "cramers_v")[0]))
        pairs.append(Association(i, j, *figures))
    return sorted(pairs, key=lambda pair: -np.nan_to_num(abs(pair.change), nan=-1.0))


@dataclass(frozen=True)
class SmallCells:
    """Cells of the keys' table by size, before and after, and what became of the records that stood in small ones.

    ``cells_before`` and ``cells_after`` count cells, one entry for each of :data:`SIZES`.  Of the ``exposed`` records
    that stand in cells of at most ``limit`` records in the original, ``unaltered`` still do, with all their own keys.
    """

    cells_before: np.ndarray
    cells_after: np.ndarray
    limit: int
    exposed: int
    unaltered: int


def small_cells(realisation: Remade, keys: Sequence[str], table: int = 0, limit: int = 2) -> SmallCells:
    """How cells of the keys' table change in size."""
    data = realisation.data
    attributes = data.domain.indices(tuple(keys))
    shape = [data.domain.shape[j] for j in attributes]
    before = [data.codes[j] for j in attributes]
    after = [realisation.codes(j, table) for j in attributes]
    cell_sizes = []
    cells_of_size = []
    for codes in (before, after):
        _, cell = occupied(codes, shape, data.n_records)
        counts = np.bincount(cell)
        cells_of_size.append(
            np.array([int(((counts >= low) & (counts <= (high or data.n_records))).sum()) for low, high in SIZES])
        )
        cell_sizes.append(counts[cell])
    is_unaltered = np.all([a == b for a, b in zip(before, after, strict=True)], axis=0)
    exposed = cell_sizes[0] <= limit
    return SmallCells(
        cells_before=cells_of_size[0],
        cells_after=cells_of_size[1],
        limit=limit,
        exposed=int(exposed.sum()),
        unaltered=int((exposed & is_unaltered & (cell_sizes[1] <= limit)).sum()),
    )


def weighted_levels(
    realisation: Remade, plan: Plan, attribute: int, table: int = 0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Weighted totals per level of one attribute before and after, shape ``(levels,)`` each; None without a weight.

    The weight stays with its record, so that weighted totals may change where a swap keeps all counts.  A missing
    weight counts as 0.
    """

    data = realisation.data
    if data.weight is None:
        return None
    original = ReleasedTable(data)
    weights = np.nan_to_num(numbers_of(original, original, data.weight, plan))
    after = np.nan_to_num(numbers_of(realisation.tables[table], original, data.weight, plan))
    size = data.domain.shape[attribute]
    return (
        np.bincount(data.codes[attribute], weights=weights, minlength=size),
        np.bincount(realisation.codes(attribute, table), weights=after, minlength=size),
    )


@dataclass(frozen=True)
class Coefficients:
    """One declared analysis before and after, one entry per coefficient that the original estimates.

    ``half`` and ``half_after`` are half-widths of 95 % intervals, ``se`` the standard error in the original, ``shift``
    the move of the estimate in these standard errors, ``overlap`` that of the two intervals (1 where they coincide,
    below 0 where they have nothing in common).  Where a release does not allow an estimate, ``after`` is NaN and
    ``lost`` says why; it is empty elsewhere.  ``flagged`` are beyond the plan's tolerances, by the rule of the memo;
    ``model`` says what the analysis predicts.
    """

    analysis: str
    names: tuple[str, ...]
    before: np.ndarray
    half: np.ndarray
    se: np.ndarray
    after: np.ndarray
    half_after: np.ndarray
    shift: np.ndarray
    overlap: np.ndarray
    lost: tuple[str, ...]
    omitted: int
    flagged: tuple[bool, ...]
    model: ModelRow


def coefficients(realisation: Remade, plan: Plan) -> list[Coefficients]:
    """Every declared analysis on the original and on all tables of the release together; an empty list without any."""

    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
    tables, tolerances = [], tolerances_of(plan)
    for analysis, model in zip(plan.analyses, model_rows(release.original, plan), strict=True):
        comparison = compare(release, analysis, reported=True)
        usable = np.flatnonzero(comparison.usable)
        before, se = comparison.before.estimate[usable], comparison.before.se[usable]
        after, half, half_after = comparison.after[usable], comparison.half[usable], comparison.half_after[usable]
        shift = np.full(len(usable), np.nan)
        np.divide(after - before, se, out=shift, where=se > 0)
        lost = tuple(
            WHY[why] if np.isnan(value) else ""
            for why, value in zip(comparison.why[usable].tolist(), after, strict=True)
        )
        tables.append(
            Coefficients(
                analysis=analysis.name,
                names=tuple(coefficient_name(comparison, k) for k in usable.tolist()),
                before=before,
                half=half,
                se=se,
                after=after,
                half_after=half_after,
                shift=shift,
                overlap=interval_overlap(before, half, after, half_after),
                lost=lost,
                omitted=len(comparison.usable) - len(usable),
                flagged=tuple(coefficient_flags(comparison, tolerances)[1][usable].tolist()),
                model=model,
            )
        )
    return tables


def one_table(realisation: Remade, table: int) -> Remade:
    """A release with one of its tables alone."""
    if not 0 <= table < len(realisation.tables):
        raise EngineError(f"table {table + 1}, must be from 1 to {len(realisation.tables)}")
    return replace(realisation, tables=(realisation.tables[table],))
