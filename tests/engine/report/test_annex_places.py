"""The board reads what changed at each level of places, in two workbooks."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle.readers import _ALLOWED
from engine.decision.choice import choose
from engine.plan import DecisionPlan, MechanismPlan
from engine.plan.samples import load
from engine.report.describe import remade
from engine.report.places import place_changes
from engine.report.write import write_board
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep

PLACES = ("region", "district", "municipality")
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
