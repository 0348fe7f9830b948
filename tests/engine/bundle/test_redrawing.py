"""Attacks on releases of targeted, survey and restricted swapping: what knows them finds them, the rest says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.bundle import export, replay
from engine.bundle.attack import _use_published_tables
from engine.bundle.source import ExportSource
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.measures import call, evaluate_records
from engine.models.record_release import RecordRelease
from engine.plan import plan_from_toml
from engine.release.records import ReleasedTable
from engine.study.study import Study
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve, few_guesses, label_of, plan, survey, swept
from tests.households import CENSUS_PLAN, census_files

SURVEY_SWAP = (
    CENSUS_PLAN[: CENSUS_PLAN.index("[[mechanism]]")]
    .replace('unit = "hid"\n', "")
    .replace('carry = ["rent"]', 'carry = ["rent"]\ndrop = ["hid"]')
    .replace('include = ["id", "unit"]\n', "")
    + """
[[mechanism]]
name = "survey_swap"
rate = ["0.05", "0.1"]
swap = "tenure"
risk = "sex+age+hsize"
[space]
replicates = 10
[measures]
names = ["small_cells", "attack", "hellinger"]
"""
)
PLANS = {"trs": CENSUS_PLAN.replace('rate = "0.1"', 'rate = ["0.05", "0.1"]'), "survey_swap": SURVEY_SWAP}


def segregated(path: Path) -> Path:
    """The file with tenure and most ages by town, so that associations tell what was exchanged."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    rng, rows = np.random.default_rng(3), []
    for line in lines:
        pid, hid, region, town, size, _, rent, sex, age = line.split(",")
        at = int(town[1:])
        age = str(at % 5) if rng.random() < 0.8 else age
        rows.append(",".join([pid, hid, region, town, size, "or"[at % 2], rent, sex, age]))
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=PLANS)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ExportSource:
    """An approved study of households."""
    folder = tmp_path_factory.mktemp(request.param)
    raw = read_table(segregated(census_files(folder, 500)[0]))
    swept(raw, plan_from_toml(PLANS[request.param]), folder / "a.study")
    with Study.open(folder / "a.study") as study:
        approve(study, raw, study.scenarios[1].label)
        return export_source(study, raw, None)


def test_published_tables_say_what_they_do_not_know_and_rarity_is_looked_at(source: ExportSource) -> None:
    found = _use_published_tables(source)
    (words,) = found["not_known"]
    assert words.startswith("the release was made by ") and words.endswith(" and not by the random swap")
    trs = source.scenario.spec.mechanism == "trs"
    assert found["of"] == ("households" if trs else "records")
    assert 0.3 < found["rare_auc"] < 1
    assert (found["alone_altered"] is None) == (found["alone"] == 0)
    assert not trs or 0 < found["alone_altered"] <= 1


def test_the_attack_by_bayes_rule_says_that_it_is_on_another_method(source: ExportSource) -> None:

    release = RecordRelease(ReleasedTable(source.data), source.remade.tables, source.study.plan, source.scenario.spec)
    found = evaluate_records(call("attack"), release)
    assert found.value != found.value and found.note.endswith(f"not {source.scenario.spec.mechanism}")


MORE = """
[[edit]]
name = "no p in a"
forbid = { work = ["b"], town = ["p"] }
refuse = true
[[mechanism]]
name = "random_swap"
lean = "1"
"""


def approved_with(folder: Path, n: int) -> RawTable:
    """An approved study of the survey in ``folder`` that swaps the town."""
    raw = survey(folder, n)
    swept(raw, plan(MORE), folder / "household.study")
    with Study.open(folder / "household.study") as study:
        approve(study, raw, label_of(study, "town"))
    return raw


def test_published_tables_do_not_know_weights_and_rules(tmp_path: Path) -> None:
    raw = approved_with(tmp_path, 160)
    with Study.open(tmp_path / "household.study") as study:
        tables = _use_published_tables(export_source(study, raw, None))
    assert tables["not_known"] == ("records are drawn by 1/count to the power 1", "edit rules refuse pairs")


@pytest.mark.slow
@pytest.mark.usefixtures("without_pdf")
def test_it_is_exported_and_replayed_without_a_record_that_breaks_the_rule_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_guesses(monkeypatch)
    raw = approved_with(tmp_path, 160)
    with Study.open(tmp_path / "household.study") as study:
        out = export(study, raw, None, tmp_path / "out", tier="all")
    found = replay(out / "analyst", raw)
    assert found.same and found.differs == ()
    released = read_table(out / "public" / "release.csv").columns
    work, town = (np.array(released[name].values.to_pylist())[released[name].codes] for name in ("work", "town"))
    before = {
        name: np.array(raw.columns[name].values.to_pylist())[raw.columns[name].codes] for name in ("work", "town")
    }
    broken = ((before["work"] == "b") & (before["town"] == "p")).sum()
    assert ((work == "b") & (town == "p")).sum() <= broken
    assert sorted(town) == sorted(before["town"]) and sorted(work) == sorted(before["work"])
