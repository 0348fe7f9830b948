"""A matrix of scatter plots: every measure against every other."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app.charts.style import COLOURS, QUIET, TOOLBAR, sent
from frontier_app.wording.figure_text import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_WEBGL = 1_000
_TITLE = 20
_ANCHOR = {"color": QUIET, "symbol": "triangle-up", "size": 12}


def splom(
    names: Sequence[str],
    ways: Sequence[tuple[str, str]],
    values: Sequence[np.ndarray],
    on: np.ndarray,
    original: Sequence[float],
    index: np.ndarray,
    hover: Sequence[str],
) -> Figure:
    """The lower half of the matrix: dominated candidates hollow, the frontier filled, doing nothing a triangle.

    ``ways`` says of each measure which way is better, to the right and upwards; ``values`` holds an array per measure,
    in its own units; ``on`` marks the frontier; ``index`` is what a click tells.
    """
    from plotly.graph_objects import Scatter, Scattergl
    from plotly.subplots import make_subplots

    k, large = len(names), len(on) > _WEBGL
    figure = make_subplots(
        rows=k - 1, cols=k - 1, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03, vertical_spacing=0.03
    )
    parts = (
        (np.flatnonzero(~on), "dominated", {"color": COLOURS[0], "symbol": "circle-open", "size": 6}),
        (np.flatnonzero(on), "frontier under these measures", {"color": COLOURS[1], "symbol": "diamond", "size": 8}),
    )
    for row in range(1, k):
        for column in range(row):
            at, first = {"row": row, "col": column + 1}, row == 1
            for shown, label, marker in parts:
                if len(shown):
                    trace = (Scattergl if large else Scatter)(
                        x=sent(values[column][shown]), y=sent(values[row][shown]), marker=marker, **_entry(label, first)
                    )
                    trace.customdata = sent(index[shown])
                    if len(hover):
                        trace.hovertext = [hover[i] for i in shown.tolist()]
                        trace.hovertemplate = "%{hovertext}<extra></extra>"
                    figure.add_trace(trace, **at)
            anchor = Scatter(x=[original[column]], y=[original[row]], marker=_ANCHOR, **_entry("original data", first))
            anchor.hovertemplate = "original data (do nothing)<extra></extra>"
            figure.add_trace(anchor, **at)
            if row == k - 1:
                figure.update_xaxes(title_text=_title(names[column], ways[column][0], k), **at)
            if column == 0:
                figure.update_yaxes(title_text=_title(names[row], ways[row][1], k), **at)
    figure.update_xaxes(nticks=4, zeroline=False)
    figure.update_yaxes(nticks=4, zeroline=False)
    figure.update_layout(
        height=max(380, 170 * (k - 1) + 90) + TOOLBAR,
        margin={"l": 100, "r": 10, "t": TOOLBAR + 42, "b": 84},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hoverlabel={"align": "left"},
        uirevision="measures",
    )
    return figure


def _entry(label: str, first: bool) -> dict[str, Any]:
    """A trace's part of the legend, which names what all panels share once; a selection fades nothing."""
    unselected = {"marker": {"opacity": 1}}
    return {"mode": "markers", "name": label, "legendgroup": label, "showlegend": first, "unselected": unselected}


def _title(name: str, way: str, k: int) -> str:
    """A measure's name on several short lines, and under it which way is better."""
    return stacked([*wrap(name, _TITLE + 20 // k), drawn("<i>{}</i>", way)])
