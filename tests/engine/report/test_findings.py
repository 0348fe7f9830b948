"""Findings as a file: back from JSON equal, and refused where somebody changed them."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import engine.decision
import engine.report
from engine.common.errors import EngineError
from engine.report.findings import BOARD, Findings, read_board
from tests.engine.report.conftest import Case


@pytest.mark.slow
def test_json_comes_back_equal_and_nothing_else_is_read(case: Case):
    text = case.findings.to_json()
    assert Findings.from_json(text) == case.findings
    plain = json.loads(text)
    for damage, words in (
        ({**plain, "rate": "0.05"}, "holds 'rate'"),
        ({k: v for k, v in plain.items() if k != "map"}, "lacks 'map'"),
        ({**plain, "format": 99}, "format 99"),
        ({**plain, "checks": {}}, "checks is {}, must be a list"),
        ({**plain, "cover": {**plain["cover"], "survey": 3}}, "cover: survey is 3, must be a text"),
        ({**plain, "cover": {**plain["cover"], "path": "/tmp"}}, "holds 'path'"),
        (
            {**plain, "cover": {**plain["cover"], "state": "gone"}},
            r"cover: state is 'gone', must be 'none' or 'draft' or 'submitted'",
        ),
        (
            {**plain, "cover": {**plain["cover"], "release_type": "old"}},
            r"cover: release_type is 'old', must be 'new' or 'series' or 're-release'",
        ),
        (
            {**plain, "measures": [{**plain["measures"][0], "kind": "harm"}]},
            r"measures 1: kind is 'harm', must be 'risk' or 'utility'",
        ),
    ):
        with pytest.raises(EngineError, match=words):
            Findings.from_json(json.dumps(damage))
    with pytest.raises(EngineError, match="no JSON"):
        Findings.from_json("{")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b["measures"][0].update(mean=float("nan")), "plain figures"),
        (lambda b: b["map"].update(nothing_risk=float("inf")), "plain figures"),
        (lambda b: b["design"].update(n_records=10**400), "too large a number"),
        (lambda b: b["measures"][0].update(mean=10**400), "too large a number"),
        (lambda b: b["map"].update(candidates=[]), "one candidate"),
        (
            lambda b: b["map"]["candidates"].extend([{**b["map"]["candidates"][0], "recommended": True}] * 2),
            "one candidate",
        ),
        (lambda b: b["recommendation"].update(letter="?"), "one candidate"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence(case: Case, change: Any, words: str):
    plain = json.loads(case.findings.to_json())
    change(plain)
    with pytest.raises(EngineError, match=words):
        Findings.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"format": ' + "9" * 5000 + "}", '{"format": 1e999}', "NaN"])
def test_endless_lists_and_numbers_are_refused_in_a_sentence(text: str):
    with pytest.raises(EngineError, match=r"plain figures|more than 64 deep"):
        Findings.from_json(text)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path):
    with (tmp_path / BOARD).open("wb") as file:
        file.truncate(1 << 30)  # takes no room on the disk
    with pytest.raises(EngineError, match="larger than 64 MB"):
        read_board(tmp_path)


def test_a_bundle_is_found_by_its_folder(case: Case, tmp_path: Path):
    with pytest.raises(EngineError, match="no bundle for the board"):
        read_board(tmp_path)
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / BOARD).write_text(case.findings.to_json(), encoding="utf-8")
    assert read_board(tmp_path) == read_board(tmp_path / "board") == read_board(tmp_path / "board" / BOARD)
    (tmp_path / BOARD).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EngineError, match="cannot be read"):
        read_board(tmp_path)


@pytest.mark.slow
def test_findings_are_written_as_python_would(case: Case) -> None:
    exposed = replace(case.findings.exposure, matches_after=1e-7, small_after=12345678901234567)
    found = replace(case.findings, exposure=exposed, cover=replace(case.findings.cover, survey='é "\\\n\x1f{ [,:'))
    text = found.to_json()
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
    unknown = replace(case.findings.exposure, matches_after=np.float64("nan"))
    assert Findings.from_json(replace(case.findings, exposure=unknown).to_json()).exposure.matches_after is None
    with pytest.raises(EngineError, match="has format 5"):
        Findings.from_json(replace(case.findings, format=5).to_json())


@pytest.mark.parametrize("package", [engine.report, engine.decision])
def test_findings_and_statements_are_values_that_nobody_changes(package: ModuleType) -> None:
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    records = {
        each for module in modules for each in vars(module).values() if isinstance(each, type) and is_dataclass(each)
    }
    own = [each for each in records if each.__module__.startswith(package.__name__)]
    assert len(own) > 3 and [each for each in own if not vars(each)["__dataclass_params__"].frozen] == []
