"""The risk–utility map for scripts: the dashboard's figure, on a ground of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.errors import UsageError, did_you_mean
from engine.frontier.risk_utility_map import RiskUtilityMap
from frontier_app.charts.candidate_labels import colourings
from frontier_app.charts.candidate_map import DRAWN, Shown, figure
from frontier_app.session.state import Look

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def script_map(
    view: RiskUtilityMap,
    *,
    drawn: str = "map",
    colour: str = "rate",
    bound: float | None = None,
    slope: float | None = None,
    picked: int | None = None,
) -> Figure:
    """Return the figure ``drawn`` of a map; ``picked`` is the place of the candidate that the bound or slope picks."""
    figures = [name for name in DRAWN if name != "measures"]  # which is a figure of other parts
    for argument, value, known in (("drawn", drawn, figures), ("colour", colour, list(colourings(view)))):
        if value not in known:
            raise UsageError(f"{argument} is '{value}', must be one of {', '.join(known)}.{did_you_mean(value, known)}")
    look = Look(drawn=drawn, colour=colour, bound=bound, slope=slope)
    drawing = figure(view, look, Shown(optimum=picked))
    return drawing.update_layout(paper_bgcolor="white", plot_bgcolor="white")  # its ink is dark, notebooks may be too
