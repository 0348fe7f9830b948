"""Distortion of contingency tables: how far the released table is from the original one.

Gomatam, Karr and Sanil (2005), section 4.1, eq. 8–11, on proportions; utility is the negative of distortion.  All are
sums over touched cells only, because every other cell contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from engine.errors import UsageError
from engine.measures.base import Measure
from engine.release import ReleaseBatch

SUMMARIES = ("mean", "max")


def hellinger(batch: ReleaseBatch) -> np.ndarray:
    """Hellinger distance, eq. 9: ``sqrt(sum (sqrt p - sqrt q)^2 / 2)``.  In [0, 1]; lower is better; 0 for identical
    tables.

    Squared differences are summed, since ``1 - sum sqrt(pq)`` cancels near zero.
    """
    return np.sqrt(batch.total((np.sqrt(batch.after) - np.sqrt(batch.before)) ** 2) / (2 * batch.n_records))


def total_variation(batch: ReleaseBatch) -> np.ndarray:
    """Total variation distance, eq. 10: ``sum |p - q| / 2``.  In [0, 1]; lower is better; at most the share of changed
    records."""
    return batch.total(np.abs(batch.after - batch.before)) / (2 * batch.n_records)


def entropy_change(batch: ReleaseBatch) -> np.ndarray:
    """Change of Shannon entropy, eq. 11, ``h(post) - h(pre)`` in natural units.  Signed; nearer to zero is better."""
    return batch.total(_x_log_x(batch.before) - _x_log_x(batch.after)) / batch.n_records


def _x_log_x(counts: np.ndarray) -> np.ndarray:
    return counts * np.log(np.maximum(counts, 1))


def false_zeros(batch: ReleaseBatch) -> np.ndarray:
    """Number of cells occupied in the original table and empty in the released one.  A count; lower is better."""
    return batch.total((batch.before > 0) & (batch.after == 0))


def false_nonzeros(batch: ReleaseBatch) -> np.ndarray:
    """Number of cells empty in the original table and occupied in the released one.  A count; lower is better."""
    return batch.total((batch.before == 0) & (batch.after > 0))


def two_way(distance: Callable[[ReleaseBatch], np.ndarray]) -> Callable[..., np.ndarray]:
    """A distance summarised over the margins of every pair of attributes (Gomatam, Karr and Sanil 2005, Appendix B).

    ``summary`` is mean or max; a signed distance is summarised by the largest in size, with its sign, under max.
    """

    def compute(batch: ReleaseBatch, summary: str) -> np.ndarray:
        pairs = list(combinations(range(len(batch.shape)), 2))
        if not pairs:
            return np.full(len(batch), np.nan)
        figures = np.array([distance(batch.project(pair)) for pair in pairs])
        if summary == "mean":
            return figures.sum(axis=0) / len(pairs)
        return figures[np.abs(figures).argmax(axis=0), np.arange(len(batch))]

    return compute


def _check_summary(summary: str) -> None:
    if summary not in SUMMARIES:
        raise UsageError(f"summary == '{summary}', must be mean or max.")


_PAPER = "Gomatam, Karr and Sanil (2005), "

HELLINGER = Measure(
    name="hellinger",
    symbol="HD",
    title="Hellinger distance",
    kind="utility",
    better="lower",
    range="0 to 1",
    unit="distance",
    source=_PAPER + "eq. 9",
    meaning=(
        "How far the released table is from the original one, counting shifts in small cells more than "
        "the same shift in large ones."
    ),
    over="analyse",
    compute=hellinger,
)
TOTAL_VARIATION = Measure(
    name="total_variation",
    symbol="TV",
    title="Total variation distance",
    kind="utility",
    better="lower",
    range="0 to 1",
    unit="share of records",
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
        "How much more (positive) or less (negative) spread out over the cells the released table is; "
        "zero means unchanged."
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
    unit="cells",
    source="count of cells with N(c) > 0 before and 0 after",
    meaning="The number of combinations that exist in the data and no longer exist in the release.",
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
    unit="cells",
    source="count of cells with N(c) = 0 before and > 0 after",
    meaning="The number of combinations that do not exist in the data and appear in the release.",
    over="analyse",
    compute=false_nonzeros,
)


def _two_way(full: Measure, better_words: str) -> Measure:
    return Measure(
        name=full.name + "_two_way",
        symbol=full.symbol + "₂",
        title=full.title + ", two-way tables",
        kind="utility",
        better=full.better,
        range=full.range,
        unit=full.unit,
        source=_PAPER + "Appendix B",
        meaning=better_words,
        over="analyse",
        compute=two_way(full.compute),
        parameters={"summary": "mean"},
        check=_check_summary,
        undefined="there is only one attribute, so there are no two-way tables",
    )


HELLINGER_TWO_WAY = _two_way(
    HELLINGER,
    "The Hellinger distance of the tables of every two attributes, averaged (or the largest, with summary=max).",
)
TOTAL_VARIATION_TWO_WAY = _two_way(
    TOTAL_VARIATION,
    "The total variation distance of the tables of every two attributes, averaged (or the largest, with summary=max).",
)
ENTROPY_CHANGE_TWO_WAY = _two_way(
    ENTROPY_CHANGE,
    "The entropy change of the tables of every two attributes, averaged (or the largest in size, with summary=max).",
)
