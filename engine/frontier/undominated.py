"""The frontier of candidates: maxima of a set of vectors, on plain arrays.

Everything here works on *losses*: float arrays of shape ``(N, k)``, one row per candidate, one column per measure,
smaller is better in every column.  Row ``j`` *dominates* row ``i`` when it is no larger in every column and smaller in
at least one; the frontier is the set of rows that nothing dominates.  That is the risk-utility frontier of Gomatam,
Karr & Sanil (2005), eq. 5, for ``losses = (DR, -DU)``.  Eq. 5 is a preorder: candidates with equal figures do not
dominate one another and are all kept.

The method is Kung, Luccio & Preparata (1975), *On Finding the Maxima of a Set of Vectors*, J. ACM 22, 469-476,
doi 10.1145/321906.321910: sort and sweep for two columns, sort and sweep with a tree for three, divide and conquer
above.  O(N log N) time for two and three columns, O(N log^(k-2) N) above.  Two passes drop most of what is dominated
before anything is sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.common.errors import UsageError

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Floats = NDArray[np.float64]
Ranks = NDArray[Any]  # whole numbers
_FEW = 4096  # rows up to which a pass that drops some costs more than it saves
_PAIRS = 1 << 18  # pairs up to which comparing each beats dividing further
_SAMPLE, _CELLS = 2048, 4096


def as_losses(losses: ArrayLike) -> Floats:
    """The argument as a float array of shape ``(N, k)``, ``k >= 1``; the caller's own array when it already is one.

    Integers beyond 2^53 are rounded.  Raises :class:`UsageError` for anything but a numeric table with a column.
    """
    try:
        array = np.asarray(losses)
        if array.dtype.kind not in "biufO":
            # NumPy would drop imaginary parts and read dates and text as numbers.
            raise TypeError(f"they are of type {array.dtype}")
        rows = array.astype(np.float64, copy=False)
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
    """Mask of the rows on the frontier.

    ``losses`` has shape ``(N, k)``, ``k >= 1``, smaller is better in every column, any units.  The answer has shape
    ``(N,)``: True iff no row is no larger in every column and smaller in at least one.  Equal rows stand or fall
    together. Infinities are ordinary values.  A row with a NaN is never on the frontier and never dominates.

    Source: Gomatam, Karr & Sanil (2005), eq. 5; Kung, Luccio & Preparata (1975).  O(N log N) time for ``k <= 3``,
    O(N log^(k-2) N) above; O(N k) memory.  The input is not changed.  Raises :class:`UsageError` unless the argument is
    a numeric table with at least one column.
    """
    rows = as_losses(losses)
    table = np.ascontiguousarray(rows.T)
    index = np.flatnonzero(~np.isnan(table).any(axis=0))
    if len(index) < len(rows):
        table = table[:, index]
    mask: Mask = np.zeros(len(rows), np.bool_)
    while len(index) > _FEW:
        kept = np.flatnonzero(_below_steps(table) if len(table) == 2 else _beside_one(table))
        few_dropped = 2 * len(kept) > len(index)
        index, table = index[kept], table[:, kept]
        if few_dropped:
            break
    if len(index):
        mask[index] = _maxima(table)
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


# From here on a table has shape (k, N), a column for each candidate, and no NaN.


def _below_steps(table: Floats) -> Mask:
    """A mask of the columns of a ``(2, N)`` table that no column of a sample beats in both rows.

    The first row is cut into equal cells; the map from value to cell is monotone in floating point too, so a sampled
    column in an earlier cell is strictly smaller there.
    """
    steps = table[:, :: -(-table.shape[1] // _SAMPLE)]
    steps = steps[:, np.isfinite(steps[0])]
    low, high = steps[0].min(initial=np.inf), steps[0].max(initial=-np.inf)
    scale = (_CELLS - 2) / (high - low) if high > low else 0.0
    if not 0 < scale < np.inf:
        return np.ones(table.shape[1], np.bool_)

    def cells(values: Floats) -> Index:
        with np.errstate(over="ignore"):
            scaled: Floats = np.subtract(values, low)
            np.multiply(scaled, scale, out=scaled)
        np.clip(scaled, 0, _CELLS - 1, out=scaled)
        return scaled.astype(np.intp)

    least = np.full(_CELLS + 1, np.nan)  # comparing with NaN is false: cells without an earlier one drop nothing
    np.fmin.at(least, cells(steps[0]) + 1, steps[1])
    least = np.fmin.accumulate(least)
    return np.asarray(~(table[1] >= least[cells(table[0])]))


def _beside_one(table: Floats) -> Mask:
    """A mask of the columns that one does not dominate: that of the least sum, each row in units of its range."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        total = sum((row - row.min()) / (row.max() - row.min()) for row in table)
    best = table[:, np.argmin(np.nan_to_num(total, nan=np.inf))]
    no_smaller, equal = np.ones((2, table.shape[1]), np.bool_)
    for row, value in zip(table, best, strict=True):
        no_smaller &= row >= value
        equal &= row == value
    return np.asarray(~no_smaller | equal)


def _maxima(table: Floats) -> Mask:
    """A mask of the columns that none dominates.

    In lexicographic order, each of several equal ones once, only an earlier column can dominate a later one, and it
    does so exactly when it is no larger in every row but the first.  From three rows on ranks stand for values.
    """
    if len(table) < 3:
        order = np.argsort(table[0])
        first = table[0][order]
        if len(table) == 2 and (first[1:] == first[:-1]).any():
            order = np.lexsort(table[::-1])
    else:
        table = np.stack([np.unique(row, return_inverse=True)[1].astype(np.int32) for row in table])
        order = np.argsort(_lexicographic(table))
    ordered = table[:, order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    mask: Mask = np.empty(len(order), np.bool_)
    mask[order] = _of_distinct(ordered[:, fresh])[np.cumsum(fresh) - 1]
    return mask


def _lexicographic(table: Ranks) -> NDArray[np.int64]:
    """A number for each column by which they are in lexicographic order: sorting it is quicker than row after row."""
    key: NDArray[np.int64] = table[0].astype(np.int64)
    for row in table[1:]:
        size = int(row.max()) + 1
        if int(key.max()) >= np.iinfo(np.int64).max // size - 1:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + row
    return key


def _of_distinct(table: NDArray[Any]) -> Mask:
    """:func:`_maxima` of distinct columns in lexicographic order."""
    count = table.shape[1]
    if len(table) == 1:
        return np.asarray(np.arange(count) == 0)
    if len(table) == 2:
        return np.asarray(np.append(True, table[1, 1:] < np.minimum.accumulate(table[1])[:-1]))
    if len(table) == 3:
        return ~_swept(table[1], table[2], np.ones(count, np.bool_))
    if count * count <= _PAIRS:
        return ~_paired(table[1:], table[1:], True)
    half = count // 2
    left, right = _of_distinct(table[:, :half]), _of_distinct(table[:, half:])
    survivors = np.flatnonzero(right)
    # What the left half dominates, its frontier dominates: the marriage needs survivors of both halves only.
    covered = _covered(table[1:, :half][:, left], table[1:, half:][:, right])
    right[survivors[covered]] = False
    return np.concatenate((left, right))


def _covered(above: Ranks, below: Ranks) -> Mask:
    """A mask of the columns of ``below`` ``(m, B)`` that have a column of ``above`` ``(m, A)`` no larger in every row,
    m >= 3: the marriage."""
    answer: Mask = np.zeros(below.shape[1], np.bool_)
    if above.shape[1] == 0 or below.shape[1] == 0:
        return answer
    # Whatever is outside the other side's box cannot take part.
    inside = np.flatnonzero((below >= above.min(axis=1, keepdims=True)).all(axis=0))
    if len(inside):
        below = below[:, inside]
        above = above[:, (above <= below.max(axis=1, keepdims=True)).all(axis=0)]
        if above.shape[1]:
            answer[inside] = _covered_inside(above, below)
    return answer


def _covered_inside(above: Ranks, below: Ranks) -> Mask:
    """:func:`_covered` of two sides whose boxes meet: compare, sweep, or split by the first row and recurse."""
    if above.shape[1] * below.shape[1] <= _PAIRS:
        return _paired(above, below, False)
    values = np.concatenate((above[0], below[0]))
    answer: Mask = np.empty(below.shape[1], np.bool_)
    if len(above) == 3:
        # At equal ranks a column that may cover stands before one that it may cover.
        order = np.argsort(2 * values + (np.arange(len(values)) >= above.shape[1]))
        joint = np.concatenate((above[1:], below[1:]), axis=1)[:, order]
        is_above = order < above.shape[1]
        answer[order[~is_above] - above.shape[1]] = _swept(joint[0], joint[1], is_above)[~is_above]
        return answer
    cut, top = np.partition(values, len(values) // 2)[len(values) // 2], values.max()
    if cut == top:
        lower = values[values < top]
        if len(lower) == 0:
            return _covered(above[1:], below[1:])
        cut = lower.max()
    low_above, low_below = above[0] <= cut, below[0] <= cut
    low, high = above[:, low_above], below[:, ~low_below]
    answer[low_below] = _covered(low, below[:, low_below])
    # From low to high the first row is settled: one row less.  What that leaves meets the high part of `above`.
    hit = _covered(low[1:], high[1:])
    hit[~hit] = _covered(above[:, ~low_above], high[:, ~hit])
    answer[~low_below] = hit
    return answer


def _swept(first: Ranks, second: Ranks, is_source: Mask) -> Mask:
    """A mask of the places that an earlier source is no larger than in both ranks, all of shape ``(N,)``."""
    if len(first) < first.max(initial=0):
        first = np.unique(first, return_inverse=True)[1]
    tree = np.full(int(first.max()) + 2, np.iinfo(np.int32).max)
    return _compiled(_sweep)(first, second, is_source, tree)


def _paired(above: Ranks, below: Ranks, earlier: bool) -> Mask:
    """:func:`_covered` by comparing pairs; where ``earlier`` both are one table, and only an earlier column covers."""
    return _compiled(_compare)(np.ascontiguousarray(above), np.ascontiguousarray(below), earlier)


@cache
def _compiled(function: Callable[..., Mask]) -> Callable[..., Mask]:
    from engine.common.compiled import kernel  # it loads numba, which two columns do without

    return kernel(function)


def _sweep(place: Ranks, value: Ranks, is_source: Mask, least: Ranks) -> Mask:
    """Go through the places in order; a tree over ``place`` (Fenwick 1994) keeps the least value of the sources so far.

    ``least`` is the tree, with more than any rank where there is none yet.  O(N log N).
    """
    hit = np.zeros(len(place), np.bool_)
    for i in range(len(place)):
        node = place[i] + 1
        while node > 0:
            if least[node] <= value[i]:
                hit[i] = True
                break
            node -= node & -node
        if is_source[i] and not hit[i]:
            node = place[i] + 1
            # A node that holds less already is within all that follow.
            while node < len(least) and value[i] < least[node]:
                least[node] = value[i]
                node += node & -node
    return hit


def _compare(above: Ranks, below: Ranks, earlier: bool) -> Mask:
    """Compare each column of ``below`` with the columns of ``above``, or with the earlier ones, many in one step."""
    hit = np.zeros(below.shape[1], np.bool_)
    found = np.empty(above.shape[1], np.bool_)
    for b in range(below.shape[1]):
        count = b if earlier else above.shape[1]
        value = below[0, b]
        for a in range(count):
            found[a] = above[0, a] <= value
        for row in range(1, above.shape[0]):
            value = below[row, b]
            for a in range(count):
                found[a] &= above[row, a] <= value
        for a in range(count):
            hit[b] |= found[a]
    return hit
