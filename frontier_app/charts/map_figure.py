"""Draw the risk–utility map from arrays.

Shape says the same as colour, and filled says "on the frontier" where hollow says "dominated".  Losses are drawn on a
reversed axis, so that useful is to the right and the tick labels stay the measure's own figures; in the distortion view
of Gomatam, Karr and Sanil (2005) they run forwards and the frontier is in the south-west.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app.charts import density, map_layers
from frontier_app.charts.map_data import Cloud, FigureDraft, Marks, Panel, ranges
from frontier_app.charts.style import LINE_WORDS, MARGIN, QUIET, SHAPES, TOOLBAR, WEBGL, look_of, sent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def risk_utility(cloud: Cloud, marks: Marks) -> Figure:
    """The risk–utility map: utility to the right, risk upwards."""
    draft = FigureDraft(len(cloud.facets))
    alone = draft.panels == 1
    for number, title in enumerate(cloud.facets):
        part, own = (cloud, marks) if alone else (_panel(cloud, number), _rows_of(marks, cloud, number))
        _draw(draft, number, part, own)
        if not alone:
            _titled(draft, number, title)
    more = map_layers.LEGEND_ROW * (map_layers.legends(draft, cloud, marks) - 1)
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
    map_layers.grounds(panel)
    alone = draft.panels == 1
    if cloud.bulk is not None:
        bins = density.BINS if alone else density.PANEL_BINS
        panel.trace(**density.trace(cloud.bulk[0], cloud.bulk[1], across, up, cloud.bulk_noun, bins=bins))
    _cloud(panel)
    map_layers.words(panel)
    map_layers.frontier(panel)
    map_layers.anchors(panel)
    for row in marks.pins:
        map_layers.ring(panel, row, map_layers.PINNED, 19)
    if marks.optimum is not None:
        map_layers.ring(panel, marks.optimum, map_layers.RECOMMENDED, 24)
    map_layers.flags(panel)
    x, y = panel.axis("x"), panel.axis("y")
    plain: dict[str, Any] = {"zeroline": False, "showgrid": True}
    draft.axes[x.replace("x", "xaxis")] = {"range": list(across), "nticks": 8, "anchor": y, **plain}
    draft.axes[y.replace("y", "yaxis")] = {"range": list(up), "anchor": x, "domain": draft.domain(number), **plain}
    if marks.span != "zero" and alone:
        map_layers.cut(panel, zero_left_out)


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
