"""A public release whose swap is undone by recomputing one column from another is refused, and the board is told."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from engine.bundle import export
from engine.bundle.attack import attack
from engine.bundle.readers import Refused
from engine.common.output import Message
from engine.data.microdata import RawTable
from engine.decision.statements import statement
from engine.plan import plan_from_toml
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.facts import RECODES, Check
from engine.report.findings import Findings
from engine.study.decision_log import entries
from engine.study.study import Study
from engine.sweeps.reader_attacks import released_recodes
from engine.sweeps.remake import Remade
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve, few_guesses, label_of, swept
from tests.engine.recoded import BLOCK, apart, survey

pytestmark = pytest.mark.slow  # whole bundles are made


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with a study that leaves age and group apart, and its data."""
    folder = tmp_path_factory.mktemp("ages")
    raw = survey(folder)
    swept(raw, apart(), folder / "ages.study")
    return folder, raw


@pytest.fixture
def study(ages: tuple[Path, RawTable], tmp_path: Path):
    """A copy of that study, so that each test decides by itself."""
    for path in ages[0].glob("ages.study*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with Study.open(tmp_path / "ages.study") as opened:
        yield opened


def test_a_swap_that_recomputing_undoes_is_refused(
    ages: tuple[Path, RawTable], study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_guesses(monkeypatch)
    raw = ages[1]
    approve(study, raw, label_of(study, "AGEGRP"))
    inside = export(study, raw, None, tmp_path / "inside", formats=("csv",))
    with open(next(inside.rglob("release.csv")), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wrong = sum(int(row["AGE"]) // 10 != int(row["AGEGRP"]) for row in rows)
    assert wrong > 10
    for tier in ("public", "all"):
        with pytest.raises(Refused) as refused:
            export(study, raw, None, tmp_path / "out", tier=tier)
        said = str(refused.value)
        assert f"'AGE' decides 'AGEGRP' in every original record, and {wrong} of {len(rows):,} released rows" in said
        assert "recomputing 'AGEGRP' from 'AGE' undoes the swap of it" in said
        assert "accept the suggestion under Data" in said and "or drop one of them. Nothing was written" in said
    assert entries(study)[-1].event == "blocked" and entries(study)[-1].detail["why"] == "attack: recodes"
    assert not (tmp_path / "out").exists()


def test_a_swap_of_the_finer_side_shows_who_was_altered(ages: tuple[Path, RawTable], study: Study) -> None:
    with pytest.raises(Refused, match="everybody sees by them which records were altered, and 'AGEGRP' tells what was"):
        attack(export_source(study, ages[1], label_of(study, "AGE")), True, list[Message]().append)


def check_in(found: Findings) -> Check:
    return next(check for check in found.checks if check.name == RECODES)


def test_a_block_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_guesses(monkeypatch)
    raw = survey(tmp_path)
    swept(raw, plan_from_toml(BLOCK), tmp_path / "block.study")
    with Study.open(tmp_path / "block.study") as study:
        approve(study, raw, label_of(study, "AGE"))
        out = export(study, raw, None, tmp_path / "out", tier="all", formats=("csv",))
        assert check_in(findings(study, remade(study, raw, label_of(study, "AGE"), 0))).holds is True
    with open(next((out / "public").rglob("release.csv")), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows and all(int(row["AGE"]) // 10 == int(row["AGEGRP"]) for row in rows)
    assert (out / "public" / "METHODS.txt").exists()


def test_the_board_is_told_and_not_how_many(ages: tuple[Path, RawTable], study: Study) -> None:
    def told(attribute: str) -> Check:
        return check_in(findings(study, remade(study, ages[1], label_of(study, attribute), 0)))

    group, age, sex = (told(name) for name in ("AGEGRP", "AGE", "SEX"))
    assert (group.holds, age.holds, sex.holds) == (False, False, True)
    for found, undone in ((group.found, True), (age.found, False)):  # how many are broken is not told
        assert found == statement("recode_broken", decider="AGE", decided="AGEGRP", undone=undone, more=0)


@pytest.mark.parametrize("attribute", ["SEX", "TOWN"])
def test_other_swaps_of_the_same_file_are_not(
    ages: tuple[Path, RawTable], study: Study, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_guesses(monkeypatch)
    found = attack(export_source(study, ages[1], label_of(study, attribute)), True, list[Message]().append)
    assert found["recodes"] == {"tried": 1, "succeeded": False}


@pytest.mark.parametrize("name", ["czech", "fair", "nces", "survey"])
def test_no_sample_is_refused_for_its_recodes(name: str) -> None:
    raw, plan = load(name)
    data = code(raw, plan)
    source = np.random.default_rng(3).permutation(data.n_records)
    names = data.domain.names
    for j in (0, 1):  # the survey's 300 columns take half a second each time
        spec = ReleaseSpec(AttributeSpec(names, "".join("S" if k == j else "U" for k in range(len(names)))), "0.1")
        found = released_recodes(Remade(data, spec, (ReleasedTable(data, source, (j,)),), RunStatus.OK, {}, bytes(32)))
        assert not any(one.broken for one in found)
        assert bool(found) == (name == "survey"), "only the made-up survey has recodes, and its plan keeps them whole"
