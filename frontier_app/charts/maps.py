"""The risk–utility map drawn by plotly: for exploring, for the board, while a sweep fills it, and for scripts.

Shape says the same as colour, and filled says "on the frontier" where hollow says "dominated".  Losses are drawn on a
reversed axis, so that useful is to the right and the tick labels stay the measure's own figures; in the distortion view
of Gomatam, Karr and Sanil (2005) they run forwards and the frontier is in the south-west.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.wording import upper_first
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.report import map_model
from engine.report.board_pictures import board_model
from engine.report.findings import Findings
from engine.report.map_model import MapModel, Mark, Point, flags
from engine.report.words import bound_title, figure
from engine.study.map_reader import LiveFrontier
from frontier_app.charts.map_data import (
    DRAWN,
    MANY,
    Cloud,
    FigureDraft,
    Marks,
    Panel,
    Shown,
    cloud,
    colourings,
    marks,
    ranges,
)
from frontier_app.charts.style import COLOURS, INK, LINE_WORDS, MARGIN, QUIET, SHAPES, TOOLBAR, WEBGL, look_of, sent
from frontier_app.session.state import Look
from frontier_app.wording.markup import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


BINS, PANEL_BINS = 120, 70
"""Columns and rows of the grid of a map alone, and of a panel, which is lower."""


def grid(
    x: np.ndarray, y: np.ndarray, across: tuple[float, float], up: tuple[float, float], bins: int = BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of the points in a grid over two ranges (rows upwards), and the edges of its columns and rows.

    Points outside the ranges and undefined ones are left out.
    """
    (left, right), (low, high) = sorted(across), sorted(up)
    with np.errstate(invalid="ignore"):
        inside = (x >= left) & (x <= right) & (y >= low) & (y <= high)
    column = ((x[inside] - left) * (bins / (right - left))).astype(np.int64)
    row = ((y[inside] - low) * (bins / (high - low))).astype(np.int64)
    cell = np.minimum(row, bins - 1) * bins + np.minimum(column, bins - 1)
    counts = np.bincount(cell, minlength=bins * bins).reshape(bins, bins)
    return counts, np.linspace(left, right, bins + 1), np.linspace(low, high, bins + 1)


def trace(
    x: np.ndarray,
    y: np.ndarray,
    across: tuple[float, float],
    up: tuple[float, float],
    noun: str,
    colour: str = COLOURS[0],
    bins: int = BINS,
) -> dict[str, Any]:
    """The heatmap of so many points, as plotly's table of it."""
    grid_counts, xs, ys = grid(x, y, across, up, bins)
    counts = grid_counts.tolist()
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "heatmap",
        "x": xs.tolist(),
        "y": ys.tolist(),
        "z": [[math.log10(n) if n else None for n in row] for row in counts],
        "customdata": counts,
        "colorscale": [[0, f"rgba({r},{g},{b},0.18)"], [1, f"rgba({r},{g},{b},0.95)"]],
        "zmin": 0,
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": f"%{{customdata:,.0f}} {noun} here<extra></extra>",
    }


_ORIGINAL = "original data"
_RING = 11
"""Radius of a ring, pixels."""
LEGEND_ROW = 19
"""Height of a row of a legend, pixels."""
RECOMMENDED, PINNED = "circle-open", "square-open"
"""Shapes of the rings about candidates."""
_NARROW, _LETTER, _SIGN, _TITLE = 630, 6.5, 46, 30
"""Width for a legend in a window of 1280, of a letter, of the sign before an entry, and about the title, pixels."""


def words(panel: Panel) -> None:
    """Words beside points, where they have room."""
    cloud = panel.cloud
    if not len(cloud.words):
        return
    rows = np.flatnonzero(~np.isnan(cloud.loss) & ~np.isnan(cloud.risk))
    texts = [cloud.words[i] for i in rows.tolist()]
    sides = map_model.beside(*panel.scaled(rows), texts, np.flatnonzero(cloud.on[rows]).tolist())
    shown = [i for i, side in enumerate(sides) if side]
    if not shown:
        return
    panel.trace(
        x=sent(cloud.loss[rows[shown]]),
        y=sent(cloud.risk[rows[shown]]),
        # The unseen marker keeps its words off the point.
        mode="markers+text",
        marker={"size": 10, "opacity": 0},
        text=[drawn("<b>{}</b>", texts[i]) if cloud.on[rows[i]] else texts[i] for i in shown],
        textposition=[sides[i] for i in shown],
        textfont={"size": 11, "color": QUIET},
        unselected={"marker": {"opacity": 0}, "textfont": {"color": QUIET}},
        hoverinfo="skip",
    )


def frontier(panel: Panel) -> None:
    """The frontier as a staircase: the edge of what the candidates on it dominate."""
    cloud = panel.cloud
    on = _along_frontier(cloud)
    if len(on) < 2:
        return
    line = {"color": QUIET, "width": 1.5, "shape": "vh"}
    panel.trace(x=sent(cloud.loss[on]), y=sent(cloud.risk[on]), mode="lines", line=line, hoverinfo="skip")


def _along_frontier(cloud: Cloud) -> np.ndarray:
    """Rows of the frontier, the safest first."""
    on = np.flatnonzero(cloud.on)
    return on[np.lexsort((-cloud.utility_sign * cloud.loss[on], cloud.risk_sign * cloud.risk[on]))]


def flag_layer(panel: Panel) -> None:
    """Letters and names on short lines, each with room of its own."""
    flagged, pinned = panel.marks.flags, panel.marks.pins
    rows = np.array(list(dict.fromkeys((*flagged, *pinned))), int)
    if not len(rows):
        return
    plain = [" ".join(names[row] for names in (flagged, pinned) if row in names) for row in rows.tolist()]
    bold = {row: drawn("<b>{}</b>", letter) for row, letter in flagged.items()}
    named = [_side_by_side(bold.get(row), pinned.get(row)) for row in rows.tolist()]
    ox, oy = _drawn(panel)
    y0, y1 = panel.up
    across, above = panel.share(*panel.marks.original)
    above += 0.04 if _original_side(panel).startswith("top") else -0.04
    # No label on the other words and lines: doing nothing, no release, what is cut off, the bound.
    taken = [(across - 0.12, across + 0.12, above), (0.0, 0.2, 0.05), (0.6, 1.0, 0.03)]
    if panel.marks.bound is not None:
        line = (panel.marks.bound - y0) / (y1 - y0)
        taken.append((0.0, 1.0, line))
    for left, right, height in taken:
        ox, oy = np.append(ox, np.linspace(left, right, 60)), np.append(oy, np.full(60, height))
    offsets = map_model.flags(*panel.scaled(rows), plain, (ox, oy))
    for row, text, (dx, dy) in zip(rows.tolist(), named, offsets, strict=True):
        x, y = float(panel.cloud.loss[row]), float(panel.cloud.risk[row])
        panel.note(x, y, text, standoff=6, **_on_a_line(dx, dy, 14))


def _drawn(panel: Panel) -> map_model.Places:
    """Places, as shares of the drawing, of points, bars, the frontier's line and rings."""
    cloud, marks = panel.cloud, panel.marks
    known = ~np.isnan(cloud.loss) & ~np.isnan(cloud.risk)
    x, y = cloud.loss, cloud.risk
    on = _along_frontier(cloud)
    places = [(x[known], y[known]), map_model.on_lines((x[on[:-1]], y[on[:-1]]), (x[on[:-1]], y[on[1:]]))]
    places.append(map_model.on_lines((x[on[:-1]], y[on[1:]]), (x[on[1:]], y[on[1:]])))
    if marks.errors:
        low, high = panel.risk_bars(on)
        half = np.nan_to_num(cloud.loss_se[on])
        places.append(map_model.on_lines((x[on], low), (x[on], high)))
        places.append(map_model.on_lines((x[on] - half, y[on]), (x[on] + half, y[on])))
    shares = [panel.share(*place) for place in places]
    ringed = np.array([*marks.pins, *([] if marks.optimum is None else [marks.optimum])], int)
    x, y = panel.scaled(ringed)
    turn = np.linspace(0, 2 * np.pi, 8, endpoint=False)[:, None]
    wide, tall = map_model.SIZE
    shares.append((np.ravel(x + _RING / wide * np.cos(turn)), np.ravel(y + _RING / tall * np.sin(turn))))
    x, y = (np.concatenate([share[axis] for share in shares]) for axis in (0, 1))
    return x, y


def _side_by_side(letter: str | None, name: str | None) -> str:
    return drawn("{} {}", letter, name) if letter and name else letter or name or ""


def anchors(panel: Panel) -> None:
    """Doing nothing and releasing nothing."""
    marks, across, up = panel.marks, panel.across, panel.up
    loss, risk = marks.original
    share = 0.025 if not marks.distortion else 0.975
    no_use = across[0] + share * (across[1] - across[0])
    below = marks.span != "zero" or up[1] < up[0]  # a turned measure has no figure for no risk
    label = stacked(["no release,", "no risk ↓"]) if below else "no release"
    anchors = [
        (
            loss,
            risk,
            "triangle-up",
            _ORIGINAL,
            _original_side(panel),
            f"<b>original data (do nothing)</b><br>risk {risk:.4g}, nothing changed",
        )
    ]
    if marks.span != "frontier":
        anchors.append(
            (
                no_use,
                up[0] + 0.05 * (up[1] - up[0]) if below else 0.0,
                "square",
                label,
                "middle right" if not marks.distortion else "middle left",
                "<b>no release</b><br>no risk and no use; where it stands is a matter of drawing",
            )
        )
    for x, y, symbol, text, side, hover in anchors:
        panel.trace(
            x=[x],
            y=[y],
            mode="markers+text",
            text=[text],
            textposition=side,
            textfont={"color": QUIET},
            unselected={"marker": {"opacity": 1}, "textfont": {"color": QUIET}},
            marker={"symbol": symbol, "size": 14, "color": QUIET},
            hovertemplate=hover + "<extra></extra>",
        )


def _original_side(panel: Panel) -> str:
    """The side on which the words of doing nothing stand: the one that covers fewest candidates."""
    cloud = panel.cloud
    x, y = _drawn(panel)
    if cloud.bulk is not None:
        more_x, more_y = panel.share(*cloud.bulk[:2])
        x, y = np.append(x, more_x), np.append(y, more_y)
    sides = ("top center", "bottom center") if not panel.marks.distortion else ("top right", "bottom right")
    return map_model.emptiest(panel.share(*panel.marks.original), _ORIGINAL, (x, y), sides)


def grounds(panel: Panel) -> None:
    """Lines behind the points: the risk of doing nothing, the largest acceptable risk, and a straight trade-off.

    Their words stand to the right of the drawing, where no candidate can be.
    """
    cloud, marks, up = panel.cloud, panel.marks, panel.up
    beside: list[tuple[float, list[str]]] = []
    risk = marks.original[1]
    panel.band(risk, risk, line={"color": QUIET, "width": 1, "dash": "dot"})
    shown = cloud.risk if cloud.bulk is None else np.append(cloud.risk, cloud.bulk[1])
    with np.errstate(invalid="ignore"):
        riskier = bool((cloud.risk_sign * (shown - risk) > 0).any())
    if riskier and cloud.risk_sign * (up[1] - risk) > 0:
        panel.band(risk, up[1], fillcolor=QUIET, opacity=0.09, line={"width": 0})
        beside.append((risk if min(up) <= risk <= max(up) else up[0], ["riskier than", "doing nothing ↑"]))
    if marks.bound is not None:
        panel.band(marks.bound, marks.bound, line={"color": COLOURS[1], "width": 1.5, "dash": "dash"})
        if min(up) <= marks.bound <= max(up):
            bound = ["largest", "acceptable risk"] if cloud.risk_sign > 0 else ["smallest", "acceptable", "protection"]
            beside.append((marks.bound, [*bound, f"α = {marks.bound:.4g}"]))
    # The words of the upper line stand above it and those of the lower one below, so that they never meet.
    beside.sort(key=lambda line: (line[0] - up[0]) / (up[1] - up[0]), reverse=True)
    right = {"xref": f"{panel.axis('x')} domain", "xanchor": "left", "align": "left"}
    for place, (y, lines) in enumerate(beside):
        panel.note(1.0, y, stacked(lines), yanchor="bottom" if place == 0 else "top", **right)
    if marks.slope is not None and marks.optimum is not None:
        _straight(panel)


def _straight(panel: Panel) -> None:
    """The straight trade-off through the candidate that it favours."""
    marks = panel.marks
    assert marks.slope is not None and marks.optimum is not None
    x, y = float(panel.cloud.loss[marks.optimum]), float(panel.cloud.risk[marks.optimum])
    ends = np.array(panel.across)
    line = {"color": COLOURS[1], "width": 1.5, "dash": "dash"}
    panel.trace(x=sent(ends), y=sent(y - marks.slope * (ends - x)), mode="lines", line=line, hoverinfo="skip")


def ring(panel: Panel, row: int, shape: str, size: int) -> None:
    """A ring about a point; its colour is none that a category may have."""
    x, y = panel.cloud.loss[row], panel.cloud.risk[row]
    marker = {"symbol": shape, "size": size, "color": INK, "line": {"width": 2.5}}
    same = {"marker": {"opacity": 1}}
    panel.trace(x=[x], y=[y], mode="markers", marker=marker, unselected=same, hoverinfo="skip")


def legends(draft: FigureDraft, cloud: Cloud, marks: Marks) -> int:
    """Add the legends of colours, shapes and rings; return how many rows they take where the window is narrow."""
    widths: list[float] = []

    def entry(label: str, colour: str, shape: str) -> None:
        widths.append(_SIGN + _LETTER * len(label))
        marker: dict[str, Any] = {"color": colour, "symbol": shape, "size": 9}
        if label in ("recommended", "pinned"):
            marker |= {"size": 13, "line": {"width": 2}}
        nowhere = {"x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip"}
        draft.traces.append({"type": "scatter", "marker": marker, "name": label, **nowhere})

    for group in np.unique(cloud.category).tolist():
        colour, own = look_of(group) if group != cloud.muted else (QUIET, "circle-open")
        entry(cloud.categories[group], colour, "circle" if cloud.shapes else own)
    for form, name in enumerate(cloud.shapes):
        entry(name, QUIET, SHAPES[form % len(SHAPES)])
    entry("filled: frontier" if cloud.shapes else "frontier", QUIET, "circle")
    if cloud.bulk is None:
        entry("hollow: dominated" if cloud.shapes else "dominated", QUIET, "circle-open")
    if marks.optimum is not None and draft.panels == 1:
        entry("recommended", INK, RECOMMENDED)
    if marks.pins:
        entry("pinned", INK, PINNED)
    room = _NARROW - (_TITLE + _LETTER * len(marks.legend) if marks.legend else 0)
    if sum(widths) <= room:
        return 1
    return -(-len(widths) // max(1, int(room // max(widths))))  # in several rows all entries are as wide as the widest


def cut(panel: Panel, zero_left_out: bool) -> None:
    """Say what the axes leave out: a part of an axis dramatises."""
    (x, y), across, up = panel.marks.original, panel.across, panel.up
    original_outside = not (min(across) <= x <= max(across) and min(up) <= y <= max(up))
    left_out = ["doing nothing is outside"] * original_outside + ["risk does not start at zero"] * zero_left_out
    if left_out:
        text = drawn("<b>{}</b>{}", "zoomed in: " if panel.marks.span == "frontier" else "", ", ".join(left_out))
        right = not panel.marks.distortion
        side = "right" if right else "left"
        panel.note(float(right), 0.01, text, xref="paper", yref="paper", xanchor=side, yanchor="bottom")


def risk_utility(cloud: Cloud, marks: Marks) -> Figure:
    """The risk–utility map: utility to the right, risk upwards."""
    draft = FigureDraft(len(cloud.facets))
    alone = draft.panels == 1
    for number, title in enumerate(cloud.facets):
        part, own = (cloud, marks) if alone else (_panel(cloud, number), _rows_of(marks, cloud, number))
        _draw(draft, number, part, own)
        if not alone:
            _titled(draft, number, title)
    more = LEGEND_ROW * (legends(draft, cloud, marks) - 1)
    middle, last = (str(number + 1) if number else "" for number in ((draft.panels - 1) // 2, draft.panels - 1))
    draft.axes[f"yaxis{middle}"]["title"] = {"text": marks.risk_title}
    draft.axes[f"xaxis{last}"]["title"] = {"text": marks.utility_title}
    high = 300 * draft.panels
    return draft.figure(
        height=(marks.height if alone else 110 + high) + TOOLBAR + more,
        margin={**MARGIN, "r": LINE_WORDS, "t": TOOLBAR + (32 if alone else 62) + more},
        legend={
            "title": {"text": f"{marks.legend}:  " if marks.legend else "", "side": "left"},
            "orientation": "h",
            "y": 1.02 if alone else 1 + 40 / (40 + high),
            "yanchor": "bottom",
            "x": 0,
            "itemclick": False,
            "itemdoubleclick": False,
        },
        hoverlabel={"align": "left"},
        uirevision="map",
    )


def _titled(draft: FigureDraft, number: int, title: str) -> None:
    """A panel's title, above it."""
    at = {"x": 0.5, "y": draft.domain(number)[1], "xref": "paper", "yref": "paper", "xanchor": "center"}
    draft.notes.append({"text": title, "yanchor": "bottom", "showarrow": False, "font": {"size": 14}, **at})


def _panel(cloud: Cloud, facet: int) -> Cloud:
    """One panel's points."""
    rows = np.flatnonzero(cloud.facet == facet)
    bulk = cloud.bulk
    if bulk is not None:
        in_panel = bulk[2] == facet
        bulk = (bulk[0][in_panel], bulk[1][in_panel], bulk[2][in_panel])
    return replace(
        cloud,
        loss=cloud.loss[rows],
        risk=cloud.risk[rows],
        loss_se=cloud.loss_se[rows],
        risk_se=cloud.risk_se[rows],
        index=cloud.index[rows],
        on=cloud.on[rows],
        category=cloud.category[rows],
        facet=cloud.facet[rows],
        shape=None if cloud.shape is None else cloud.shape[rows],
        hover=[cloud.hover[i] for i in rows.tolist()] if len(cloud.hover) else [],
        words=[cloud.words[i] for i in rows.tolist()] if len(cloud.words) else (),
        bulk=bulk,
        interval=None if cloud.interval is None else (cloud.interval[0][rows], cloud.interval[1][rows]),
    )


def _rows_of(marks: Marks, cloud: Cloud, facet: int) -> Marks:
    """Marks for one panel: rows counted within it."""
    where = {row: i for i, row in enumerate(np.flatnonzero(cloud.facet == facet).tolist())}
    return replace(
        marks,
        optimum=None if marks.optimum is None else where.get(marks.optimum),
        selected=None if marks.selected is None else where.get(marks.selected),
        flags={where[row]: text for row, text in marks.flags.items() if row in where},
        pins={where[row]: text for row, text in marks.pins.items() if row in where},
    )


def _draw(draft: FigureDraft, number: int, cloud: Cloud, marks: Marks) -> None:
    """One panel: grounds, points, frontier, anchors, rings and words, and its axes' ranges."""
    across, up = ranges(cloud, marks)
    zero_left_out = up[0] > 0
    if marks.distortion:
        across = (across[1], across[0])
    # From here on everything is in the measures' own units; the axes' ranges turn losses the right way round.
    sx, sy = cloud.utility_sign, cloud.risk_sign
    across, up = (sx * across[0], sx * across[1]), (sy * up[0], sy * up[1])
    cloud = replace(
        cloud,
        loss=sx * cloud.loss,
        risk=sy * cloud.risk,
        bulk=None if cloud.bulk is None else (sx * cloud.bulk[0], sy * cloud.bulk[1], cloud.bulk[2]),
        interval=None if cloud.interval is None else (sy * cloud.interval[0], sy * cloud.interval[1]),
    )
    marks = replace(
        marks,
        original=(sx * marks.original[0], sy * marks.original[1]),
        bound=None if marks.bound is None else sy * marks.bound,
        slope=None if marks.slope is None else sx * sy * marks.slope,
    )
    panel = Panel(draft, number, cloud, marks, across, up)
    grounds(panel)
    alone = draft.panels == 1
    if cloud.bulk is not None:
        bins = BINS if alone else PANEL_BINS
        panel.trace(**trace(cloud.bulk[0], cloud.bulk[1], across, up, cloud.bulk_noun, bins=bins))
    _cloud(panel)
    words(panel)
    frontier(panel)
    anchors(panel)
    for row in marks.pins:
        ring(panel, row, PINNED, 19)
    if marks.optimum is not None:
        ring(panel, marks.optimum, RECOMMENDED, 24)
    flag_layer(panel)
    x, y = panel.axis("x"), panel.axis("y")
    plain: dict[str, Any] = {"zeroline": False, "showgrid": True}
    draft.axes[x.replace("x", "xaxis")] = {"range": list(across), "nticks": 8, "anchor": y, **plain}
    draft.axes[y.replace("y", "yaxis")] = {"range": list(up), "anchor": x, "domain": draft.domain(number), **plain}
    if marks.span != "zero" and alone:
        cut(panel, zero_left_out)


def _cloud(panel: Panel) -> None:
    """The points, a trace for all that look alike; what is muted lies behind, the frontier in front."""
    cloud = panel.cloud
    order = sorted(range(len(cloud.categories)), key=lambda group: group != cloud.muted)
    for on in (False, True):
        for group in order:
            for form in range(max(1, len(cloud.shapes))):
                same_look = (cloud.category == group) & (cloud.on == on)
                if cloud.shapes and cloud.shape is not None:
                    same_look = same_look & (cloud.shape == form)
                rows = np.flatnonzero(same_look)
                if len(rows):
                    panel.trace(**_points(panel, rows, group, on))


def _points(panel: Panel, rows: np.ndarray, group: int, on: bool) -> dict[str, Any]:
    """The trace of points that look alike."""
    cloud, marks = panel.cloud, panel.marks
    colour, shape = look_of(group) if group != cloud.muted else (QUIET, "circle")
    if cloud.shapes and cloud.shape is not None:
        shape = SHAPES[int(cloud.shape[rows[0]]) % len(SHAPES)]
    many = len(cloud.loss) > 2000
    size = (10 if on else 8) if not many else (8 if on else 4)
    faint = 0.35 if group == cloud.muted else 0.6 if many and not on else 1.0
    trace: dict[str, Any] = {
        "type": "scattergl" if len(cloud.loss) > WEBGL else "scatter",
        "x": sent(cloud.loss[rows]),
        "y": sent(cloud.risk[rows]),
        "customdata": sent(cloud.index[rows]),
        "mode": "markers",
        "name": cloud.categories[group],
        "marker": {
            "color": colour,
            "symbol": shape if on else shape + "-open",
            "size": size,
            "line": {"width": 1.5 if not on else 0},
            "opacity": faint,
        },
        # A click enlarges its point and leaves the others as they are.
        "selected": {"marker": {"size": 20}},
        "unselected": {"marker": {"opacity": faint}},
    }
    if len(cloud.hover):
        trace |= {"hovertext": [cloud.hover[i] for i in rows], "hovertemplate": "%{hovertext}<extra></extra>"}
    else:
        trace["hovertemplate"] = "%{x}, %{y}<extra></extra>"
    if marks.errors and on:
        for axis, errors in (("error_x", cloud.loss_se), ("error_y", cloud.risk_se)):
            values = np.nan_to_num(errors[rows])
            if values.any():
                trace[axis] = {"type": "data", "array": sent(values), "thickness": 1, "width": 2}
        if cloud.interval is not None:
            trace["error_y"] = _interval(panel, rows)
    if marks.selected is not None:
        selected = np.flatnonzero(rows == marks.selected)
        if len(selected):
            trace["selectedpoints"] = selected.tolist()
    return trace


def _interval(panel: Panel, rows: np.ndarray) -> dict[str, Any]:
    """Bars from end to end of the interval about each risk; one without an end leaves the drawing."""
    risk, (low, high) = panel.cloud.risk[rows], panel.risk_bars(rows)
    bars = {"array": sent(high - risk), "arrayminus": sent(risk - low), "symmetric": False}
    return {"type": "data", "thickness": 1, "width": 2, **bars}


_SIZE = 17  # letters are read from the end of a table
_PIXELS = (720.0, 400.0)
"""About how wide and high the drawing is in a window of 1280 pixels."""
_LETTER = 10.0
"""Pixels, about the width of a sign of that size."""


def board_map(findings: Findings, *, dark: bool) -> Figure:
    """Return the map: filled marks are within the limit, rings beyond it, the recommended candidate is a star."""
    import plotly.graph_objects as go

    model = board_model(findings, small=True)
    blue = "#56B4E9" if dark else COLOURS[0]
    edge = {"color": blue, "width": 1.5}
    parts = [
        _board_points(model, model.others, "other candidates", QUIET),
        _scatter(model.edge, "frontier", mode="lines", line=edge, showlegend=False),
        _board_points(model, model.frontier, "frontier", blue),
    ]
    if model.unprotected:
        marker = {"symbol": "diamond", "size": 14, "color": INK}
        hover = f"unprotected file: {figure(model.unprotected[1])}<extra></extra>"
        parts.append(
            _scatter([model.unprotected], "unprotected file", marker=marker, hovertemplate=hover, hoverinfo=None)
        )
    for recommended, name, colour in ((False, "lettered neighbours", blue), (True, "recommended", COLOURS[1])):
        marks = [mark for mark in model.marks if mark.recommended == recommended]
        parts.append(_lettered(findings, marks, name, colour))
    across, up = model.window(0.1) or ((0.0, 1.0), (0.0, 1.0))
    if model.limit is not None:
        dashed = {"color": INK, "width": 1.5, "dash": "dash"}
        ends = [(end, model.limit) for end in across]
        parts.append(_scatter(ends, bound_title(findings.map), mode="lines", line=dashed))
    drawing = go.Figure(parts)
    drawing.update_layout(
        height=540,
        margin={"l": 84, "r": 16, "t": 10, "b": 68},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        xaxis={"title": {"text": f"{model.across.title} — more useful →"}, "zeroline": False},
        yaxis={"title": {"text": f"{model.up.title} — riskier ↑"}, "zeroline": False},
    )
    drawing.update_xaxes(range=across[::-1] if model.across.better == "lower" else across)
    drawing.update_yaxes(range=up[::-1] if model.up.better == "higher" else up)
    _add_letters(drawing, model)
    return drawing


def _scatter(points: Sequence[Point], name: str, mode: str = "markers", **more: Any) -> dict[str, Any]:
    """Points of a map, as plotly's table of them."""
    x, y = [use for use, _ in points], [risk for _, risk in points]
    return {"type": "scatter", "x": x, "y": y, "name": name, "mode": mode, "hoverinfo": "skip", **more}


def _board_points(model: MapModel, points: Sequence[Point], name: str, colour: str) -> dict[str, Any]:
    symbols = ["circle" if model.meets(point) else "circle-open" for point in points]
    marker = {"symbol": symbols, "size": 8, "color": colour}
    # a mark at an edge is drawn whole
    return _scatter(points, name, marker=marker, cliponaxis=False, showlegend=bool(points))


def _lettered(findings: Findings, marks: Sequence[Mark], name: str, colour: str) -> dict[str, Any]:
    words = {candidate.letter: candidate.words for candidate in findings.map.candidates}
    star = name == "recommended"
    bars = {"color": colour, "thickness": 1.2}
    return _scatter(
        [mark.at for mark in marks],
        name,
        marker={
            "symbol": [f"{'star' if star else 'circle'}{'' if mark.within else '-open'}" for mark in marks],
            "size": 22 if star else 13,
            "color": colour,
            "line": {"width": [0 if mark.within else 2 for mark in marks]},
        },
        error_x={"array": [mark.bars[0] for mark in marks], **bars},
        error_y={"array": [mark.bars[1] for mark in marks], **bars},
        customdata=[drawn("<b>{}</b> {}", mark.letter, upper_first(words[mark.letter])) for mark in marks],
        hovertemplate="%{customdata}<extra></extra>",
        hoverinfo=None,
    )


def _add_letters(drawing: Figure, model: MapModel) -> None:
    """Write every letter beside its point, clear of other letters, points, bars and lines; marks that lie on each other
    share one label."""
    if not model.marks:
        return
    (left, right), (low, high) = drawing.layout.xaxis.range, drawing.layout.yaxis.range

    def share(points: Sequence[Point]) -> map_model.Places:
        values = np.array(points, float).reshape(-1, 2)
        return (values[:, 0] - left) / (right - left), (values[:, 1] - low) / (high - low)

    named = map_model.lettered(model, share, _PIXELS, 9.0)
    at = share([mark.at for _, mark in named])
    labels = [label for label, _ in named]
    offsets = flags(*at, labels, map_model.places_of(model, share), _PIXELS, sizes=(_LETTER, 24.0))
    for (label, mark), (right, above) in zip(named, offsets, strict=True):
        text = drawn("<b>{}</b>", label) if mark.recommended else label
        place = {"x": mark.at[0], "y": mark.at[1], "text": text, "standoff": 8}
        drawing.add_annotation(**place, **_on_a_line(right, above, _SIZE + 3 * mark.recommended))


def _on_a_line(right: float, above: float, size: int) -> dict[str, Any]:
    """Words at an offset in pixels, on a line from their point."""
    arrow = {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": QUIET}
    return {"ax": right, "ay": -above, **arrow, "font": {"size": size, "color": INK}}


def live_figure(
    frontier: LiveFrontier, risk: str, utility: str, signs: tuple[float, float], original: tuple[float, float]
) -> Figure:
    """Cloud and frontier of the mean losses so far, and doing nothing: risk upwards, utility to the right.

    ``signs`` turn losses back into values of the two measures, whose names are the titles of the axes.
    """
    on, scenarios = frontier.undominated, np.asarray(frontier.scenarios)
    many = len(on) > MANY
    shown = np.flatnonzero(on) if many else np.arange(len(on))
    unknown, one = np.full(len(shown), np.nan), np.zeros(len(shown), np.int64)
    points = Cloud(
        loss=frontier.losses[shown, 1],
        risk=frontier.losses[shown, 0],
        loss_se=unknown,
        risk_se=unknown,
        index=scenarios[shown],
        on=on[shown],
        category=one,
        categories=("candidates",),
        facet=one,
        facets=("",),
        hover=[],
        bulk=(frontier.losses[~on, 1], frontier.losses[~on, 0], np.zeros(int((~on).sum()), int)) if many else None,
        utility_sign=signs[1],
        risk_sign=signs[0],
    )
    nothing = (signs[1] * original[1], signs[0] * original[0])
    return risk_utility(points, Marks(nothing, f"{risk} — riskier ↑", f"{utility} — more useful →"))


def candidate_figure(view: RiskUtilityMap, look: Look, shown: Shown | None = None) -> Figure:
    """The map under a look."""
    shown = shown or Shown()
    points = cloud(view, look, sorted(shown.indices))
    figure_marks = marks(view, look, points, shown)
    return risk_utility(
        points, figure_marks if not look.highlight or look.drawn != "runs" else replace(figure_marks, legend="")
    )


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
    drawing = candidate_figure(view, look, Shown(optimum=picked))
    return drawing.update_layout(paper_bgcolor="white", plot_bgcolor="white")  # its ink is dark, notebooks may be too
