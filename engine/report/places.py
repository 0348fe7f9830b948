"""Changes by place in a release: persons and households by area before and after, and distances at each level; outlines
of areas from a file of the user's own.

Counts by area of the original, and how far a release is from them, are for the analyst and the board.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.common.errors import UsageError

if TYPE_CHECKING:
    from engine.sweeps.remake import Remade

MOST_BYTES = 40 << 20
"""Largest file of boundaries."""
_MOST_POINTS = 60_000  # from which outlines are thinned


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
        """Records by area before and after, or those of them that ``records`` names: of each household its first
        member, so that it lives where that one does."""
        of = slice(None) if records is None else records
        n = len(self.names)
        return np.bincount(self.before[of], minlength=n), np.bincount(self.after[of], minlength=n)

    def by(self, realisation: Remade, attribute: str) -> tuple[np.ndarray, np.ndarray]:
        """Records by area and level of an attribute before and after, shape ``(areas, levels)`` each."""
        j = realisation.data.domain.index(attribute)
        n, size = len(self.names), realisation.data.domain.shape[j]
        pairs = ((self.before, realisation.data.codes[j]), (self.after, realisation.codes(j)))
        was, now = (np.bincount(area * size + codes, minlength=n * size).reshape(n, size) for area, codes in pairs)
        return was, now


def relative_change(before: float, after: float) -> float:
    """Change of a count, of itself; infinite where there was none."""
    if before == after:
        return 0.0
    return (after - before) / before if before else float("inf")


def areas_of(realisation: Remade, places: Sequence[str]) -> Areas:
    """The areas of the last of ``places``, which go from coarse to fine: an area is the path of codes down to it, and
    is named by the whole path where its own code lies in several."""
    domain = realisation.data.domain
    indices = domain.indices(tuple(places))
    n = realisation.data.n_records
    codes = [np.concatenate([realisation.data.codes[j], realisation.codes(j)]) for j in indices]
    paths, area = np.unique(np.stack(codes), axis=1, return_inverse=True)
    levels = [
        [domain.attributes[j].levels[code] for code in row] for j, row in zip(indices, paths.tolist(), strict=True)
    ]
    own = levels[-1]
    names = own if len(set(own)) == len(own) else [" / ".join(path) for path in zip(*levels, strict=True)]
    area = area.ravel()
    return Areas(tuple(names), area[:n], area[n:])


def persons_with(realisation: Remade, areas: Areas, attribute: str, level: str) -> tuple[np.ndarray, ...]:
    """Persons by area before and after who have a level of an attribute, before and after."""
    domain = realisation.data.domain
    code = domain.attributes[domain.index(attribute)].levels.index(level)
    return tuple(counts[:, code] for counts in areas.by(realisation, attribute))


def place_changes(
    realisation: Remade, places: Sequence[str], attributes: Sequence[str]
) -> tuple[tuple[LevelRow, ...], tuple[AreaRow, ...]]:
    """Levels from coarse to fine, and their areas, those of a level worst first.

    ``attributes`` are looked at within areas; places among them are left out.
    """
    others = [name for name in attributes if name not in places]
    found = [_level(realisation, places[: h + 1], others) for h in range(len(places))]
    return tuple(level for level, _ in found), tuple(area for _, areas in found for area in areas)


def _level(realisation: Remade, places: Sequence[str], attributes: Sequence[str]) -> tuple[LevelRow, list[AreaRow]]:
    areas, units, n = areas_of(realisation, places), realisation.data.units, realisation.data.n_records
    persons = areas.counted()
    households = None if units is None else areas.counted(units.first)
    within, worst = np.zeros(len(areas.names)), np.full(len(areas.names), "", object)
    has_new = np.zeros(n, bool)
    attributes_new: list[list[str]] = [[] for _ in areas.names]
    distances: dict[str, float] = {}
    for name in attributes:
        was, now = areas.by(realisation, name)
        distances[name] = float(np.sqrt(((np.sqrt(was / n) - np.sqrt(now / n)) ** 2).sum() / 2))
        with np.errstate(invalid="ignore"):
            closeness = np.sqrt((was / persons[0][:, None]) * (now / persons[1][:, None])).sum(axis=1)
        here = np.sqrt(np.clip(1 - np.nan_to_num(closeness), 0, 1))
        here[(was == now).all(axis=1)] = 0
        worst[here > within] = name
        within = np.maximum(within, here)
        new = (was == 0) & (now > 0)
        has_new |= new[areas.after, realisation.codes(realisation.data.domain.index(name))]
        for a in np.flatnonzero(new.any(axis=1)).tolist():
            attributes_new[a].append(name)
    persons_new = np.bincount(areas.after[has_new], minlength=len(areas.names))
    counts = [each.tolist() for each in (*persons, *(households or ()))]
    counts += [] if households else [[None] * len(areas.names)] * 2
    columns = (areas.names, *counts, within.tolist(), worst, persons_new.tolist(), map(tuple, attributes_new))
    rows = [AreaRow(places[-1], *row) for row in zip(*columns, strict=True)]
    largest = max(distances.values(), default=0.0)
    level = LevelRow(
        places[-1],
        len(areas.names),
        _largest_change(persons),
        None if households is None else _largest_change(households),
        float(np.mean(list(distances.values()))) if distances else 0.0,
        largest,
        max(distances, key=lambda name: distances[name]) if largest > 0 else "",
        int(np.count_nonzero(persons_new)),
        int(persons_new.sum()),
    )
    rows.sort(key=lambda row: (-abs(relative_change(row.persons_before, row.persons_after)), -row.distance))
    return level, rows


def _largest_change(counts: tuple[np.ndarray, np.ndarray]) -> float:
    before, after = (each[counts[0] > 0] for each in counts)
    return float(np.max(np.abs((after - before) / before), initial=0))


class Boundaries(NamedTuple):
    """Outlines by area: the ``property`` of the file that names areas, and for each area its rings of points, shape
    ``(points, 2)``; areas without one in ``missing``."""

    property: str
    outlines: dict[str, tuple[np.ndarray, ...]]
    missing: tuple[str, ...]
    geographic: bool


def read_boundaries(content: bytes, areas: Collection[str]) -> Boundaries:
    """The outlines of ``areas`` in the text of a GeoJSON file: a FeatureCollection of polygons in which one property
    (that which names most areas) holds their codes.  Refused are files of another kind and those in which no property
    names an area.  Where there are very many points, rings are thinned; each keeps four at least."""
    if len(content) > MOST_BYTES:
        raise UsageError(f"the boundaries have {len(content) >> 20:,} MB, must have at most {MOST_BYTES >> 20} MB")
    try:
        collection = json.loads(content)
    except (ValueError, RecursionError):  # ValueError also of a number with thousands of digits
        raise UsageError("the boundaries are no JSON; give a GeoJSON file (.geojson or .json)") from None
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        raise UsageError("the boundaries hold no list of features; give a GeoJSON FeatureCollection of polygons")
    wanted = set(areas)
    named: dict[str, dict[str, list[object]]] = {}
    for feature in features:
        given = feature.get("properties")
        properties = {"id": feature["id"]} if "id" in feature else {}
        properties |= given if isinstance(given, dict) else {}
        for name, value in properties.items():
            if str(value) in wanted:
                named.setdefault(name, {}).setdefault(str(value), []).append(feature.get("geometry"))
    if not named:
        raise UsageError(
            f"no property of the boundaries holds the code of an area, such as '{min(areas, default='')}'; give a file "
            "whose features carry the codes of this level"
        )
    name = max(named, key=lambda name: len(named[name]))
    outlines = {area: tuple(_rings(geometries)) for area, geometries in named[name].items()}
    points = [ring for rings in outlines.values() for ring in rings]
    if not points:
        raise UsageError("the boundaries hold no polygons of these areas; give Polygon or MultiPolygon geometries")
    every = np.concatenate(points)
    geographic = bool((np.abs(every[:, 0]) <= 180).all() and (np.abs(every[:, 1]) <= 90).all())
    step = -(-len(every) // _MOST_POINTS)
    outlines = {
        area: tuple(ring[:: min(step, max(1, len(ring) // 4))] for ring in rings)
        for area, rings in outlines.items()
        if rings
    }
    return Boundaries(name, outlines, tuple(sorted(wanted - set(outlines))), geographic)


def _rings(geometries: Iterable[object]) -> Iterator[np.ndarray]:
    """The outer rings of Polygons and MultiPolygons."""
    for geometry in geometries:
        if not isinstance(geometry, dict):
            continue
        coordinates = geometry.get("coordinates")
        polygons = {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(str(geometry.get("type")), [])
        for polygon in polygons if isinstance(polygons, list) else []:
            outer = polygon[0] if isinstance(polygon, list) and polygon else None
            try:
                ring = np.array([point[:2] for point in outer], float) if isinstance(outer, list) else np.empty((0, 2))
            except (TypeError, ValueError, OverflowError):
                raise UsageError("a polygon of the boundaries has points that are no pairs of numbers") from None
            if len(ring) > 2 and ring.shape[1] == 2 and np.isfinite(ring).all():
                yield ring
