"""Figures of a candidate before and after the swap, of places, and of several measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def _figure(traces: Sequence[dict[str, Any]], height: int, **layout: Any) -> Figure:
    """A figure from plotly's own tables."""
    from plotly.graph_objects import Figure

    return Figure({"data": traces, "layout": {"height": height, "margin": _NARROW, **layout}})


def _points(
    x: Any, y: Any, name: str, colour: str, symbol: str = "circle", size: int = 9, **more: Any
) -> dict[str, Any]:
    """The trace of points of one look."""
    marker = {"color": colour, "symbol": symbol, "size": size, **more.pop("marker", {})}
    return {"type": "scatter", "x": x, "y": y, "mode": "markers", "name": name, "marker": marker, **more}


def _rows(names: Sequence[str]) -> dict[str, Any]:
    """An axis of named rows, the first on top."""
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    return {**ticks, "range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False}


def small_map(
    names: Sequence[str],
    pinned: tuple[Sequence[float], Sequence[float]],
    frontier: tuple[Sequence[float], Sequence[float]],
    original: tuple[float, float],
    titles: tuple[str, str],
    backwards: tuple[bool, bool],
) -> Figure:
    """The pinned candidates on the map: use to the right, risk upwards.

    ``pinned``, ``frontier`` and ``original`` are (use, risk) in the measures' own figures; ``titles`` are those of the
    axes; ``backwards`` says which axes run from high to low.
    """
    line = {"color": QUIET, "width": 1.5, "shape": "vh"}
    nothing = {"hovertemplate": "original data<extra></extra>"}
    traces = [
        _points(*frontier, "frontier", QUIET, size=5, line=line, hoverinfo="skip") | {"mode": "lines+markers"},
        _points([original[0]], [original[1]], "original data", QUIET, "triangle-up", 13, **nothing),
    ]
    for k, (name, x, y) in enumerate(zip(names, *pinned, strict=True)):
        hover = {"hovertext": [name], "hovertemplate": "<b>%{hovertext}</b><br>%{x:.4g}, %{y:.4g}<extra></extra>"}
        traces.append(_points([x], [y], name, COLOURS[k % len(COLOURS)], SHAPES[k % len(SHAPES)], 14, **hover))
    xaxis, yaxis = (
        {"title": {"text": title}, "nticks": 6, "zeroline": False} | ({"autorange": "reversed"} if turned else {})
        for title, turned in zip(titles, backwards, strict=True)
    )
    return _figure(traces, 330, margin={**_NARROW, "t": 20}, legend=_LEGEND, xaxis=xaxis, yaxis=yaxis)


def levels(names: Sequence[str], before: np.ndarray, after: np.ndarray, unit: str) -> Figure:
    """One attribute's levels before and after, side by side, in ``unit``."""
    striped = {"color": COLOURS[0], "pattern": {"shape": "/", "size": 5, "solidity": 0.25}}
    traces = [
        {"type": "bar", "y": list(names), "x": sent(values), "name": name, "orientation": "h", "marker": marker}
        for name, values, marker in (("original", before, {"color": QUIET}), ("release", after, striped))
    ]
    return _figure(
        traces,
        100 + _BAR * len(names),
        barmode="group",
        legend=_LEGEND,
        xaxis={"title": {"text": unit}, "tickformat": ",", "nticks": 5},
        yaxis={"autorange": "reversed", "type": "category"},
    )


def associations(names: Sequence[str], pairs: Sequence[tuple[int, int, float]], *, dark: bool = False) -> Figure:
    """Signed changes of pairs of attributes, each as (i, j, change) with i < j; pairs that are not named have none.

    Vermillion is weaker, blue stronger; the sign stands in the field.
    """
    d = len(names)
    shown: list[list[float | None]] = [[0.0 if j < i else None for j in range(d)] for i in range(d)]
    for i, j, change in pairs:
        shown[j][i] = change if np.isfinite(change) else None
    most = max(abs(change or 0.0) for row in shown for change in row) or 1.0
    heatmap = {
        "type": "heatmap",
        "z": shown,
        "x": list(names),
        "y": list(names),
        "colorscale": [[0, COLOURS[1]], [0.5, "#1C2530" if dark else "#F1F5F8"], [1, COLOURS[0]]],
        "zmin": -most,
        "zmax": most,
        "colorbar": {"title": {"text": "change of V"}, "thickness": 12, "nticks": 5},
        "text": [["" if v is None else f"{v:+.3f}".replace("-", "−") if v else "0" for v in row] for row in shown],
        "texttemplate": "%{text}" if d <= 14 else None,
        "hovertemplate": "%{y} × %{x}: %{z:+.4f}<extra></extra>",
        "hoverongaps": False,
        "xgap": 2,
        "ygap": 2,
    }
    plain = {"showgrid": False, "type": "category"}
    axes = {"xaxis": {**plain, "range": [-0.5, d - 1.5]}, "yaxis": {**plain, "range": [d - 0.5, 0.5]}}
    return _figure([heatmap], 140 + 34 * min(d, 20), **axes)


def intervals(names: Sequence[str], half: np.ndarray, shift: np.ndarray, half_after: np.ndarray) -> Figure:
    """95 % intervals of coefficients before and after, all in standard errors of the original about its estimate."""
    rows = np.arange(len(names))
    hover: dict[str, Any] = {
        "customdata": list(names),
        "hovertemplate": "%{customdata}: %{x:+.2f} standard errors<extra></extra>",
    }
    traces = []
    for name, centre, width, colour, symbol, aside in (
        ("original", np.zeros(len(names)), half, QUIET, "circle", -0.16),
        ("release", shift, half_after, COLOURS[0], "diamond", 0.16),
    ):
        bars = {"type": "data", "array": sent(width), "thickness": 2, "width": 4, "color": colour}
        traces.append(_points(sent(centre), sent(rows + aside), name, colour, symbol, error_x=bars, **hover))
    figure = _figure(
        traces,
        110 + _BAR * len(names),
        legend=_LEGEND,
        xaxis={"title": {"text": "distance from the original's estimate, in its standard errors"}, "zeroline": False},
        yaxis=_rows(names),
    )
    return figure.add_vline(x=0, line={"color": QUIET, "width": 1, "dash": "dot"})


def runs(swept: np.ndarray, fresh: np.ndarray, released: float, original: float, title: str) -> Figure:
    """Every run of a candidate on one measure: those of the sweep, the fresh ones, the one to be released, and the data
    as they are."""
    rows = [("runs of the sweep", swept, "circle-open", COLOURS[0])]
    if len(fresh):
        rows.append(("fresh runs", fresh, "diamond-open", COLOURS[2]))
    hover, ring = {"hovertemplate": "%{x:.5g}<extra></extra>"}, {"line": {"width": 1.5}}
    traces = [
        _points(sent(values), sent(y - _stacked(values)), name, colour, symbol, 10, marker=ring, **hover)
        for y, (name, values, symbol, colour) in enumerate(rows)
    ]
    for name, value, said, symbol, colour in (
        ("the run to be released", released, "to be released", "star", COLOURS[1]),
        ("original data", original, "original data", "triangle-up", QUIET),
    ):
        hover = {"hovertemplate": f"{said}: %{{x:.5g}}<extra></extra>"}
        traces.append(_points([value], [0.22], name, colour, symbol, 13, **hover))
    return _figure(
        traces,
        170 + 90 * len(rows),
        margin={**_NARROW, "t": 20},
        legend={**_LEGEND, "y": 1.05},
        xaxis={"title": {"text": title}, "zeroline": False},
        yaxis=_rows([name for name, *_ in rows]),
    )


def intruder_curve(found: Sequence[tuple[int, int, int]]) -> Figure:
    """Records that stand out by the number of keys known (first of each): in the unprotected file, and unaltered ones
    in the release."""
    known = [str(n) for n, _, _ in found]
    rows = (("unprotected", 1, QUIET, "circle"), ("released, unaltered", 2, COLOURS[1], "diamond"))
    traces = [
        _points(
            known,
            [each[k] for each in found],
            name,
            colour,
            symbol,
            text=[f"{each[k]:,}" for each in found],
            textposition="top center",
            line={"width": 2, "color": colour},
            cliponaxis=False,
            hovertemplate="%{x} keys: %{y:,}<extra></extra>",
        )
        | {"mode": "lines+markers+text"}
        for name, k, colour, symbol in rows
    ]
    top = max((small for _, small, _ in found), default=1) or 1
    return _figure(
        traces,
        280,
        legend={**_LEGEND, "y": 1.05},
        xaxis={"title": {"text": "keys that the intruder knows"}, "type": "category"},
        yaxis={"range": [0, 1.15 * top], "tickformat": ",", "nticks": 5},
    )


def _stacked(values: np.ndarray) -> np.ndarray:
    """The height at which to draw each of several values so that equal ones lie above each other, 0 to 0.45."""
    values = np.asarray(values, float)
    height = np.array([np.count_nonzero(values[:k] == value) for k, value in enumerate(values)], float)
    return 0.45 * height / max(5.0, float(height.max(initial=0)))


def _diverging(dark: bool) -> list[str]:
    """Less, as much, more; the middle is the ground."""
    return (
        ["#3E9BD8", "#1F4E6E", "#242C34", "#6E3A12", "#F28A3C"]
        if dark
        else [COLOURS[0], "#9CC7E2", "#F3F4F6", "#EBB48D", "#B4500B"]
    )


def tiles(paths: Mapping[str, tuple[str, ...]], change: Mapping[str, float], *, dark: bool) -> Figure:
    """Areas as tiles by their codes, nested as their levels are: a panel for each area two levels up, a row for each
    one level up; ``change`` has a figure for each."""
    panels: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for area in sorted(change, key=lambda area: paths[area]):
        *above, _ = paths[area]
        panels.setdefault(tuple(above[:-1]), {}).setdefault(above[-1] if above else "", []).append(area)
    rows_of = {top: _tile_rows(rows) for top, rows in panels.items()}
    wide = max(len(row) for rows in rows_of.values() for _, row in rows)
    beside = 2 if len(panels) > 1 and wide <= 8 else 1
    most = max([1.0, *(abs(value) for value in change.values() if np.isfinite(value))])
    traces, notes, top_of_row = [], [], 0.0
    plain = {"showarrow": False}
    for k, (top, rows) in enumerate(rows_of.items()):
        left = (k % beside) * (wide + 1.2)
        if top:
            title = {"xanchor": "left", "yanchor": "bottom", "x": left - 0.5, "y": top_of_row - 0.55}
            notes.append({**plain, **title, "text": drawn("<b>{}</b>", top[-1])})
        shown: list[list[float | None]] = []
        words: list[list[str]] = []
        for r, (parent, row) in enumerate(rows):
            values = [change[area] if np.isfinite(change[area]) else most for area in row]
            shown.append([*values, *[None] * (wide - len(row))])
            words.append([_tile_words(paths[area], change[area]) for area in row] + [""] * (wide - len(row)))
            if parent:
                side = {"xanchor": "right", "x": left - 0.55, "y": top_of_row + r}
                notes.append({**plain, **side, "text": _own_part(parent, top[-1] if top else "")})
        traces.append(
            {
                "type": "heatmap",
                "x": [left + i for i in range(wide)],
                "y": [top_of_row + r for r in range(len(rows))],
                "z": shown,
                "text": words,
                "texttemplate": "%{text}" if wide <= 14 else None,
                "hovertext": [[*row, *[""] * (wide - len(row))] for _, row in rows],
                "hovertemplate": "%{hovertext}: %{z:+.1f}<extra></extra>",
                "hoverongaps": False,
                "colorscale": [[i / 4, shade] for i, shade in enumerate(_diverging(dark))],
                "zmin": -most,
                "zmax": most,
                "showscale": False,
                "xgap": 3,
                "ygap": 3,
            }
        )
        if k % beside == beside - 1 or k == len(rows_of) - 1:
            lines = max(len(rows_of[one]) for one in list(rows_of)[k - k % beside : k + 1])
            top_of_row += lines + 0.8
    hidden = {"visible": False, "fixedrange": True}
    yaxis = {**hidden, "range": [top_of_row - 1.3, -1.1]}
    xaxis = {**hidden, "range": [-1.1, beside * (wide + 1.2) - 1.6]}
    return _figure(traces, round(46 * top_of_row) + 30, annotations=notes, xaxis=xaxis, yaxis=yaxis)


_ROW = 12  # tiles of a row without a level above it


def _tile_rows(rows: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Rows of tiles with what is written before them; areas without a level above are broken into rows."""
    found = []
    for parent, areas in rows.items():
        for k in range(0, len(areas), _ROW):
            found.append((parent if not k else "", areas[k : k + _ROW]))
    return found


def _tile_words(path: tuple[str, ...], value: float) -> str:
    """The own part of an area's code over its change."""
    shown = "new" if not np.isfinite(value) else f"{value:+.1f}".replace("-", "−") if round(value, 1) else "0"
    return stacked([_own_part(path[-1], path[-2] if len(path) > 1 else "")[:9], shown])


def _own_part(code: str, parent: str) -> str:
    """A code without that of the area around it, where it begins with that."""
    return code[len(parent) :].lstrip(".-_/ ") or code if parent and code.startswith(parent) else code


def choropleth(
    boundaries: Boundaries, change: Mapping[str, float], words: Mapping[str, str], *, dark: bool = False
) -> Figure:
    """Areas filled by their change, symmetric about none; ``words`` tell of each under the pointer.

    Outlines are drawn in their own coordinates: plotly's map of the world would be fetched from a network.
    """
    from plotly.colors import sample_colorscale

    most = max([*(abs(value) for value in change.values() if np.isfinite(value)), 0.001])
    traces: list[dict[str, Any]] = []
    shades = _diverging(dark)
    for area, rings in boundaries.outlines.items():
        value = min(max(change.get(area, 0.0), -most), most)
        gap = np.full((1, 2), np.nan)
        points = np.concatenate([part for ring in rings for part in (ring, ring[:1], gap)])[:-1]
        fill = {"fill": "toself", "fillcolor": sample_colorscale(shades, [(value / most + 1) / 2])[0]}
        hover = {"hoveron": "fills", "hoverinfo": "text", "text": words.get(area, area)}
        line = {"color": "#5B6470", "width": 0.6}
        outline = {"type": "scatter", "x": sent(points[:, 0]), "y": sent(points[:, 1]), "mode": "lines", "line": line}
        traces.append({**outline, **fill, **hover, "name": area, "showlegend": False})
    scale = {"cmin": -most, "cmax": most, "colorscale": shades, "showscale": True}
    bar = {"colorbar": {"title": {"text": "change"}, "thickness": 14}}
    nothing = {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip", "showlegend": False}
    traces.append({**nothing, "marker": {"color": [0], **scale, **bar}})
    middle = np.mean([ring[:, 1].mean() for rings in boundaries.outlines.values() for ring in rings])
    # A degree of longitude is shorter than one of latitude.
    across = float(1 / max(np.cos(np.deg2rad(middle)), 0.1)) if boundaries.geographic else 1.0
    upwards = {"visible": False, "scaleanchor": "x", "scaleratio": across}
    return _figure(traces, 520, margin=dict.fromkeys("lrtb", 8), xaxis={"visible": False}, yaxis=upwards)


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
    from plotly.subplots import make_subplots

    k = len(axes)
    figure = make_subplots(
        rows=k - 1, cols=k - 1, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03, vertical_spacing=0.03
    )
    for row in range(1, k):
        for column in range(row):
            at = {"row": row, "col": column + 1}
            across, up = axes[column], axes[row]
            for trace in _matrix_traces(across, up, points):
                figure.add_trace(trace, **at)
            figure.update_xaxes(autorange="reversed" if across.reversed else True, **at)
            figure.update_yaxes(autorange="reversed" if up.reversed else True, **at)
            if row == k - 1:
                figure.update_xaxes(title_text=_title(across, "→", k), **at)
            if column == 0:
                figure.update_yaxes(title_text=_title(up, "↑", k), **at)
    looks = [(points.categories[category], *look_of(category)) for category in np.unique(points.category).tolist()]
    looks += [("frontier under these measures", QUIET, "circle"), ("dominated", QUIET, "circle-open")]
    looks.append(("original data", QUIET, "triangle-up"))
    figure.add_traces([_points([None], [None], *look) for look in looks])
    figure.update_xaxes(nticks=4, zeroline=False)
    figure.update_yaxes(nticks=4, zeroline=False)
    return figure.update_layout(
        height=max(420, 170 * (k - 1) + 90) + TOOLBAR,
        margin={"l": 100, "r": 10, "t": TOOLBAR + 42, "b": 84},
        legend={**_LEGEND, "itemclick": False},
        hoverlabel={"align": "left"},
        uirevision="measures",
    )


def _matrix_traces(across: Axis, up: Axis, points: MatrixPoints) -> Iterator[dict[str, Any]]:
    """One panel: a trace for all points that look alike, the frontier in front, and doing nothing; none has an entry in
    the legend, and a selection fades nothing."""
    quiet = {"showlegend": False, "unselected": {"marker": {"opacity": 1}}}
    kind = {"type": "scattergl" if len(points.on) > 1_000 else "scatter"}
    for on in (False, True):
        for category in range(len(points.categories)):
            rows = np.flatnonzero((points.on == on) & (points.category == category))
            if not len(rows):
                continue
            colour, shape = look_of(category)
            shape, size, name = (shape, 9, "frontier") if on else (f"{shape}-open", 6, "dominated")
            hover: dict[str, Any] = {"customdata": sent(points.index[rows])}
            if len(points.hover):
                hover["hovertext"] = [points.hover[i] for i in rows.tolist()]
                hover["hovertemplate"] = "%{hovertext}<extra></extra>"
            x, y = sent(across.values[rows]), sent(up.values[rows])
            yield _points(x, y, name, colour, shape, size, **kind, **quiet, **hover)
    hover = {"hovertemplate": "original data (do nothing)<extra></extra>"}
    yield _points([across.original], [up.original], "original data", QUIET, "triangle-up", 12, **quiet, **hover)


def _title(axis: Axis, arrow: str, k: int) -> str:
    """A measure's name on several short lines, and under it where the axis leads."""
    return stacked([*wrap(axis.name, 20 + 20 // k), drawn("<i>{}</i>", f"{axis.towards} {arrow}")])
