"""Board bundles of earlier formats, as they were written, verify and make every document of today."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.bundle.folder import write_sums
from engine.bundle.verify import verify
from engine.common.errors import EngineError
from engine.decision.statements import words
from engine.report import documents
from engine.report.decision_pages import pages
from engine.report.earlier_formats import CHAIR, COARSE, read_chair
from engine.report.findings import BOARD, FORMAT, Findings, read_board
from engine.report.losses import largest
from engine.report.tables import tables_bytes

HERE = Path(__file__).parent / "earlier_formats"
BOARDS = {"fair-withhold": True, "fair-tell": False, "census-withhold": True, "census-tell": False}
"""Exports of the samples, and whether their figures were coarse."""


def old(name: str) -> str:
    return gzip.decompress((HERE / f"{name}.json.gz").read_bytes()).decode()


@pytest.mark.parametrize(("name", "is_coarse"), BOARDS.items())
def test_a_members_bundle_opens_and_says_what_it_leaves_out(name: str, is_coarse: bool) -> None:
    plain, found = json.loads(old(name)), Findings.from_json(old(name))
    assert plain["format"] == 1 and found.format == FORMAT and found.extent is None
    assert found.exposure.small_before == plain["exposure"]["small_before"]
    assert found.map.recommended.letter == plain["recommendation"]["letter"]
    assert (COARSE in [words(each) for each in found.recommendation.cautions]) == is_coarse
    assert bool(largest(found.utility.figures)) != is_coarse and bool(plain["utility"]["changes"]) == is_coarse
    assert Findings.from_json(found.to_json()) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_it_makes_every_document(name: str) -> None:
    found = Findings.from_json(old(name))
    page = pages(found)
    assert ">None<" not in page and "None " not in page
    assert documents.docx(page) and documents.pptx(page) and tables_bytes(found)


def test_a_bundle_of_the_second_format_opens_without_the_fields_that_nothing_read() -> None:
    plain, found = json.loads(old("czech")), Findings.from_json(old("czech"))
    assert plain["format"] == 2 and found.format == FORMAT and "spreads" in plain["map"]
    assert found.recognised is not None and found.recognised.published == plain["recognised"]["tables"]["published"]
    assert pages(found) and Findings.from_json(found.to_json()) == found
    plain["utility"]["distance"]["seed"] = 1
    with pytest.raises(EngineError, match="'distance' holds unknown fields"):
        Findings.from_json(json.dumps(plain))


def test_a_bundle_of_the_third_format_opens_and_holds_nothing_of_the_second() -> None:
    plain, found = json.loads(old("random")), Findings.from_json(old("random"))
    assert plain["format"] == 3 and found.format == FORMAT and plain["certificate"]["platform"]
    assert pages(found) and Findings.from_json(found.to_json()) == found
    for place, name, value in (
        ("certificate", "platform", {"seed": 1}),
        ("threat", "cells", "x7f3"),
        ("map", "rechecked", 1),
    ):
        with pytest.raises(EngineError, match=f"{name}"):
            Findings.from_json(json.dumps({**plain, place: {**plain[place], name: value}}))


@pytest.mark.parametrize("folder", ["member", "."])
def test_it_verifies(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / BOARD).write_text(old("census-withhold"), encoding="utf-8")
    write_sums(tmp_path / folder)
    results = verify(tmp_path)
    assert "the board's file holds its fields and no others" in {one.statement for one in results}
    assert not any(one.problems for one in results) and read_board(tmp_path).format == FORMAT


def test_a_chairs_bundle_verifies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "chair").mkdir()
    (tmp_path / "chair" / CHAIR).write_text(old("chair"), encoding="utf-8")
    write_sums(tmp_path / "chair")
    assert not any(one.problems for one in verify(tmp_path)) and read_chair(old("chair")).units is not None
    shutil.move(tmp_path / "chair" / CHAIR, tmp_path / "chair" / "memo.docx")
    with pytest.raises(EngineError, match="is no bundle"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("members_rate",), {"policy": "withheld", "seed": 1}),
        (("utility", "changes"), [{"kind": "cell", "seed": 1}]),
        (("utility", "changes"), [{"kind": "key"}]),
        (("utility", "changes"), [[17, 3], [9, 1]]),
        (("members_rate", "policy"), "/home/me/k"),
        (("threat", "combinations"), [17, 3, 9, 1]),
        (("utility", "distance", "moved_low"), [17, 3]),
        (("utility",), []),
        (("map", "tells_rate"), "x7f3"),
        (("measures",), ["x7f3"]),
        (("extent",), {"seed": 1}),
        (("seed",), 1),
    ],
)
def test_its_fields_are_held_to_what_they_declare(path: tuple[str, ...], value: Any) -> None:
    plain = json.loads(old("fair-withhold"))
    inner = plain
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(EngineError, match="the board's file"):
        Findings.from_json(json.dumps(plain))
