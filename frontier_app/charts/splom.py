"""A matrix of scatter plots: every measure against every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app.charts.style import QUIET, TOOLBAR, look_of, sent
from frontier_app.wording.figure_text import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_WEBGL = 1_000
_TITLE = 20
_ANCHOR = {"color": QUIET, "symbol": "triangle-up", "size": 12}


@dataclass(frozen=True)
class Axis:
    """One measure: its ``values``, that of the ``original``, and where its axis leads, as on the map.

    ``towards`` is what lies at the end of the axis; ``reversed``: the least value lies there.
    """

    name: str
    towards: str
    reversed: bool
    values: np.ndarray
    original: float


@dataclass(frozen=True)
class Points:
    """The candidates: ``on`` marks the frontier, ``index`` is what a click tells, ``category`` indexes
    ``categories``, which have colour and shape as on the map."""

    on: np.ndarray
    index: np.ndarray
    hover: Sequence[str]
    category: np.ndarray
    categories: tuple[str, ...]


def splom(axes: Sequence[Axis], points: Points) -> Figure:
    """The lower half of the matrix: dominated candidates hollow, the frontier filled, doing nothing a triangle."""
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    k = len(axes)
    figure = make_subplots(
        rows=k - 1, cols=k - 1, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03, vertical_spacing=0.03
    )
    for row in range(1, k):
        for column in range(row):
            at = {"row": row, "col": column + 1}
            across, up = axes[column], axes[row]
            for trace in _clouds(across, up, points):
                figure.add_trace(trace, **at)
            anchor = Scatter(x=[across.original], y=[up.original], marker=_ANCHOR, **_markers("original data"))
            anchor.hovertemplate = "original data (do nothing)<extra></extra>"
            figure.add_trace(anchor, **at)
            figure.update_xaxes(autorange="reversed" if across.reversed else True, **at)
            figure.update_yaxes(autorange="reversed" if up.reversed else True, **at)
            if row == k - 1:
                figure.update_xaxes(title_text=_title(across, "→", k), **at)
            if column == 0:
                figure.update_yaxes(title_text=_title(up, "↑", k), **at)
    figure.add_traces(_legend(points))
    figure.update_xaxes(nticks=4, zeroline=False)
    figure.update_yaxes(nticks=4, zeroline=False)
    figure.update_layout(
        height=max(420, 170 * (k - 1) + 90) + TOOLBAR,
        margin={"l": 100, "r": 10, "t": TOOLBAR + 42, "b": 84},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemclick": False},
        hoverlabel={"align": "left"},
        uirevision="measures",
    )
    return figure


def _clouds(across: Axis, up: Axis, points: Points) -> list[Any]:
    """One panel's points, a trace for all that look alike, the frontier in front."""
    from plotly.graph_objects import Scatter, Scattergl

    kind = Scattergl if len(points.on) > _WEBGL else Scatter
    traces = []
    for on in (False, True):
        for category in range(len(points.categories)):
            rows = np.flatnonzero((points.on == on) & (points.category == category))
            if not len(rows):
                continue
            colour, shape = look_of(category)
            marker = {"color": colour, "symbol": shape if on else f"{shape}-open", "size": 9 if on else 6}
            trace = kind(
                x=sent(across.values[rows]),
                y=sent(up.values[rows]),
                marker=marker,
                **_markers("frontier" if on else "dominated"),
            )
            trace.customdata = sent(points.index[rows])
            if len(points.hover):
                trace.hovertext = [points.hover[i] for i in rows.tolist()]
                trace.hovertemplate = "%{hovertext}<extra></extra>"
            traces.append(trace)
    return traces


def _markers(name: str) -> dict[str, Any]:
    """Points without an entry in the legend; a selection fades nothing."""
    return {"mode": "markers", "name": name, "showlegend": False, "unselected": {"marker": {"opacity": 1}}}


def _legend(points: Points) -> list[Any]:
    """The legend of colours and shapes, once for all panels."""
    from plotly.graph_objects import Scatter

    shown = np.unique(points.category).tolist()
    looks = [(points.categories[category], *look_of(category)) for category in shown]
    looks += [("frontier under these measures", QUIET, "circle"), ("dominated", QUIET, "circle-open")]
    looks.append(("original data", QUIET, "triangle-up"))
    return [
        Scatter(x=[None], y=[None], mode="markers", name=name, marker={"color": colour, "symbol": shape, "size": 9})
        for name, colour, shape in looks
    ]


def _title(axis: Axis, arrow: str, k: int) -> str:
    """A measure's name on several short lines, and under it where the axis leads."""
    return stacked([*wrap(axis.name, _TITLE + 20 // k), drawn("<i>{}</i>", f"{axis.towards} {arrow}")])
