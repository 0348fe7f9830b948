"""Associations between attributes before and after: Cramér's V and the contingency coefficient.

Gomatam, Karr and Sanil (2005), Appendix B.  With ``phi2 = chi2 / n`` of a two-way table over the rows and columns that
occur, ``V = sqrt(phi2 / (min(rows, columns) - 1))`` and ``C = sqrt(phi2 / (1 + phi2))``; both are 0 when an attribute
has one level.  Changes are original less release: positive where an association got weaker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.measures.base import Measure
from engine.measures.distortion import check_summary
from engine.measures.pairs import PairMargins, largest_over_pairs, mean_over_pairs, pair_margins
from engine.release.batch import ReleaseBatch

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
    before, after = _associations(batch, statistic)
    result: np.ndarray = before - after
    return result


def _associations(batch: ReleaseBatch, statistic: Statistic) -> tuple[np.ndarray, np.ndarray]:
    """Associations before, shape ``(pairs,)``, and after, shape ``(candidates, pairs)``."""
    margins = pair_margins(batch)
    old, new = margins.own.cached("phi squared", lambda: _phi_of_pairs(margins))
    return strength(*old, statistic), strength(*new, statistic)


Phi = tuple[np.ndarray, np.ndarray]


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


def _summarised(statistic: Statistic, statistic_name: str) -> Callable[..., np.ndarray]:
    def compute(batch: ReleaseBatch, summary: str) -> np.ndarray:
        if len(batch.shape) < 2:
            return np.full(len(batch), np.nan)
        sizes = np.abs(association_change(batch, statistic))
        return mean_over_pairs(sizes) if summary == "mean" else largest_over_pairs(sizes)

    compute.__doc__ = (
        f"Change of {statistic_name} in size, averaged over all pairs of attributes, or the largest.  In [0, 1]; lower "
        "is better; 0 for identical tables; NaN with one attribute."
    )
    return compute


_SOURCE = "Gomatam, Karr and Sanil (2005), Appendix B"

CRAMERS_V_CHANGE = Measure(
    name="cramers_v_change",
    symbol="|ΔV|",
    title="Change of Cramér's V",
    kind="utility",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="change of association",
    source=_SOURCE,
    meaning=(
        "How much the strength of association between two attributes changed, up or down: the mean over all pairs, "
        "or the largest change where the plan asks for it."
    ),
    over="analyse",
    compute=_summarised("cramers_v", "Cramér's V"),
    parameters={"summary": "mean"},
    check=check_summary,
    undefined="there is only one attribute, so there are no pairs",
)
CONTINGENCY_CHANGE = Measure(
    name="contingency_change",
    symbol="|ΔC|",
    title="Change of the contingency coefficient",
    kind="utility",
    better="lower",
    range="0 to below 1",
    least=0.0,
    most=1.0,
    unit="change of association",
    source=_SOURCE,
    meaning=(
        "How much Pearson's contingency coefficient of two attributes changed, up or down: the mean over all pairs, "
        "or the largest change where the plan asks for it."
    ),
    over="analyse",
    compute=_summarised("contingency", "Pearson's contingency coefficient"),
    parameters={"summary": "mean"},
    check=check_summary,
    undefined="there is only one attribute, so there are no pairs",
)
