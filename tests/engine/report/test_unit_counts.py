"""Households are counted beside records where the plan names the column that numbers them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.plan import plan_from_toml
from engine.plan.coding import code
from engine.release.scenarios import NoteKind
from engine.report.annex import analyst_sections
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.report.plan_document import count_plan, plan_document
from engine.report.unit_counts import COLUMNS, UnitsChanged, units_changed
from engine.scripting.sweeping import open_study
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.runner import FRESH_FROM
from engine.sweeps.sweep import sweep
from tests.engine.report.pages import text_of
from tests.households import CENSUS_PLAN, census_files


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    folder = tmp_path_factory.mktemp("counts")
    raw = read_table(census_files(folder)[0])
    sweep(raw, plan_from_toml(CENSUS_PLAN), folder / "census.study", workers=1).close()
    return folder, raw


def shown(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, object]]:
    assert main(["show", str(folder / "census.study"), "--format", "json", *options]) == 0
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return rows


@pytest.mark.slow
def test_candidates_and_runs_are_listed_with_households_and_persons(home, capsys: pytest.CaptureFixture[str]) -> None:
    (candidate,) = shown(home[0], capsys)
    runs = shown(home[0], capsys, "--by", "realisation")
    for column in COLUMNS:
        figures = [run[column] for run in runs]
        assert len(figures) == 10 and all(isinstance(figure, float) and figure > 0 for figure in figures)
        assert candidate[column] == pytest.approx(sum(figures) / 10)  # type: ignore[arg-type]
    assert candidate["households_swapped"] < candidate["persons_swapped"]  # type: ignore[operator]
    assert main(["show", str(home[0] / "census.study"), "--format", "csv"]) == 0
    assert "records_changed,households_swapped,persons_swapped," in capsys.readouterr().out


def test_the_brief_table_and_scripts_count_households_too(home, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = home
    (candidate,) = shown(folder, capsys)
    mean = candidate["households_swapped"]
    assert main(["show", str(folder / "census.study")]) == 0
    table = capsys.readouterr().out
    assert " households " in table and f" {mean:,.0f} " in table
    with Study.open(folder / "census.study") as study:
        households = risk_utility_map(study).households
    assert households is not None and households.tolist() == [mean]
    with open_study(folder / "census.study") as swaps:
        assert swaps.frontier()["households_swapped"].tolist() == [mean]
        assert swaps.to_frame(runs=True)["households_swapped"].mean() == pytest.approx(mean)


@pytest.mark.slow
def test_fresh_runs_are_counted_apart(home, tmp_path: Path) -> None:
    for file in home[0].glob("census.study*"):
        shutil.copy(file, tmp_path / file.name)
    with open_study(tmp_path / "census.study") as swaps:
        before = swaps.to_frame()["households_swapped"].tolist()
        fresh = swaps.recheck(home[0] / "persons.csv", replicates=3)["households_swapped"].tolist()
        assert swaps.to_frame()["households_swapped"].tolist() == before
        told = [note for note in swaps.study.notes.of(0) if note.kind is NoteKind.DIAGNOSTICS]
        notes = [json.loads(note.text) for note in told if note.replicate >= FRESH_FROM]
    assert len(notes) == 3 and fresh == [pytest.approx(sum(run["households_swapped"] for run in notes) / 3)]


@pytest.mark.slow
def test_a_recheck_lists_households_of_the_sweep_and_of_fresh_runs(
    home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in home[0].glob("census.study*"):
        shutil.copy(file, tmp_path / file.name)
    path = tmp_path / "census.study"
    (candidate,) = shown(home[0], capsys)
    assert main(["recheck", str(path), "--data", str(home[0] / "persons.csv"), "--replicates", "3"]) == 0
    _, swept, fresh = re.split("in the sweep|on fresh replicates", capsys.readouterr().out)
    assert " households " in swept and f" {candidate['households_swapped']:,.0f} " in swept
    with open_study(path) as swaps:
        again = risk_utility_map(swaps.study, fresh=True).households
    assert again is not None and " households " in fresh and f" {again[0]:,.0f} " in fresh


def test_the_board_reads_persons_in_households(home) -> None:
    folder, raw = home
    with Study.open(folder / "census.study") as study:
        made = remade(study, raw, study.scenarios[0].label, 1)
        told = findings(study, made)
    changed, units = units_changed(made), made.data.units
    assert changed is not None and units is not None and told.extent is not None
    assert told.extent.units == changed
    households = {int(h) for h in units.of_record[made.changed]}
    assert changed.n_units == told.design.n_units == 240
    assert changed.changed == len(households)
    assert changed.persons == sum(int(h) in households for h in units.of_record)
    assert changed.words == f"{changed.persons} persons in {changed.changed} households"
    assert Findings.from_json(told.to_json()) == told


def test_the_annex_of_the_analyst_counts_households_of_the_release_and_of_the_frontier(home, tmp_path: Path) -> None:
    for file in home[0].glob("census.study*"):
        shutil.copy(file, tmp_path / file.name)
    with Study.open(tmp_path / "census.study") as study:
        view = risk_utility_map(study)
        choose(study, view, "households stay whole", candidate=study.scenarios[0].label, by="Ada")
        release = remade(study, home[1], study.scenarios[0].label, 1)
        text = text_of(analyst_sections(study, release))
    changed = units_changed(release)
    assert changed is not None and view.households is not None
    assert f"of {changed.words}" in text and f"({view.households[0]:,.0f} households)" in text


def test_words_have_thousands() -> None:
    assert UnitsChanged(9_000, 5_100, 12_000).words == "12,000 persons in 5,100 households"
    assert UnitsChanged(2, 1, 1).words == "1 person in 1 household"


@pytest.mark.slow
def test_the_plan_document_and_the_space_count_households(home, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_from_toml(CENSUS_PLAN)
    text = text_of(plan_document(plan, count_plan(plan, code(home[1], plan))))
    assert "240 households; column hid numbers them; it is never released, new numbers are" in text
    assert "Unit of the exchange: the record and the household" in text or "Unit of the exchange: the household" in text
    path = home[0] / "plan.toml"
    path.write_text(CENSUS_PLAN.replace("replicates = 10", "replicates = 1"), encoding="utf-8")
    assert main(["space", str(home[0] / "persons.csv"), "--plan", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{home[1].n_records} records of 240 households in ")
