"""Which candidates are on the frontier: maxima of a set of vectors, on plain arrays.

Everything here works on *losses*: float arrays of shape ``(N, k)``, one row per candidate, one column per measure,
smaller is better in every column.  Directions are turned and units are chosen elsewhere.  Row ``j`` *dominates* row
``i`` when it is no larger in every column and smaller in at least one; the frontier is the set of rows that nothing
dominates.  That is the risk-utility frontier of Gomatam, Karr & Sanil (2005), eq. 5, for ``losses = (DR, -DU)``.  Eq. 5
is a preorder, so candidates with equal figures do not dominate one another and are all kept.

The method is Kung, Luccio & Preparata (1975), *On Finding the Maxima of a Set of Vectors*, J. ACM 22, 469-476,
doi 10.1145/321906.321910: O(N log N) for two and three columns and O(N log^(k-2) N) above.  Three things make it quick
with NumPy alone: a prefilter that drops what a few good rows of a sample dominate before anything is sorted; a
three-column sweep that runs all blocks of one depth of the recursion at once, so that Python loops over log N depths
and never over rows; and plain pairwise comparison once pieces are small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import UsageError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

_DIRECT = 4096
"""Rows up to which sampling for a prefilter costs more than it saves."""

_CHUNK = 32768
"""Rows handled at once by the prefilters: their buffers stay in the cache instead of being paged in afresh."""

_CELLS = 4096
"""Cells of the look-up grid of the two-column prefilter."""

_WITNESSES = 64
"""Most rows the prefilter for three and more columns compares everything with."""

_PAIRS = 1 << 16
"""Number of pairs up to which comparing every pair beats dividing further."""


def as_losses(losses: ArrayLike) -> Floats:
    """The argument as a float array of shape ``(N, k)``, ``k >= 1``; the caller's own array when it already is one.

    Integers beyond 2^53 are rounded.  Raises :class:`UsageError` for anything but a numeric table with a column.
    """
    try:
        given = np.asarray(losses)
        if given.dtype.kind not in "biufO":
            # NumPy would drop imaginary parts and read dates and text as numbers.
            raise TypeError(f"they are of type {given.dtype}")
        rows = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as problem:
        raise UsageError(
            f"losses cannot be read as numbers ({problem}); wanted an array of shape (N, k), missing values as NaN"
        ) from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError(
            f"losses have shape {rows.shape}, must be (N, k) with k >= 1: one row per candidate, one column per measure"
        )
    return rows


def undominated(losses: ArrayLike) -> Mask:
    """Which rows are on the frontier.

    ``losses`` has shape ``(N, k)``, ``k >= 1``, smaller is better in every column, any units.  The answer has shape
    ``(N,)``: True iff no row is no larger in every column and smaller in at least one.  Equal rows stand or fall
    together. Infinities are ordinary values.  A row with a NaN is never on the frontier and never dominates.

    Source: Gomatam, Karr & Sanil (2005), eq. 5; Kung, Luccio & Preparata (1975).  O(N log N) time for ``k <= 3``,
    O(N log^(k-2) N) above, close to O(N) when few rows are on the frontier; O(N k) memory.  The input is not changed.
    Raises :class:`UsageError` unless the argument is a numeric table with at least one column.
    """
    rows = as_losses(losses)
    count, columns = rows.shape
    mask: Mask = np.zeros(count, dtype=np.bool_)
    if count == 0:
        return mask
    index = _prefilter_two(rows) if columns == 2 else _prefilter_many(rows) if columns > 2 else np.arange(count)
    kept = rows[index]
    index, kept = _without_nan(index, kept)
    if len(index) == 0:
        return mask
    table = np.ascontiguousarray(kept.T)
    if columns == 1:
        mask[index] = table[0] == table[0].min()
    elif columns == 2:
        mask[index] = _maxima_two(table[0], table[1])
    else:
        mask[index] = _maxima_many(table)
    return mask


def dominated_by(losses: ArrayLike, i: int) -> Index:
    """Indices, ascending, of the rows that dominate row ``i``: why it is not on the frontier.

    Empty iff row ``i`` is on the frontier or has a NaN.  ``losses`` as in :func:`undominated`; O(N k).  Raises
    :class:`UsageError` for a bad table or an ``i`` outside ``0 .. N-1``.
    """
    rows = as_losses(losses)
    if not 0 <= i < len(rows):
        raise UsageError(f"candidate index {i} does not exist, must be at least 0 and below {len(rows)}")
    # Comparisons with NaN are false, so rows with a NaN fall out on both sides without being looked for.
    no_worse = (rows <= rows[i]).all(axis=1)
    return np.flatnonzero(no_worse & (rows < rows[i]).any(axis=1))


def _without_nan(index: Index, kept: Floats) -> tuple[Index, Floats]:
    """``index`` and its rows without those that hold a NaN."""
    bad = np.isnan(kept[:, 0])
    for column in range(1, kept.shape[1]):
        bad |= np.isnan(kept[:, column])
    if not bad.any():
        return index, kept
    return index[~bad], kept[~bad]


# --- two columns ------------------------------------------------------------------------------------------------------


def _maxima_two(first: Floats, second: Floats) -> Mask:
    """Frontier mask of points without NaN: sort by the first column, sweep the least second column so far."""
    order = np.argsort(first)
    x, y = first[order], second[order]
    least = np.minimum.accumulate(y)
    new_x = x[1:] != x[:-1]
    keep = np.empty(len(x), dtype=np.bool_)
    keep[0] = True
    if new_x.all():
        np.less(y[1:], least[:-1], out=keep[1:])
    else:
        # The order inside a run of equal x is arbitrary.  A point of the run stays iff it has the least y up to the
        # *end* of its run (so nothing in the run beats it) and that is below everything up to the run's *beginning*.
        starts = np.concatenate(([0], np.flatnonzero(new_x) + 1))
        sizes = np.diff(np.append(starts, len(x)))
        at_end = least[starts + sizes - 1]
        improves = np.ones(len(starts), dtype=np.bool_)
        improves[1:] = at_end[1:] < least[starts[1:] - 1]
        keep = np.repeat(improves, sizes) & (y == np.repeat(at_end, sizes))
    mask = np.empty(len(x), dtype=np.bool_)
    mask[order] = keep
    return mask


def _prefilter_two(rows: Floats) -> Index:
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
        found = np.flatnonzero(keep)
        halved = 2 * len(found) < len(part)
        index, part = index[found], rows[index[found]]
        if not halved:
            break
    return index


def _grid_pass(rows: Floats) -> Mask | None:
    """One pass of :func:`_prefilter_two`, or None when a pass would not pay."""
    sample = rows[:: max(1, min(64, len(rows) // 1024))]
    sample = sample[~np.isnan(sample).any(axis=1)]
    if len(sample) < 2:
        return None
    witness = sample[_maxima_two(np.ascontiguousarray(sample[:, 0]), np.ascontiguousarray(sample[:, 1]))]
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
        place = np.empty(len(value), dtype=np.int32)
        for begin in range(0, len(rows), _CHUNK):
            block = rows[begin : begin + _CHUNK]
            v, p = value[: len(block)], place[: len(block)]
            np.subtract(block[:, 0], low, out=v)
            np.multiply(v, scale, out=v)
            np.clip(v, 0.0, _CELLS - 1.0, out=v)
            np.copyto(p, v, casting="unsafe")
            # A NaN becomes an arbitrary integer; `clip` keeps the look-up inside, and the row is removed later anyway.
            np.take(least, p, out=v, mode="clip")
            np.greater_equal(block[:, 1], v, out=keep[begin : begin + _CHUNK])
    return np.logical_not(keep, out=keep)


# --- three and more columns -------------------------------------------------------------------------------------------


def _prefilter_many(rows: Floats) -> Index:
    """Indices of the rows of an ``(N, k)`` table that may be on the frontier; all others are dominated.

    Each pass picks up to 64 rows from the frontier of a strided sample, each the one that dominates most of what the
    earlier ones left of the sample, and drops what they dominate.  Passes end when one drops less than half.
    """
    index, part = np.arange(len(rows)), rows
    while len(part) > _DIRECT:
        witnesses = _witnesses(part)
        if len(witnesses) == 0:
            break
        found = np.concatenate(
            [
                begin + _not_dominated_by(part[begin : begin + _CHUNK], witnesses)
                for begin in range(0, len(part), _CHUNK)
            ]
        )
        halved = 2 * len(found) < len(part)
        index, part = index[found], part[found]
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
    front = sample[_maxima_many(table)]
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
    """Whether a witness is small enough in a column; strictly in the first, so that reaching in all dominates."""
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
        places = np.flatnonzero(stay)
        table, left = table.take(places, axis=1), left[places]
    return left


def _maxima_many(table: Floats) -> Mask:
    """Frontier mask of the columns of a ``(k, N)`` table without NaN, ``k >= 3``, ``N >= 1``."""
    order = np.argsort(table[0])
    ordered = table[0][order]
    if (ordered[1:] == ordered[:-1]).any():
        # Ties in the first column: only the full lexicographic order puts every dominating row before what it dominates
        # and equal rows next to each other.  Without ties the plain sort, several times cheaper, already does.
        order = np.lexsort(table[::-1])
    table = table.take(order, axis=1)
    fresh = np.ones(table.shape[1], dtype=np.bool_)
    fresh[1:] = (table[:, 1:] != table[:, :-1]).any(axis=0)
    distinct = _maxima_sorted(_pick(table, fresh))
    mask = np.empty(table.shape[1], dtype=np.bool_)
    mask[order] = distinct[np.cumsum(fresh) - 1]
    return mask


def _maxima_sorted(table: Floats) -> Mask:
    """Frontier mask of a ``(k, N)`` table whose columns are distinct and in lexicographic order (the KLP recursion).

    Only an earlier column can dominate a later one, and since they are distinct it does so exactly when it is no larger
    in every row but the first.
    """
    count = table.shape[1]
    if count * count <= _PAIRS:
        covered = np.tri(count, k=-1, dtype=np.bool_).T
        for values in table[1:]:
            covered &= values[:, None] <= values[None, :]
        return np.asarray(~covered.any(axis=0))
    if len(table) == 3:
        everyone = np.ones(count, dtype=np.bool_)
        return ~_swept(table[1], table[2], everyone, everyone)
    half = count // 2
    left, right = _maxima_sorted(table[:, :half]), _maxima_sorted(table[:, half:])
    survivors = np.flatnonzero(right)
    # What the left half dominates, its frontier dominates: the marriage needs survivors of both halves only.
    married = _covered(_pick(table[1:, :half], left), _pick(table[1:, half:], right))
    right[survivors[married]] = False
    return np.concatenate((left, right))


def _pick(table: Floats, mask: Mask) -> Floats:
    """Columns of ``table`` where ``mask`` is True; by places, since an irregular mask is several times slower."""
    return np.asarray(table.take(np.flatnonzero(mask), axis=1))


def _covered(above: Floats, below: Floats) -> Mask:
    """Which columns of ``below`` ``(m, B)`` have a column of ``above`` ``(m, A)`` no larger in every row, m >= 3."""
    answer = np.zeros(below.shape[1], dtype=np.bool_)
    if above.shape[1] == 0 or below.shape[1] == 0:
        return answer
    # Whatever is outside the other side's box cannot take part.
    might = (below >= above.min(axis=1, keepdims=True)).all(axis=0)
    if not might.any():
        return answer
    below = _pick(below, might)
    above = _pick(above, (above <= below.max(axis=1, keepdims=True)).all(axis=0))
    if above.shape[1]:
        answer[might] = _covered_inside(above, below)
    return answer


def _covered_inside(above: Floats, below: Floats) -> Mask:
    """:func:`_covered` after trimming, both sides non-empty: compare, sweep, or split on the first row and recurse."""
    if above.shape[1] * below.shape[1] <= _PAIRS:
        hit = above[0][:, None] <= below[0][None, :]
        for a, b in zip(above[1:], below[1:], strict=True):
            hit &= a[:, None] <= b[None, :]
        return np.asarray(hit.any(axis=0))
    if len(above) == 3:
        joint = np.concatenate((above, below), axis=1)
        # Stable, and `above` first: at equal values the row that may dominate comes before the row it may dominate.
        order = np.argsort(joint[0], kind="stable")
        source = order < above.shape[1]
        hit = _swept(joint[1][order], joint[2][order], source, ~source)
        answer = np.empty(len(order), dtype=np.bool_)
        answer[order] = hit
        return answer[above.shape[1] :]
    values = np.concatenate((above[0], below[0]))
    top = values.max()
    cut = np.partition(values, len(values) // 2)[len(values) // 2]
    if cut == top:
        lower = values[values < top]
        if len(lower) == 0:
            return _covered(above[1:], below[1:])
        cut = lower.max()
    low_above, low_below = above[0] <= cut, below[0] <= cut
    low = _pick(above, low_above)
    answer = np.empty(below.shape[1], dtype=np.bool_)
    answer[low_below] = _covered(low, _pick(below, low_below))
    high = _pick(below, ~low_below)
    # From low to high the first row is settled: one row less.  What that leaves meets the high part of `above`.
    hit = _covered(low[1:], high[1:])
    hit[~hit] = _covered(_pick(above, ~low_above), _pick(high, ~hit))
    answer[~low_below] = hit
    return answer


def _swept(first: Floats, second: Floats, source: Mask, target: Mask) -> Mask:
    """Which targets have an *earlier* source no larger in both values; all arrays of shape ``(N,)``, in sweep order.

    The recursion over the sweep order (left half against right half, then each half) is run one depth at a time for all
    blocks together: O(N) per depth, O(N log N) in all, whatever the data.  ``order`` lists every block by its first
    value; inside a block the running least ``second`` of the left half's sources decides the right half's targets.
    Padding to a power of two makes the blocks of a depth the rows of a matrix, and going down a depth a stable split of
    every row in two.
    """
    count = len(first)
    depth = max(1, (count - 1).bit_length())
    size = 1 << depth
    nobody = np.int32(np.iinfo(np.int32).max)
    order = np.arange(size, dtype=np.int32)
    # Stable: at equal first values the earlier of two comes first and may still dominate the later.
    order[:count] = np.argsort(first, kind="stable")
    by_second = np.argsort(second)
    climbs = np.zeros(count, dtype=np.int32)
    climbs[1:] = second[by_second][1:] != second[by_second][:-1]
    rank = np.empty(size, dtype=np.int32)
    rank[by_second] = np.cumsum(climbs)
    rank[count:] = nobody
    # As a source, whoever is none ranks last; as a target, whoever is none ranks before everything.
    gives = np.where(np.append(source, np.zeros(size - count, np.bool_)), rank, nobody)[order]
    takes = np.where(np.append(target, np.zeros(size - count, np.bool_)), rank, np.int32(-1))[order]
    hit = np.zeros(size, dtype=np.bool_)
    # The last four depths compare everything within blocks of 16: fifteen shifted comparisons do that at less cost.
    near_gives, near_takes = (np.where(flags, rank[:count], none) for flags, none in ((source, nobody), (target, -1)))
    for step in range(1, min(16, count)):
        near = first[:-step] <= first[step:]
        near &= near_gives[:-step] <= near_takes[step:]
        hit[step:count] |= near
    for level in range(depth - 1, 3, -1):
        half = 1 << level
        right = (order & np.int32(half)).astype(np.bool_)
        best = np.minimum.accumulate(np.where(right, nobody, gives).reshape(-1, 2 * half), axis=1).ravel()
        found = right & (best <= takes)
        hit[order[found]] = True
        if level > 4:
            # Places instead of masks: looking up by an irregular mask is several times slower.
            sides = (np.flatnonzero(~right).reshape(-1, half), np.flatnonzero(right).reshape(-1, half))
            places = np.stack(sides, axis=1).ravel()
            order, gives, takes = order[places], gives[places], takes[places]
    return hit[:count]
