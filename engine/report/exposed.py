"""Records in small cells of the keys, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.data.table import occupied
from engine.report.facts import Exposure, GroupRow
from engine.report.recognised_facts import Discarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.data.microdata import Microdata
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable


def sizes(columns: Sequence[np.ndarray], shape: Sequence[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts of occupied cells, and for each record that of its own cell."""
    cells, inverse = occupied(columns, shape, n)
    counts = np.bincount(inverse, minlength=len(cells))
    return counts, counts[inverse]


def exposure(release: RecordRelease, plan: Plan, fewest: int) -> Exposure:
    """Records in cells of fewer than ``fewest``; counts of several tables are averaged and rounded."""
    data, n = release.data, release.data.n_records
    attributes = data.domain.indices(plan.keys)
    shape = [data.domain.shape[j] for j in attributes]
    cells, cell_sizes = sizes([data.codes[j] for j in attributes], shape, n)
    small = cell_sizes < fewest
    masks, kept, small_after, matches, new = [], [], [], [], []
    for table in release.tables:
        _, released = sizes([table.codes(j) for j in attributes], shape, n)
        small_after.append(int(np.count_nonzero(released < fewest)))
        kept.append(~release.changed(table, attributes))
        masks.append((released < fewest) & kept[-1])
        matches.append(float((1 / released[masks[-1]]).sum()))
        new.append(_in_new_cells(data, table, attributes))
    groups = [row for j in attributes for row in _groups_of(data, j, small, masks, kept)]
    groups.sort(key=lambda g: (-g.after / max(g.of_after, 1), -g.after))
    return Exposure(
        fewest=fewest,
        small_before=int(small.sum()),
        small_after=round(float(np.mean(small_after))),
        unaltered_after=round(float(np.mean([mask.sum() for mask in masks]))),
        groups=tuple(groups),
        matches_before=int(np.count_nonzero(cells < fewest)),
        matches_after=round(float(np.mean(matches)), 1),
        new_after=round(float(np.mean(new))),
        unaltered_new=round(float(np.mean([(mask & ~small).sum() for mask in masks]))),
    )


def discarded(release: RecordRelease, plan: Plan, fewest: int, suspected: tuple[str, np.ndarray]) -> Discarded | None:
    """Small cells of the first table once the most suspect are discarded: ``suspected`` are records or households, and
    for each the share of it that is among them; None where nobody is."""
    of, share = suspected
    if not share.any():
        return None
    data, table, units = release.data, release.tables[0], release.data.units
    attributes = data.domain.indices(plan.keys)
    columns, shape = [table.codes(j) for j in attributes], [data.domain.shape[j] for j in attributes]
    _, released = sizes(columns, shape, data.n_records)
    small = released < fewest
    kept = small & ~release.changed(table, attributes)
    left = 1 - (share if units is None or of == "records" else share[units.of_record])
    return Discarded(
        n=round(float(share.sum())),
        of=of,
        small=int(small.sum()),
        unaltered=int(kept.sum()),
        matches=round(float((1 / released[kept]).sum()), 1),
        small_left=round(float(left[small].sum())),
        unaltered_left=round(float(left[kept].sum())),
        matches_left=round(float((left / released)[kept].sum()), 1),
    )


def _in_new_cells(data: Microdata, table: ReleasedTable, attributes: Sequence[int]) -> int:
    """Records of a released table in cells of some attributes that hold no original record."""
    n = data.n_records
    both = [np.concatenate((data.codes[j], table.codes(j))) for j in attributes]
    cells, inverse = occupied(both, [data.domain.shape[j] for j in attributes], 2 * n)
    held = np.zeros(len(cells), bool)
    held[inverse[:n]] = True
    return int(np.count_nonzero(~held[inverse[n:]]))


def _groups_of(
    data: Microdata, j: int, small: np.ndarray, masks: Sequence[np.ndarray], kept: Sequence[np.ndarray]
) -> list[GroupRow]:
    """The groups of an attribute (its place) with records in small cells, before or after; ``kept`` are the unaltered
    records of each table."""
    attribute, codes = data.domain.attributes[j], data.codes[j]

    def counts(chosen: Sequence[np.ndarray]) -> np.ndarray:
        means: np.ndarray = np.mean([np.bincount(codes[m], minlength=attribute.size) for m in chosen], axis=0)
        return means

    people, before = np.bincount(codes, minlength=attribute.size), counts([small])
    after, unaltered, new = (counts(chosen) for chosen in (masks, kept, [mask & ~small for mask in masks]))
    return [
        GroupRow(
            f"{attribute.name}: {attribute.levels[level]}",
            int(people[level]),
            int(before[level]),
            round(float(after[level])),
            attribute.name,
            unaltered=round(float(unaltered[level])),
            new=round(float(new[level])),
        )
        for level in np.flatnonzero((before > 0) | (after > 0)).tolist()
    ]
