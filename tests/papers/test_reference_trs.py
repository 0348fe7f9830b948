"""Targeted swapping with the published program's errors kept, beside runs of that program on a made-up census."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from engine.common.streams import derive
from engine.mechanisms.targeted import TRS
from tests.census import census, figures
from tests.shared import shared_file

pytestmark = pytest.mark.slow

HIERARCHY = "nuts2+nuts3+lau"
SETTINGS = {
    "A": {"risk": "sex+nat", "similar": "hsize+htype+tenure+hnat|hsize"},
    "D": {"risk": "sex+nat+agegrp", "similar": "hsize+htype+tenure+hnat+nadult"},
}
RUNS = 20


def reference(setting: str) -> list[dict[str, str]]:
    with shared_file("reference", "reference_trs.csv").open(encoding="utf-8") as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["setting"] == setting and row["source"] == "sdcMicro" and row["kind"] != "time" and row["mean"]
        ]


@pytest.fixture(scope="module", params=sorted(SETTINGS))
def runs(request: pytest.FixtureRequest) -> tuple[str, list[dict[str, float]]]:
    asked = {"rate": "0.05", "k": "3", "hierarchy": HIERARCHY, "compatible": "yes", **SETTINGS[request.param]}
    setting = TRS.setting(census(), asked, [])
    prepared = TRS.prepare(setting)
    drawn = (TRS.draw(prepared, setting, derive(bytes(16), "reference", (i,))) for i in range(RUNS))
    return request.param, [figures(prepared, one, setting["risk"], setting["k"]) for one in drawn]


def test_every_exact_figure_is_equal(runs: tuple[str, list[dict[str, float]]]):
    setting, found = runs
    rows = [row for row in reference(setting) if row["kind"] == "exact"]
    assert len(rows) > 10
    for row in rows:
        wanted = {"True": 1.0}.get(row["mean"]) or float(row["mean"])
        assert {float(one[row["quantity"]]) for one in found} == {wanted}, row["quantity"]


def test_every_figure_left_to_chance_agrees(runs: tuple[str, list[dict[str, float]]]):
    setting, found = runs
    apart = {}
    for row in reference(setting):
        if row["kind"] == "sampled":
            ours = np.array([float(one[row["quantity"]]) for one in found])
            error = np.hypot(float(row["sd"]) / np.sqrt(int(row["runs"])), ours.std(ddof=1) / np.sqrt(RUNS))
            gap = ours.mean() - float(row["mean"])
            apart[row["quantity"]] = gap / error if error else np.where(gap == 0, 0.0, np.inf)
    assert len(apart) > 20
    assert max(map(abs, apart.values())) <= 4.5, apart
    assert np.mean(np.square(list(apart.values()))) <= 1.5
