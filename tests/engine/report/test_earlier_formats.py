"""Board bundles of format 2, as they were written, verify and make every document of today."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.bundle.files import write_sums
from engine.bundle.verify import verify
from engine.common.errors import EngineError
from engine.report import documents
from engine.report.decision_pages import pages
from engine.report.findings import BOARD, FORMAT, Findings, read_board
from engine.report.tables import tables_bytes

HERE = Path(__file__).parent / "earlier_formats"


def old(name: str) -> str:
    return gzip.decompress((HERE / f"{name}.json.gz").read_bytes()).decode()


@pytest.mark.slow
def test_it_makes_every_document() -> None:
    found = Findings.from_json(old("czech"))
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


@pytest.mark.parametrize("folder", ["board", "."])
def test_it_verifies(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / BOARD).write_text(old("czech"), encoding="utf-8")
    write_sums(tmp_path / folder)
    results = verify(tmp_path)
    assert "the board's file holds its fields and no others" in {one.statement for one in results}
    assert not any(one.problems for one in results) and read_board(tmp_path).format == FORMAT


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("map", "spreads"), {"seed": 1}),
        (("utility",), []),
        (("measures",), ["x7f3"]),
        (("extent",), {"seed": 1}),
        (("seed",), 1),
    ],
)
def test_its_fields_are_held_to_what_they_declare(path: tuple[str, ...], value: Any) -> None:
    plain = json.loads(old("czech"))
    inner = plain
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(EngineError, match="the board's file"):
        Findings.from_json(json.dumps(plain))
