"""Risk that records or whole households are known to be altered, from tables of places of the original.

The attack (:mod:`engine.models.table_excess`) has the release and two-way tables of the original; here it is carried
out on a release, and graded by the truth that the agency has.  An intruder who knows the method can also learn which
traces tell, from swaps of his own (:mod:`engine.models.table_excess`).  It supposes no mechanism: an attribute
that was altered is a place, and each other one is tabulated by it.  Where altered attributes are the same within all
households, before and after, households moved and are what is graded, and their places together are one place; else
records are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import remembered
from engine.data.microdata import Microdata, Units
from engine.data.table import occupied
from engine.measures.base import Figure, Measure
from engine.measures.detection import area_under_curve, right_among
from engine.measures.linkage import decimal_parameter
from engine.measures.verdict import Outright, Verdict, told_outright, worst
from engine.models.record_release import RecordRelease
from engine.models.table_excess import cells_of_units, learned, suspicion
from engine.release.records import ReleasedTable

_DIGITS = 9  # of a score: what differs less is rounding, and the units are equally suspect
_TOPS = tuple(map(Decimal, ("0.001", "50", "0.01")))  # of the most suspect that are looked at
_BETTER = 0.6  # area under the curve from which on detection is better than guessing
_ERRORS = 3.0  # standard errors beyond which it is so not by chance
_MOST_VALUES = 250  # values of a column up to which these and not its classes are tabulated


class Named(NamedTuple):
    """Units (``of``: records or households) by suspicion: each attack's scores by name, which units are ``certain`` to
    be altered for the intruder, and which are ``altered`` in truth."""

    of: str
    scores: Mapping[str, np.ndarray]
    certain: np.ndarray
    altered: np.ndarray

    @property
    def auc(self) -> float:
        """The best attack's area under the ROC curve; NaN when no unit is altered, or all are."""
        found = (area_under_curve(*by_score(score, self.altered)) for score in self.scores.values())
        return max(found, default=float("nan"))

    def first(self, top: Decimal) -> int:
        """How many units are the ``top``: a share of them up to 1, rounded up, else their number."""
        wanted = top if top > 1 else top * len(self.altered)
        return min(len(self.altered), max(1, int(wanted.to_integral_value(rounding="ROUND_CEILING"))))

    def right(self, first: int) -> float:
        """Altered ones among the ``first`` units that the best attack suspects most, an average where units are
        equally suspect; NaN when no unit is altered."""
        found = (right_among(*by_score(score, self.altered), first) for score in self.scores.values())
        return max(found, default=float("nan"))

    @property
    def found(self) -> Found:
        """The grades of the attack, as values."""
        n, altered = len(self.altered), int(self.altered.sum())
        firsts = sorted({self.first(top) for top in _TOPS}) if altered else []
        return Found(
            self.of,
            n,
            altered,
            self.auc,
            tuple((first, self.right(first)) for first in firsts),
            int((self.certain & self.altered).sum()),
        )


class Found(NamedTuple):
    """Grades of the attack on one release: of ``n`` units (``of``: records or households) some are ``altered``.

    ``auc`` is the area under the ROC curve (NaN: undefined).  ``named`` holds how many of the most suspect are looked
    at, and how many of these are altered; ``certain`` are so for the intruder.
    """

    of: str
    n: int
    altered: int
    auc: float
    named: tuple[tuple[int, float], ...]
    certain: int

    @property
    def precision(self) -> float:
        """The altered share of the most suspect hundredth; NaN when no unit is altered."""
        first = -(-self.n // 100)
        return dict(self.named).get(first, float("nan")) / first

    @property
    def verdict(self) -> Verdict:
        """The worst of the verdicts on the most suspect."""
        if not self.named:
            return Verdict("untried", of=self.of, why=_ALTERED)
        guess, outright = self.altered / self.n, self.told_outright.outright if self.told_outright else None
        return worst(
            Verdict("units", self.n, first, right, first * guess, self.of, outright=outright)
            for first, right in reversed(self.named)
        )

    @property
    def told_outright(self) -> Verdict | None:
        """The verdict on those that are certain alone; None where none is."""
        return told_outright(Outright(self.certain, self.altered, self.of), self.n, "tables")

    @property
    def finds(self) -> bool:
        """Return whether altered ones are found better than by guessing, and not by chance."""
        others = self.n - self.altered
        if not self.altered or not others:
            return False
        spread = math.sqrt((self.n + 1) / (12 * self.altered * others))  # of the area by guessing
        return self.verdict.finds or self.auc >= max(_BETTER, 0.5 + _ERRORS * spread)


@remembered(at=1)
def named(release: RecordRelease, table: ReleasedTable, attributes: Sequence[int]) -> Named:
    """Attack one table of a release with two-way tables of some attributes; done once for all measures."""
    moved = tuple(j for j in attributes if release.changed(table, (j,)).any())
    units, records = _whole_units(release, table, moved), release.changed(table, moved)
    n = release.data.n_records if units is None else len(units)
    altered = records if units is None else np.bincount(units.of_record[records], minlength=n) > 0
    _, cell = occupied(*_columns(table, _known(release, attributes, moved)), release.data.n_records)
    sharing = np.bincount(cell)[cell]
    scores = {"rare": -(sharing if units is None else units.least(sharing))}
    certain, traces = np.zeros(n, bool), [np.log(-scores["rare"])[:, None]]
    pairs = list(_pairs(release, table, attributes, moved, units is not None))
    for prefix, weights in (("", None), ("weighted ", _published_weights(release))):
        if prefix and weights is None:
            continue
        tables = [cells_of_units(before, after, units, weights) for before, after in pairs]
        found = suspicion([one for one in tables if one is not None], n)
        scores |= {f"{prefix}{name}": getattr(found, name) for name in ("excess", "mean_excess", "likelihood")}
        certain |= found.certain
        traces.append(found.traces)
    if (odds := learned(np.column_stack(traces), altered)) is not None:
        scores["learned"] = odds
    return Named("records" if units is None else "households", scores, certain, altered)


def _whole_units(release: RecordRelease, table: ReleasedTable, moved: Sequence[int]) -> Units | None:
    """The units of the data where their members agree on every altered attribute, before and after, so that whole units
    moved; else None."""
    units = release.data.units
    if units is None or not moved:
        return None
    agree = (units.constant(one.codes(j)).all() for j in moved for one in (release.original, table))
    return units if all(agree) else None


def _known(release: RecordRelease, attributes: Sequence[int], moved: Sequence[int]) -> tuple[int, ...]:
    """The keys among some attributes, and those that were altered: on these a record may be rare."""
    keys = release.data.domain.indices(release.plan.keys)
    return tuple(dict.fromkeys((*moved, *(j for j in keys if j in attributes))))


def _columns(table: ReleasedTable, attributes: Sequence[int]) -> tuple[list[np.ndarray], list[int]]:
    shape = table.data.domain.shape
    return [table.codes(j) for j in attributes], [shape[j] for j in attributes]


def _published_weights(release: RecordRelease) -> np.ndarray | None:
    """The weights of a plan that publishes them, so that an intruder can weigh the released tables; else None."""
    weights = release.original.weights if "weight" in release.plan.publish.include else None
    return weights if weights is not None and np.isfinite(weights).all() and (weights >= 0).all() else None


class _Codes(NamedTuple):
    """A released column: codes from 0 by record ``before`` and ``after``, and how many there are at most."""

    before: np.ndarray
    after: np.ndarray
    size: int


def _pairs(
    release: RecordRelease, table: ReleasedTable, attributes: Sequence[int], moved: Sequence[int], as_one: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The number of each record's cell before and after, in each two-way table of an altered attribute and another
    column; ``as_one``: the altered attributes are one place."""
    codes = {j: _codes(release, table, j) for j in attributes}
    beside = [codes[j] for j in attributes if j not in moved]
    if len(attributes) == len(release.data.domain):
        beside += [one for name in release.data.carried if (one := _raw_codes(release, table, name)) is not None]
    if as_one:
        columns = [np.concatenate([codes[j].before, codes[j].after]) for j in moved]
        places, place = occupied(columns, [codes[j].size for j in moved], 2 * release.data.n_records)
        before, after = np.split(place, 2)
        crossed = [(_Codes(before, after, len(places)), other) for other in beside]
    else:
        crossed = [(codes[j], other) for j in moved for other in beside]
        crossed += [(codes[j], codes[k]) for j, k in combinations(moved, 2)]
    for one, other in crossed:
        yield one.before * np.int64(other.size) + other.before, one.after * np.int64(other.size) + other.after


def _codes(release: RecordRelease, table: ReleasedTable, j: int) -> _Codes:
    """An attribute as it is released: by the values of a column where these are finer than its levels, and few."""
    attribute, original = release.data.domain.attributes[j], release.original
    if not table.is_replaced(j):
        for name in attribute.columns:
            n_values = release.data.raw.n_values(name)
            finer = attribute.size < n_values <= _MOST_VALUES
            decides = partial(_decides, release.data, name, j)
            if (
                finer
                and original.cached(("decides", name, j), decides)
                and (found := _raw_codes(release, table, name)) is not None
            ):
                return found
    return _Codes(original.codes(j), table.codes(j), attribute.size)


def _decides(data: Microdata, name: str, j: int) -> bool:
    """Return whether the values of a column decide an attribute's level."""
    column = data.raw.columns[name].codes.astype(np.int64) + 1
    pairs = np.unique(column * data.domain.shape[j] + data.codes[j])
    return len(pairs) == len(np.unique(column))


def _raw_codes(release: RecordRelease, table: ReleasedTable, name: str) -> _Codes | None:
    """A column by its values; None where they are many, or were changed."""
    raw = release.data.raw
    if raw.n_values(name) > _MOST_VALUES or table.is_renumbered(name):
        return None
    before = release.original.cached(("values", name), lambda: raw.columns[name].codes.astype(np.int64) + 1)
    carried = table.source is not None and name in table.swapped_columns
    return _Codes(before, before[table.source] if carried else before, raw.n_values(name) + 1)


def by_score(score: np.ndarray, altered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equally suspect units, the most suspect first: how many, and how many of them are altered."""
    distinct, rank = np.unique(-np.round(score, _DIGITS), return_inverse=True)
    return np.bincount(rank), np.bincount(rank[altered], minlength=len(distinct))


# -- what is registered ----------------------------------------------------------------------------------------------


def detection_unit_auc(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Chance that an altered record, or household where these moved as one, looks more suspect than an unaltered one
    (area under the ROC curve), for the best of some attacks with two-way tables of the original.

    In [0, 1]; lower is better and 0.5 is guessing; NaN when none is altered, or all are.  Several tables: their mean.
    """
    return _mean([named(release, table, places).auc for table in release.tables], _ALTERED + ", or all are")


def detection_unit_precision(release: RecordRelease, places: tuple[int, ...], top: str = "0.01") -> Figure:
    """Share of altered ones among the ``top`` records or households that look most suspect in the same attacks; a
    ``top`` up to 1 is a share, rounded up, and above it a number.

    In [0, 1]; lower is better and the altered share is guessing; NaN when none is altered.  Several tables: their mean.
    """
    all_named = [named(release, table, places) for table in release.tables]
    firsts = [one.first(Decimal(top)) for one in all_named]
    return _mean([one.right(first) / first for one, first in zip(all_named, firsts, strict=True)], _ALTERED)


def detection_unit_certain(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Share of altered records or households that the same tables tell outright: in some cell of theirs the original
    held fewer persons than they have members there.

    In [0, 1]; lower is better; NaN when none is altered.  Several tables: their mean.
    """
    all_named = [named(release, table, places) for table in release.tables]
    shares = [float(one.certain[one.altered].mean()) if one.altered.any() else float("nan") for one in all_named]
    return _mean(shares, _ALTERED)


def _mean(figures: Sequence[float], why: str) -> Figure:
    mean = sum(figures) / len(figures)
    return Figure(mean, "" if mean == mean else why)


def _check_top(top: str) -> None:
    number = decimal_parameter("detection_unit_precision", "top", top)
    if number <= 0 or (number > 1 and number % 1):
        raise UsageError(
            f"detection_unit_precision: top == {top}, must be a share above 0 and up to 1, or a whole number above it."
        )


_ALTERED = "no record is altered"
_TABLES = "two-way tables of places, excess and likelihood ratio of each cell's change"
_INTRUDER = (
    " to somebody who has two-way tables of the original. Where whole households moved they are looked at, by tables "
    "of their places; of several attacks the best one counts."
)
_COST = "about a second per 100,000 records and 10 attributes"
_REVISED = "the best attack without one that learns from swaps of its own"
DETECTION_UNIT_AUC = Measure.of(
    detection_unit_auc,
    "risk",
    symbol="AUCᵤ",
    title="Detection of altered households or records",
    least=0.0,
    most=1.0,
    unit="probability",
    source=_TABLES + "; area under the ROC curve (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747)",
    meaning="The probability that an altered one looks more suspect than an unaltered one"
    + _INTRUDER
    + " 0.5 is guessing.",
    over="all",
    undefined=_ALTERED + ", or all are",
    needs="records",
    cost=_COST,
    revised=_REVISED,
)
DETECTION_UNIT_PRECISION = Measure.of(
    detection_unit_precision,
    "risk",
    symbol="PPVᵤ",
    title="Altered ones among the most suspect households or records",
    share_of="the most suspect",
    source=_TABLES + "; precision among the first",
    meaning="The share of altered ones among those that look most suspect"
    + _INTRUDER
    + " Guessing reaches the altered share.",
    over="all",
    check=_check_top,
    undefined=_ALTERED,
    needs="records",
    cost=_COST,
    revised=_REVISED,
)
DETECTION_UNIT_CERTAIN = Measure.of(
    detection_unit_certain,
    "risk",
    symbol="CERᵤ",
    title="Altered households or records that tables tell outright",
    share_of="the altered",
    source="cells that held fewer persons in the original than one household or record has in the release",
    meaning="The share of altered households, or records, that stand where the original's two-way tables have no room "
    "for them, such as in a cell that was empty: an intruder with these tables is certain.",
    over="all",
    undefined=_ALTERED,
    needs="records",
    cost=_COST,
)
