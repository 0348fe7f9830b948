"""Every mechanism by the command line, from the plan to a replayed release."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.mechanisms import amount, mechanism, names
from engine.study.study import Study
from tests import every_mechanism
from tests.every_mechanism import CASES, GRIDS


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a file, a plan and a finished study, by case; each is made when it is first asked for."""

    class Swept(dict[str, Path]):
        def __missing__(self, case: str) -> Path:
            self[case] = folder = tmp_path_factory.mktemp(case)
            every_mechanism.write(folder)
            (folder / "p.toml").write_text(every_mechanism.plan_text(case))
            (folder / "s.study.key").write_text("7f3a91c4e05b26d8f1c97ab3e46d2058")
            asked = ("sweep", str(folder / "people.csv"), "--study", str(folder / "s.study"))
            assert main([*asked, "--plan", str(folder / "p.toml"), "--workers", "1"]) == 0
            return folder

    return Swept()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The output of a command that works."""
    capsys.readouterr()
    code = main(list(words))
    found = capsys.readouterr()
    assert code == 0, found.err
    return found.out


def test_every_mechanism_has_a_case():
    assert {every_mechanism.name_of(case) for case in GRIDS} == set(names())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_tables_say_the_amount(case: str, swept: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    path = str(swept[case] / "s.study")
    with Study.open(path) as study:
        specs = {scenario.label: scenario.spec for scenario in study.scenarios}
    rows = list(csv.DictReader(io.StringIO(said(capsys, "show", path, "--format", "csv"))))
    assert {row["id"]: row["amount"] for row in rows} == {label: str(amount(spec)) for label, spec in specs.items()}
    assert all(row["amount"] for row in rows)
    assert {row["id"]: row["amount"] for row in json.loads(said(capsys, "show", path, "--format", "json"))} == {
        row["id"]: row["amount"] for row in rows
    }
    table = said(capsys, "show", path)
    for label, spec in specs.items():
        (line,) = (line for line in table.splitlines() if label in line.split())
        assert amount(spec).short in line
    for options in (("--wide",), ("--by", "realisation"), ("--plot",), ("--by", "realisation", "--format", "csv")):
        assert next(iter(specs)) in said(capsys, "show", path, *options)
    counted = said(capsys, "space", str(swept[case] / "people.csv"), "--plan", str(swept[case] / "p.toml"))
    assert f"scenarios: {len(specs)}" in counted


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_candidate_is_chosen_exported_and_replayed(
    case: str, swept: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = shutil.copytree(swept[case], tmp_path / "copy")
    path, data = str(folder / "s.study"), str(folder / "people.csv")
    with Study.open(path) as study:
        scenario = study.scenarios[len(study.scenarios) - 1]
    own = amount(scenario.spec)
    said(capsys, "choose", path, "--candidate", scenario.label, "--why", "a try", "--by", "Ada")
    said(capsys, "recheck", path, "--data", data, "--candidate", scenario.label, "--replicates", "2")
    submit = ("decide", path, "--state", "submitted", "--by", "Ada")
    if main([*submit]):  # of so few runs some speak against it
        said(capsys, *submit, "--despite", "a try")
    said(capsys, "decide", path, "--state", "approved", "--by", "Board", "--number", "17")
    said(capsys, "export", path, "--data", data, "--out", str(folder / "out"), "--tier", "all", "--formats", "csv")
    assert "bit for bit" in said(capsys, "replay", str(folder / "out" / "analyst"), "--data", data)
    extent = json.loads((folder / "out" / "board" / "board.json").read_text())["extent"]
    assert extent["asked_amount"] == str(own) and extent["amount"] == mechanism(scenario.spec.mechanism).rate
    (candidates,) = (path.read_text() for path in (folder / "out" / "analyst").rglob("candidates.csv"))
    assert {row["id"]: row["amount"] for row in csv.DictReader(io.StringIO(candidates))}[scenario.label] == str(own)
