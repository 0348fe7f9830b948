"""Figures of places: areas before and after as bars, and changes by area as a map of given outlines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from frontier_app.charts.style import sent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from engine.report.boundaries import Boundaries

_SCALE = ["#B2182B", "#EF8A62", "#F7F7F7", "#67A9CF", "#2166AC"]  # fewer, as many, more
_HEIGHT = 520


def choropleth(boundaries: Boundaries, change: Mapping[str, float], words: Mapping[str, str]) -> Figure:
    """Areas filled by their relative change, symmetric about none; ``words`` tell of each under the pointer.

    Outlines are drawn in their own coordinates: plotly's map of the world would be fetched from a network.
    """
    import plotly.graph_objects as go
    from plotly.colors import sample_colorscale

    finite = [abs(value) for value in change.values() if np.isfinite(value)]
    most = max([*finite, 0.001])
    figure = go.Figure()
    for area, rings in boundaries.outlines.items():
        value = min(max(change.get(area, 0.0), -most), most)
        gap = np.full((1, 2), np.nan)
        points = np.concatenate([part for ring in rings for part in (ring, ring[:1], gap)])[:-1]
        figure.add_trace(
            go.Scatter(
                x=sent(points[:, 0]),
                y=sent(points[:, 1]),
                mode="lines",
                fill="toself",
                fillcolor=sample_colorscale(_SCALE, [(value / most + 1) / 2])[0],
                line={"color": "#5B6470", "width": 0.6},
                hoveron="fills",
                hoverinfo="text",
                text=words.get(area, area),
                name=area,
                showlegend=False,
            )
        )
    figure.add_trace(_scale(most))
    middle = np.mean([ring[:, 1].mean() for rings in boundaries.outlines.values() for ring in rings])
    # A degree of longitude is shorter than one of latitude.
    across = float(1 / max(np.cos(np.deg2rad(middle)), 0.1)) if boundaries.geographic else 1.0
    figure.update_layout(
        height=_HEIGHT,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x", "scaleratio": across},
    )
    return figure


def _scale(most: float) -> object:
    """A trace of nothing that carries the scale of colours."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={
            "color": [0],
            "cmin": -100 * most,
            "cmax": 100 * most,
            "colorscale": _SCALE,
            "showscale": True,
            "colorbar": {"title": {"text": "change, %"}, "thickness": 14},
        },
    )
