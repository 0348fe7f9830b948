"""Boundaries of areas from a GeoJSON file of the user's own, to be drawn as a map; nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import UsageError

MOST_BYTES = 40 << 20
_MOST_POINTS = 60_000  # from which outlines are thinned


class Boundaries(NamedTuple):
    """Outlines by area: the ``property`` of the file that names areas, and for each area its rings of points, shape
    ``(points, 2)``; areas without one in ``missing``."""

    property: str
    outlines: dict[str, tuple[np.ndarray, ...]]
    missing: tuple[str, ...]
    geographic: bool


def read_boundaries(content: bytes, areas: Collection[str]) -> Boundaries:
    """The outlines of ``areas`` in the text of a GeoJSON file: a FeatureCollection of polygons in which one property
    holds the codes of the areas.  Refused are files of another kind and those in which no property names an area."""
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
    name = _naming_property(features, wanted)
    outlines: dict[str, tuple[np.ndarray, ...]] = {}
    for feature in features:
        area = _properties(feature).get(name)
        if area in wanted:
            outlines[area] = (*outlines.get(area, ()), *_rings(feature.get("geometry")))
    outlines = {area: rings for area, rings in outlines.items() if rings}
    if not outlines:
        raise UsageError("the boundaries hold no polygons of these areas; give Polygon or MultiPolygon geometries")
    every = np.concatenate([ring for rings in outlines.values() for ring in rings])
    geographic = bool((np.abs(every[:, 0]) <= 180).all() and (np.abs(every[:, 1]) <= 90).all())
    missing = tuple(sorted(wanted - set(outlines)))
    return Boundaries(name, _thinned(outlines, len(every)), missing, geographic)


def _properties(feature: Mapping[str, Any]) -> dict[str, str]:
    """A feature's properties, and its id, as texts."""
    given = feature.get("properties")
    properties = {name: str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    return {"id": str(feature["id"]), **properties} if "id" in feature else properties


def _naming_property(features: list[dict[str, Any]], areas: Collection[str]) -> str:
    """The property that names most areas."""
    named: dict[str, set[str]] = {}
    for feature in features:
        for name, value in _properties(feature).items():
            if value in areas:
                named.setdefault(name, set()).add(value)
    if not named:
        example = min(areas, default="")
        raise UsageError(
            f"no property of the boundaries holds the code of an area, such as '{example}'; give a file whose features "
            "carry the codes of this level"
        )
    return max(named, key=lambda name: len(named[name]))


def _rings(geometry: object) -> Iterator[np.ndarray]:
    """The outer rings of a Polygon or MultiPolygon."""
    if not isinstance(geometry, dict):
        return
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


def _thinned(outlines: dict[str, tuple[np.ndarray, ...]], n_points: int) -> dict[str, tuple[np.ndarray, ...]]:
    """Outlines of fewer points where there are very many; each ring keeps four at least."""
    every = -(-n_points // _MOST_POINTS)
    if every == 1:
        return outlines
    return {
        area: tuple(ring[:: min(every, max(1, len(ring) // 4))] for ring in rings) for area, rings in outlines.items()
    }
