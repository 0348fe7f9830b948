"""A map of areas is drawn from the outlines given, without a map of the world that would be fetched."""

from __future__ import annotations

import numpy as np

from engine.report.places import Boundaries
from frontier_app.charts.before_after import choropleth

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
    assert figure.data[3].marker.cmax == 50
