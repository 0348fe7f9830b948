"""A map of areas is drawn from the outlines given, without a map of the world that would be fetched."""

from __future__ import annotations

import numpy as np
import pytest

from engine.report.places import Boundaries
from frontier_app.charts.before_after import choropleth, tiles

SQUARE = np.array([[0, 60], [1, 60], [1, 61], [0, 61]], float)


def east(degrees: int) -> np.ndarray:
    return SQUARE + np.array([degrees, 0])


def test_areas_are_outlines_filled_by_their_change() -> None:
    outlines = {"A": (SQUARE,), "B": (east(2), east(4)), "C": (east(6),)}
    figure = choropleth(
        Boundaries("code", outlines, (), True), {"A": 0.5, "B": -0.5, "C": float("inf")}, {"A": "A: 2 → 3"}
    )
    assert {trace.type for trace in figure.data} == {"scatter"}, "no trace that needs a map from a network"
    fills = [trace.fillcolor for trace in figure.data[:3]]
    assert fills[0] == fills[2] != fills[1]
    assert figure.data[0].text == "A: 2 → 3" and list(figure.data[1].x).count(None) == 1, "two rings, one gap"
    assert figure.layout.yaxis.scaleratio > 1.9, "at 60 degrees a degree of longitude is half as long"
    assert figure.data[3].marker.cmax == 0.5


@pytest.mark.parametrize("dark", [False, True])
def test_areas_are_tiles_nested_as_their_levels_are(dark: bool) -> None:
    paths = {
        f"R{r}.{d}.{m}": (f"R{r}", f"R{r}.{d}", f"R{r}.{d}.{m}") for r in (1, 2) for d in (1, 2) for m in (1, 2, 3)
    }
    change = dict.fromkeys(paths, 0.0) | {"R1.2.3": 7.5, "R2.1.1": -2.0}
    figure = tiles(paths, change, dark=dark)
    first, second = figure.data
    assert [list(row) for row in first.z] == [[0, 0, 0], [0, 0, 7.5]] and second.z[0][0] == -2
    assert first.text[1][2] == "3<br>+7.5" and second.text[0][0] == "1<br>−2.0" and first.zmax == 7.5
    said = {note.text for note in figure.layout.annotations}
    assert {"<b>R1</b>", "<b>R2</b>", "1", "2"} == said
    ground = int(first.colorscale[2][1][1:3], 16)
    assert (ground < 64) == dark, "no change is the colour of the ground"
    flat = tiles({str(i): (str(i),) for i in range(30)}, {str(i): float(i) for i in range(30)}, dark=dark)
    assert sum(cell is not None for row in flat.data[0].z for cell in row) == 30
