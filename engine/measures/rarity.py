"""Risk that rare records are known to be altered ones, where a method alters those at risk first.

Whoever knows such a method needs no table of the original: of what is released, the rare is likely to come from
elsewhere, since whoever was rare there had to go.  Where the plan names a unit, whole households are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.measures.base import Figure, Measure
from engine.measures.verdict import Verdict
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable


class Rarity(NamedTuple):
    """Records, or households where there are units: how many records share the released cell of the rarest member,
    and whether some member is altered on the attributes that are looked at."""

    sharing: np.ndarray
    altered: np.ndarray

    @property
    def auc(self) -> float:
        """Chance that an altered one is rarer than an unaltered one, ties counted half; NaN where all are alike."""
        _, rank = np.unique(self.sharing, return_inverse=True)
        altered = np.bincount(rank[self.altered], minlength=int(rank.max(initial=0)) + 1)
        unaltered = np.bincount(rank[~self.altered], minlength=len(altered))
        pairs = int(altered.sum()) * int(unaltered.sum())
        rarer = np.append(np.cumsum(unaltered[::-1])[::-1][1:], 0)
        return float(altered @ (rarer + unaltered / 2)) / pairs if pairs else float("nan")

    @property
    def alone(self) -> int:
        """The number of those with a member who is alone."""
        return int(np.count_nonzero(self.sharing == 1))

    @property
    def alone_altered(self) -> float:
        """Share of altered ones among those; NaN where there is none."""
        return float(self.altered[self.sharing == 1].mean()) if self.alone else float("nan")

    def verdict(self, of: str) -> Verdict:
        """The verdict on those with a member who is alone, whom an intruder suspects first."""
        right = int(np.count_nonzero(self.altered[self.sharing == 1]))
        n = len(self.altered)
        return Verdict("rare", n, self.alone, right, self.alone * float(self.altered.mean()) if n else 0.0, of)


def rarity(release: RecordRelease, table: ReleasedTable, attributes: tuple[int, ...]) -> Rarity:
    """The rarity of each record or household of a released table on some attributes, and whether it is altered
    there."""
    _, cell, counts = np.unique(table.cells(attributes), return_inverse=True, return_counts=True)
    sharing, altered = counts[cell], release.changed(table, attributes)
    units = release.data.units
    if units is None:
        return Rarity(sharing, altered)
    return Rarity(units.least(sharing), np.bincount(units.of_record[altered], minlength=len(units)) > 0)


def rarity_auc(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Chance that an altered record is rarer in the release than an unaltered one, ties counted half (area under the
    ROC curve).

    A record is as rare as few records share its released levels of the attributes, and altered where one of these is
    another level than before.  With a unit in the plan households are compared: one is as rare as its rarest member
    and altered where some member is.  In [0, 1]; lower is better, 0.5 is guessing; NaN when none is altered, or all
    are.  Several tables: their mean.
    """
    values = [rarity(release, table, places).auc for table in release.tables]
    mean = sum(values) / len(values)
    return Figure(mean, "" if mean == mean else _ALL_ALIKE)


_ALL_ALIKE = "no record is altered, or all are"
RARITY_AUC = Measure(
    name="rarity_auc",
    symbol="AUCᵣ",
    title="Rare records known to be altered",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="probability",
    source="area under the ROC curve (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747) of cell sizes",
    meaning=(
        "The probability that an altered record, or household where the plan names a unit, is rarer in the release "
        "than an unaltered one. Whoever knows that risky ones were altered first suspects the rare; 0.5 is guessing."
    ),
    over="keys",
    depends_on="unaltered",
    compute=rarity_auc,
    undefined=_ALL_ALIKE,
    needs="records",
    cost="about a tenth of a second per 100,000 records",
    quick=True,
)
