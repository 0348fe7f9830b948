"""Records in small cells of the keys, before and after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from engine.data.table import occupied
from engine.report.exposed_counts import FEW_MATCHES, matches_follow
from engine.report.facts import Exposure, GroupRow
from engine.report.redaction import SPARSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.data.microdata import Microdata
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable

_MOST_GROUPS = 12
_SUM_ERROR = 1e-9
LEAST_OF_GROUP = 10
"""The fewest records in small cells of which a group may be told, and the fewest that may be left outside of it."""


def sizes(columns: Sequence[np.ndarray], shape: Sequence[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts of occupied cells, and for each record that of its own cell."""
    cells, inverse = occupied(columns, shape, n)
    counts = np.bincount(inverse, minlength=len(cells))
    return counts, counts[inverse]


def exposure(release: RecordRelease, plan: Plan, fewest: int, exposed: float = 0.0) -> Exposure:
    """Records in cells of fewer than ``fewest``; several tables are averaged and rounded.

    Where many records stand in small cells, here or by any other count that is shown (``exposed``, a share), numbers of
    unaltered ones are rounded to the place of their second digit, and to tens at least in groups: exact ones, or their
    sum over groups, would tell how many were altered.  Groups of few such records are left out.
    """
    data, n = release.data, release.data.n_records
    attributes = data.domain.indices(plan.keys)
    shape = [data.domain.shape[j] for j in attributes]
    cells, cell_sizes = sizes([data.codes[j] for j in attributes], shape, n)
    small = cell_sizes < fewest
    after, masks, small_after, matches, new = [], [], [], [], []
    for table in release.tables:
        counts, released = sizes([table.codes(j) for j in attributes], shape, n)
        after.append(counts)
        small_after.append(int(np.count_nonzero(released < fewest)))
        masks.append((released < fewest) & ~release.changed(table, attributes))
        matches.append(float((1 / released[masks[-1]]).sum()))
        new.append(_in_new_cells(data, table, attributes))
    unaltered = round(float(np.mean([mask.sum() for mask in masks])))
    unit = _unit(unaltered) if max(float(small.mean()), exposed) > SPARSE else 1
    groups = [row for j in attributes for row in _groups_of(data, j, small, masks, unit)]
    # the share of a group decides, where the group is large enough for a share to mean something
    groups.sort(key=lambda g: (g.people <= plan.tolerances.min_n, -g.after / g.people, -g.after))

    def mean(size: int) -> int:
        return round(float(np.mean([np.count_nonzero(counts == size) for counts in after])))

    def expected() -> float:
        right = float(np.mean(matches))
        if unit > 1 or right >= FEW_MATCHES:
            return _to(unit, right)
        all_small = round(float(np.mean(small_after)))
        if len(release.tables) == 1 and matches_follow(all_small, unaltered, mean(1), mean(2)):
            return round(right, 1)
        return math.ceil(right - _SUM_ERROR)  # a decimal would tell which of the small cells holds true records

    return Exposure(
        fewest=fewest,
        small_before=int(small.sum()),
        small_after=round(float(np.mean(small_after))),
        unaltered_after=_to(unit, unaltered),
        ones_before=int(np.count_nonzero(cells == 1)),
        ones_after=mean(1),
        twos_before=int(np.count_nonzero(cells == 2)),
        twos_after=mean(2),
        cells_before=len(cells),
        cells_after=round(float(np.mean([len(counts) for counts in after]))),
        groups=tuple(groups[:_MOST_GROUPS]),
        matches_before=int(np.count_nonzero(cells < fewest)),
        matches_after=expected(),
        new_after=round(float(np.mean(new))) if unit == 1 else None,
    )


def _in_new_cells(data: Microdata, table: ReleasedTable, attributes: Sequence[int]) -> int:
    """Records of a released table in cells of some attributes that hold no original record."""
    n = data.n_records
    both = [np.concatenate((data.codes[j], table.codes(j))) for j in attributes]
    cells, inverse = occupied(both, [data.domain.shape[j] for j in attributes], 2 * n)
    held = np.zeros(len(cells), bool)
    held[inverse[:n]] = True
    return int(np.count_nonzero(~held[inverse[n:]]))


def _groups_of(data: Microdata, j: int, small: np.ndarray, masks: Sequence[np.ndarray], unit: int) -> list[GroupRow]:
    """The groups of an attribute (its place) that point to nobody: of records in small cells neither a group, nor what
    is outside of it, nor all groups that are not told together hold a few.  Groups of several attributes together with
    the released file would single such records out, unaltered ones among them."""
    attribute, codes = data.domain.attributes[j], data.codes[j]
    people = np.bincount(codes, minlength=attribute.size)
    before = np.bincount(codes[small], minlength=attribute.size)
    after = np.mean([np.bincount(codes[mask], minlength=attribute.size) for mask in masks], axis=0)
    hides = np.all([_many(part) & _many(part.sum() - part) for part in (before, after)], axis=0)
    if not all(_many(part[~hides].sum()) for part in (before, after)):
        return []
    groups = []
    for level in np.flatnonzero(hides & (people > 0)).tolist():
        # the total's unit would make everybody or nobody of a small group
        own_unit = 1 if unit == 1 else min(unit, max(10, _unit(after[level])))
        exposed_after = min(_to(own_unit, after[level]), int(people[level]))
        label = f"{attribute.name}: {attribute.levels[level]}"
        groups.append(GroupRow(label, int(people[level]), int(before[level]), exposed_after, attribute.name))
    return groups


def _many(counts: np.ndarray) -> np.ndarray:
    """Which counts of records are none, or not few."""
    result: np.ndarray = (counts == 0) | (counts >= LEAST_OF_GROUP)
    return result


def _unit(value: float) -> int:
    """The place of a count's second digit: 1 below 100, 10 below 1,000 and so on."""
    return int(10 ** max(0, len(str(round(float(value)))) - 2))


def _to(unit: int, value: float) -> int:
    """Rounded to a multiple of a unit."""
    return unit * round(float(value) / unit)
