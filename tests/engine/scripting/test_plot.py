"""The map of a script is the dashboard's, on a ground that its ink can be read on."""

from __future__ import annotations

import pytest

import engine as sf
from frontier_app.charts.map_data import DRAWN
from tests.engine.scripting.people import KEY, SPACE, people


@pytest.fixture(scope="module")
def swaps():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made


def test_a_map_shows_every_candidate_and_what_a_bound_picks(swaps):
    bound = float(swaps.original["small_cells"])
    figure = swaps.plot(max_risk=bound)
    assert figure.layout.paper_bgcolor == "white"
    assert sum(len(trace.x) for trace in figure.data if trace.customdata is not None) >= len(swaps)
    assert any("α = " in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize("drawn", [one for one in DRAWN if one != "measures"])
def test_every_figure_is_drawn(swaps, drawn):
    assert len(swaps.plot(drawn=drawn).data)


def test_unknown_figures_are_refused(swaps):
    with pytest.raises(sf.UsageError, match="drawn is 'maps', must be one of map, "):
        swaps.plot(drawn="maps")
    with pytest.raises(sf.UsageError, match=r"colour is 'swaps agee'.* Did you mean 'swaps age'"):
        swaps.plot(colour="swaps agee")
