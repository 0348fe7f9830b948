"""Changes by place in a release: persons and households by area before and after, and distances at each level.

Counts by area of the original, and how far a release is from them, are for the analyst and the board.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.data.microdata import Units

if TYPE_CHECKING:
    from engine.sweeps.remake import Remade


@dataclass(frozen=True)
class AreaRow:
    """One area of a level: its persons and households before and after (households None where records belong to none),
    the attribute whose distribution within the area is farthest from the original's, by its Hellinger distance, and
    how many persons have a value that nobody had there, with the attributes of these values."""

    level: str
    area: str
    persons_before: int
    persons_after: int
    households_before: int | None
    households_after: int | None
    distance: float
    attribute: str
    persons_new: int
    attributes_new: tuple[str, ...]

    @property
    def change(self) -> float:
        """Relative change of the persons."""
        return relative_change(self.persons_before, self.persons_after)


@dataclass(frozen=True)
class LevelRow:
    """One level of places: its number of areas, the largest relative change of persons and of households (None where
    records belong to none) of an area that had some, the Hellinger distance of the tables of area by attribute, their
    mean and the largest with its attribute, and the areas and persons with a value that nobody had in the area.  0 is
    no change; distances are at most 1."""

    level: str
    areas: int
    persons: float
    households: float | None
    mean_distance: float
    largest_distance: float
    attribute: str
    areas_new: int
    persons_new: int


class Areas(NamedTuple):
    """Areas of a level: their names, and each record's area before and after."""

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray

    def counted(self, records: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Records by area before and after, or those of them that ``records`` names."""
        of = slice(None) if records is None else records
        n = len(self.names)
        return np.bincount(self.before[of], minlength=n), np.bincount(self.after[of], minlength=n)


def relative_change(before: float, after: float) -> float:
    """Change of a count, of itself; infinite where there was none."""
    if before == after:
        return 0.0
    return (after - before) / before if before else float("inf")


def areas_of(realisation: Remade, places: Sequence[str], table: int = 0) -> Areas:
    """The areas of the last of ``places``, which go from coarse to fine: an area is the path of codes down to it, and
    is named by the whole path where its own code lies in several."""
    domain = realisation.data.domain
    indices = domain.indices(tuple(places))
    n = realisation.data.n_records
    codes = [np.concatenate([realisation.data.codes[j], realisation.codes(j, table)]) for j in indices]
    paths, area = np.unique(np.stack(codes), axis=1, return_inverse=True)
    levels = [
        [domain.attributes[j].levels[code] for code in row] for j, row in zip(indices, paths.tolist(), strict=True)
    ]
    own = levels[-1]
    names = own if len(set(own)) == len(own) else [" / ".join(path) for path in zip(*levels, strict=True)]
    area = area.ravel()
    return Areas(tuple(names), area[:n], area[n:])


def households_by_area(areas: Areas, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Households by area before and after; a household lives where its first member does."""
    return areas.counted(units.first)


def persons_with(
    realisation: Remade, areas: Areas, attribute: str, level: str, table: int = 0
) -> tuple[np.ndarray, ...]:
    """Persons by area before and after who have a level of an attribute, before and after."""
    j = realisation.data.domain.index(attribute)
    code = realisation.data.domain.attributes[j].levels.index(level)
    n = len(areas.names)
    before = np.bincount(areas.before[realisation.data.codes[j] == code], minlength=n)
    return before, np.bincount(areas.after[realisation.codes(j, table) == code], minlength=n)


def place_changes(
    realisation: Remade, places: Sequence[str], attributes: Sequence[str], table: int = 0
) -> tuple[tuple[LevelRow, ...], tuple[AreaRow, ...]]:
    """Levels from coarse to fine, and their areas, those of a level worst first.

    ``attributes`` are looked at within areas; places among them are left out.
    """
    levels: list[LevelRow] = []
    rows: list[AreaRow] = []
    looked_at = [name for name in attributes if name not in places]
    for h, level in enumerate(places, 1):
        areas = areas_of(realisation, places[:h], table)
        of_level = _areas(realisation, level, areas, looked_at, table)
        rows += sorted(of_level, key=lambda row: (-abs(row.change), -row.distance))
        levels.append(_level(realisation, level, areas, of_level, looked_at, table))
    return tuple(levels), tuple(rows)


def _areas(realisation: Remade, level: str, areas: Areas, attributes: Sequence[str], table: int) -> list[AreaRow]:
    units = realisation.data.units
    before, after = areas.counted()
    households = (None, None) if units is None else households_by_area(areas, units)
    distance, worst = np.zeros(len(areas.names)), np.full(len(areas.names), -1)
    has_new = np.zeros(len(areas.after), bool)
    attributes_new: list[list[str]] = [[] for _ in areas.names]
    for number, name in enumerate(attributes):
        was, now = _tables(realisation, areas, name, table)
        with np.errstate(invalid="ignore"):
            closeness = np.sqrt((was / before[:, None]) * (now / after[:, None])).sum(axis=1)
        here = np.sqrt(np.clip(1 - np.nan_to_num(closeness), 0, 1))
        here[(was == now).all(axis=1)] = 0
        worst[here > distance] = number
        distance = np.maximum(distance, here)
        new = (was == 0) & (now > 0)
        has_new |= new[areas.after, realisation.codes(realisation.data.domain.index(name), table)]
        for a in np.flatnonzero(new.any(axis=1)).tolist():
            attributes_new[a].append(name)
    persons_new = np.bincount(areas.after[has_new], minlength=len(areas.names)).tolist()
    return [
        AreaRow(
            level,
            name,
            int(before[a]),
            int(after[a]),
            None if households[0] is None else int(households[0][a]),
            None if households[1] is None else int(households[1][a]),
            float(distance[a]),
            attributes[worst[a]] if worst[a] >= 0 else "",
            persons_new[a],
            tuple(attributes_new[a]),
        )
        for a, name in enumerate(areas.names)
    ]


def _tables(realisation: Remade, areas: Areas, name: str, table: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of area by attribute before and after, shape ``(areas, levels)``."""
    j = realisation.data.domain.index(name)
    size, n = realisation.data.domain.shape[j], len(areas.names)
    pairs = ((areas.before, realisation.data.codes[j]), (areas.after, realisation.codes(j, table)))
    was, now = (np.bincount(area * size + codes, minlength=n * size).reshape(n, size) for area, codes in pairs)
    return was, now


def _level(
    realisation: Remade, level: str, areas: Areas, rows: Sequence[AreaRow], attributes: Sequence[str], table: int
) -> LevelRow:
    n = realisation.data.n_records
    distances = []
    for name in attributes:
        was, now = _tables(realisation, areas, name, table)
        distances.append(float(np.sqrt(((np.sqrt(was / n) - np.sqrt(now / n)) ** 2).sum() / 2)))
    largest = max(distances, default=0.0)
    households = [
        abs(relative_change(row.households_before, row.households_after or 0)) for row in rows if row.households_before
    ]
    return LevelRow(
        level,
        len(areas.names),
        max((abs(row.change) for row in rows if row.persons_before), default=0.0),
        None if realisation.data.units is None else max(households, default=0.0),
        float(np.mean(distances)) if distances else 0.0,
        largest,
        attributes[distances.index(largest)] if largest > 0 else "",
        sum(row.persons_new > 0 for row in rows),
        sum(row.persons_new for row in rows),
    )
