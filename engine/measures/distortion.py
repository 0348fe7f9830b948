"""Distortion of contingency tables: distances between the released table and the original one.

Gomatam, Karr and Sanil (2005), section 4.1, eq. 8–11, on proportions; utility is the negative of distortion.  All are
sums over touched cells only, because every other cell contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import Cache
from engine.measures.base import Measure
from engine.measures.compiled_sums import distance_sums, x_log_x
from engine.measures.pairs import largest_over_pairs, mean_over_pairs, pair_margins
from engine.release.batch import ReleaseBatch, unpack

SUMMARIES = ("mean", "max")


class Tables(Protocol):
    """Tables with their counts before and after in the cells that changed: releases, or their two-way margins."""

    n_records: int
    before: np.ndarray
    after: np.ndarray
    own: Cache

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums per table."""


Distance = Callable[[Tables], np.ndarray]


def hellinger(batch: Tables) -> np.ndarray:
    """Hellinger distance, eq. 9: ``sqrt(sum (sqrt p - sqrt q)^2 / 2)``.  In [0, 1]; lower is better; 0 for identical
    tables.

    Squared differences are summed, since ``1 - sum sqrt(pq)`` cancels near zero.
    """
    sums = distance_sums(batch)
    root_changes = batch.total(_root_changes(batch)) if sums is None else sums.root_changes
    return np.sqrt(root_changes / (2 * batch.n_records))


def _root_changes(batch: Tables) -> np.ndarray:
    return batch.own.cached("root changes", lambda: (np.sqrt(batch.after) - np.sqrt(batch.before)) ** 2)


def total_variation(batch: Tables) -> np.ndarray:
    """Total variation distance, eq. 10: ``sum |p - q| / 2``.  In [0, 1]; lower is better; at most the share of changed
    records."""
    sums = distance_sums(batch)
    moved = batch.total(np.abs(batch.after - batch.before)) if sums is None else sums.moved
    return moved / (2 * batch.n_records)


def entropy_change(batch: Tables) -> np.ndarray:
    """Change of Shannon entropy, eq. 11, ``h(post) - h(pre)`` in natural units.  Signed; nearer to zero is better."""
    sums = distance_sums(batch)
    less = batch.total(x_log_x(batch.before) - x_log_x(batch.after)) if sums is None else sums.x_log_x
    return less / batch.n_records


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


def hellinger_large(batch: ReleaseBatch, n_rule: int) -> np.ndarray:
    """Hellinger distance over large cells: eq. 9 summed over the cells that held at least ``n_rule`` records before.

    Cells that were small or empty before are left out of the sum and nothing else changes: shares are still of all
    records, so the figure is never above :func:`hellinger`.  In [0, 1]; lower is better; NaN when no cell is large.
    How much of the table this passes over is :func:`small_share`.
    """
    figures = np.sqrt(batch.total(_root_changes(batch) * (batch.before >= n_rule)) / (2 * batch.n_records))
    return figures if (batch.original >= n_rule).any() else np.full(len(batch), np.nan)


def small_share(counts: np.ndarray, n_rule: int) -> float:
    """Share of the occupied cells of a table that hold fewer than ``n_rule`` records.

    When nearly all cells are small, a Hellinger distance without them describes next to nothing.
    """
    occupied = np.count_nonzero(counts)
    return np.count_nonzero((counts > 0) & (counts < n_rule)) / occupied if occupied else float("nan")


def two_way_figures(batch: ReleaseBatch, distance: Distance) -> np.ndarray:
    """A distance on the margin of every pair of attributes, shape ``(candidates, pairs)``, pairs in order."""
    margins = pair_margins(batch)
    return margins.per_pair(distance(margins))


def two_way(distance: Distance) -> Callable[..., np.ndarray]:
    """A distance summarised over the margins of every pair of attributes (Gomatam, Karr and Sanil 2005, Appendix B).

    ``summary`` is mean or max; a signed distance is summarised by the largest in size, with its sign, under max.
    """

    def compute(batch: ReleaseBatch, summary: str) -> np.ndarray:
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


def check_summary(summary: str) -> None:
    """Refuse a summary over pairs that is neither mean nor max."""
    if summary not in SUMMARIES:
        raise UsageError(f"summary == '{summary}', must be mean or max.")


def _check_n_rule(n_rule: int) -> None:
    if n_rule < 2:
        raise UsageError(f"hellinger_large: n_rule == {n_rule}, must be at least 2 (2 leaves out cells of one record).")


_PAPER = "Gomatam, Karr and Sanil (2005), "

HELLINGER = Measure(
    name="hellinger",
    symbol="HD",
    title="Hellinger distance",
    kind="utility",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="distance",
    source=_PAPER + "eq. 9",
    meaning=(
        "The distance of the released table from the original one; a shift in a small cell counts more than the "
        "same shift in a large one."
    ),
    over="analyse",
    compute=hellinger,
)
HELLINGER_LARGE = Measure(
    name="hellinger_large",
    symbol="HD₊",
    title="Hellinger distance without small cells",
    kind="utility",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="distance",
    source=_PAPER + "eq. 9, summed over the cells with at least n_rule records before",
    meaning=(
        "The distance of the released table from the original one over the cells that held at least n_rule records. "
        "Where most cells are smaller, it says little."
    ),
    over="analyse",
    compute=hellinger_large,
    parameters={"n_rule": 3},
    check=_check_n_rule,
    undefined="every cell of the original table is small, so nothing is left to compare",
)
TOTAL_VARIATION = Measure(
    name="total_variation",
    symbol="TV",
    title="Total variation distance",
    kind="utility",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="share of records",
    unit_kind="share_of_records",
    share_of="records",
    source=_PAPER + "eq. 10",
    meaning=(
        "The share of records that would have to move to another cell to turn the released table back "
        "into the original one."
    ),
    over="analyse",
    compute=total_variation,
)
ENTROPY_CHANGE = Measure(
    name="entropy_change",
    symbol="Δh",
    title="Entropy change",
    kind="utility",
    better="zero",
    range="-log(cells) to log(cells)",
    unit="nats",
    source=_PAPER + "eq. 11",
    meaning=(
        "How much more (positive) or less (negative) evenly the released records spread over the cells; zero means "
        "unchanged."
    ),
    over="analyse",
    compute=entropy_change,
)
FALSE_ZEROS = Measure(
    name="false_zeros",
    symbol="FZ",
    title="False zeros",
    kind="utility",
    better="lower",
    range="0 to the number of occupied cells",
    least=0.0,
    unit="cells",
    unit_kind="count",
    source="count of cells with N(c) > 0 before and 0 after",
    meaning="The number of combinations of values that the original holds and the release does not.",
    over="analyse",
    compute=false_zeros,
)
FALSE_NONZEROS = Measure(
    name="false_nonzeros",
    symbol="FN",
    title="False non-zeros",
    kind="utility",
    better="lower",
    range="0 to the number of released cells",
    least=0.0,
    unit="cells",
    unit_kind="count",
    source="count of cells with N(c) = 0 before and > 0 after",
    meaning="The number of combinations of values that the release holds and the original does not.",
    over="analyse",
    compute=false_nonzeros,
)


NEW_COMBINATIONS = Measure(
    name="new_combinations",
    symbol="NC",
    title="New combinations",
    kind="utility",
    better="lower",
    range="0 to the number of records",
    least=0.0,
    unit="records",
    unit_kind="count",
    source="count of records in cells of two-way tables with N(c) = 0 before",
    meaning=(
        "The number of released records that hold two values together which no original record does, such as a kind of "
        "dwelling in a place where there was none."
    ),
    over="analyse",
    compute=new_combinations,
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
    """A measure of the whole table, summarised over the two-way tables."""
    return _over_pairs(full, two_way(full.compute), meaning, parameters={"summary": "mean"}, check=check_summary)


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
