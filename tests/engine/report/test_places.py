"""What a release changed by place, counted again record by record."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.bundle.readers import _ALLOWED
from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.decision.choice import choose
from engine.plan import DecisionPlan, MechanismPlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.scenarios import RunStatus
from engine.report import places
from engine.report.audit import new_to_places
from engine.report.describe import remade
from engine.report.places import areas_of, persons_with, place_changes, read_boundaries, relative_change
from engine.report.write import write_board
from engine.study.map_reader import risk_utility_map
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake
from engine.sweeps.sweep import sweep

PLACES = ("region", "district", "municipality")


@lru_cache(2)
def release(*existing: str) -> Remade:
    """The census after one exchange of households, which makes no new combination of a municipality and one of the
    ``existing`` attributes."""
    raw, plan = load("census")
    rules = (EditRule(name, refuse=True, existing=("municipality", name)) for name in existing)
    plan = replace(plan, edits=(*plan.edits, *rules))
    data = code(raw, plan)
    spec = scenarios_of(plan, data)[0][0]
    return remake(data, question_of(plan, data, ()), spec, bytes(range(32)))


def values(made: Remade, name: str, after: bool) -> list[str]:
    j = made.data.domain.index(name)
    codes = made.codes(j) if after else made.data.codes[j]
    return [made.data.domain.attributes[j].levels[c] for c in codes]


@pytest.mark.slow
def test_the_exchange_moves_somebody_and_counts_are_those_of_the_records() -> None:
    made = release()
    assert made.status in (RunStatus.OK, RunStatus.PARTIAL) and made.changed.any()
    areas = areas_of(made, PLACES)
    before, after = areas.counted()
    for counts, later in ((before, False), (after, True)):
        assert dict(zip(areas.names, counts.tolist(), strict=True)) == Counter(values(made, "municipality", later))
    assert (before == after).all(), "partners have the same size, so persons by area stay as they were"
    units = made.data.units
    assert units is not None
    was, now = areas.counted(units.first)
    assert (was == now).all() and was.sum() == len(units)


def test_persons_with_an_answer_are_counted_by_area() -> None:
    made = release()
    areas = areas_of(made, PLACES[:1])
    for counts, later in zip(persons_with(made, areas, "citizenship", "A"), (False, True), strict=True):
        pairs = zip(values(made, "region", later), values(made, "citizenship", later), strict=True)
        assert dict(zip(areas.names, counts.tolist(), strict=True)) == Counter(r for r, c in pairs if c == "A")


@pytest.mark.slow
def test_distances_are_those_of_the_tables_of_area_by_attribute() -> None:
    made = release()
    levels, rows = place_changes(made, PLACES, ("citizenship", "sex", "municipality"))
    assert [(level.level, level.areas) for level in levels] == [("region", 4), ("district", 12), ("municipality", 72)]
    n = made.data.n_records
    for level in levels:
        distances = []
        for name in ("citizenship", "sex"):
            was, now = (
                Counter(zip(values(made, level.level, later), values(made, name, later), strict=True))
                for later in (False, True)
            )
            distances.append(sqrt(sum((sqrt(was[c] / n) - sqrt(now[c] / n)) ** 2 for c in was | now) / 2))
        assert level.mean_distance == pytest.approx(np.mean(distances))
        assert level.largest_distance == pytest.approx(max(distances))
        assert level.attribute == "citizenship", "whoever is rare moves, so sex changes less"
        assert (level.persons, level.households) == (0, 0)
    finest = [row for row in rows if row.level == "municipality"]
    assert [row.distance for row in finest] == sorted((row.distance for row in finest), reverse=True)
    worst = finest[0]
    inside = []
    for later in (False, True):
        pairs = zip(values(made, "municipality", later), values(made, worst.attribute, later), strict=True)
        inside.append(Counter(answer for area, answer in pairs if area == worst.area))
    total = [sum(counts.values()) for counts in inside]
    closeness = sum(sqrt(inside[0][c] / total[0] * inside[1][c] / total[1]) for c in inside[0])
    assert worst.distance == pytest.approx(sqrt(1 - closeness))


@pytest.mark.slow
def test_values_new_to_an_area_are_counted_person_by_person() -> None:
    made, others = release(), ("citizenship", "dwelling", "sex")
    levels, rows = place_changes(made, PLACES, (*others, "municipality"))
    for level in levels:
        known: dict[str, set[tuple[str, str]]] = {}
        answers = [(name, values(made, name, False)) for name in others]
        for i, area in enumerate(values(made, level.level, False)):
            known.setdefault(area, set()).update((name, of_all[i]) for name, of_all in answers)
        persons: Counter[str] = Counter()
        attributes: dict[str, set[str]] = {}
        for i, area in enumerate(values(made, level.level, True)):
            new = [name for name, of_all in answers if (name, of_all[i]) not in known[area]]
            persons[area] += bool(new)
            attributes.setdefault(area, set()).update(new)
        of_level = [row for row in rows if row.level == level.level]
        assert all(row.persons_new == persons[row.area] for row in of_level)
        assert all(set(row.attributes_new) == attributes[row.area] for row in of_level)
        assert (level.areas_new, level.persons_new) == (sum(map(bool, persons.values())), persons.total())
    assert levels[-1].areas_new > levels[0].areas_new == 0


@pytest.mark.slow
def test_a_rule_keeps_all_values_out_of_areas_that_had_none() -> None:
    made = release("dwelling", "origin", "citizenship")
    assert made.changed.sum() > 100
    for name, new in (("dwelling", False), ("origin", False), ("citizenship", False), ("work", True)):
        levels, _ = place_changes(made, PLACES, (name,))
        assert (levels[-1].persons_new > 0) == new
        (check,) = new_to_places(made, replace(load("census")[1], analyse=(name, "municipality")))
        assert check.holds != new and check.found.values["attributes"] == (name,) * new
        assert check.found.values["areas"] == levels[-1].areas_new


def test_an_area_is_its_path_where_codes_repeat() -> None:
    made = release()
    assert areas_of(made, ("sex", "tenure")).names == (
        "female / owner",
        "female / tenant",
        "male / owner",
        "male / tenant",
    )


def test_a_relative_change() -> None:
    assert [relative_change(*pair) for pair in ((0, 0), (4, 5), (4, 2), (0, 1))] == [0, 0.25, -0.5, float("inf")]


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
    monkeypatch.setattr(places, "_MOST_POINTS", 100)
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
    monkeypatch.setattr(places, "MOST_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="the boundaries have 1 MB, must have at most 1 MB"):
        read_boundaries(b" " * ((1 << 20) + 1), ["A"])


OTHERS = ("hhsize", "citizenship", "sex", "work")
"""What the census tells beside places here; of all that it tells, a model of 71 municipalities takes many seconds."""


@pytest.mark.slow
def test_annex_a_and_its_workbook_tell_of_places(tmp_path: Path) -> None:
    raw, plan = load("census")
    exchange = MechanismPlan.of(
        "trs", {"rate": "0.05", "hierarchy": "+".join(PLACES), "similar": "hhsize", "risk": "citizenship"}
    )
    used = tuple(a for a in plan.data.attributes if a.name in (*PLACES, *OTHERS))
    others = tuple(a.name for a in plan.data.attributes if a not in used)
    plan = replace(
        plan,
        data=replace(plan.data, attributes=used, drop=others),
        keys=("municipality", "sex", "citizenship"),
        analyse=("district", *OTHERS[1:]),
        edits=(),
        measures=("small_cells", "hellinger"),
        decision=DecisionPlan(),
        mechanisms=(exchange,),
    )
    with sweep(raw, plan, tmp_path / "census.study", workers=1) as study:
        label = study.scenarios[0].label
        choose(study, risk_utility_map(study), "households stay whole", candidate=label, by="Ada")
        release = remade(study, raw, label, 1)
        (tmp_path / "board").mkdir()
        write_board(study, release, tmp_path / "board")
    levels, areas = place_changes(release, PLACES, plan.analyse)
    memo = (tmp_path / "board" / "memo.html").read_text(encoding="utf-8")
    assert "Values known in their place" in memo and "that nobody there had" in memo
    with zipfile.ZipFile(tmp_path / "board" / "places.xlsx") as book:
        rows = book.read("xl/worksheets/sheet1.xml").decode().count("<row ") - 1
        texts = book.read("xl/sharedStrings.xml").decode()
    assert rows == len(areas) == 88 and len(levels) == 3
    assert all(f">{row.area}<" in texts for row in areas)
    with zipfile.ZipFile(tmp_path / "board" / "tables.xlsx") as book:
        texts = book.read("xl/sharedStrings.xml").decode()
    assert levels[-1].areas_new > 0 and all(f">{row.level}<" in texts for row in levels)
    assert [tier for tier, names in _ALLOWED.items() if any("places" in name for name in names)] == [
        "board",
        "chair",
    ], "the latter in bundles of format 1"
