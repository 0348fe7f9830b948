"""The share of altered records in every group of a release: who carries the change.

A swap of an attribute with a small level alters much of that level and little of the others, whatever its rate.  The
shares give the rate away: the board and the analyst see them, never the public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decision.gate import FAR_ABOVE_RATE
from engine.decision.statements import Statement, statement
from engine.sweeps.remake import Remade

_ERRORS = 3.0  # standard errors of a count, by which a share is above the limit before a caution is given


@dataclass(frozen=True)
class AlteredGroup:
    """The released records of one ``level`` of one ``attribute``: how many ``records`` they are, how many of them are
    ``altered`` in any attribute, and the ``share`` of these.  Several tables are averaged, and counts rounded."""

    attribute: str
    level: str
    records: int
    altered: int
    share: float

    @property
    def name(self) -> str:
        """The group in words."""
        return f"{self.attribute}: {self.level}"


def altered_share(realisation: Remade) -> float:
    """Share of records that are altered in any attribute, averaged over tables."""
    return float(np.mean([mask.mean() for mask in _masks(realisation)]))


def altered_groups(realisation: Remade) -> tuple[AlteredGroup, ...]:
    """Every level of every attribute that the release has, in the order of attributes and levels."""
    masks, rows = _masks(realisation), []
    for j, attribute in enumerate(realisation.data.domain.attributes):
        codes = [realisation.codes(j, d) for d in range(len(masks))]
        records = np.mean([np.bincount(own, minlength=attribute.size) for own in codes], axis=0)
        altered = np.mean(
            [np.bincount(own[mask], minlength=attribute.size) for own, mask in zip(codes, masks, strict=True)], axis=0
        )
        for level in np.flatnonzero(records).tolist():
            share = float(altered[level] / records[level])
            label = attribute.levels[level]
            rows.append(AlteredGroup(attribute.name, label, round(records[level]), round(altered[level]), share))
    return tuple(rows)


def groups_to_show(groups: Sequence[AlteredGroup], min_n: int, most: int) -> list[AlteredGroup]:
    """At most so many groups: those of more than ``min_n`` records first, of these the most altered first."""
    return sorted(groups, key=lambda g: (g.records <= min_n, -g.share, -g.records))[:most]


def group_caution(groups: Sequence[AlteredGroup], rate: float, min_n: int) -> Statement | None:
    """A caution where the share of a group of more than ``min_n`` records is far above that of all (``rate``); of
    several groups it names the one with the largest share.

    Far above is more than :data:`~engine.decision.gate.FAR_ABOVE_RATE` times the rate, and by more than chance
    explains: three standard errors of a count of records.
    """

    def is_far_above(group: AlteredGroup) -> bool:
        limit = FAR_ABOVE_RATE * rate * group.records
        return group.records > min_n and group.share * group.records > limit + _ERRORS * math.sqrt(limit)

    uneven = [group for group in groups if rate > 0 and is_far_above(group)]
    if not uneven:
        return None
    worst = max(uneven, key=lambda group: group.share)
    return statement("uneven_group", group=worst.name, times=worst.share / rate)


def _masks(realisation: Remade) -> list[np.ndarray]:
    """The altered records of each table."""
    original = realisation.data.codes
    return [
        np.any([table.codes(j) != codes for j, codes in enumerate(original)], axis=0) for table in realisation.tables
    ]
