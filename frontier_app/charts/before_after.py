"""Figures of a candidate before and after the swap, of places, and of several measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app.charts.style import COLOURS, QUIET, SHAPES, TOOLBAR, look_of, sent
from frontier_app.wording.markup import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from engine.report.places import Boundaries


_BAR = 40  # height of one level or coefficient
_NARROW = {"l": 10, "r": 10, "t": 10, "b": 10}


@dataclass(frozen=True)
class Points:
    """Named points of a small map, in the measures' own figures."""

    names: Sequence[str]
    use: Sequence[float]
    risk: Sequence[float]


def small_map(
    pinned: Points,
    frontier: tuple[Sequence[float], Sequence[float]],
    original: tuple[float, float],
    titles: tuple[str, str],
    backwards: tuple[bool, bool],
) -> Figure:
    """The pinned candidates on the map: use to the right, risk upwards.

    ``frontier`` and ``original`` are (use, risk); ``titles`` are those of the axes; ``backwards`` says which axes run
    from high to low.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    use, risk = frontier
    figure.add_trace(
        go.Scatter(
            x=use,
            y=risk,
            mode="lines+markers",
            name="frontier",
            line={"color": QUIET, "width": 1.5, "shape": "vh"},
            marker={"color": QUIET, "size": 5},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[original[0]],
            y=[original[1]],
            mode="markers",
            name="original data",
            marker={"symbol": "triangle-up", "size": 13, "color": QUIET},
            hovertemplate="original data<extra></extra>",
        )
    )
    for k, (name, x, y) in enumerate(zip(pinned.names, pinned.use, pinned.risk, strict=True)):
        figure.add_trace(
            go.Scatter(
                x=[x],
                y=[y],
                mode="markers",
                name=name,
                marker={"symbol": SHAPES[k % len(SHAPES)], "size": 14, "color": COLOURS[k % len(COLOURS)]},
                hovertext=[name],
                hovertemplate="<b>%{hovertext}</b><br>%{x:.4g}, %{y:.4g}<extra></extra>",
            )
        )
    figure.update_layout(
        height=330,
        margin={**_NARROW, "t": 20},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": titles[0]}, "nticks": 6, "zeroline": False},
        yaxis={"title": {"text": titles[1]}, "nticks": 6, "zeroline": False},
    )
    for axis, turned in zip((figure.update_xaxes, figure.update_yaxes), backwards, strict=True):
        if turned:
            axis(autorange="reversed")
    return figure


def levels(names: Sequence[str], before: np.ndarray, after: np.ndarray, unit: str) -> Figure:
    """One attribute's levels before and after, side by side, in ``unit``."""
    import plotly.graph_objects as go

    figure = go.Figure(
        [
            go.Bar(y=list(names), x=sent(before), name="original", orientation="h", marker={"color": QUIET}),
            go.Bar(
                y=list(names),
                x=sent(after),
                name="release",
                orientation="h",
                marker={"color": COLOURS[0], "pattern": {"shape": "/", "size": 5, "solidity": 0.25}},
            ),
        ]
    )
    figure.update_layout(
        height=100 + _BAR * len(names),
        barmode="group",
        margin=_NARROW,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": unit}, "tickformat": ",", "nticks": 5},
        yaxis={"autorange": "reversed", "type": "category"},
    )
    return figure


def associations(names: Sequence[str], pairs: Sequence[tuple[int, int, float]], *, dark: bool = False) -> Figure:
    """Signed changes of pairs of attributes, each as (i, j, change) with i < j; pairs that are not named have none.

    Vermillion is weaker, blue stronger; the sign stands in the field.
    """
    import plotly.graph_objects as go

    d = len(names)
    shown = np.where(np.tri(d, k=-1, dtype=bool), 0.0, np.nan)
    for i, j, change in pairs:
        shown[j, i] = change
    most = float(np.nanmax(np.abs(shown))) if np.isfinite(shown).any() else 0.0
    labels = [
        ["" if v != v else "0" if v == 0 else f"{v:+.3f}".replace("-", "−") for v in row] for row in shown.tolist()
    ]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if v != v else v for v in row] for row in shown.tolist()],
            x=list(names),
            y=list(names),
            colorscale=[[0, COLOURS[1]], [0.5, "#1C2530" if dark else "#F1F5F8"], [1, COLOURS[0]]],
            zmin=-(most or 1.0),
            zmax=most or 1.0,
            colorbar={"title": {"text": "change of V"}, "thickness": 12, "nticks": 5},
            text=labels,
            texttemplate="%{text}" if d <= 14 else None,
            hovertemplate="%{y} × %{x}: %{z:+.4f}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_layout(height=140 + 34 * min(d, 20), margin=_NARROW)
    figure.update_xaxes(showgrid=False, type="category", range=[-0.5, d - 1.5])
    figure.update_yaxes(showgrid=False, type="category", range=[d - 0.5, 0.5])
    return figure


def intervals(names: Sequence[str], half: np.ndarray, shift: np.ndarray, half_after: np.ndarray) -> Figure:
    """95 % intervals of coefficients before and after, all in standard errors of the original about its estimate."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_vline(x=0, line={"color": QUIET, "width": 1, "dash": "dot"})
    rows = np.arange(len(names))
    for name, centre, width, colour, symbol, aside in (
        ("original", np.zeros(len(names)), half, QUIET, "circle", -0.16),
        ("release", shift, half_after, COLOURS[0], "diamond", 0.16),
    ):
        figure.add_trace(
            go.Scatter(
                x=sent(centre),
                y=sent(rows + aside),
                mode="markers",
                name=name,
                marker={"color": colour, "symbol": symbol, "size": 9},
                error_x={"type": "data", "array": sent(width), "thickness": 2, "width": 4, "color": colour},
                customdata=list(names),
                hovertemplate="%{customdata}: %{x:+.2f} standard errors<extra></extra>",
            )
        )
    figure.update_layout(
        height=110 + _BAR * len(names),
        margin=_NARROW,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": "distance from the original's estimate, in its standard errors"}, "zeroline": False},
        yaxis={
            "tickmode": "array",
            "tickvals": rows.tolist(),
            "ticktext": list(names),
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def runs(swept: np.ndarray, fresh: np.ndarray, released: float, original: float, title: str) -> Figure:
    """Every run of a candidate on one measure: those of the sweep, the fresh ones, the one to be released, and the data
    as they are."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows = [("runs of the sweep", swept, "circle", COLOURS[0])]
    if len(fresh):
        rows.append(("fresh runs", fresh, "diamond", COLOURS[2]))
    for y, (name, values, symbol, colour) in enumerate(rows):
        figure.add_trace(
            go.Scatter(
                x=sent(values),
                y=sent(y - _stacked(values)),
                mode="markers",
                name=name,
                marker={"symbol": symbol + "-open", "size": 10, "color": colour, "line": {"width": 1.5}},
                hovertemplate="%{x:.5g}<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[released],
            y=[0.22],
            mode="markers",
            name="the run to be released",
            marker={"symbol": "star", "size": 13, "color": COLOURS[1]},
            hovertemplate="to be released: %{x:.5g}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[original],
            y=[0.22],
            mode="markers",
            name="original data",
            marker={"symbol": "triangle-up", "size": 13, "color": QUIET},
            hovertemplate="original data: %{x:.5g}<extra></extra>",
        )
    )
    figure.update_layout(
        height=170 + 90 * len(rows),
        margin={**_NARROW, "t": 20},
        legend={"orientation": "h", "y": 1.05, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": title}, "zeroline": False},
        yaxis={
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": [row[0] for row in rows],
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def _stacked(values: np.ndarray) -> np.ndarray:
    """The height at which to draw each of several values so that equal ones lie above each other, 0 to 0.45."""
    _, group_of = np.unique(np.asarray(values, float), return_inverse=True)
    height = np.zeros(len(group_of))
    for value in range(int(group_of.max(initial=-1)) + 1):
        rows = np.flatnonzero(group_of == value)
        height[rows] = np.arange(len(rows))
    return 0.45 * height / max(5.0, float(height.max(initial=0)))


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
class MatrixPoints:
    """The candidates: ``on`` marks the frontier, ``index`` is what a click tells, ``category`` indexes
    ``categories``, which have colour and shape as on the map."""

    on: np.ndarray
    index: np.ndarray
    hover: Sequence[str]
    category: np.ndarray
    categories: tuple[str, ...]


def splom(axes: Sequence[Axis], points: MatrixPoints) -> Figure:
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


def _clouds(across: Axis, up: Axis, points: MatrixPoints) -> list[Any]:
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


def _legend(points: MatrixPoints) -> list[Any]:
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
