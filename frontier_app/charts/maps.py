"""The risk–utility map drawn by plotly: for exploring, for the board, while a sweep fills it, and for scripts.

Shape says the same as colour, and filled says "on the frontier" where hollow says "dominated".  Losses are drawn on a
reversed axis, so that useful is to the right and the tick labels stay the measure's own figures; on the board's map and
in the distortion view of Gomatam, Karr and Sanil (2005) they run forwards and the frontier is in the south-west.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.wording import upper_first
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.report import map_model
from engine.report.board_pictures import board_model
from engine.report.findings import Findings
from engine.report.map_model import Places, Point
from engine.report.words import bound_title, figure
from engine.study.map_reader import LiveFrontier
from frontier_app.charts.map_data import DRAWN, MANY, Cloud, Marks, Shown, cloud, colourings, marks, ranges
from frontier_app.charts.style import COLOURS, INK, MARGIN, QUIET, SHAPES, TOOLBAR, WEBGL, look_of, sent
from frontier_app.session.state import Look
from frontier_app.wording.markup import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_BINS, _PANEL_BINS = 120, 70
"""Columns and rows of the grid of a map alone, and of a panel, which is lower."""
_STEPS = 7
"""Shades of a density."""
_ORIGINAL = "unprotected file"
_RING = 11
"""Radius of a ring, pixels."""
LEGEND_ROW = 19
"""Height of a row of a legend, pixels."""
_RINGS = {"recommended": "star", "pinned": "square-open", "selected": "circle-open"}
_NARROW, _LETTER, _SIGN, _TITLE = 630, 6.5, 46, 30
"""Width for a legend in a window of 1280, of a letter, of the sign before an entry, and about the title, pixels."""


@dataclass(frozen=True)
class _Draft:
    """A figure in the making, as plotly's own tables: to build its objects one by one takes five times as long.

    ``panels`` are above each other, the first on top.
    """

    panels: int = 1
    traces: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    axes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def domain(self, panel: int) -> tuple[float, float]:
        """Bottom and top of a panel, as shares of the figure's height, 12 % of which are between all panels."""
        gap = 0.12 / max(1, self.panels - 1)
        high = (1 - gap * (self.panels - 1)) / self.panels
        top = 1 - panel * (high + gap)
        return max(0.0, top - high), top


@dataclass(frozen=True)
class _Panel:
    """A panel of a figure, by its number from the top: what is drawn, and its axes' ranges."""

    draft: _Draft
    number: int
    cloud: Cloud
    marks: Marks
    across: tuple[float, float]
    up: tuple[float, float]
    rows: Mapping[int, int]
    """Rows of the points by the places of their scenarios."""

    def axis(self, letter: str) -> str:
        """The panel's axis, ``x`` or ``y``, as plotly names it."""
        return letter + (str(self.number + 1) if self.number else "")

    def trace(self, **what: Any) -> None:
        """Draw points or lines that have no entry in the legend."""
        axes = {"xaxis": self.axis("x"), "yaxis": self.axis("y")}
        self.draft.traces.append({"type": "scatter", "showlegend": False, **axes, **what})

    def line(self, x: np.ndarray, y: np.ndarray, **look: Any) -> None:
        """Draw a line that tells nothing of its own."""
        self.trace(x=sent(x), y=sent(y), mode="lines", line={"width": 1.5, **look}, hoverinfo="skip")

    def note(self, x: float, y: float, text: str, **what: Any) -> None:
        """Write words at a place, without an arrow unless told."""
        axes = {"xref": self.axis("x"), "yref": self.axis("y")}
        self.draft.notes.append({"x": x, "y": y, "text": text, "showarrow": False, **axes, **what})

    def band(self, low: float, high: float, **what: Any) -> None:
        """Draw a line or a ground from side to side, behind the points."""
        axes = {"xref": f"{self.axis('x')} domain", "yref": self.axis("y")}
        kind = "line" if low == high else "rect"
        self.draft.shapes.append(
            {"type": kind, "x0": 0, "x1": 1, "y0": low, "y1": high, "layer": "below", **axes, **what}
        )

    def share(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Places as shares of the drawing's width and height."""
        (x0, x1), (y0, y1) = self.across, self.up
        return (x - x0) / (x1 - x0), (y - y0) / (y1 - y0)

    def scaled(self, rows: Any) -> tuple[Any, Any]:
        """Points as shares of the drawing's width and height."""
        return self.share(self.cloud.use[rows], self.cloud.risk[rows])

    def is_shown(self, risk: float) -> bool:
        """Whether a risk is on the axis."""
        return min(self.up) <= risk <= max(self.up)

    def risk_bars(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the bars about the risks of some points; a bar without an end leaves the drawing."""
        risk = self.cloud.risk[rows]
        if self.cloud.ends is None:
            half = np.zeros(len(rows)) if self.cloud.risk_se is None else np.nan_to_num(self.cloud.risk_se[rows])
            return risk - half, risk + half
        low, high = np.sort(self.cloud.ends[:, rows], axis=0)
        low = np.where(np.isinf(low), np.minimum(min(self.up), risk), low)
        return low, np.where(np.isinf(high), np.maximum(max(self.up), risk), high)


def _density(panel: _Panel, bulk: np.ndarray) -> None:
    """A heatmap of very many points in seven steps; what the filters leave out is grey.  Undefined points and those
    outside the ranges are left out."""
    bins = _BINS if panel.draft.panels == 1 else _PANEL_BINS
    known, lit = ~np.isnan(bulk[0] + bulk[1]), bulk[3] > 0
    frame = (sorted(panel.up), sorted(panel.across))
    most = 0
    for mask, colour in ((known & ~lit, QUIET), (known & lit, "#56B4E9" if panel.marks.dark else COLOURS[0])):
        if not mask.any():
            continue
        counts, ys, xs = np.histogram2d(bulk[1, mask], bulk[0, mask], bins, frame)
        most = int(counts.max())
        steps = np.ceil(_STEPS * np.log1p(counts) / np.log1p(most or 1))
        rgb = ",".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
        strength = (
            [0.16 + 0.8 * (k / (_STEPS - 1)) ** 1.3 for k in range(_STEPS)] if colour != QUIET else [0.13] * _STEPS
        )
        scale = [[(k + end) / _STEPS, f"rgba({rgb},{strength[k]:.2f})"] for k in range(_STEPS) for end in (0, 1)]
        panel.trace(
            type="heatmap",
            x=xs.tolist(),
            y=ys.tolist(),
            z=[[z or None for z in row] for row in steps.tolist()],
            customdata=counts.astype(int).tolist(),
            colorscale=scale,
            zmin=0.5,
            zmax=_STEPS + 0.5,
            showscale=False,
            hoverongaps=False,
            hovertemplate=f"%{{customdata:,.0f}} {panel.cloud.bulk_noun} here<extra></extra>",
        )
    if most:
        words = f"1 to {most:,} {panel.cloud.bulk_noun} a cell, pale to dark"
        corner = {"xref": f"{panel.axis('x')} domain", "yref": f"{panel.axis('y')} domain"}
        panel.note(0.01, 0.99, words, xanchor="left", yanchor="top", font={"size": 12, "color": INK}, **corner)


def _words(panel: _Panel, words: np.ndarray) -> None:
    """Words beside points, where they have room."""
    cloud = panel.cloud
    rows = np.flatnonzero(cloud.is_placed)
    sides = map_model.beside(*panel.scaled(rows), words[rows].tolist(), np.flatnonzero(cloud.on[rows]).tolist())
    shown = [(row, side) for row, side in zip(rows.tolist(), sides, strict=True) if side]
    if not shown:
        return
    at = [row for row, _ in shown]
    panel.trace(
        x=sent(cloud.use[at]),
        y=sent(cloud.risk[at]),
        # The unseen marker keeps its words off the point.
        mode="markers+text",
        marker={"size": 10, "opacity": 0},
        text=[drawn("<b>{}</b>", words[row]) if cloud.on[row] else words[row] for row in at],
        textposition=[side for _, side in shown],
        textfont={"size": 11, "color": QUIET},
        unselected={"marker": {"opacity": 0}, "textfont": {"color": QUIET}},
        hoverinfo="skip",
    )


def _flags(panel: _Panel) -> None:
    """Letters and names on short lines, each with room of its own."""
    marks, cloud = panel.marks, panel.cloud
    named = [index for index in dict.fromkeys((*marks.flags, *marks.pins)) if index in panel.rows]
    rows = np.array([panel.rows[index] for index in named], int)
    if not len(rows):
        return
    plain = [" ".join(names[index] for names in (marks.flags, marks.pins) if index in names) for index in named]
    across, above = panel.share(*marks.original)
    above += 0.04 if _original_side(panel).startswith("top") else -0.04
    # No label on the other words and lines: the unprotected file, how many are within, what is cut off, the bound.
    taken = [(across - 0.12, across + 0.12, above), (0.7, 1.0, 0.03), (0.0, 0.3, 0.97)]
    if marks.bound is not None:
        taken.append((0.0, 1.0, panel.share(0.0, marks.bound)[1]))
    lines = [(np.linspace(left, right, 60), np.full(60, height)) for left, right, height in taken]
    offsets = map_model.flags(*panel.scaled(rows), plain, map_model.joined([_drawn(panel), *lines]))
    for index, row, (dx, dy) in zip(named, rows.tolist(), offsets, strict=True):
        letter, name = marks.flags.get(index), marks.pins.get(index)
        bold = drawn("<b>{}</b>", letter) if letter else ""
        text = drawn("{} {}", bold, name) if letter and name else bold or name or ""
        panel.note(float(cloud.use[row]), float(cloud.risk[row]), text, standoff=6, **_on_a_line(dx, dy, 14))


def _on_a_line(right: float, above: float, size: int) -> dict[str, Any]:
    """Words at an offset in pixels, on a line from their point."""
    arrow = {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": QUIET}
    return {"ax": right, "ay": -above, **arrow, "font": {"size": size, "color": INK}}


def _drawn(panel: _Panel) -> Places:
    """Places, as shares of the drawing, of points, bars, the frontier's line and rings."""
    cloud, marks = panel.cloud, panel.marks
    x, y, on = cloud.use, cloud.risk, cloud.along_frontier
    corner = (x[on[:-1]], y[on[1:]])
    places = [
        (x[cloud.is_placed], y[cloud.is_placed]),
        map_model.on_lines((x[on[:-1]], y[on[:-1]]), corner),
        map_model.on_lines(corner, (x[on[1:]], y[on[1:]])),
    ]
    if marks.errors:
        low, high = panel.risk_bars(on)
        half = 0.0 if cloud.use_se is None else np.nan_to_num(cloud.use_se[on])
        places.append(map_model.on_lines((x[on], low), (x[on], high)))
        places.append(map_model.on_lines((x[on] - half, y[on]), (x[on] + half, y[on])))
    shares = [panel.share(*place) for place in places]
    ringed = (*marks.pins, *(() if marks.optimum is None else (marks.optimum,)))
    x, y = panel.scaled(np.array([panel.rows[index] for index in ringed if index in panel.rows], int))
    turn = np.linspace(0, 2 * np.pi, 8, endpoint=False)[:, None]
    wide, tall = map_model.SIZE
    shares.append((np.ravel(x + _RING / wide * np.cos(turn)), np.ravel(y + _RING / tall * np.sin(turn))))
    return map_model.joined(shares)


def _anchors(panel: _Panel) -> None:
    """The unprotected file."""
    use, risk = panel.marks.original
    panel.trace(
        x=[use],
        y=[risk],
        mode="markers+text",
        text=[_ORIGINAL],
        textposition=_original_side(panel),
        textfont={"color": INK},
        unselected={"marker": {"opacity": 1}, "textfont": {"color": INK}},
        marker={"symbol": "diamond", "size": 13, "color": INK},
        hovertemplate=f"<b>unprotected file</b><br>risk {_told(panel, risk)}, nothing changed<extra></extra>",
    )


def _told(panel: _Panel, risk: float) -> str:
    """A risk in digits, in percent where the axis is."""
    return f"{100 * risk:.3g} %" if panel.marks.shares[1] else f"{risk:.4g}"


def _original_side(panel: _Panel) -> str:
    """The side on which the words of doing nothing stand: the one that covers fewest candidates."""
    places = [_drawn(panel)]
    if panel.cloud.bulk is not None:
        places.append(panel.share(*panel.cloud.bulk[:2]))
    sides = ("top left", "bottom left") if not panel.marks.distortion else ("top right", "bottom right")
    return map_model.emptiest(panel.share(*panel.marks.original), _ORIGINAL, map_model.joined(places), sides)


def _grounds(panel: _Panel) -> None:
    """Behind the points: the risk of the unprotected file, the limit with the ground of what is within it, a range that
    was selected, and a straight trade-off."""
    cloud, marks, up, sign = panel.cloud, panel.marks, panel.up, panel.cloud.signs[1]
    risk = marks.original[1]
    right = {"xref": f"{panel.axis('x')} domain", "xanchor": "right", "align": "right", "yanchor": "bottom"}
    panel.band(risk, risk, line={"color": QUIET, "width": 1, "dash": "dot"})
    with np.errstate(invalid="ignore"):
        riskier = any(
            (sign * (shown - risk) > 0).any()
            for shown in (cloud.risk, *([] if cloud.bulk is None else [cloud.bulk[1]]))
        )
    if riskier and sign * (up[1] - risk) > 0:
        panel.band(risk, up[1], fillcolor=QUIET, opacity=0.09, line={"width": 0})
        at = max(risk, min(up)) if sign > 0 else min(risk, max(up))
        panel.note(0.0, at, "riskier than unprotected ↑", **{**right, "xanchor": "left"}, font={"color": INK})
    dashed: dict[str, Any] = {"color": COLOURS[1], "width": 1.5, "dash": "dash"}
    if marks.bound is not None:
        panel.band(marks.bound, marks.bound, line=dashed)
        if panel.is_shown(marks.bound):
            panel.band(up[0], marks.bound, fillcolor=COLOURS[0], opacity=0.06, line={"width": 0})
            text = drawn("<b>limit {}</b>", _told(panel, marks.bound))
            panel.note(1.0, marks.bound, text, **right, font={"color": INK})
    if marks.within:
        panel.note(1.0, up[0], drawn("<b>{}</b>", marks.within), **right, font={"color": INK})
    if marks.box is not None:
        x0, x1, y0, y1 = marks.box
        axes = {"xref": panel.axis("x"), "yref": panel.axis("y")}
        edge = {"color": INK, "width": 1.5, "dash": "dash"}
        panel.draft.shapes.append({"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": edge, **axes})
    row = panel.rows.get(-1 if marks.optimum is None else marks.optimum)
    if marks.slope is not None and row is not None:
        ends = np.array(panel.across)
        panel.line(ends, float(cloud.risk[row]) - marks.slope * (ends - float(cloud.use[row])), **dashed)


def _ring(panel: _Panel, index: int, name: str, size: int) -> None:
    """A star on a point, or a ring about it."""
    if (row := panel.rows.get(index)) is None:
        return
    marker = {"symbol": _RINGS[name], "size": size, "color": INK, "line": {"width": 2.5}}
    if name == "recommended":
        marker |= {"color": COLOURS[1], "line": {"width": 1, "color": "white"}}
    halo = {"hoverinfo": "skip", "unselected": {"marker": {"opacity": 1}}, "mode": "markers"}
    if name == "selected":
        white = {**marker, "color": "white", "line": {"width": 7, "color": "white"}}
        panel.trace(x=[panel.cloud.use[row]], y=[panel.cloud.risk[row]], marker=white, **halo)
    at = {"x": [panel.cloud.use[row]], "y": [panel.cloud.risk[row]]}
    panel.trace(**at, marker=marker, **halo)


def _legends(draft: _Draft, cloud: Cloud, marks: Marks) -> int:
    """Add the legends of colours, shapes and rings; return how many rows they take where the window is narrow."""
    if marks.legend is None:
        return 1
    mixed = bool(cloud.shapes)
    entries = []
    for group in np.unique(cloud.category).tolist():
        colour, own = look_of(group) if group != cloud.muted else (QUIET, "circle-open")
        entries.append((cloud.categories[group], colour, "circle" if mixed else own))
    entries += [(name, QUIET, SHAPES[form % len(SHAPES)]) for form, name in enumerate(cloud.shapes)]
    entries.append(("filled: frontier" if mixed else "frontier", QUIET, "circle"))
    if cloud.bulk is None:
        entries.append(("hollow: dominated" if mixed else "dominated", QUIET, "circle-open"))
    colours = {"recommended": COLOURS[1], "pinned": INK}
    rings = {"recommended": marks.optimum is not None and draft.panels == 1, "pinned": bool(marks.pins)}
    entries += [(name, colours[name], _RINGS[name]) for name, is_drawn in rings.items() if is_drawn]
    for label, colour, shape in entries:
        marker: dict[str, Any] = {"color": colour, "symbol": shape, "size": 9}
        if label in _RINGS:
            marker |= {"size": 13, "line": {"width": 2}}
        nowhere = {"x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip"}
        draft.traces.append({"type": "scatter", "marker": marker, "name": label, **nowhere})
    widths = [_SIGN + _LETTER * len(label) for label, _, _ in entries]
    room = _NARROW - (_TITLE + _LETTER * len(marks.legend) if marks.legend else 0)
    if sum(widths) <= room:
        return 1
    return -(-len(widths) // max(1, int(room // max(widths))))  # in several rows all entries are as wide as the widest


def _cut(panel: _Panel) -> None:
    """Say what the axes leave out: a part of an axis dramatises."""
    (x, y), across = panel.marks.original, panel.across
    original_outside = not (min(across) <= x <= max(across) and panel.is_shown(y))
    no_zero = panel.cloud.signs[1] * panel.up[0] > 0
    left_out = ["unprotected is outside"] * original_outside + ["risk does not start at zero"] * no_zero
    if left_out:
        text = drawn("<b>{}</b>{}", "zoomed in: " if panel.marks.span == "frontier" else "", ", ".join(left_out))
        left = not panel.marks.distortion
        side = "left" if left else "right"
        panel.note(float(not left), 0.01, text, xref="paper", yref="paper", xanchor=side, yanchor="bottom")


def risk_utility(cloud: Cloud, marks: Marks) -> Figure:
    """The risk–utility map: utility to the right, risk upwards."""
    from plotly.graph_objects import Figure

    draft = _Draft(len(cloud.facets))
    alone = draft.panels == 1
    for number, title in enumerate(cloud.facets):
        _draw(draft, number, cloud if alone else cloud.panel(number), marks)
        if not alone:
            at = {"x": 0.5, "y": draft.domain(number)[1], "xref": "paper", "yref": "paper", "xanchor": "center"}
            draft.notes.append({"text": title, "yanchor": "bottom", "showarrow": False, "font": {"size": 14}, **at})
    more = LEGEND_ROW * (_legends(draft, cloud, marks) - 1)
    middle, last = (str(number + 1) if number else "" for number in ((draft.panels - 1) // 2, draft.panels - 1))
    if alone:  # above the axis, where it is read without turning the head
        above = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "xshift": -44, "yshift": 4}
        draft.notes.append({"x": 0, "y": 1, "text": marks.risk_title, "showarrow": False, "align": "left", **above})
    else:
        draft.axes[f"yaxis{middle}"]["title"] = {"text": marks.risk_title}
    draft.axes[f"xaxis{last}"]["title"] = {"text": marks.utility_title}
    high = 300 * draft.panels
    layout = {
        "height": (marks.height if alone else 110 + high) + TOOLBAR + more,
        "margin": {
            **MARGIN,
            **({"l": 62} if alone else {}),
            "t": TOOLBAR + (0 if marks.legend is None else 32 if alone else 62) + more,
        },
        "legend": {
            "title": {"text": f"{marks.legend}:  " if marks.legend else "", "side": "left"},
            "orientation": "h",
            "y": 1.07 if alone else 1 + 40 / (40 + high),
            "yanchor": "bottom",
            "x": 0,
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "hoverlabel": {"align": "left"},
        "uirevision": "map",
        "annotations": draft.notes,
        "shapes": draft.shapes,
    }
    return Figure({"data": draft.traces, "layout": draft.axes | layout})


def _draw(draft: _Draft, number: int, cloud: Cloud, marks: Marks) -> None:
    """One panel: grounds, points, frontier, anchors, rings and words, and its axes' ranges."""
    places = {index: row for row, index in enumerate(cloud.index.tolist())}
    panel = _Panel(draft, number, cloud, marks, *ranges(cloud, marks), places)
    _grounds(panel)
    if cloud.bulk is not None:
        _density(panel, cloud.bulk)
    # a trace for all points that look alike; what is muted or filtered lies behind, the frontier in front
    groups = sorted(range(len(cloud.categories)), key=lambda group: group != cloud.muted)
    is_lit = np.ones(len(cloud.on), bool) if cloud.lit is None else cloud.lit
    for lit, on, group, form in product((False, True), (False, True), groups, range(max(1, len(cloud.shapes)))):
        has_form = cloud.shape == form if cloud.shapes else True
        rows = np.flatnonzero((cloud.category == group) & (cloud.on == on) & (is_lit == lit) & has_form)
        if len(rows):
            panel.trace(**_points(panel, rows, group, on, faded=not lit))
    if cloud.words is not None:
        _words(panel, cloud.words)
    if len(edge := cloud.along_frontier) > 1:  # the edge of what the candidates on it dominate
        if cloud.bulk is not None:
            panel.line(cloud.use[edge], cloud.risk[edge], color="rgba(255,255,255,0.9)", shape="vh", width=5)
        colour = INK if cloud.bulk is not None else QUIET
        panel.line(cloud.use[edge], cloud.risk[edge], color=colour, shape="vh", width=2)
    _anchors(panel)
    for index in marks.pins:
        _ring(panel, index, "pinned", 19)
    if marks.selected is not None and cloud.bulk is not None:  # unmistakable among very many
        _ring(panel, marks.selected, "selected", 34)
    if marks.optimum is not None:
        _ring(panel, marks.optimum, "recommended", 19)
    _flags(panel)
    x, y = panel.axis("x"), panel.axis("y")
    plain: dict[str, Any] = {"zeroline": False, "showgrid": True}
    draft.axes[x.replace("x", "xaxis")] = {"range": list(panel.across), "nticks": 8, "anchor": y, **plain}
    for axis, is_share in zip((x.replace("x", "xaxis"), y.replace("y", "yaxis")), marks.shares, strict=True):
        if is_share:
            draft.axes[axis] = draft.axes.get(axis, {}) | {"tickformat": "~%"}
    draft.axes[y.replace("y", "yaxis")] = draft.axes.get(y.replace("y", "yaxis"), {}) | {
        "range": list(panel.up),
        "anchor": x,
        "domain": draft.domain(number),
        **plain,
    }
    if marks.span != "zero" and draft.panels == 1:
        _cut(panel)


def _points(panel: _Panel, rows: np.ndarray, group: int, on: bool, *, faded: bool) -> dict[str, Any]:
    """The trace of points that look alike."""
    cloud, marks = panel.cloud, panel.marks
    colour, shape = look_of(group) if group != cloud.muted else (QUIET, "circle")
    if cloud.shapes and cloud.shape is not None:
        shape = SHAPES[int(cloud.shape[rows[0]]) % len(SHAPES)]
    many = len(cloud.use) > 2000
    size = (10 if on else 8) if not many else (8 if on else 4)
    if cloud.bulk is not None:
        size = 6
    faint = 0.35 if group == cloud.muted and cloud.filled is None else 0.6 if many and not on else 1.0
    symbols: Any = shape if on else shape + "-open"
    if cloud.filled is not None:
        symbols = [shape if filled else shape + "-open" for filled in cloud.filled[rows].tolist()]
    faint = 0.15 if faded else faint
    trace: dict[str, Any] = {
        "type": "scattergl" if len(cloud.use) > WEBGL else "scatter",
        "x": sent(cloud.use[rows]),
        "y": sent(cloud.risk[rows]),
        "customdata": sent(cloud.index[rows]),
        "mode": "markers",
        "name": cloud.categories[group],
        "marker": {
            "color": colour,
            "symbol": symbols,
            "size": size,
            "line": {"width": 1.5 if not on or cloud.filled is not None else 0, "color": colour},
            "opacity": faint,
        },
        # A click enlarges its point and leaves the others as they are.
        "selected": {"marker": {"size": 24, "color": COLOURS[1], "opacity": 1}},
        "unselected": {"marker": {"opacity": faint}},
        "hovertemplate": "%{x}, %{y}<extra></extra>" if cloud.hover is None else "%{hovertext}<extra></extra>",
    }
    if cloud.hover is not None:
        trace["hovertext"] = cloud.hover[rows].tolist()
    if marks.errors and on:
        bars = {"type": "data", "thickness": 1, "width": 2}
        for axis, errors in (("error_x", cloud.use_se), ("error_y", cloud.risk_se)):
            if errors is not None and (values := np.nan_to_num(errors[rows])).any():
                trace[axis] = {**bars, "array": sent(values)}
        if cloud.ends is not None:
            risk, (low, high) = cloud.risk[rows], panel.risk_bars(rows)
            trace["error_y"] = {**bars, "array": sent(high - risk), "arrayminus": sent(risk - low), "symmetric": False}
    if marks.selected is not None and (selected := np.flatnonzero(cloud.index[rows] == marks.selected)).size:
        trace["selectedpoints"] = selected.tolist()
    return trace


def board_map(findings: Findings, *, dark: bool) -> Figure:
    """Return the map: filled marks are within the limit, rings beyond it, the recommended candidate is a star."""
    from plotly.graph_objects import Figure

    model = board_model(findings, small=True)
    blue = "#56B4E9" if dark else COLOURS[0]

    def points(points: Sequence[Point], name: str, mode: str = "markers", **more: Any) -> dict[str, Any]:
        x, y = [use for use, _ in points], [risk for _, risk in points]
        return {"type": "scatter", "x": x, "y": y, "name": name, "mode": mode, "hoverinfo": "skip", **more}

    def dots(at: Sequence[Point], name: str, colour: str) -> dict[str, Any]:
        symbols = ["circle" if model.meets(point) else "circle-open" for point in at]
        marker = {"symbol": symbols, "size": 8, "color": colour}
        return points(at, name, marker=marker, cliponaxis=False, showlegend=bool(at))  # whole, also at an edge

    edge = {"color": blue, "width": 1.5}
    traces = [
        dots(model.others, "other candidates", QUIET),
        points(model.edge, "frontier", mode="lines", line=edge, showlegend=False),
        dots(model.frontier, "frontier", blue),
    ]
    if model.unprotected:
        marker = {"symbol": "diamond", "size": 14, "color": INK}
        hover = f"unprotected file: {figure(model.unprotected[1])}<extra></extra>"
        told: dict[str, Any] = {"hovertemplate": hover, "hoverinfo": None}
        traces.append(points([model.unprotected], "unprotected file", marker=marker, **told))
    words = {candidate.letter: candidate.words for candidate in findings.map.candidates}
    for star, name, colour in ((False, "lettered neighbours", blue), (True, "recommended", COLOURS[1])):
        own = [mark for mark in model.marks if mark.recommended == star]
        bars = {"color": colour, "thickness": 1.2}
        marker = {
            "symbol": [f"{'star' if star else 'circle'}{'' if mark.within else '-open'}" for mark in own],
            "size": 22 if star else 13,
            "color": colour,
            "line": {"width": [0 if mark.within else 2 for mark in own]},
        }
        told = {
            "customdata": [drawn("<b>{}</b> {}", mark.letter, upper_first(words[mark.letter])) for mark in own],
            "hovertemplate": "%{customdata}<extra></extra>",
            "hoverinfo": None,
        }
        errors: dict[str, Any] = {
            axis: {"array": [mark.bars[k] for mark in own], **bars} for k, axis in enumerate(("error_x", "error_y"))
        }
        traces.append(points([mark.at for mark in own], name, marker=marker, **errors, **told))
    across, up = model.window(0.1) or ((0.0, 1.0), (0.0, 1.0))
    if model.limit is not None:
        dashed = {"color": INK, "width": 1.5, "dash": "dash"}
        ends = [(end, model.limit) for end in across]
        traces.append(points(ends, bound_title(findings.map), mode="lines", line=dashed))
    left, right = across
    low, high = up[::-1] if model.up.better == "higher" else up

    def share(points: Sequence[Point]) -> Places:
        values = np.array(points, float).reshape(-1, 2)
        return (values[:, 0] - left) / (right - left), (values[:, 1] - low) / (high - low)

    pixels = (720.0, 400.0)  # about the size of the drawing in a window of 1280
    named = map_model.lettered(model, share, pixels, 9.0)
    at = share([mark.at for _, mark in named])
    sizes = (10.0, 24.0)  # letters are read from the end of a table
    offsets = map_model.flags(
        *at, [label for label, _ in named], map_model.places_of(model, share), pixels, sizes=sizes
    )
    notes = []
    for (label, mark), (dx, dy) in zip(named, offsets, strict=True):
        text = drawn("<b>{}</b>", label) if mark.recommended else label
        place = {"x": mark.at[0], "y": mark.at[1], "text": text, "standoff": 8}
        notes.append({**place, **_on_a_line(dx, dy, 17 + 3 * mark.recommended)})
    layout = {
        "height": 540,
        "margin": {"l": 84, "r": 16, "t": 10, "b": 68},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        "xaxis": {"title": {"text": model.across.with_use}, "zeroline": False, "range": (left, right)},
        "yaxis": {"title": {"text": f"{model.up.title} — riskier ↑"}, "zeroline": False, "range": (low, high)},
        "annotations": notes,
    }
    return Figure({"data": traces, "layout": layout})


def live_figure(
    frontier: LiveFrontier, risk: str, utility: str, signs: tuple[float, float], original: tuple[float, float]
) -> Figure:
    """Cloud and frontier of the mean losses so far, and doing nothing: risk upwards, utility to the right.

    ``signs`` turn losses back into values of the two measures, whose names are the titles of the axes.
    """
    on, (risks, uses) = (
        frontier.undominated,
        (sign * losses for sign, losses in zip(signs, frontier.losses.T, strict=True)),
    )
    many = len(on) > MANY
    shown = np.flatnonzero(on) if many else np.arange(len(on))
    points = Cloud(
        use=uses[shown],
        risk=risks[shown],
        index=np.asarray(frontier.scenarios)[shown],
        on=on[shown],
        category=np.zeros(len(shown), np.int64),
        categories=("candidates",),
        bulk=np.array([uses[~on], risks[~on], *np.outer([0, 1], np.ones(int((~on).sum())))]) if many else None,
        signs=signs[::-1],
    )
    nothing = (signs[1] * original[1], signs[0] * original[0])
    return risk_utility(points, Marks(nothing, f"{risk} — riskier ↑", f"{utility} — more useful →"))


def candidate_figure(view: RiskUtilityMap, look: Look, shown: Shown | None = None) -> Figure:
    """The map under a look."""
    shown = shown or Shown()
    points = cloud(view, look, sorted(shown.indices), shown.lit)
    return risk_utility(points, marks(view, look, points, shown))


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
