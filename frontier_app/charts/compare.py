"""Figures that compare candidates, and figures of one candidate before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from frontier_app.charts.style import COLOURS, QUIET, SHAPES, sent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
