"""The commands on bundles: what they print, and how they end."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from engine.bundle import export
from engine.cli.main import main
from engine.data.microdata import RawTable
from engine.study.study import Study


@pytest.fixture(scope="module")
def analyst(home: tuple[Path, RawTable]) -> Path:
    """The analyst's bundle alone, which is made in a tenth of the time of all."""
    folder, raw = home
    with Study.open(folder / "household.study") as study:
        return export(study, raw, None, folder / "analyst", tier="analyst", include=("weight", "id"))


def test_a_child_file_by_the_command_line(analyst: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["case,town,area,scratch", *(f"c{i},p,area {i % 2},x" for i in range(160))]
    (tmp_path / "children.csv").write_text("\n".join(lines) + "\n")
    asked = ["apply", str(analyst), "--data", str(tmp_path / "children.csv"), "--id", "case"]
    assert main([*asked, "--out", str(tmp_path / "out"), "--block", "town=area", "--formats", "csv"]) == 0
    said = capsys.readouterr().out
    assert "160 records with new ids" in said and "exchanged: town, area" in said and "drops them: scratch" in said
    with (tmp_path / "out" / "linked.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["case", "town", "area"]
    assert main([*asked, "--out", str(tmp_path / "other"), "--block", "town"]) == 2
    assert "must read ATTRIBUTE=COLUMN,COLUMN" in capsys.readouterr().err


@pytest.mark.slow
def test_tiers_and_formats_by_the_command_line(
    home, every: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, data = str(home[0] / "household.study"), str(home[0] / "original_survey.csv")
    out = str(tmp_path / "out")
    asked = ["export", study, "--data", data, "--out", out, "--tier", "public", "--formats", "csv,dta"]
    assert main([*asked, "--same-order-as", str(every), "--include", "id", "--include", "weight"]) == 0
    said = capsys.readouterr()
    assert "the bundle for the public" in said.out and "attacking the release itself" in said.err
    assert (tmp_path / "out" / "release.csv").read_bytes() == (every / "public" / "release.csv").read_bytes()
    assert (tmp_path / "out" / "release.dta").exists()
    # the CSV file has the records of the labelled one, but not its labels
    assert main(["replay", str(every / "analyst"), "--data", data]) == 1
    said = capsys.readouterr()
    assert "release.csv: the same, bit for bit" in said.out and "release.sav differs from the export" in said.out
    assert main(["replay", out, "--data", data]) == 1
    assert "an analyst's bundle" in capsys.readouterr().err
