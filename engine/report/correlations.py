"""Correlations of numeric columns before and after, held against the tolerances like every other figure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.models.record_release import numbers_of, numeric_columns
from engine.report.alterable import Alterable
from engine.report.facts import PairRow, Tolerances
from engine.report.losses import Collection, Figures
from engine.report.shares import MOST, optional, size_of_change

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan

STATISTIC = "Pearson's r"


def correlations(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> tuple[list[PairRow], Collection]:
    """Pearson's r of every pair of numeric columns over records that have both, without weights, most changed first."""
    original, alterable = release.original, Alterable.of(release)
    collection = Collection("correlation", "correlations", False, tolerances)
    rows = []
    for a, b in combinations(numeric_columns(plan, release.data), 2):
        known, figures = [], []
        for table in (original, *release.tables):
            x, y = (numbers_of(table, original, name, plan) for name in (a, b))
            is_known = ~np.isnan(x) & ~np.isnan(y)
            known.append(int(is_known.sum()))
            figures.append(_pearson(x[is_known], y[is_known]))
        before, after = figures[0], float(np.mean(figures[1:]))
        errors, is_flagged = None, False
        if np.isfinite(before) and np.isfinite(after):
            arrays = (known[0], np.mean(known[1:]), before, after, fisher_error(before, after, known[0]))
            of_pair = Figures(f"{a} × {b}", [STATISTIC], *(np.array([value], float) for value in arrays))
            changes, flagged = collection.add(of_pair, alterable.can_change((), (a, b)))
            errors, is_flagged = optional(changes.errors[0]), bool(flagged[0])
        rows.append(PairRow(a, b, "Pearson's r", optional(before), optional(after), errors, is_flagged))
    return sorted(rows, key=size_of_change)[:MOST], collection


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
