"""The maxima of a set of vectors (Kung, Luccio and Preparata 1975).

H. T. Kung, F. Luccio and F. P. Preparata, *On Finding the Maxima of a Set of Vectors*, J. ACM 22, 469–476,
doi 10.1145/321906.321910.

Arrays hold losses without NaN, smaller is better in every row or column.  A three-column sweep runs all blocks of one
depth of the recursion at once, so that Python loops over log N depths and never over rows; small pieces are compared
pair by pair, 64 pairs in one operation on words of 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

_BLOCK = 2048
"""Number of columns up to which comparing every pair of them beats dividing further."""

_PAIRS = 1 << 23
"""Number of pairs of two sides up to which comparing every pair beats dividing further."""

_MEMBERS = 1024
"""Most columns in one set of bits: with sets for every place in their order they still fit into the cache."""

_ASKED = 1024
"""Columns that look up their sets at once: what they look up stays in the cache."""

_WORD, _BIT = np.arange(_MEMBERS) // 64, np.uint64(1) << (np.arange(_MEMBERS) % 64).astype(np.uint64)
"""Where in a set of bits each member stands."""


def maxima_two(first: Floats, second: Floats) -> Mask:
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


def maxima_many(table: Floats) -> Mask:
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
    if count <= _BLOCK:
        # The first row says no more than which column is earlier: in its stead stand places, one lower on the right.
        above, below = table.copy(), table.copy()
        above[0], below[0] = np.arange(count), np.arange(count) - 1
        return ~_covered_in_bits(above, below)
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


def _covered_in_bits(above: Floats, below: Floats) -> Mask:
    """:func:`_covered` by comparing every pair, 64 pairs in one operation on words of 64 bits.

    For each row and each place in the order of some columns of ``above``, a set of bits tells which of them come up to
    there.  A column of ``below`` looks up one set for each row; what is in all of them covers it.
    """
    hit = np.zeros(below.shape[1], np.bool_)
    # Searching for values in their order is several times quicker.
    turns = np.argsort(below, axis=1)
    asked = np.take_along_axis(below, turns, axis=1)
    place = np.empty(below.shape, np.intp)
    most = min(_MEMBERS, above.shape[1])
    sets = np.empty((len(above), most + 1, _WORD[most - 1] + 1), np.uint64)
    for begin in range(0, above.shape[1], _MEMBERS):
        members = above[:, begin : begin + _MEMBERS]
        sets[:] = 0
        for values, upto, turn, ask, at in zip(members, sets, turns, asked, place, strict=True):
            order = np.argsort(values)
            upto[np.arange(1, len(order) + 1), _WORD[order]] = _BIT[order]
            np.bitwise_or.accumulate(upto, axis=0, out=upto)
            at[turn] = np.searchsorted(values[order], ask, side="right")
        for first in range(0, len(hit), _ASKED):
            common = sets[0].take(place[0, first : first + _ASKED], axis=0)
            for upto, at in zip(sets[1:], place[1:], strict=True):
                common &= upto.take(at[first : first + _ASKED], axis=0)
            hit[first : first + _ASKED] |= common.any(axis=1)
    return hit


def _stable_order(values: Floats) -> Index:
    """``np.argsort(values, kind="stable")``, several times quicker where no two values are equal."""
    order = np.argsort(values)
    ordered = values[order]
    return np.argsort(values, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def _pick(table: Floats, mask: Mask) -> Floats:
    """Columns of ``table`` where ``mask`` is True; by places, since an irregular mask is several times slower."""
    return np.asarray(table.take(np.flatnonzero(mask), axis=1))


def _covered(above: Floats, below: Floats) -> Mask:
    """A mask of the columns of ``below`` ``(m, B)`` that have a column of ``above`` ``(m, A)`` no larger in every row,
    m >= 3."""
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
        return _covered_in_bits(above, below)
    if len(above) == 3:
        joint = np.concatenate((above, below), axis=1)
        # Stable, and `above` first: at equal values the row that may dominate comes before the row it may dominate.
        order = _stable_order(joint[0])
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
    """A mask of the targets that have an *earlier* source no larger in both values; all arrays of shape ``(N,)``, in
    sweep order.

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
    order[:count] = _stable_order(first)
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
        beaten = right & (best <= takes)
        hit[order[beaten]] = True
        if level > 4:
            # Places instead of masks: looking up by an irregular mask is several times slower.
            sides = (np.flatnonzero(~right).reshape(-1, half), np.flatnonzero(right).reshape(-1, half))
            indices = np.stack(sides, axis=1).ravel()
            order, gives, takes = order[indices], gives[indices], takes[indices]
    return hit[:count]
