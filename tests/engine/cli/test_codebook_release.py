"""Labels and missing codes that a codebook gave reach every file of a public bundle."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyreadstat
import pytest
from pyarrow import parquet

from engine.bundle.verify import verify
from engine.cli.main import main
from tests.engine.data.io.spss_file import read_spss

VALUES = {"reg": {"1": "North", "2": "South"}, "src": {"a": "Asked"}, "edu": {"1": "low", "2": "high", "9": "refused"}}
LABELS = {"reg": "Region", "src": "Source", "edu": "Highest education"}
MISSING = {"edu": ["9"], "src": ["not_asked_code"]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_readers: None) -> Path:
    rng = np.random.default_rng(3)
    columns = [rng.choice(sign, 400) for sign in (["1", "2"], ["a", "b", "not_asked_code"], ["1", "2", "9"])]
    with (tmp_path / "d.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([LABELS, *zip(*columns, strict=True)])
    with (tmp_path / "book.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(["name", "label", "missing", "values", "measure"])
        for name in LABELS:
            values = "; ".join(f"{raw}={label}" for raw, label in VALUES[name].items())
            csv.writer(file).writerow([name, LABELS[name], ";".join(MISSING.get(name, [])), values, "nominal"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> None:
    assert main([*arguments]) == 0, arguments


@pytest.mark.slow
def test_what_a_codebook_says_is_in_every_released_format(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("plan", "propose", "d.csv", "--codebook", "book.csv", "--out", "p.toml")
    (here / "book.csv").unlink()
    run("sweep", "d.csv", "--plan", "p.toml", "--study", "s.study", "--workers", "1", "--replicates", "10")
    capsys.readouterr()
    run("show", "s.study", "--format", "json")
    label = json.loads(capsys.readouterr().out)[0]["id"]
    run("choose", "s.study", "--candidate", label, "--why", "a try")
    run("export", "s.study", "--data", "d.csv", "--out", "out", "--formats", "csv,parquet,sav,dta")
    said = capsys.readouterr()
    assert "'src': 1 of its missing codes and ranges are not declared in release.sav" in said.out + said.err
    release = here / "out" / "release"
    spss = read_spss(release / "release.sav")
    assert {name: variable.label for name, variable in spss.items()} == LABELS
    assert spss["edu"].labels == {1: "low", 2: "high", 9: "refused"} and spss["edu"].missing == [9]
    stata = pyreadstat.read_dta(release / "release.dta")[1]
    assert stata.column_names_to_labels == LABELS and stata.variable_value_labels["reg"] == {1: "North", 2: "South"}
    described = json.loads(parquet.read_schema(release / "release.parquet").metadata[b"column_labels"])
    assert {name: entries["values"] for name, entries in described.items()} == VALUES
    assert {name: entries["missing"] for name, entries in described.items() if "missing" in entries} == MISSING
    assert not [problem for check in verify(here / "out") for problem in check.problems]
