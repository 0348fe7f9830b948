"""Places of one candidate on the page Compare: only where there are places, in the engine's figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from engine.plan import MechanismPlan
from frontier_app.pages.compare import before_after
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, to_page

EXCHANGE = MechanismPlan.of(
    "trs", {"rate": "0.05", "hierarchy": "region+district+municipality", "similar": "hhsize+hhtype|hhsize"}
)


def _compared(at: Workspace, part: str) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    made = to_page(made, "compare")
    _switch(made, "compare-part").set_value(part).run()
    assert not made.exception and not made.error
    return made


def _switch(made: AppTest, key: str) -> Any:
    return next(group for group in made.button_group if group.key == key)


@pytest.mark.slow
def test_areas_are_shown_worst_first_at_each_level(swept: Callable[..., Workspace]) -> None:
    made = _compared(
        swept("census", mechanisms=[EXCHANGE], replicates=2, measures=["small_cells", "hellinger"]), "places"
    )
    areas, levels = (frame.value for frame in made.dataframe[:2])
    assert list(levels["level"]) == ["region", "district", "municipality"] and list(levels["areas"]) == [4, 12, 72]
    assert set(levels["of households"]) == {"0 %"}, "as many households as before live in each area"
    assert len(areas) == 72
    shares = 100 * (areas["release"] - areas["original"]) / areas["residents"]
    assert np.allclose(shares, areas["change"]), "points of residents, whose number stays"
    assert (np.diff(areas["change"].abs()) <= 0).all() and areas["change"].iloc[0] != 0
    far = int((areas["change"].abs() > 5).sum())
    assert made.title[0].value.startswith(f"{far or 'None'} of 72 areas (municipality)")
    (drawn,) = made.get("plotly_chart")
    tiles = json.loads(drawn.proto.spec)["data"]
    assert len(tiles) == 4 and sum(cell is not None for one in tiles for row in one["z"] for cell in row) == 72
    next(box for box in made.selectbox if str(box.key).startswith("places-count")).set_value("households").run()
    assert (made.dataframe[0].value["change"] == 0).all() and "No area changes" in made.title[0].value
    next(group for group in made.button_group if str(group.key).startswith("places-level")).set_value("region").run()
    assert not made.exception and len(made.dataframe[0].value) == 4


@pytest.mark.slow
def test_a_study_of_exchanges_alone_is_explored(swept: Callable[..., Workspace]) -> None:
    """Its candidates have no rate of the random swap; their table needed one."""
    at = swept("census", mechanisms=[EXCHANGE], replicates=2, measures=["small_cells", "hellinger"])
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    made = to_page(made, "explore")
    assert not made.exception and not made.error
    assert made.title[0].value == "1 of 1 candidate is on the frontier"


@pytest.mark.slow
def test_a_file_without_places_has_no_such_part(swept: Callable[..., Workspace]) -> None:
    made = _compared(swept("czech"), "levels")
    assert "Places" not in [option.content for option in _switch(made, "compare-part").proto.options]


@pytest.mark.parametrize(
    ("change", "words"), [(0.0, "0 %"), (-0.00001, "−0.001 %"), (-0.05, "−5.0 %"), (0.123, "+12.3 %"), (np.inf, "new")]
)
def test_a_change_is_never_said_to_be_minus_nothing(change: float, words: str) -> None:
    assert before_after._percent(change) == words
