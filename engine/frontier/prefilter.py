"""Drop rows that are dominated by a few good ones, or by any in a lower box, before anything is sorted."""

from __future__ import annotations

import numpy as np

from engine.frontier.maxima import maxima_many, maxima_two
from engine.frontier.pairs_in_bits import Mask
from engine.frontier.sorting import Floats, Index

_DIRECT = 4096
"""Rows up to which a pass costs more than it saves."""

_CHUNK = 32768
"""Rows handled at once: their buffers stay in the cache instead of being paged in afresh."""

_CELLS = 4096
"""Cells of the look-up grid for two columns, and of one column where there are more."""

_BOXES = 1 << 18
"""Most boxes for three and more columns: what is looked up stays in the cache."""

_BOXES_PER_ROW = 0.5
"""Boxes in proportion to rows: filling and accumulating them should cost less than looking rows up."""

_SAMPLE = 512
"""Rows whose frontier says where boxes are needed."""

_WITNESSES = 8
"""Where the sample has at most so many rows on its frontier, which say little of where boxes are needed, all rows are
compared with these."""


def prefilter_two(rows: Floats) -> Index:
    """Indices of the rows of an ``(N, 2)`` table that may be on the frontier; all others are dominated.

    The frontier of a strided sample is turned into a look-up table over equal cells of the first column.  The map from
    value to cell is monotone in floating point too, so a witness in an earlier cell is strictly smaller in the first
    column, and a row whose second column is no smaller than the least of those witnesses is dominated.
    """
    index = np.arange(len(rows))
    part = rows
    while len(part) > _DIRECT:
        keep = _grid_pass(part)
        if keep is None:
            break
        survivors = np.flatnonzero(keep)
        halved = 2 * len(survivors) < len(part)
        index, part = index[survivors], rows[index[survivors]]
        if not halved:
            break
    return index


def _grid_pass(rows: Floats) -> Mask | None:
    """One pass of :func:`prefilter_two`, or None when a pass would not pay."""
    sample = rows[:: max(1, min(64, len(rows) // 1024))]
    sample = sample[~np.isnan(sample).any(axis=1)]
    if len(sample) < 2:
        return None
    witness = sample[maxima_two(np.ascontiguousarray(sample[:, 0]), np.ascontiguousarray(sample[:, 1]))]
    finite = witness[np.isfinite(witness[:, 0]), 0]
    # With half of the sample on its own frontier there is little to drop.
    if 2 * len(witness) > len(sample) or len(finite) == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low = finite.min()
        scale = (_CELLS - 2) / (finite.max() - low)
        if not np.isfinite(scale) or scale == 0.0:
            # One distinct value, or a range that floats cannot divide: every row at or below it shares cell 0.
            scale = 1.0
        # Room for the values above the last witness: they are in cells of their own, after all witnesses.
        cell = np.clip((witness[:, 0] - low) * scale, 0.0, _CELLS - 1.0).astype(np.int32)
        least = np.full(_CELLS + 1, np.nan)
        np.fmin.at(least, cell + 1, witness[:, 1])
        # Comparing with NaN is false: cells without an earlier witness drop nothing.
        least = np.fmin.accumulate(least)[:_CELLS]
        keep = np.empty(len(rows), dtype=np.bool_)
        value = np.empty(min(_CHUNK, len(rows)))
        cell_of = np.empty(len(value), dtype=np.int32)
        for begin in range(0, len(rows), _CHUNK):
            block = rows[begin : begin + _CHUNK]
            v, p = value[: len(block)], cell_of[: len(block)]
            np.subtract(block[:, 0], low, out=v)
            np.multiply(v, scale, out=v)
            np.clip(v, 0.0, _CELLS - 1.0, out=v)
            np.copyto(p, v, casting="unsafe")
            # A NaN becomes an arbitrary integer; `clip` keeps the look-up inside, and the row is removed later anyway.
            np.take(least, p, out=v, mode="clip")
            np.greater_equal(block[:, 1], v, out=keep[begin : begin + _CHUNK])
    return np.logical_not(keep, out=keep)


def prefilter_many(rows: Floats) -> Index:
    """Indices of the rows of an ``(N, k)`` table without NaN that may be on the frontier; all others are dominated.

    Each pass cuts what the one before left into finer boxes, or compares it with a few good rows.  Passes end when one
    drops less than an eighth.
    """
    index, part = np.arange(len(rows)), rows
    while len(part) > _DIRECT:
        # As many intervals for each column but the last, whose least value is kept for every box.
        width = int(min(_BOXES, _BOXES_PER_ROW * len(part)) ** (1 / (part.shape[1] - 1)))
        if width < 3:
            break
        keep = _boxes_pass(part, width)
        if keep is None:
            break
        survivors = np.flatnonzero(keep)
        few_dropped = 8 * len(survivors) > 7 * len(part)
        index, part = index[survivors], part[survivors]
        if few_dropped:
            break
    return index


def _boxes_pass(rows: Floats, width: int) -> Mask | None:
    """A mask of the rows that stay: those whose last column is below the least of all rows in lower boxes, or that no
    row on a small frontier of a sample dominates.  None where no row of the sample dominates another.

    A lower box is one that precedes by an interval or more in every column but the last.  Intervals rise with values in
    floating point too, so a row in a lower box is strictly smaller in all of those columns.
    """
    columns = rows.shape[1]
    sample = rows[:: -(-len(rows) // _SAMPLE)]
    best = maxima_many(np.ascontiguousarray(sample.T))
    if best.all():
        return None  # there is little to drop
    sample = sample[best]
    if len(sample) <= _WITNESSES:
        return _undominated_by(rows, sample)
    cuts = [_intervals(sample[:, column], width) for column in range(columns - 1)]
    box = np.zeros(len(rows), np.intp)
    # Comparing with NaN is false: boxes without a lower one drop nothing.
    least = np.full((width,) * (columns - 1), np.nan)
    value = np.empty(min(_CHUNK, len(rows)))
    cell = np.empty(len(value), np.intp)
    for begin in range(0, len(rows), _CHUNK):
        block, place = rows[begin : begin + _CHUNK], box[begin : begin + _CHUNK]
        v, c = value[: len(block)], cell[: len(block)]
        for column, (low, scale, interval) in enumerate(cuts):
            _cells(block[:, column], low, scale, v)
            np.copyto(c, v, casting="unsafe")
            place *= width
            place += interval[c]
        np.fmin.at(least.reshape(-1), place, block[:, -1])
    lower = np.full_like(least, np.nan)
    lower[(slice(1, None),) * (columns - 1)] = least[(slice(None, -1),) * (columns - 1)]
    for axis in range(columns - 1):
        np.fmin.accumulate(lower, axis=axis, out=lower)
    return np.logical_not(rows[:, -1] >= lower.ravel()[box])


def _undominated_by(rows: Floats, few: Floats) -> Mask:
    """A mask of the rows that none of a few rows dominates."""
    keep = np.ones(len(rows), np.bool_)
    for begin in range(0, len(rows), _CHUNK):
        block = np.ascontiguousarray(rows[begin : begin + _CHUNK].T)
        kept = keep[begin : begin + _CHUNK]
        for row in few:
            no_smaller, larger = block[0] >= row[0], block[0] > row[0]
            for column, value in zip(block[1:], row[1:], strict=True):
                no_smaller &= column >= value
                larger |= column > value
            kept &= ~(no_smaller & larger)
    return keep


def _cells(values: Floats, low: float, scale: float, out: Floats) -> None:
    """Write the equal cell of each value, still as a float, to ``out``; what lies outside goes to the cells at the
    ends."""
    with np.errstate(over="ignore"):
        np.subtract(values, low, out=out)
        np.multiply(out, scale, out=out)
    np.clip(out, 0.0, _CELLS - 1.0, out=out)


def _intervals(values: Floats, width: int) -> tuple[float, float, Index]:
    """Origin and scale of the equal cells of a column, and the interval, ``0 .. width-1``, that each cell belongs to.

    Intervals hold about as many of the ``values`` each; what lies above all of them is in the last interval.
    """
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        # Infinities alone: zero parts them.
        finite = np.zeros(1)
    low = float(finite.min())
    with np.errstate(over="ignore", divide="ignore"):
        scale = float((_CELLS - 2) / (finite.max() - low))
    if not np.isfinite(scale) or scale == 0.0:
        # One distinct value, or a range that floats cannot divide: every value at or below it shares cell 0.
        scale = 1.0
    cell = np.empty(len(finite))
    _cells(finite, low, scale, cell)
    upto = np.cumsum(np.bincount(cell.astype(np.intp), minlength=_CELLS))
    interval = np.zeros(_CELLS, np.intp)
    interval[1:] = upto[:-1] * (width - 1) // len(finite)
    return low, scale, interval
