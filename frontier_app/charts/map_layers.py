"""Layers of a risk–utility map besides its points: labels, lines, anchors, rings, the legend."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.report import map_model
from frontier_app.charts.map_data import Cloud, FigureDraft, Marks, Panel
from frontier_app.charts.style import COLOURS, INK, QUIET, SHAPES, look_of, sent
from frontier_app.wording.figure_text import drawn, stacked

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


def flags(panel: Panel) -> None:
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
        panel.note(
            float(panel.cloud.loss[row]),
            float(panel.cloud.risk[row]),
            text,
            ax=dx,
            ay=-dy,
            showarrow=True,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=QUIET,
            standoff=6,
            font={"size": 14, "color": INK},
        )


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
