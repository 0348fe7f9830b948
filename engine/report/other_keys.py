"""Small cells on other keys than all: on those that a release leaves as they are, and on the worst few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.measures.small_cells import small_cells
from engine.mechanisms import mechanism
from engine.report.recognised_facts import KeySet
from engine.sweeps.realisations import batch_of

if TYPE_CHECKING:
    from engine.data.table import ContingencyTable
    from engine.models.record_release import RecordRelease
    from engine.release.batch import ReleaseBatch

_SIZES = (4, 3, 2)  # of the sets of few keys, beside that of all but one
_MOST_SETS = 200
_MOST_KEYS = 12


def key_set(table: ContingencyTable, keys: Sequence[str], altered: Sequence[str], fewest: int) -> KeySet:
    """Small cells of some keys in a table of the original; ``altered`` are the attributes that a release alters."""
    _, counts, _ = table.margin(table.domain.indices(tuple(keys)))
    small = counts < fewest
    return KeySet(
        keys=tuple(keys),
        exchanged=tuple(name for name in keys if name in altered),
        small=int(counts[small].sum()),
        alone=int(np.count_nonzero(counts == 1)),
        matches=int(np.count_nonzero(small)),
    )


def unswapped_keys(table: ContingencyTable, keys: Sequence[str], altered: Sequence[str], fewest: int) -> KeySet | None:
    """The table of the keys that are not altered; None where all are."""
    unswapped = [name for name in keys if name not in altered]
    return key_set(table, unswapped, altered, fewest) if unswapped else None


def altered_in(release: RecordRelease) -> tuple[str, ...]:
    """Names of the attributes that a release has altered."""
    return tuple(
        name
        for j, name in enumerate(release.data.domain.names)
        if any(bool((table.codes(j) != release.original.codes(j)).any()) for table in release.tables)
    )


def all_but_one(
    table: ContingencyTable, keys: Sequence[str], altered: Sequence[str], fewest: int
) -> tuple[KeySet, ...]:
    """The tables of all keys but one, for each key that may be left out; empty for fewer than three keys or so many
    that no memo lists them."""
    if not 2 < len(keys) <= _MOST_KEYS:
        return ()
    return tuple(key_set(table, [key for key in keys if key != out], altered, fewest) for out in keys)


def worst_few(release: RecordRelease, keys: Sequence[str], fewest: int) -> tuple[KeySet, ...]:
    """For sets of all keys but one, of four, three and two, where there are more keys: the set on which most unaltered
    records stand in small cells of the release.  A size with very many sets is left out."""
    data = release.data
    batch = batch_of(release, data.domain.indices(tuple(keys)))
    altered, worst = altered_in(release), []
    for size in dict.fromkeys((len(keys) - 1, *_SIZES)):
        if 1 < size < len(keys) and math.comb(len(keys), size) <= _MOST_SETS:
            sets = list(combinations(range(len(keys)), size))
            unaltered = [_unaltered_small(release, batch, some, fewest) for some in sets]
            originals = [key_set(data.table, [keys[at] for at in some], altered, fewest) for some in sets]
            # of sets that expose as many, the one that does so in the original
            most = max(range(len(sets)), key=lambda at: (unaltered[at], originals[at].small))
            worst.append(originals[most])
    return tuple(worst)


def with_left(release: RecordRelease, sets: Sequence[KeySet], keys: Sequence[str], fewest: int) -> tuple[KeySet, ...]:
    """The sets with the unaltered records in small cells of their keys in the release; they are parts of ``keys``."""
    batch = batch_of(release, release.data.domain.indices(tuple(keys)))
    places = [tuple(list(keys).index(name) for name in found.keys) for found in sets]
    left = [round(_unaltered_small(release, batch, some, fewest)) for some in places]
    return tuple(replace(found, left=count) for found, count in zip(sets, left, strict=True))


def _unaltered_small(release: RecordRelease, batch: ReleaseBatch, some: tuple[int, ...], fewest: int) -> float:
    """Unaltered records in small cells of some keys of a release, a mean over its tables."""
    # partners of a swap exchange several attributes as one, so that a margin of the keys' table is exact
    is_swap = release.spec is not None and mechanism(release.spec.mechanism).partners_differ
    margin = batch.project(some) if is_swap else batch.unaltered_on(some)
    return float((np.nan_to_num(small_cells(margin, fewest)) * (margin.n_records - margin.changed)).mean())
