"""What the map, the card and the table of candidates say of households beside records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.data.io.readers import read_table
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import plan_from_toml
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from frontier_app.charts import map_data
from frontier_app.pages.explore.table import rows
from frontier_app.widgets import candidate_card
from frontier_app.widgets.recommendation import Rule
from tests.households import CENSUS_PLAN, census_files


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RiskUtilityMap:
    folder = tmp_path_factory.mktemp("households")
    raw = read_table(census_files(folder)[0])
    with sweep(raw, plan_from_toml(CENSUS_PLAN), folder / "census.study", workers=1) as study:
        return risk_utility_map(study)


def test_households_stand_beside_records_over_a_point_on_its_card_and_in_the_table(view: RiskUtilityMap) -> None:
    assert view.households is not None
    mean = f"{view.households[0]:,.0f} households"
    assert f"{mean} moved" in map_data.words(view, 0)
    assert f"On average {mean} moved, with all who live in them." in candidate_card.certainty(view, 0, 10, 0)
    table = rows(view, np.arange(1), Rule(), {})
    assert table["households"].tolist() == [view.households[0]]


@pytest.mark.parametrize("households", [None, np.array([np.nan])])
def test_nothing_is_said_of_households_where_single_records_move(
    view: RiskUtilityMap, households: np.ndarray | None
) -> None:
    of_records = replace(view, households=households)
    assert "household" not in map_data.words(of_records, 0)
    assert "household" not in candidate_card.certainty(of_records, 0, 10, 0)
    assert "households" not in rows(of_records, np.arange(1), Rule(), {})
