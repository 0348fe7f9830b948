"""Drop rows that a few good rows of a sample dominate, before anything is sorted."""

from __future__ import annotations

import numpy as np

from engine.frontier.maxima import Floats, Index, Mask, maxima_many, maxima_two

_DIRECT = 4096
"""Rows up to which sampling for a prefilter costs more than it saves."""

_CHUNK = 32768
"""Rows handled at once: their buffers stay in the cache instead of being paged in afresh."""

_CELLS = 4096
"""Cells of the look-up grid for two columns."""

_WITNESSES = 64
"""Most rows that everything is compared with where there are three and more columns."""


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
    """Indices of the rows of an ``(N, k)`` table that may be on the frontier; all others are dominated.

    Each pass picks up to 64 rows from the frontier of a strided sample, each the one that dominates most of what the
    earlier ones left of the sample, and drops what they dominate.  Passes end when one drops less than half.
    """
    index, part = np.arange(len(rows)), rows
    while len(part) > _DIRECT:
        witnesses = _witnesses(part)
        if len(witnesses) == 0:
            break
        survivors = np.concatenate(
            [
                begin + _not_dominated_by(part[begin : begin + _CHUNK], witnesses)
                for begin in range(0, len(part), _CHUNK)
            ]
        )
        halved = 2 * len(survivors) < len(part)
        index, part = index[survivors], part[survivors]
        if not halved:
            break
    return index


def _witnesses(rows: Floats) -> Floats:
    """Up to 64 rows of a sample, best first, greedily covering as much of the sample as they can dominate."""
    sample = rows[:: max(1, len(rows) // 2048)]
    sample = sample[~np.isnan(sample).any(axis=1)]
    if len(sample) == 0:
        return sample
    table = np.ascontiguousarray(sample.T)
    front = sample[maxima_many(table)]
    front = front[:: max(1, len(front) // 512)]
    beats = np.ones((len(front), len(sample)), dtype=np.bool_)
    for column in range(sample.shape[1]):
        beats &= _reaches(front[:, column, None], table[column], column)
    chosen: list[int] = []
    gains = beats.sum(axis=1)
    open_ = np.ones(len(sample), dtype=np.bool_)
    # A witness costs a comparison of every surviving row; one that drops less than 0.5 % of the sample is not worth it.
    worth = max(1, len(sample) // 200)
    while len(chosen) < _WITNESSES:
        best = int(gains.argmax())
        if gains[best] < worth:
            break
        chosen.append(best)
        taken = np.flatnonzero(open_ & beats[best])
        open_[taken] = False
        gains -= beats[:, taken].sum(axis=1)
    return front[chosen]


def _reaches(witness: Floats | np.float64, values: Floats, column: int) -> Mask:
    """Return whether a witness is small enough in a column; strictly in the first, so that reaching in all
    dominates."""
    return np.asarray(witness < values if column == 0 else witness <= values)


def _not_dominated_by(block: Floats, witnesses: Floats) -> Index:
    """Positions in ``block`` of the rows that no witness dominates with a strictly smaller first column."""
    table = np.ascontiguousarray(block.T)
    left = np.arange(len(block))
    for begin in range(0, len(witnesses), 4):
        # Four at a time: moving the survivors together costs several comparisons.
        stay = np.ones(len(left), dtype=np.bool_)
        for witness in witnesses[begin : begin + 4]:
            covered = _reaches(witness[0], table[0], 0)
            for column in range(1, len(witness)):
                covered &= _reaches(witness[column], table[column], column)
            stay &= ~covered
        survivors = np.flatnonzero(stay)
        table, left = table.take(survivors, axis=1), left[survivors]
    return left
