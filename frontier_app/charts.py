"""Figures from arrays.  No streamlit, no statistics: what is drawn is handed in.

Colours are those of Okabe and Ito that keep 3:1 against both themes' grounds; shape says the same as colour, and filled
says "on the frontier" where hollow says "dominated".  Losses are drawn on a reversed axis, so that useful is to the
right and the tick labels stay the measure's own figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SHAPES = (
    "circle",
    "diamond",
    "square",
    "triangle-down",
    "pentagon",
    "hexagon",
    "star",
    "triangle-left",
    "triangle-right",
)
QUIET = "#77818C"
GROUNDS = ("#FFFFFF", "#14181D")
MANY = 50_000
"""Points above which the cloud is drawn as a density."""
_LABELLED = 40
_WEBGL = 3_000
_HEIGHT = 540


@dataclass(frozen=True)
class Cloud:
    """The points of a map: figures turned so that smaller is better, what a click on each tells, how they are sorted.

    ``on`` marks the frontier, ``category`` indexes ``categories`` (colour and shape), ``facet`` indexes ``facets``
    (panels).  Where there are ``shapes``, ``shape`` indexes them and colour alone shows the category.  ``labels`` are
    drawn beside points of the frontier; most are empty.
    The signs are 1 where a loss is the measure itself and -1 where it is the negative; tick labels are the measure's
    own figures either way.
    """

    loss: np.ndarray
    risk: np.ndarray
    loss_se: np.ndarray
    risk_se: np.ndarray
    place: np.ndarray
    on: np.ndarray
    category: np.ndarray
    categories: tuple[str, ...]
    facet: np.ndarray
    facets: tuple[str, ...]
    hover: Sequence[str]
    shape: np.ndarray | None = None
    shapes: tuple[str, ...] = ()
    labels: Sequence[str] = ()
    utility_sign: float = 1.0
    risk_sign: float = 1.0


@dataclass(frozen=True)
class Marks:
    """What is drawn besides the points, and the axes' titles.

    ``span`` is what the axes reach: "zero" from no risk to the data as they are, "original" the candidates and the
    data as they are, "frontier" the frontier alone.  What is left out is said in the figure.
    """

    original: tuple[float, float]
    risk_title: str
    utility_title: str
    bound: float | None = None
    optimum: int | None = None
    selected: int | None = None
    errors: bool = False
    span: str = "original"
    legend: str = ""


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours (WCAG 2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def look_of(category: int) -> tuple[str, str]:
    """Colour and shape of a category; shapes repeat later than colours."""
    return COLOURS[category % len(COLOURS)], SHAPES[category % len(SHAPES)]


def ranges(cloud: Cloud, marks: Marks) -> tuple[tuple[float, float], tuple[float, float]]:
    """Axis ranges as (worst, best) loss and (bottom, top) risk."""
    known = ~(np.isnan(cloud.loss) | np.isnan(cloud.risk))
    if marks.span == "frontier" and (known & cloud.on).sum() > 1:
        known &= cloud.on
        loss, risk = cloud.loss[known], cloud.risk[known]
    else:
        loss = np.append(cloud.loss[known], marks.original[0])
        risk = np.append(cloud.risk[known], [marks.original[1], *([] if marks.bound is None else [marks.bound])])
        if marks.span == "zero" and cloud.risk_sign > 0:
            risk = np.append(risk, 0.0)
    wide, high = (float(np.ptp(x)) or abs(float(x.max())) or 1.0 for x in (loss, risk))
    across = float(loss.max()) + 0.12 * wide, float(loss.min()) - 0.11 * wide
    return across, (float(risk.min()) - 0.12 * high, float(risk.max()) + 0.12 * high)


def risk_utility(cloud: Cloud, marks: Marks) -> Figure:
    """The risk–utility map: utility to the right, risk upwards."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    n = len(cloud.facets)
    columns = min(n, 3)
    rows = -(-n // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_yaxes=True,
        shared_xaxes=rows > 1,
        subplot_titles=cloud.facets if n > 1 else None,
        horizontal_spacing=0.03,
        vertical_spacing=0.12,
    )
    across, up = ranges(cloud, marks)
    zero_left_out = up[0] > 0
    # From here on everything is in the measures' own units; the axes' ranges turn losses the right way round.
    sx, sy = cloud.utility_sign, cloud.risk_sign
    across, up = (sx * across[0], sx * across[1]), (sy * up[0], sy * up[1])
    cloud = replace(cloud, loss=sx * cloud.loss, risk=sy * cloud.risk)
    marks = replace(
        marks,
        original=(sx * marks.original[0], sy * marks.original[1]),
        bound=None if marks.bound is None else sy * marks.bound,
    )
    kind = go.Scattergl if len(cloud.loss) > _WEBGL else go.Scatter
    for facet in range(n):
        at = {"row": facet // columns + 1, "col": facet % columns + 1}
        mine = cloud.facet == facet if n > 1 else np.ones(len(cloud.loss), bool)
        _grounds(figure, cloud, marks, across, up, at, first=n == 1)
        if mine.sum() > MANY:
            _density(figure, cloud, mine, across, up, at)
            shown = mine & cloud.on
        else:
            shown = mine
        for group in range(len(cloud.categories)):
            for form in range(max(1, len(cloud.shapes))):
                alike = shown & (cloud.category == group) & (cloud.shape == form if cloud.shapes else True)
                for on in (False, True):
                    places = np.flatnonzero(alike & (cloud.on == on))
                    if len(places):
                        figure.add_trace(_points(kind, cloud, marks, places, group, on), **at)
        _labels(figure, cloud, mine, at)
        _frontier(figure, cloud, mine, at)
        _anchors(figure, marks, across, up, at, n == 1)
        if marks.optimum is not None and mine[marks.optimum]:
            _ring(figure, cloud.loss[marks.optimum], cloud.risk[marks.optimum], at)
    for group in np.unique(cloud.category).tolist():
        _legend(figure, group, cloud.categories[group], "circle" if cloud.shapes else "")
    for form, name in enumerate(cloud.shapes):
        _legend(figure, None, name, SHAPES[form % len(SHAPES)])
    _legend(figure, None, "filled: frontier" if cloud.shapes else "frontier", "circle")
    _legend(figure, None, "hollow: dominated" if cloud.shapes else "dominated", "circle-open")
    if n > 1:
        _legend(figure, None, "original data", "triangle-up")
        _legend(figure, None, "no release", "square")
    figure.update_xaxes(range=list(across), zeroline=False, showgrid=True, nticks=8 if n == 1 else 4)
    figure.update_yaxes(range=list(up), zeroline=False, showgrid=True)
    figure.update_xaxes(title_text=marks.utility_title if n == 1 else None)
    figure.update_yaxes(title_text=marks.risk_title, col=1)
    if n > 1:
        figure.update_xaxes(title_text=marks.utility_title, row=rows, col=(columns + 1) // 2)
    if marks.span != "zero":
        _cut(figure, marks, across, up, zero_left_out)
    figure.update_layout(
        height=_HEIGHT if rows == 1 else 340 * rows,
        margin={"l": 10, "r": 10, "t": 30 if n == 1 else 60, "b": 10},
        legend={
            "title": {"text": marks.legend + "  "},
            "orientation": "h",
            "y": 1.02 if n == 1 else 1.08,
            "yanchor": "bottom",
            "x": 0,
            "itemclick": False,
            "itemdoubleclick": False,
        },
        hoverlabel={"align": "left"},
        uirevision="map",
    )
    return figure


def _points(kind: Any, cloud: Cloud, marks: Marks, places: np.ndarray, group: int, on: bool) -> Any:
    colour, shape = look_of(group)
    if cloud.shapes and cloud.shape is not None:
        shape = SHAPES[int(cloud.shape[places[0]]) % len(SHAPES)]
    many = len(cloud.loss) > 2000
    size = (10 if on else 8) if not many else (8 if on else 4)
    trace: dict[str, Any] = {
        "x": cloud.loss[places].astype(np.float32),
        "y": cloud.risk[places].astype(np.float32),
        "customdata": cloud.place[places].astype(np.int32),
        "mode": "markers",
        "name": cloud.categories[group],
        "showlegend": False,
        "marker": {
            "color": colour,
            "symbol": shape if on else shape + "-open",
            "size": size,
            "line": {"width": 1.5 if not on else 0},
            "opacity": 1.0 if on or not many else 0.6,
        },
        # A click enlarges its point and leaves the others as they are.
        "selected": {"marker": {"size": 20}},
        "unselected": {"marker": {"opacity": 1.0 if on or not many else 0.6}},
    }
    if len(cloud.hover):
        trace |= {"hovertext": [cloud.hover[i] for i in places], "hovertemplate": "%{hovertext}<extra></extra>"}
    else:
        trace["hovertemplate"] = "%{x}, %{y}<extra></extra>"
    if marks.errors and (on or not many):
        for axis, errors in (("error_x", cloud.loss_se), ("error_y", cloud.risk_se)):
            trace[axis] = {
                "type": "data",
                "array": np.nan_to_num(errors[places]).astype(np.float32),
                "thickness": 1,
                "width": 2,
            }
    if marks.selected is not None:
        hit = np.flatnonzero(places == marks.selected)
        if len(hit):
            trace["selectedpoints"] = hit.tolist()
    return kind(**trace)


def _labels(figure: Figure, cloud: Cloud, mine: np.ndarray, at: dict[str, int]) -> None:
    """Words beside points of the frontier, where they are few."""
    import plotly.graph_objects as go

    if not len(cloud.labels):
        return
    places = [i for i in np.flatnonzero(mine & cloud.on).tolist() if cloud.labels[i]]
    if not 0 < len(places) <= _LABELLED:
        return
    figure.add_trace(
        go.Scatter(
            x=cloud.loss[places],
            y=cloud.risk[places],
            mode="text",
            text=[cloud.labels[i] for i in places],
            textposition="middle left",
            textfont={"size": 11, "color": QUIET},
            unselected={"textfont": {"color": QUIET}},
            hoverinfo="skip",
            showlegend=False,
        ),
        **at,
    )


def _frontier(figure: Figure, cloud: Cloud, mine: np.ndarray, at: dict[str, int]) -> None:
    """The frontier as a staircase: what is between two candidates is reached by neither."""
    import plotly.graph_objects as go

    on = np.flatnonzero(mine & cloud.on)
    if len(on) < 2:
        return
    on = on[np.lexsort((-cloud.utility_sign * cloud.loss[on], cloud.risk_sign * cloud.risk[on]))]
    line = {"color": QUIET, "width": 1.5, "shape": "hv"}
    figure.add_trace(
        go.Scatter(x=cloud.loss[on], y=cloud.risk[on], mode="lines", line=line, hoverinfo="skip", showlegend=False),
        **at,
    )


def _anchors(
    figure: Figure,
    marks: Marks,
    across: tuple[float, float],
    up: tuple[float, float],
    at: dict[str, int],
    first: bool,
) -> None:
    """Doing nothing and releasing nothing."""
    import plotly.graph_objects as go

    loss, risk = marks.original
    left = across[0] + 0.025 * (across[1] - across[0])
    below = marks.span != "zero" or up[1] < up[0]  # a turned measure has no figure for no risk
    anchors = [
        (
            loss,
            risk,
            "triangle-up",
            "original data",
            "bottom center",
            f"<b>original data (do nothing)</b><br>risk {risk:.4g}, nothing changed",
        )
    ]
    if marks.span != "frontier":
        anchors.append(
            (
                left,
                up[0] + 0.045 * (up[1] - up[0]) if below else 0.0,
                "square",
                "no release (no risk, below ↓)" if below else "no release",
                "middle right",
                "<b>no release</b><br>no risk and no use; where it stands is a matter of drawing",
            )
        )
    for x, y, symbol, label, side, words in anchors:
        figure.add_trace(
            go.Scatter(
                x=[x],
                y=[y],
                mode="markers+text",
                text=[label if first else ""],
                textposition=side,
                textfont={"color": QUIET},
                unselected={"marker": {"opacity": 1}, "textfont": {"color": QUIET}},
                marker={"symbol": symbol, "size": 14, "color": QUIET},
                hovertemplate=words + "<extra></extra>",
                showlegend=False,
            ),
            **at,
        )


def _grounds(
    figure: Figure,
    cloud: Cloud,
    marks: Marks,
    across: tuple[float, float],
    up: tuple[float, float],
    at: dict[str, int],
    *,
    first: bool,
) -> None:
    """Lines behind the points: the risk of doing nothing, and the bound."""
    risk = marks.original[1]
    figure.add_hline(
        y=risk, line={"color": QUIET, "width": 1, "dash": "dot"}, layer="below", exclude_empty_subplots=False, **at
    )
    with np.errstate(invalid="ignore"):
        riskier = bool((cloud.risk_sign * (cloud.risk - risk) > 0).any())
    if riskier and cloud.risk_sign * (up[1] - risk) > 0:
        figure.add_hrect(
            y0=risk,
            y1=up[1],
            fillcolor=QUIET,
            opacity=0.09,
            line_width=0,
            layer="below",
            exclude_empty_subplots=False,
            **at,
        )
        if first:
            figure.add_annotation(
                x=across[0],
                y=risk if min(up) <= risk <= max(up) else up[0],
                text="riskier than doing nothing",
                showarrow=False,
                xanchor="left",
                yanchor="bottom",
                **at,
            )
    if marks.bound is not None:
        figure.add_hline(
            y=marks.bound,
            line={"color": COLOURS[1], "width": 1.5, "dash": "dash"},
            layer="below",
            exclude_empty_subplots=False,
            **at,
        )
        if first and min(up) <= marks.bound <= max(up):
            figure.add_annotation(
                x=across[0],
                y=marks.bound,
                text=f"risk bound {marks.bound:.4g}",
                showarrow=False,
                xanchor="left",
                yanchor="top",
                **at,
            )


def _ring(figure: Figure, x: float, y: float, at: dict[str, int]) -> None:
    """The most useful candidate under the bound."""
    import plotly.graph_objects as go

    marker = {"symbol": "circle-open", "size": 24, "color": COLOURS[1], "line": {"width": 2}}
    same = {"marker": {"opacity": 1}}
    figure.add_trace(
        go.Scatter(x=[x], y=[y], mode="markers", marker=marker, unselected=same, hoverinfo="skip", showlegend=False),
        **at,
    )


def _density(
    figure: Figure,
    cloud: Cloud,
    mine: np.ndarray,
    across: tuple[float, float],
    up: tuple[float, float],
    at: Any,
) -> None:
    """Very many dominated points as a density; the frontier stays points."""
    import plotly.graph_objects as go

    points = mine & ~cloud.on & ~np.isnan(cloud.loss) & ~np.isnan(cloud.risk)
    bins = 120
    counts, xs, ys = np.histogram2d(
        cloud.loss[points], cloud.risk[points], bins=bins, range=[sorted(across), sorted(up)]
    )
    shown = np.where(counts.T > 0, counts.T, np.nan).astype(np.float32)
    figure.add_trace(
        go.Heatmap(
            x=xs.astype(np.float32),
            y=ys.astype(np.float32),
            z=np.log10(shown),
            customdata=shown,
            colorscale=[[0, "rgba(0,114,178,0.15)"], [1, "rgba(0,114,178,0.95)"]],
            showscale=False,
            hovertemplate="%{customdata:,.0f} candidates here<extra></extra>",
        ),
        **at,
    )


def _legend(figure: Figure, group: int | None, label: str, shape: str = "") -> None:
    import plotly.graph_objects as go

    if group is None:
        marker = {"color": QUIET, "symbol": shape, "size": 9}
    else:
        colour, own = look_of(group)
        marker = {"color": colour, "symbol": shape or own, "size": 10}
    figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, hoverinfo="skip"))


def _cut(
    figure: Figure, marks: Marks, across: tuple[float, float], up: tuple[float, float], zero_left_out: bool
) -> None:
    """Say what the axes leave out: a part of an axis dramatises."""
    x, y = marks.original
    out = not (min(across) <= x <= max(across) and min(up) <= y <= max(up))
    words = ["doing nothing is outside"] * out + ["risk does not start at zero"] * zero_left_out
    if words:
        text = f"<b>{'zoomed in: ' if marks.span == 'frontier' else ''}</b>{', '.join(words)}"
        figure.add_annotation(
            xref="paper", yref="paper", x=1, y=0.01, xanchor="right", yanchor="bottom", text=text, showarrow=False
        )


def levels(names: Sequence[str], before: np.ndarray, after: np.ndarray) -> Figure:
    """One attribute's levels before and after, side by side."""
    import plotly.graph_objects as go

    figure = go.Figure(
        [
            go.Bar(y=list(names), x=before, name="original", orientation="h", marker={"color": QUIET}),
            go.Bar(y=list(names), x=after, name="release", orientation="h", marker={"color": COLOURS[0]}),
        ]
    )
    figure.update_layout(
        height=90 + 44 * len(names),
        barmode="group",
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": "records"}},
        yaxis={"autorange": "reversed", "type": "category"},
    )
    return figure


def matrix(names: Sequence[str], share: np.ndarray, *, dark: bool = False, digits: int = 1) -> Figure:
    """A symmetric table of percentages by pairs of attributes, stronger where more."""
    import plotly.graph_objects as go

    d = len(names)
    shown = np.where(np.tri(d, k=-1, dtype=bool), 100 * share, np.nan)
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            x=list(names),
            y=list(names),
            # Opaque, so that the figures' colour is chosen against what is seen.
            colorscale=[[0, "#1C2530" if dark else "#F1F5F8"], [1, COLOURS[0]]],
            zmin=0,
            showscale=False,
            text=[["" if v != v else "0" if v == 0 else f"{v:.{digits}f}" for v in row] for row in shown.tolist()],
            texttemplate="%{text}" if d <= 14 else None,
            hovertemplate="%{y} × %{x}: %{z:.2f} % of records<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_layout(height=140 + 34 * min(d, 20), margin={"l": 10, "r": 10, "t": 10, "b": 10})
    figure.update_xaxes(showgrid=False, type="category", range=[-0.5, d - 1.5])
    figure.update_yaxes(showgrid=False, type="category", range=[d - 0.5, 0.5])
    return figure
