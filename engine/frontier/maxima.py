"""The maxima of a set of vectors (Kung, Luccio and Preparata 1975).

H. T. Kung, F. Luccio and F. P. Preparata, *On Finding the Maxima of a Set of Vectors*, J. ACM 22, 469–476,
doi 10.1145/321906.321910.

Arrays hold losses without NaN, smaller is better in every row or column; from three columns on their ranks stand in
their stead.  A three-column sweep runs all blocks of one depth of the recursion at once, so that Python loops over
depths and small pieces and never over rows; in small pieces every pair is compared, in words of bits.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from engine.frontier.pairs_in_bits import Mask, covered_by_earlier, covered_in_bits, narrowed
from engine.frontier.sorting import Floats, Index, Ranks, by_digits, ranked, sorted_order

Bytes = tuple[NDArray[np.uint8], NDArray[np.uint8]]

_BLOCK = 4096
"""Number of columns up to which comparing every pair of them beats dividing further."""

_PAIRS = 1 << 23
"""Number of pairs of two sides up to which comparing every pair beats dividing further."""

_LEAF = 255
"""Most columns in a leaf of a sweep, so that a place among them fits into a byte and one value is left over."""

_NOBODY = np.uint8(255)
"""A place that comes after all places in a leaf."""


def maxima_two(first: Floats, second: Floats) -> Mask:
    """Frontier mask of points without NaN: sort by the first column, sweep the least second column so far."""
    order = sorted_order(first)
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
    ranks = np.stack([ranked(row) for row in table])
    key = _lexicographic(ranks)
    order = _inverse(key)
    if order is None:
        order = np.argsort(key)
    ordered = key[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    distinct = _maxima_sorted(ranks.take(order[fresh], axis=1))
    mask = np.empty(len(order), dtype=np.bool_)
    mask[order] = distinct[np.cumsum(fresh) - 1]
    return mask


def _lexicographic(ranks: Ranks) -> NDArray[np.int64]:
    """A number for each column, by which columns are in lexicographic order and equal columns are equal.

    That order puts every dominating column before what it dominates, and sorting one number is several times cheaper
    than sorting by every row in turn.
    """
    key: NDArray[np.int64] = ranks[0].astype(np.int64)
    values = int(ranks[0].max()) + 1
    if values == len(key):  # the first row alone tells all columns apart
        return key
    for row in ranks[1:]:
        more = int(row.max()) + 1
        if values * more > np.iinfo(np.int64).max:
            key = ranked(key).astype(np.int64)
            values = int(key.max()) + 1
        key *= more
        key += row
        values *= more
    return key


def _maxima_sorted(table: Ranks) -> Mask:
    """Frontier mask of a ``(k, N)`` table whose columns are distinct and in lexicographic order (the KLP recursion).

    Only an earlier column can dominate a later one, and since they are distinct it does so exactly when it is no larger
    in every row but the first.
    """
    count = table.shape[1]
    if count <= _BLOCK:
        rest = narrowed(table[1:])
        return ~covered_by_earlier(rest, rest)
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


def _stable_order(ranks: Ranks) -> Index:
    """``np.argsort(ranks, kind="stable")``, several times quicker."""
    order = _inverse(ranks)
    return by_digits(ranks) if order is None else order


def _inverse(ranks: Ranks | NDArray[np.int64]) -> Index | None:
    """The order of ranks of which no two are equal, which takes no sorting; None where some are, or one is left out."""
    if ranks.max(initial=0) >= len(ranks):
        return None
    order = np.full(len(ranks), -1)
    order[ranks] = np.arange(len(ranks))
    return order if order.min(initial=0) == 0 else None


def _pick(table: Ranks, mask: Mask) -> Ranks:
    """Columns of ``table`` where ``mask`` is True; by places, since an irregular mask is several times slower."""
    return np.asarray(table.take(np.flatnonzero(mask), axis=1))


def _covered(above: Ranks, below: Ranks) -> Mask:
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


def _covered_inside(above: Ranks, below: Ranks) -> Mask:
    """:func:`_covered` after trimming, both sides non-empty: compare, sweep, or split on the first row and recurse."""
    if above.shape[1] * below.shape[1] <= _PAIRS:
        return covered_in_bits(above, below)
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


def _swept(first: Ranks, second: Ranks, source: Mask, target: Mask) -> Mask:
    """A mask of the targets that have an *earlier* source no larger in both values; all arrays of shape ``(N,)``, in
    sweep order.

    The recursion over the sweep order (left half against right half, then each half) is run one depth at a time for all
    blocks together: O(N) per depth, O(N log N) in all, whatever the data.  ``numbers`` lists every block by its first
    value; inside a block the running least second value of the left half's sources decides the right half's targets.
    Leaves of one width, as many as a power of two, make the blocks of a depth the rows of a matrix, and going down a
    depth a stable split of every row in two.  In the leaves every pair is compared.

    A number holds, from its high bits down, a place's rank by the second value, whether it is no source, and its leaf.
    """
    count = len(first)
    depth = (-(-count // max(1, min(_LEAF, isqrt(count)))) - 1).bit_length()
    width = -(-count // (1 << depth))
    size, mute, shift = width << depth, 1 << depth, depth + 1
    leaf = np.repeat(np.arange(1 << depth, dtype=np.int64), width)
    # Stable: at equal values the earlier of two comes first and may still dominate the later.
    by_first, by_second = np.arange(size), np.arange(size)
    by_first[:count], by_second[:count] = _stable_order(first), _stable_order(second)
    numbers = leaf.copy()
    numbers[by_second] += np.arange(size, dtype=np.int64) << shift
    numbers[:count][~source] |= mute
    numbers = numbers[by_first]
    hit = np.zeros(size, dtype=np.bool_)
    for level in range(depth - 1, -1, -1):
        half = width << level
        side = numbers & (1 << level)
        right = side != 0
        # A high bit takes the right half, and whoever is no source, out of the running.
        least = (numbers | side << (62 - level) | (numbers & mute) << (62 - depth)).reshape(-1, 2 * half)
        np.minimum.accumulate(least, axis=1, out=least)
        beaten = np.flatnonzero(right & (least.ravel() < numbers))
        hit[by_second[numbers[beaten] >> shift]] = True
        # Places instead of masks: looking up by an irregular mask is several times slower.
        sides = (np.flatnonzero(~right).reshape(-1, half), np.flatnonzero(right).reshape(-1, half))
        numbers = numbers[np.stack(sides, axis=1).ravel()]
    first_in_leaf = _places(by_second[numbers >> shift], width)
    second_in_leaf = _places(by_second[by_digits(leaf[by_second])], width)
    gives = second_in_leaf.copy()
    gives[:count][~source] = _NOBODY
    hit |= _covered_in_leaves((first_in_leaf, gives), (first_in_leaf, second_in_leaf), width)
    return hit[:count] & target


def _places(listed: Index, width: int) -> NDArray[np.uint8]:
    """Return the place of each member within its leaf, from a list of all leaves one after another."""
    places = np.empty(len(listed), dtype=np.uint8)
    places[listed] = np.tile(np.arange(width, dtype=np.uint8), len(listed) // width)
    return places


def _covered_in_leaves(above: Bytes, below: Bytes, width: int) -> Mask:
    """A mask of the places of ``below`` that an earlier one of the same leaf in ``above`` precedes in every row.

    Side by side in a matrix, all leaves are compared at once, each place with the one that is so many places earlier.
    """
    one, other = ([np.ascontiguousarray(row.reshape(-1, width).T) for row in rows] for rows in (above, below))
    hit, precedes, both = (np.zeros(one[0].shape, dtype=np.bool_) for _ in range(3))
    for apart in range(1, width):
        found = np.less(one[0][:-apart], other[0][apart:], out=both[apart:])
        found &= np.less(one[1][:-apart], other[1][apart:], out=precedes[apart:])
        hit[apart:] |= found
    return hit.T.ravel()
