"""Boundaries of areas from a user's GeoJSON file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.report import boundaries
from engine.report.boundaries import read_boundaries

SQUARE = [[0, 50], [1, 50], [1, 51], [0, 51], [0, 50]]


def collection(*features: tuple[dict[str, Any], dict[str, Any]]) -> bytes:
    listed = [{"type": "Feature", "properties": p, "geometry": g} for p, g in features]
    return json.dumps({"type": "FeatureCollection", "features": listed}).encode()


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def test_the_property_that_names_most_areas_is_used() -> None:
    moved = [[x + 2, y] for x, y in SQUARE]
    content = collection(
        ({"n": 1, "old": "A", "code": "A"}, polygon(SQUARE)),
        ({"n": 2, "old": "-", "code": "B"}, {"type": "MultiPolygon", "coordinates": [[SQUARE], [moved]]}),
        ({"n": 3, "old": "-", "code": "elsewhere"}, polygon(SQUARE)),
    )
    made = read_boundaries(content, ["A", "B", "C"])
    assert (made.property, set(made.outlines), made.missing, made.geographic) == ("code", {"A", "B"}, ("C",), True)
    assert [len(made.outlines[area]) for area in "AB"] == [1, 2]
    assert made.outlines["A"][0].tolist() == SQUARE


def test_numbers_and_ids_name_areas_too() -> None:
    content = collection(({"code": 12}, polygon(SQUARE)))
    assert set(read_boundaries(content, ["12"]).outlines) == {"12"}
    given = json.loads(content)
    given["features"][0] |= {"id": "R1", "properties": None}
    assert read_boundaries(json.dumps(given).encode(), ["R1"]).property == "id"


def test_coordinates_in_metres_are_known_as_such_and_long_outlines_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "_MOST_POINTS", 100)
    angle = np.linspace(0, 2 * np.pi, 500)
    ring = np.stack([4_321_000 + 1000 * np.cos(angle), 3_210_000 + 1000 * np.sin(angle)], axis=1).tolist()
    made = read_boundaries(collection(({"code": "A"}, polygon(ring))), ["A"])
    assert not made.geographic and len(made.outlines["A"][0]) == 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "the boundaries are no JSON"),
        (b"[" * 100_000, "the boundaries are no JSON"),
        (b'{"features": [], "n": ' + b"9" * 5000 + b"}", "the boundaries are no JSON"),
        (b"[1]", "the boundaries hold no list of features"),
        (b'{"features": [1]}', "the boundaries hold no list of features"),
        (
            collection(({"code": "X"}, polygon(SQUARE))),
            "no property of the boundaries holds the code of an area, such as 'A'",
        ),
        (collection(({"code": "A"}, {"type": "Point", "coordinates": [0, 1]})), "the boundaries hold no polygons"),
        (collection(({"code": "A"}, polygon([["a", 1], [2, 2], [3, 3]]))), "points that are no pairs of numbers"),
        (collection(({"code": "A"}, polygon([[1], [2, 2], [3, 3]]))), "points that are no pairs of numbers"),
        (collection(({"code": "A"}, polygon([[10**400, 1], [2, 2], [3, 3]]))), "points that are no pairs of numbers"),
        (collection(({"code": "A"}, polygon(3))), "the boundaries hold no polygons"),
        (collection(({"code": "A"}, {"type": "MultiPolygon", "coordinates": 3})), "the boundaries hold no polygons"),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_boundaries(content, ["A", "B"])


def test_a_very_large_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "MOST_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="the boundaries have 1 MB, must have at most 1 MB"):
        read_boundaries(b" " * ((1 << 20) + 1), ["A"])
