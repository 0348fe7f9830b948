"""Disclosure risk from tables: the share of records in small cells (Gomatam, Karr and Sanil 2005, eq. 6).

Risk on the keys that a candidate leaves as they are.

Who ignores the swapped attributes sees true values: the table of all other keys is that of the original, to the record.
"Swapped" means whatever a mechanism changes in a release: keys that hold the same value in every record are unswapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import remembered
from engine.data.table import occupied
from engine.measures.base import Measure, Positive, Several
from engine.release.batch import ReleaseBatch, SummedBatch, unpack


def small_cells(batch: ReleaseBatch | SummedBatch, n_rule: Several = 3) -> np.ndarray:
    """Share of unaltered records that lie in small cells of the released table (Gomatam, Karr and Sanil 2005, eq. 6).

    A cell is small when its released count is 1 to ``n_rule - 1``.  In [0, 1]; higher is riskier; NaN when no record is
    unaltered.
    """
    if isinstance(batch, SummedBatch):
        assert n_rule == batch.n_rule
        sums = batch.small_cells
    else:
        small_before = batch.before < n_rule
        small_after = (batch.after > 0) & (batch.after < n_rule)
        sums = batch.total(batch.kept * small_after) - batch.total(batch.before * small_before)
    at_risk = int(batch.original[batch.original < n_rule].sum()) + sums
    unaltered = batch.n_records - batch.changed
    result: np.ndarray = np.divide(at_risk, unaltered, out=np.full(len(batch), np.nan), where=unaltered > 0)
    return result


SMALL_CELLS = Measure.of(
    small_cells,
    "risk",
    symbol="DR",
    title="Small-cell risk",
    share_of="unaltered records",
    of_unaltered=True,
    source="Gomatam, Karr and Sanil (2005), eq. 6",
    meaning=(
        "The share of unaltered records that stand alone or nearly alone (fewer than n_rule together) in the "
        "released table. It counts exposed records and is not the chance that somebody is identified."
    ),
    undefined="no unaltered record",
)


MOST_SUBSETS = 2000


def small_cells_unswapped(batch: ReleaseBatch, n_rule: Several = 3) -> np.ndarray:
    """Share of all records in small cells of the keys that the candidate leaves unswapped.

    Eq. 6 of Gomatam, Karr and Sanil (2005) on those keys: no record is altered there, so every one counts.  With all
    keys swapped their table is one cell of all records.  In [0, 1]; lower is better.
    """
    return _of_unswapped(batch, lambda counts: float(counts[counts < n_rule].sum()) / batch.n_records)


def uniques_unswapped(batch: ReleaseBatch) -> np.ndarray:
    """Number of records that are alone on the keys that the candidate leaves unswapped.

    From 0 to the number of records; lower is better.  Definition: sample uniques (Skinner and Shlomo 2008) of the
    unswapped keys, all of them unaltered there.
    """
    return _of_unswapped(batch, lambda counts: float(np.count_nonzero(counts == 1)))


def expected_matches_unswapped(batch: ReleaseBatch, n_rule: Several = 3) -> np.ndarray:
    """Expected number of right matches of somebody who uses the unswapped keys only.

    Each record of a small cell (fewer than ``n_rule`` records) is matched to one of its cell at random and is right
    with probability 1 / count (the expected match risk of Reiter and Mitra 2009, over records in small cells, as the
    expected re-identifications of Little and Liu 2003).  The sum over a cell's records is 1, so the figure is the
    number of small cells.  From 0 to the number of records; lower is better.  With ``n_rule=2`` it counts uniques; a
    rule above the number of records counts all cells.
    """
    return _of_unswapped(batch, lambda counts: float(np.count_nonzero(counts < n_rule)))


def small_cells_subset(batch: ReleaseBatch, size: Positive = 3, n_rule: Several = 3) -> np.ndarray:
    """Largest small-cell risk over all sets of ``size`` keys.

    Eq. 6 of Gomatam, Karr and Sanil (2005) on the released table of each set of ``size`` keys (all keys where there are
    no more): an intruder knows only some keys, and the worst choice counts.  In [0, 1]; lower is better; a set on which
    no record is unaltered does not count, and without any other the figure is NaN.
    """
    keys = len(batch.shape)
    size = min(size, keys)
    if math.comb(keys, size) > MOST_SUBSETS:
        raise UsageError(
            f"small_cells_subset: {keys} keys have {math.comb(keys, size):,} sets of {size}, must be at most "
            f"{MOST_SUBSETS:,}; name fewer keys with attributes=ATTRIBUTE+ATTRIBUTE, or a smaller size."
        )
    worst = np.full(len(batch), np.nan)
    for subset in combinations(range(keys), size):
        worst = np.fmax(worst, _small_cells(batch, subset, n_rule))
    return worst


def _small_cells(batch: ReleaseBatch, keys: tuple[int, ...], n_rule: int) -> np.ndarray:
    """Eq. 6 on some keys; on those that no candidate swaps it is the original's, which is worked out once."""
    if not _swaps(batch)[:, list(keys)].any():
        counts = _original_counts(batch, keys)
        return np.full(len(batch), counts[counts < n_rule].sum() / batch.n_records)
    return small_cells(batch.unaltered_on(keys), n_rule)


def _of_unswapped(batch: ReleaseBatch, figure: Callable[[np.ndarray], float]) -> np.ndarray:
    """A figure of the counts on each candidate's unswapped keys; candidates that swap the same keys share it."""
    values = np.empty(len(batch))
    patterns, inverse = np.unique(_swaps(batch), axis=0, return_inverse=True)
    for number, swapped in enumerate(patterns):
        unswapped = tuple(np.flatnonzero(~swapped).tolist())
        values[inverse.ravel() == number] = figure(_original_counts(batch, unswapped))
    return values


def _swaps(batch: ReleaseBatch) -> np.ndarray:
    """A mask of the attributes that each candidate changes, shape ``(candidates, attributes)``."""
    return np.asarray(batch.swaps & (batch.changed > 0)[:, None])


@remembered("shared")
def _original_counts(batch: ReleaseBatch, keys: tuple[int, ...]) -> np.ndarray:
    n = len(batch.original)
    columns = [unpack(batch.index_words[:n], batch.layout[j]) for j in keys]
    cells, inverse = occupied(columns, [batch.shape[j] for j in keys], n)
    return np.bincount(inverse, weights=batch.original, minlength=len(cells))


_EQ_6 = "Gomatam, Karr and Sanil (2005), eq. 6, "

SMALL_CELLS_UNSWAPPED = Measure.of(
    small_cells_unswapped,
    "risk",
    symbol="DR₋S",
    title="Small-cell risk on the unswapped keys",
    share_of="records",
    source=_EQ_6 + "on the keys that are not swapped",
    meaning=(
        "The share of records that stand alone or nearly alone (fewer than n_rule together) on the keys that the "
        "candidate does not swap. All of them show true values to somebody who ignores the swapped keys. Doing "
        "nothing leaves all keys unswapped."
    ),
    depends_on="records",
)
UNIQUES_UNSWAPPED = Measure.of(
    uniques_unswapped,
    "risk",
    symbol="SU₋S",
    title="Uniques on the unswapped keys",
    unit="records",
    unit_kind="count",
    source="count of one-record cells of the unswapped keys; Skinner and Shlomo (2008), doi:10.1198/016214507000001328",
    meaning=(
        "The number of records that no other record equals on the keys that the candidate does not swap. The swap "
        "does not hide them from somebody who ignores the swapped keys."
    ),
    depends_on="records",
)
EXPECTED_MATCHES_UNSWAPPED = Measure.of(
    expected_matches_unswapped,
    "risk",
    symbol="EM₋S",
    title="Expected right matches on the unswapped keys",
    unit="records",
    unit_kind="count",
    source=(
        "expected match risk of Reiter and Mitra (2009), doi:10.29012/jpc.v1i1.567, over records in small cells of "
        "the unswapped keys"
    ),
    meaning=(
        "The expected number of right matches in small cells of the unswapped keys, for somebody who knows these "
        "keys of everyone in the file and picks at random among equal records. It equals the number of small cells."
    ),
    depends_on="records",
)
SMALL_CELLS_SUBSET = Measure.of(
    small_cells_subset,
    "risk",
    symbol="DRₖ",
    title="Small-cell risk of the worst few keys",
    share_of="unchanged records",
    source=_EQ_6 + "largest over sets of keys",
    meaning=(
        "The share of unaltered records in small cells for somebody who knows only a few keys (size of them), at the "
        "choice of keys that exposes most records."
    ),
    depends_on="records",
    undefined="no record is unchanged on any choice of keys",
    cost="some microseconds per set of keys",
)
