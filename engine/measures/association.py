"""Associations between attributes before and after: Cramér's V and the contingency coefficient.

Gomatam, Karr and Sanil (2005), Appendix B.  With ``phi2 = chi2 / n`` of a two-way table over the rows and columns that
occur, ``V = sqrt(phi2 / (min(rows, columns) - 1))`` and ``C = sqrt(phi2 / (1 + phi2))``; both are 0 when an attribute
has one level.  Changes are original less release: positive where an association got weaker.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.errors import EngineError, UsageError, did_you_mean
from engine.measures.base import Measure
from engine.measures.distortion import check_summary
from engine.measures.pairs import PairMargins, largest_over_pairs, mean_over_pairs, pair_margins, symmetric
from engine.release import ReleaseBatch

STATISTICS = ("cramers_v", "contingency")
_MOST_CELLS = 1 << 22  # most cells of two-way tables that are held at once


def phi_squared(tables: np.ndarray, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """``chi2 / n`` of several tables and the smaller number of rows or columns that occur, less one.

    ``tables`` are whole counts of shape ``(tables, rows * columns)``.  Independence gives exactly 0.
    """
    counts = tables.reshape(-1, rows, columns)
    row, column = counts.sum(axis=2), counts.sum(axis=1)
    total = row.sum(axis=1)
    product = (row[:, :, None] * column[:, None, :]).reshape(len(tables), -1)
    away = (total[:, None] * tables - product) / total[:, None]  # whole numbers up to the division: no cancellation
    terms = np.divide(away**2, product, out=np.zeros_like(away), where=product > 0)
    owner = np.repeat(np.arange(len(tables)), rows * columns)
    phi2 = np.bincount(owner, weights=terms.reshape(-1), minlength=len(tables))
    free = np.minimum((row > 0).sum(axis=1), (column > 0).sum(axis=1)) - 1
    return phi2, free


def strength(phi2: np.ndarray, free: np.ndarray, statistic: str) -> np.ndarray:
    """Cramér's V or the contingency coefficient from what :func:`phi_squared` gives; in [0, 1]."""
    if statistic == "cramers_v":
        return np.minimum(1.0, np.sqrt(np.divide(phi2, free, out=np.zeros_like(phi2), where=free > 0)))
    if statistic == "contingency":
        return np.sqrt(phi2 / (1 + phi2))
    raise UsageError(
        f"statistic == '{statistic}', must be cramers_v or contingency.{did_you_mean(statistic, STATISTICS)}"
    )


def association_change(batch: ReleaseBatch, statistic: str) -> np.ndarray:
    """Original less released association of every pair of attributes, shape ``(candidates, pairs)``, pairs in order.

    In [-1, 1]; exactly 0 for a pair whose table did not change.
    """
    before, after = _associations(batch, statistic)
    return before - after


def association_matrix(batch: ReleaseBatch, statistic: str = "cramers_v", which: str = "change") -> np.ndarray:
    """Associations of all pairs as symmetric matrices, shape ``(candidates, attributes, attributes)``.

    ``which`` is change (original less released, signed, diagonal 0), original or released (diagonal NaN: an attribute
    with itself says nothing).
    """
    if which not in ("change", "original", "released"):
        raise UsageError(f"which == '{which}', must be change, original or released.")
    before, after = _associations(batch, statistic)
    figures = {"change": before - after, "original": np.broadcast_to(before, after.shape), "released": after}[which]
    diagonal = np.full((len(batch), len(batch.shape)), 0.0 if which == "change" else np.nan)
    return symmetric(pair_margins(batch), figures, diagonal)


def _associations(batch: ReleaseBatch, statistic: str) -> tuple[np.ndarray, np.ndarray]:
    """Associations before, shape ``(pairs,)``, and after, shape ``(candidates, pairs)``."""
    margins = pair_margins(batch)
    old, new = margins.own.memo("phi squared", lambda: _phi_of_pairs(margins))
    return strength(*old, statistic), strength(*new, statistic)


Phi = tuple[np.ndarray, np.ndarray]


def _phi_of_pairs(margins: PairMargins) -> tuple[Phi, Phi]:
    n, n_pairs = margins.n_candidates, len(margins.pairs)
    old = np.zeros(n_pairs), np.zeros(n_pairs, np.int64)
    new = np.zeros((n, n_pairs)), np.zeros((n, n_pairs), np.int64)
    pair = margins.table % n_pairs if n_pairs else margins.table
    order = np.argsort(pair, kind="stable")
    ends = np.searchsorted(pair[order], np.arange(n_pairs + 1))
    for p, (rows, columns) in enumerate(margins.sizes):
        size = rows * columns
        if size > _MOST_CELLS:
            raise EngineError(
                f"two attributes have {rows} and {columns} levels, too many for an association; merge levels or leave "
                "one out with attributes="
            )
        original = np.zeros(size, np.int64)
        original[margins.original[p][0]] = margins.original[p][1]
        phi2, free = phi_squared(original[None], rows, columns)
        old[0][p], old[1][p] = phi2[0], free[0]
        new[0][:, p], new[1][:, p] = phi2[0], free[0]
        here = order[ends[p] : ends[p + 1]]
        owner = margins.table[here] // n_pairs
        candidates, rank = np.unique(owner, return_inverse=True)
        step = max(1, _MOST_CELLS // size)
        for first in range(0, len(candidates), step):
            some = candidates[first : first + step]
            mine = (rank >= first) & (rank < first + step)
            tables = np.tile(original, (len(some), 1))
            tables[rank[mine] - first, margins.cell[here[mine]]] = margins.after[here[mine]]
            new[0][some, p], new[1][some, p] = phi_squared(tables, rows, columns)
    return old, new


def _summarised(statistic: str, what: str) -> Callable[..., np.ndarray]:
    def compute(batch: ReleaseBatch, summary: str) -> np.ndarray:
        if len(batch.shape) < 2:
            return np.full(len(batch), np.nan)
        sizes = np.abs(association_change(batch, statistic))
        return mean_over_pairs(sizes) if summary == "mean" else largest_over_pairs(sizes)

    compute.__doc__ = (
        f"Change of {what} in size, averaged over all pairs of attributes, or the largest.  In [0, 1]; lower is "
        "better; 0 for identical tables; NaN with one attribute."
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
    unit="change of association",
    source=_SOURCE,
    meaning=(
        "How much the strength of association between two attributes changed, up or down, averaged over all pairs (or "
        "the largest change, with summary=max)."
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
    unit="change of association",
    source=_SOURCE,
    meaning=(
        "How much Pearson's contingency coefficient of two attributes changed, up or down, averaged over all pairs (or "
        "the largest change, with summary=max)."
    ),
    over="analyse",
    compute=_summarised("contingency", "Pearson's contingency coefficient"),
    parameters={"summary": "mean"},
    check=check_summary,
    undefined="there is only one attribute, so there are no pairs",
)
