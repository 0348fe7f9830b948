"""Risk that a swap is recognised from the release and published tables of the original.

The attack itself is in :mod:`engine.models.swap_detection`: it sees the released table and two-way tables of the
original.  Here the truth, which only the agency has, grades it: the altered records of each released cell.

Where a method alters records at risk first, rare ones are suspected.  Whoever knows such a method needs no table of the
original: of what is released, the rare is likely to come from elsewhere, since whoever was rare there had to go.  Where
the plan names a unit, whole households are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import remembered
from engine.data.domain import Domain
from engine.data.table import occupied
from engine.measures.base import Figure, Measure, Positive, Several
from engine.measures.linkage import decimal_parameter
from engine.measures.verdict import Verdict
from engine.models.level_model import Terms
from engine.models.margin_inference import MarginInference, Tables, two_way_tables
from engine.models.record_release import RecordRelease
from engine.models.swap_detection import Detection, Release, check_size, detect, infer_from_release
from engine.release.batch import ReleaseBatch, unpack
from engine.release.records import ReleasedTable

_DIGITS = 7  # of a probability: what differs less is rounding, and the records are equally suspect


class Graded(NamedTuple):
    """An attack on one release beside the truth: number of ``altered`` records in each released cell.

    The cells are those of ``release``, in lexicographic order.
    """

    release: Release
    inference: MarginInference
    detection: Detection
    altered: np.ndarray

    @property
    def rate(self) -> float:
        """True share of altered records."""
        return float(self.altered.sum() / self.release.counts.sum())


@remembered("own")
def attacked(batch: ReleaseBatch) -> list[tuple[Release, np.ndarray, MarginInference]]:
    """Every candidate of a batch over all its attributes: its released table, the altered records of each cell, and
    what is inferred from two-way tables; done once for all measures."""
    cells, tables = _original_cells(batch), _tables(batch)
    results, first = [], 0
    for last in batch.ends.tolist():
        release, altered = _released(batch, slice(first, last), cells)
        results.append((release, altered, infer_from_release(tables, release)))
        first = last
    return results


@remembered("own")
def graded(batch: ReleaseBatch, model: Terms = "two_way") -> list[Graded]:
    """The attack on every candidate of a batch with a model of the swapped attributes, beside the truth."""
    cells = _original_cells(batch)
    batch.shared.cached(("size of the model", model), lambda: check_size(cells, batch.shape, model))
    return [
        Graded(release, inference, detect(_tables(batch), inference, release, model, batch.shared), altered)
        for release, altered, inference in attacked(batch)
    ]


@remembered("shared")
def _tables(batch: ReleaseBatch) -> Tables:
    return two_way_tables(_original_cells(batch), batch.original, batch.shape)


@remembered("shared")
def _original_cells(batch: ReleaseBatch) -> np.ndarray:
    """Level codes of the original's cells, shape ``(cells, attributes)``."""
    words = batch.index_words[: len(batch.original)]
    return np.column_stack([unpack(words, place) for place in batch.layout])


def _released(batch: ReleaseBatch, touched: slice, cells: np.ndarray) -> tuple[Release, np.ndarray]:
    """One candidate's released table, its cells in an order that does not depend on other candidates, and how many
    records of each are altered."""
    n, cell = len(batch.original), batch.cell[touched]
    new = cell >= n
    words = batch.index_words[cell[new]]
    codes = np.vstack([cells, np.column_stack([unpack(words, place) for place in batch.layout])])
    counts = np.concatenate([batch.original, batch.after[touched][new]])
    altered = np.concatenate([np.zeros(n, np.int64), (batch.after - batch.kept)[touched][new]])
    counts[cell[~new]] = batch.after[touched][~new]
    altered[cell[~new]] = (batch.after - batch.kept)[touched][~new]
    present = np.flatnonzero(counts)
    order = present[np.lexsort(codes[present].T[::-1])]
    return Release(codes[order], counts[order], tuple(batch.shape)), altered[order]


def area_under_curve(counts: np.ndarray, altered: np.ndarray) -> float:
    """Area under the ROC curve of groups in order, the most suspect first: ``counts`` of equally suspect ones, of which
    so many are ``altered``; ties are counted half.  NaN when none is altered, or all are."""
    unaltered = counts - altered
    pairs = altered.sum() * unaltered.sum()
    if not pairs:
        return float("nan")
    below = np.concatenate([np.cumsum(unaltered[::-1])[::-1][1:], [0]])
    return float((altered * (below + unaltered / 2)).sum() / pairs)


def right_among(counts: np.ndarray, altered: np.ndarray, first: int) -> float:
    """Altered ones among the ``first`` in the same groups, an average over a group that is cut; NaN when none is."""
    if not altered.sum():
        return float("nan")
    last = int(np.searchsorted(np.cumsum(counts), first))
    ahead = int(counts[:last].sum())
    return float(altered[:last].sum() + (first - ahead) * altered[last] / counts[last])


def auc(attack: Graded, within: np.ndarray | None = None) -> float:
    """Area under the ROC curve of the better suspicion, by the probability of being altered or by the chance of the own
    levels, over the cells where ``within`` is true (default: all); NaN when these hold no altered record, or no
    other."""
    return max(area_under_curve(*groups) for groups in _by_suspicion(attack, within))


def precision(attack: Graded, top: Decimal | float, within: np.ndarray | None = None) -> float:
    """Share of altered records among the ``top`` share of records that are most suspect, by the better suspicion; NaN
    when no record is altered."""
    rankings = _by_suspicion(attack, within)
    exact = Decimal(str(top)) * int(rankings[0].counts.sum())
    cut = max(1, int(exact.to_integral_value(rounding="ROUND_CEILING")))
    return max(right_among(*groups, cut) for groups in rankings) / cut


class Calibration(NamedTuple):
    """Records whose probability of being altered lies in a range: from ``low`` to below ``high``, how many, their mean
    ``probability`` and the share of them that is ``altered`` in truth."""

    low: float
    high: float
    records: int
    probability: float
    altered: float


def calibration(
    attack: Graded, bounds: Sequence[float] = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1)
) -> list[Calibration]:
    """Mean probability of being altered, as the attack has it, against the truth, by range of the probability."""
    counts, probability = attack.release.counts, 1 - attack.detection.unaltered
    rows = []
    for low, high in pairwise(bounds):
        inside = (probability >= low) & ((probability < high) | (high == bounds[-1]))
        records = int(counts[inside].sum())
        if records:
            mean = float((counts * probability)[inside].sum() / records)
            rows.append(Calibration(low, high, records, mean, float(attack.altered[inside].sum() / records)))
    return rows


class _Groups(NamedTuple):
    """Equally suspect records, the most suspect first: how many, and how many of them are altered."""

    counts: np.ndarray
    altered: np.ndarray


def _by_suspicion(attack: Graded, within: np.ndarray | None) -> tuple[_Groups, ...]:
    """The records by the probability of being altered, and by the chance of their own levels in the original."""
    inside = np.ones(len(attack.altered), bool) if within is None else within
    return tuple(
        _groups(attack, inside, believed) for believed in (attack.detection.unaltered, 1 - attack.detection.unlikely)
    )


def _groups(attack: Graded, inside: np.ndarray, believed: np.ndarray) -> _Groups:
    distinct, group = np.unique(np.round(believed[inside], _DIGITS), return_inverse=True)
    sums = [
        np.bincount(group, weights=values[inside], minlength=len(distinct))
        for values in (attack.release.counts, attack.altered)
    ]
    return _Groups(*sums)


def rate_error(batch: ReleaseBatch) -> np.ndarray:
    """Relative error of the rate that somebody infers from two-way tables of the original and of the release.

    ``|inferred - true| / true``, with the share of altered records as the true rate; 1 where no table moved.  From 0
    on; higher is better, for the rate is worth keeping to oneself; NaN when no record is altered.
    """
    errors = np.full(len(batch), np.nan)
    for i, (release, altered, inference) in enumerate(attacked(batch)):
        rate = float(altered.sum() / release.counts.sum())
        if rate:
            errors[i] = abs(inference.rate - rate) / rate
    return errors


def detection_auc(batch: ReleaseBatch, model: Terms = "two_way") -> np.ndarray:
    """Chance that an altered record is more suspect than an unaltered one, ties counted half (area under the ROC
    curve).

    Records are suspected by the probability that they are altered, given the release and two-way tables of the
    original, or by the chance of their levels in the original as the tables alone give it
    (:mod:`engine.models.swap_detection`); the better suspicion counts.  The logit that the first fit starts from has
    terms for pairs of the unswapped attributes (``model`` is "two_way"), for each by itself ("main"), or none
    ("level").  In [0, 1]; lower is better and 0.5 is guessing; NaN when no record is altered, or all are.
    """
    return np.array([auc(attack) for attack in graded(batch, model)], float)


def detection_precision(batch: ReleaseBatch, top: str = "0.01", model: Terms = "two_way") -> np.ndarray:
    """Share of altered records among the ``top`` share of records that are most suspect.

    Suspicion as in :func:`detection_auc`; the number of records is rounded up, and of equally suspect records an
    average counts.  In [0, 1]; lower is better and the rate is guessing; NaN when no record is altered.
    """
    share = decimal_parameter("detection_precision", "top", top)
    return np.array([precision(attack, share) for attack in graded(batch, model)], float)


def small_cells_recognised(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], n_rule: Several = 3
) -> np.ndarray:
    """Mean probability, as somebody with the release can form it, that a record in a small key cell is unaltered.

    Eq. 6 of Gomatam, Karr and Sanil (2005) counts unaltered records in small cells, which only the agency can tell;
    here each released record of a small cell counts with its probability of being unaltered given the release, by
    Bayes' rule with the inferred rate (:mod:`engine.models.swap_detection`), as a share of all records in small cells.
    In [0, 1]; lower is better; 1 when nothing was detected; NaN without small cells.
    """
    return np.array([_recognised(attack, places, n_rule) for attack in graded(batch)], float)


def _recognised(attack: Graded, places: Sequence[int], n_rule: int) -> float:
    cells, counts, shape = attack.release
    key = occupied([cells[:, j] for j in places], [shape[j] for j in places], len(cells))[1]
    small = np.bincount(key, weights=counts)[key] < n_rule
    records = int(counts[small].sum())
    return float((counts * attack.detection.unaltered)[small].sum()) / records if records else float("nan")


def altered_share_max(batch: ReleaseBatch, least: Positive = 45) -> np.ndarray:
    """Largest share of altered records in any level of an attribute, as a multiple of the rate.

    Levels as released, of all tabulated attributes, with ``least`` records or more.  From 0 on, and about 1 when all
    groups carry the swap alike; lower is better; NaN when no record is altered or no level is large enough.
    """
    levels = [unpack(batch.index_words, place) for place in batch.layout]
    result = np.full(len(batch), np.nan)
    first = 0
    for i, last in enumerate(batch.ends.tolist()):
        part = slice(first, last)
        first = last
        cell, altered = batch.cell[part], (batch.after - batch.kept)[part]
        change = (batch.after - batch.before)[part]
        if not altered.any():
            continue
        largest = []
        for j, n_levels in enumerate(batch.shape):
            own = levels[j][cell]
            records = _original_levels(batch, j) + np.bincount(own, weights=change, minlength=n_levels)
            altered_records = np.bincount(own, weights=altered, minlength=n_levels)
            enough = records >= max(least, 1)
            largest += (altered_records[enough] / records[enough]).tolist()
        if largest:
            result[i] = max(largest) / (altered.sum() / batch.n_records)
    return result


@remembered("shared")
def _original_levels(batch: ReleaseBatch, attribute: int) -> np.ndarray:
    """Records of each level of an attribute in the original, levels that do not occur included."""
    own = unpack(batch.index_words[: len(batch.original)], batch.layout[attribute])
    return np.bincount(own, weights=batch.original, minlength=batch.shape[attribute])


# -- what is registered ----------------------------------------------------------------------------------------------


def _check_precision(top: str, model: str) -> None:
    share = decimal_parameter("detection_precision", "top", top)
    if not 0 < share <= 1:
        raise UsageError(f"detection_precision: top == {top}, must be above 0 and at most 1, such as 0.01.")


_MARGINS = "least squares on two-way tables of original and release"
_FIT = (
    "Bayes' rule with a model of the original: a logit of the swapped attribute on the others in the release, fitted "
    "to two-way tables by iterative proportional fitting (Deming and Stephan 1940, doi:10.1214/aoms/1177731829)"
)
_REVISED = "suspicion by a logit fitted to the release alone, or by Bayes' rule alone"
_SUSPECTED = ", or the tables alone so fitted; the better suspicion counts"
_COST = "ten milliseconds; grows with occupied cells times the square of the model's terms"
_ALTERED = "no record is altered"
_SUPPOSED = (
    " The attack supposes the random swap, whatever made the candidate; detection_unit_auc and "
    "detection_unit_precision suppose none, and look at whole households where these moved."
)

RATE_ERROR = Measure.of(
    rate_error,
    "risk",
    symbol="Δr̂",
    title="Error of the rate inferred from published tables",
    better="higher",
    least=0.0,
    unit="share of the rate",
    source=_MARGINS,
    meaning=(
        "How far off, as a share of the true rate, somebody is who estimates the share of altered records from "
        "two-way tables of the original and of the release. Near 0 the rate is no secret." + _SUPPOSED
    ),
    over="all",
    undefined=_ALTERED,
    cost="a millisecond",
)
DETECTION_AUC = Measure.of(
    detection_auc,
    "risk",
    symbol="AUC",
    title="Detection of altered records",
    least=0.0,
    most=1.0,
    unit="probability",
    source=_FIT
    + _SUSPECTED
    + "; area under the ROC curve (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747)",
    meaning=(
        "The probability that an altered record is more suspect than an unaltered one to an intruder with published "
        "two-way tables of the original; 0.5 is guessing." + _SUPPOSED
    ),
    over="all",
    undefined=_ALTERED + ", or all are",
    cost=_COST,
    revised=_REVISED,
)
DETECTION_PRECISION = Measure.of(
    detection_precision,
    "risk",
    symbol="PPV",
    title="Altered records among the most suspect",
    unit_kind="share",
    share_of="the most suspect records",
    source=_FIT + _SUSPECTED + "; precision among the first",
    meaning=(
        "The share of altered records among those that are most suspect to an intruder with published two-way tables "
        "of the original. Guessing reaches the rate." + _SUPPOSED
    ),
    over="all",
    check=_check_precision,
    undefined=_ALTERED,
    cost=_COST,
    revised=_REVISED,
)
SMALL_CELLS_RECOGNISED = Measure.of(
    small_cells_recognised,
    "risk",
    symbol="DR*",
    title="Small-cell records believed unaltered",
    least=0.0,
    most=1.0,
    unit="mean probability",
    source="Gomatam, Karr and Sanil (2005), eq. 6, with the probability of being unaltered given the release",
    meaning=(
        "The mean probability that a record in a small cell (fewer than n_rule together) is unaltered, for somebody "
        "with the release and published two-way tables of the original. Eq. 6 counts what only the agency knows."
        + _SUPPOSED
    ),
    undefined="no released record stands in a small cell",
    named=True,
    cost=_COST,
    revised=_REVISED,
)
ALTERED_SHARE_MAX = Measure.of(
    altered_share_max,
    "risk",
    symbol="a/r",
    title="Altered share of the most altered group",
    least=0.0,
    unit="multiple of the rate",
    source="largest share of altered records in a one-way level, over the rate",
    meaning=(
        "The altered share of the group that carries most of the changes, as a multiple of the overall share. A "
        "group is a level of an attribute with no fewer than least records."
    ),
    over="all",
    undefined="no record is altered, or no level has so many records",
    cost="a tenth of a millisecond",
)


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
RARITY_AUC = Measure.of(
    rarity_auc,
    "risk",
    symbol="AUCᵣ",
    title="Rare records known to be altered",
    least=0.0,
    most=1.0,
    unit="probability",
    source="area under the ROC curve (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747) of cell sizes",
    meaning=(
        "The probability that an altered record, or household where the plan names a unit, is rarer in the release "
        "than an unaltered one. Whoever knows that risky ones were altered first suspects the rare; 0.5 is guessing."
    ),
    depends_on="unaltered",
    undefined=_ALL_ALIKE,
    needs="records",
    cost="about a tenth of a second per 100,000 records",
    quick=True,
)
