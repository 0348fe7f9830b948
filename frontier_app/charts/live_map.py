"""The map while a sweep fills it: the runs so far, their frontier, and its growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.study.map_reader import LiveFrontier
from frontier_app.charts import density
from frontier_app.charts.style import COLOURS, MARGIN, QUIET, WEBGL, sent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def figure(
    frontier: LiveFrontier, risk: str, utility: str, signs: tuple[float, float], original: tuple[float, float]
) -> Figure:
    """Cloud and frontier of the mean losses so far, and doing nothing: risk upwards, utility to the right.

    ``signs`` turn losses back into values of the two measures, whose names are the titles of the axes.
    """
    import plotly.graph_objects as go

    risk_sign, utility_sign = signs
    x, y = utility_sign * frontier.losses[:, 1], risk_sign * frontier.losses[:, 0]
    drawing = go.Figure()
    if len(x) > density.MANY:
        drawing.add_trace(density.trace(x, y, (x.min(), x.max()), (y.min(), y.max()), "candidates"))
    else:
        drawing.add_trace(
            (go.Scattergl if len(x) > WEBGL else go.Scatter)(
                x=sent(x[~frontier.undominated]),
                y=sent(y[~frontier.undominated]),
                mode="markers",
                name="dominated",
                marker={"color": QUIET, "size": 6, "symbol": "circle-open"},
            )
        )
    on = np.flatnonzero(frontier.undominated)
    on = on[np.argsort(frontier.losses[on, 0], kind="stable")]
    drawing.add_trace(
        go.Scatter(
            x=sent(x[on]),
            y=sent(y[on]),
            mode="lines+markers",
            name="frontier",
            line={"color": QUIET, "width": 1.5, "shape": "vh"},
            marker={"color": COLOURS[0], "size": 9, "symbol": "diamond"},
        )
    )
    drawing.add_trace(
        go.Scatter(
            x=[original[1]],
            y=[original[0]],
            mode="markers",
            name="original data",
            marker={"color": QUIET, "size": 11, "symbol": "triangle-up"},
        )
    )
    drawing.update_layout(
        height=420,
        margin={**MARGIN, "t": 40},
        legend={"orientation": "h", "y": 1.08},
        xaxis={"title": f"{utility} — more useful →", "autorange": "reversed" if utility_sign > 0 else True},
        yaxis={"title": f"{risk} — riskier ↑", "autorange": True if risk_sign > 0 else "reversed"},
    )
    return drawing
