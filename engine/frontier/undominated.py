"""The frontier of candidates: maxima of a set of vectors, on plain arrays.

Everything here works on *losses*: float arrays of shape ``(N, k)``, one row per candidate, one column per measure,
smaller is better in every column.  Directions are turned and units are chosen elsewhere.  Row ``j`` *dominates* row
``i`` when it is no larger in every column and smaller in at least one; the frontier is the set of rows that nothing
dominates.  That is the risk-utility frontier of Gomatam, Karr & Sanil (2005), eq. 5, for ``losses = (DR, -DU)``.  Eq. 5
is a preorder, so candidates with equal figures do not dominate one another and are all kept.

The method is Kung, Luccio & Preparata (1975), *On Finding the Maxima of a Set of Vectors*, J. ACM 22, 469-476,
doi 10.1145/321906.321910: O(N log N) for two and three columns and O(N log^(k-2) N) above.
:mod:`engine.frontier.prefilter` drops most of what is dominated before :mod:`engine.frontier.maxima` sorts and divides
what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine.common.errors import UsageError
from engine.frontier.maxima import maxima_many, maxima_two
from engine.frontier.pairs_in_bits import Mask
from engine.frontier.prefilter import prefilter_many, prefilter_two
from engine.frontier.sorting import Floats, Index


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
    O(N log^(k-2) N) above, close to O(N) when few rows are on the frontier; O(N k) memory.  The input is not changed.
    Raises :class:`UsageError` unless the argument is a numeric table with at least one column.
    """
    rows = as_losses(losses)
    count, columns = rows.shape
    mask: Mask = np.zeros(count, dtype=np.bool_)
    if count == 0:
        return mask
    index, candidates = np.arange(count), rows
    if columns == 2:
        index = prefilter_two(rows)
        candidates = rows[index]
    index, candidates = _without_nan(index, candidates)
    if columns > 2:
        survivors = prefilter_many(candidates)
        if len(survivors) < len(candidates):
            index, candidates = index[survivors], candidates[survivors]
    if len(index) == 0:
        return mask
    table = np.ascontiguousarray(candidates.T)
    if columns == 1:
        mask[index] = table[0] == table[0].min()
    elif columns == 2:
        mask[index] = maxima_two(table[0], table[1])
    else:
        mask[index] = maxima_many(table)
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


def _without_nan(index: Index, candidates: Floats) -> tuple[Index, Floats]:
    """``index`` and its rows without those that hold a NaN."""
    bad = np.isnan(candidates[:, 0])
    for column in range(1, candidates.shape[1]):
        bad |= np.isnan(candidates[:, column])
    if not bad.any():
        return index, candidates
    return index[~bad], candidates[~bad]
