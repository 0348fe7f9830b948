"""Risk and utility of releases in which whole households move: who is exposed, who stays, who leaves which place.

A household is *unmoved* on some attributes where no member has another level on any of them than before.  All figures
need the plan's unit, the column that numbers households.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.common.errors import UsageError
from engine.data.microdata import Units
from engine.data.table import occupied
from engine.measures.base import Figure, Measure, Positive
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable

_NO_UNIT = "the plan names no unit, the column that numbers households ([data] unit)"
_NOBODY = "no household is left to count"


def exposed_households(release: RecordRelease, places: tuple[int, ...], k: Positive = 3) -> Figure:
    """Share of unmoved households of which some member stands in a released cell of fewer than ``k`` persons.

    In [0, 1]; lower is better.  It is the small-cell risk of single records (Gomatam, Karr and Sanil 2005, equation 6)
    with households for records; tabulate a level of geography together with what an intruder knows of persons.
    """

    def share(units: Units, table: ReleasedTable) -> float:
        unmoved = ~_moved(release, table, units, places)
        exposed = units.least(_sharing(table.cells(places))) < k
        return _share(unmoved & exposed, unmoved)

    return _mean(release, share)


def household_uniques(release: RecordRelease, places: tuple[int, ...]) -> Figure:
    """Number of unmoved households whose members' levels together no other released household has.

    Members are compared as a set with repetitions of their levels, a level of geography among them: whoever knows all
    members' keys finds such a household rightly.  A count; lower is better.
    """

    def count(units: Units, table: ReleasedTable) -> float:
        unmoved = ~_moved(release, table, units, places)
        return float(np.count_nonzero(unmoved & _alone(units, table.cells(places))))

    return _mean(release, count)


def risky_left(release: RecordRelease, places: tuple[int, ...], k: Positive = 3, hierarchy: str = "") -> Figure:
    """Share of risky households that did not leave the area in which they are risky.

    Going from coarse to fine through the ``hierarchy`` (attributes joined by +), a household is risky at the first
    level where fewer than ``k`` persons of its area share some member's levels on the other attributes.  In [0, 1];
    lower is better; NaN where no household is risky.
    """
    levels = _levels(release, hierarchy, "risky_left")
    known = tuple(j for j in places if j not in levels)
    if not known:
        raise UsageError("risky_left: all its attributes are places; name what an intruder knows of persons as well")

    def share(units: Units, table: ReleasedTable) -> float:
        original = release.original
        at_risk = original.cached(("at risk", levels, known, k), lambda: _at_risk(original, units, levels, known, k))
        stays = np.zeros(len(units), bool)
        for h in range(len(levels)):
            stays |= (at_risk == h) & ~_moved(release, table, units, levels[: h + 1])
        return _share(stays, at_risk < len(levels))

    return _mean(release, share)


def _at_risk(table: ReleasedTable, units: Units, levels: tuple[int, ...], known: tuple[int, ...], k: int) -> np.ndarray:
    """The first level at which each household is risky, or the number of levels where it is at none."""
    at_risk = np.full(len(units), len(levels))
    for h in reversed(range(len(levels))):
        at_risk[units.least(_sharing(table.cells((*levels[: h + 1], *known)))) < k] = h
    return at_risk


def left_level(release: RecordRelease, places: tuple[int, ...], level: str = "") -> Figure:
    """Share of households that left their area of a level: the attributes of ``level`` joined by +, coarse to fine.

    In [0, 1]; lower is better, since whoever stays in the area changes no table of it.
    """
    areas = _levels(release, level, "left_level")
    return _mean(release, lambda units, table: float(_moved(release, table, units, areas).mean()))


def area_change(release: RecordRelease, places: tuple[int, ...], level: str = "", least: Positive = 45) -> Figure:
    """Largest change, of itself, of a count of persons by area and one attribute.

    Areas are those of ``level`` (attributes joined by +); counts below ``least`` before are left out.  From 0; lower is
    better; NaN where no count is that large.
    """
    areas = _levels(release, level, "area_change")

    def largest(units: Units, table: ReleasedTable) -> float:
        worst = [_change(release, table, (*areas, j), least) for j in places if j not in areas]
        return max((change for change in worst if change == change), default=float("nan"))

    return _mean(release, largest)


def _change(release: RecordRelease, table: ReleasedTable, attributes: tuple[int, ...], least: int) -> float:
    """The original is counted once for all releases; of a release only the records that changed are looked at."""
    original = release.original
    before, after = original.cells(attributes), table.cells(attributes)
    numbers, was = original.cached(("counts", attributes), lambda: np.unique(before, return_counts=True))
    changed = np.flatnonzero(after != before)
    come = after[changed]
    place = np.minimum(np.searchsorted(numbers, come), len(numbers) - 1)
    more = np.bincount(place[numbers[place] == come], minlength=len(numbers))
    fewer = np.bincount(np.searchsorted(numbers, before[changed]), minlength=len(numbers))
    large = was >= max(least, 1)
    return float((np.abs(more - fewer)[large] / was[large]).max()) if large.any() else float("nan")


def _mean(release: RecordRelease, figure: Callable[[Units, ReleasedTable], float]) -> Figure:
    """The mean of a figure over the tables of a release; NaN and the reason where records belong to no units."""
    units = release.data.units
    if units is None:
        return Figure(float("nan"), _NO_UNIT)
    figures = [figure(units, table) for table in release.tables]
    return Figure(sum(figures) / len(figures), "" if all(f == f for f in figures) else _NOBODY)


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(np.count_nonzero(part) / np.count_nonzero(whole)) if whole.any() else float("nan")


def _moved(release: RecordRelease, table: ReleasedTable, units: Units, attributes: tuple[int, ...]) -> np.ndarray:
    """Return whether some member of each household has another level than before on one of the attributes."""
    moved: np.ndarray = np.bincount(units.of_record[release.changed(table, attributes)], minlength=len(units)) > 0
    return moved


def _sharing(cells: np.ndarray) -> np.ndarray:
    if int(cells.max(initial=0)) < 4 * len(cells):  # counting by number is cheaper than a sort
        cell, counts = cells, np.bincount(cells)
    else:
        _, cell, counts = np.unique(cells, return_inverse=True, return_counts=True)
    sharing: np.ndarray = counts[cell]
    return sharing


def _alone(units: Units, cells: np.ndarray) -> np.ndarray:
    """Households whose members' cells, in any order, are those of no other household."""
    n_cells = int(cells.max(initial=0)) + 1
    if len(cells) * n_cells >= 2**62:  # else the numbers of members and cells together would be too large
        numbers, cells = np.unique(cells, return_inverse=True)
        n_cells = len(numbers)
    grouped = cells[units.records]
    starts = np.append(0, np.cumsum(units.size)[:-1])
    alone = np.zeros(len(units), bool)
    for size in np.unique(units.size).tolist():
        these = np.flatnonzero(units.size == size)
        members = np.sort(grouped[starts[these, None] + np.arange(size)], axis=1)
        _, same = occupied(list(members.T), [n_cells] * size, len(these))
        alone[these] = np.bincount(same)[same] == 1
    return alone


def _levels(release: RecordRelease, names: str, measure: str) -> tuple[int, ...]:
    if not names:
        raise UsageError(f"{measure} names no place; write for example {measure}[{_EXAMPLE[measure]}]")
    return release.data.domain.indices(tuple(name.strip() for name in names.split("+")))


_EXAMPLE = {
    "risky_left": "hierarchy=region+district",
    "left_level": "level=region",
    "area_change": "level=region",
}


_COST = "about a tenth of a second per 100,000 records"
EXPOSED_HOUSEHOLDS = Measure.of(
    exposed_households,
    "risk",
    symbol="XH",
    title="Exposed households",
    share_of="unmoved households",
    source="Gomatam, Karr and Sanil (2005), equation 6, with households for records",
    meaning=(
        "The share of households that did not move of which some member stands alone or nearly alone (fewer than k "
        "together) in the released table."
    ),
    undefined=_NOBODY,
    needs="records",
    cost=_COST,
    quick=True,
)
HOUSEHOLD_UNIQUES = Measure.of(
    household_uniques,
    "risk",
    symbol="HU",
    title="Unmoved unique households",
    range="0 to the number of households",
    least=0.0,
    unit="households",
    source="count of unmoved households alone on the keys of all members",
    meaning=(
        "The number of households that did not move and whose members' keys together no other household has: whoever "
        "knows all members finds it rightly."
    ),
    needs="records",
    cost=_COST,
    quick=True,
)
RISKY_LEFT = Measure.of(
    risky_left,
    "risk",
    symbol="RL",
    title="Households at risk that did not move",
    share_of="risky households",
    source="sdcMicro 5.8, recordSwap: households that must leave an area and did not",
    meaning="The share of households at risk in some area that stayed in the largest such area.",
    undefined=_NOBODY,
    needs="records",
    cost=_COST,
    quick=True,
)
LEFT_LEVEL = Measure.of(
    left_level,
    "utility",
    symbol="LL",
    title="Households that left their area",
    share_of="households",
    source="share of households whose area of a level changed",
    meaning="The share of households that are released in another area of a level than they live in.",
    over="keys",
    needs="records",
    cost=_COST,
    quick=True,
)
AREA_CHANGE = Measure.of(
    area_change,
    "utility",
    symbol="AC",
    title="Largest change of a count by area",
    least=0.0,
    unit="change of itself",
    source="largest relative change of one-way counts by area",
    meaning=(
        "The largest relative change of a count of persons by area and one attribute, among counts that are large "
        "enough."
    ),
    undefined=_NOBODY,
    needs="records",
    cost=_COST,
    quick=True,
)
