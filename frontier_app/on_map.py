"""What stands on a risk–utility map besides its points: words, lines, anchors, rings, the legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app import placing
from frontier_app.charts import COLOURS, INK, QUIET, SHAPES, look_of, sent
from frontier_app.sheet import Cloud, Marks, Sheet

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


LEGEND_ROW = 19
"""Height of a row of a legend, pixels."""
_NARROW, _LETTER, _SIGN = 455, 6.5, 44
"""Width of a map in a window of 1280, of a letter, and of the sign before the words of an entry, pixels."""


def words(sheet: Sheet, at: dict[str, int]) -> None:
    """Words beside points, where they have room."""
    import plotly.graph_objects as go

    cloud = sheet.cloud
    if not len(cloud.words):
        return
    rows = np.flatnonzero(~np.isnan(cloud.loss) & ~np.isnan(cloud.risk))
    texts = [cloud.words[i] for i in rows.tolist()]
    sides = placing.beside(*sheet.scaled(rows), texts, np.flatnonzero(cloud.on[rows]).tolist())
    shown = [i for i, side in enumerate(sides) if side]
    if not shown:
        return
    sheet.figure.add_trace(
        go.Scatter(
            x=sent(cloud.loss[rows[shown]]),
            y=sent(cloud.risk[rows[shown]]),
            # The unseen marker keeps its words off the point.
            mode="markers+text",
            marker={"size": 10, "opacity": 0},
            text=[f"<b>{texts[i]}</b>" if cloud.on[rows[i]] else texts[i] for i in shown],
            textposition=[sides[i] for i in shown],
            textfont={"size": 11, "color": QUIET},
            unselected={"marker": {"opacity": 0}, "textfont": {"color": QUIET}},
            hoverinfo="skip",
            showlegend=False,
        ),
        **at,
    )


def frontier(sheet: Sheet, at: dict[str, int]) -> None:
    """The frontier as a staircase: the edge of what the candidates on it dominate."""
    import plotly.graph_objects as go

    cloud = sheet.cloud
    on = np.flatnonzero(cloud.on)
    if len(on) < 2:
        return
    on = on[np.lexsort((-cloud.utility_sign * cloud.loss[on], cloud.risk_sign * cloud.risk[on]))]
    line = {"color": QUIET, "width": 1.5, "shape": "vh"}
    sheet.figure.add_trace(
        go.Scatter(
            x=sent(cloud.loss[on]), y=sent(cloud.risk[on]), mode="lines", line=line, hoverinfo="skip", showlegend=False
        ),
        **at,
    )


def flags(sheet: Sheet, at: dict[str, int]) -> None:
    """Letters and names on short lines, each with room of its own."""
    named = {row: f"<b>{text}</b>" for row, text in sheet.marks.flags.items()}
    for row, text in sheet.marks.pins.items():
        named[row] = f"{named[row]} {text}" if row in named else text
    if not named:
        return
    rows = np.array(list(named))
    plain = [text.replace("<b>", "").replace("</b>", "") for text in named.values()]
    around = np.flatnonzero(~np.isnan(sheet.cloud.loss) & ~np.isnan(sheet.cloud.risk))
    ox, oy = sheet.scaled(around)
    (x0, x1), (y0, y1) = sheet.across, sheet.up
    known = (sheet.marks.original[0] - x0) / (x1 - x0), (sheet.marks.original[1] - y0) / (y1 - y0)
    # No label on the other words and lines: doing nothing, no release, what is cut off, the bound.
    words = [(known[0] - 0.12, known[0] + 0.12, known[1] + 0.04), (0.0, 0.5, 0.045), (0.6, 1.0, 0.03)]
    if sheet.marks.bound is not None:
        line = (sheet.marks.bound - y0) / (y1 - y0)
        words += [(0.0, 1.0, line), (0.0, 0.5, line - 0.04)]
    for left, right, height in words:
        ox, oy = np.append(ox, np.linspace(left, right, 60)), np.append(oy, np.full(60, height))
    offsets = placing.flags(*sheet.scaled(rows), plain, (ox, oy))
    for row, text, (dx, dy) in zip(rows.tolist(), named.values(), offsets, strict=True):
        sheet.figure.add_annotation(
            x=float(sheet.cloud.loss[row]),
            y=float(sheet.cloud.risk[row]),
            ax=dx,
            ay=-dy,
            text=text,
            showarrow=True,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=QUIET,
            standoff=6,
            font={"size": 14, "color": INK},
            **at,
        )


def anchors(sheet: Sheet, at: dict[str, int]) -> None:
    """Doing nothing and releasing nothing."""
    import plotly.graph_objects as go

    marks, across, up = sheet.marks, sheet.across, sheet.up
    loss, risk = marks.original
    share = 0.025 if not marks.distortion else 0.975
    no_use = across[0] + share * (across[1] - across[0])
    below = marks.span != "zero" or up[1] < up[0]  # a turned measure has no figure for no risk
    label = "no release (no risk, below ↓)" if below else "no release"
    anchors = [
        (
            loss,
            risk,
            "triangle-up",
            "original data",
            "top center" if not marks.distortion else "top right",
            f"<b>original data (do nothing)</b><br>risk {risk:.4g}, nothing changed",
        )
    ]
    if marks.span != "frontier":
        anchors.append(
            (
                no_use,
                up[0] + 0.045 * (up[1] - up[0]) if below else 0.0,
                "square",
                label,
                "middle right" if not marks.distortion else "middle left",
                "<b>no release</b><br>no risk and no use; where it stands is a matter of drawing",
            )
        )
    for x, y, symbol, text, side, words in anchors:
        sheet.figure.add_trace(
            go.Scatter(
                x=[x],
                y=[y],
                mode="markers+text",
                text=[text],
                textposition=side,
                textfont={"color": QUIET},
                unselected={"marker": {"opacity": 1}, "textfont": {"color": QUIET}},
                marker={"symbol": symbol, "size": 14, "color": QUIET},
                hovertemplate=words + "<extra></extra>",
                showlegend=False,
            ),
            **at,
        )


def grounds(sheet: Sheet, at: dict[str, int]) -> None:
    """Lines behind the points: the risk of doing nothing, the largest tolerable risk, and a straight trade-off."""
    figure, cloud, marks, across, up = sheet.figure, sheet.cloud, sheet.marks, sheet.across, sheet.up
    risk = marks.original[1]
    behind: dict[str, Any] = {"layer": "below", "exclude_empty_subplots": False, **at}
    note: dict[str, Any] = {"x": across[0], "showarrow": False, "xanchor": "left", **at}
    figure.add_hline(y=risk, line={"color": QUIET, "width": 1, "dash": "dot"}, **behind)
    shown = cloud.risk if cloud.bulk is None else np.append(cloud.risk, cloud.bulk[1])
    with np.errstate(invalid="ignore"):
        riskier = bool((cloud.risk_sign * (shown - risk) > 0).any())
    if riskier and cloud.risk_sign * (up[1] - risk) > 0:
        figure.add_hrect(y0=risk, y1=up[1], fillcolor=QUIET, opacity=0.09, line_width=0, **behind)
        y = risk if min(up) <= risk <= max(up) else up[0]
        figure.add_annotation(y=y, text="riskier than doing nothing", yanchor="bottom", **note)
    if marks.bound is not None:
        figure.add_hline(y=marks.bound, line={"color": COLOURS[1], "width": 1.5, "dash": "dash"}, **behind)
        if min(up) <= marks.bound <= max(up):
            text = f"maximum tolerable risk α = {marks.bound:.4g}"
            low = (marks.bound - up[0]) / (up[1] - up[0]) < 0.15  # the words of no release stand there
            figure.add_annotation(y=marks.bound, text=text, yanchor="bottom" if low else "top", **note)
    if marks.slope is not None and marks.optimum is not None:
        _straight(sheet, at)


def _straight(sheet: Sheet, at: dict[str, int]) -> None:
    """The straight trade-off through the candidate that it favours."""
    import plotly.graph_objects as go

    marks = sheet.marks
    assert marks.slope is not None and marks.optimum is not None
    x, y = float(sheet.cloud.loss[marks.optimum]), float(sheet.cloud.risk[marks.optimum])
    ends = np.array(sheet.across)
    line = {"color": COLOURS[1], "width": 1.5, "dash": "dash"}
    sheet.figure.add_trace(
        go.Scatter(
            x=sent(ends),
            y=sent(y - marks.slope * (ends - x)),
            mode="lines",
            line=line,
            hoverinfo="skip",
            showlegend=False,
        ),
        **at,
    )


def ring(sheet: Sheet, row: int, colour: str, size: int, at: dict[str, int]) -> None:
    import plotly.graph_objects as go

    x, y = sheet.cloud.loss[row], sheet.cloud.risk[row]
    marker = {"symbol": "circle-open", "size": size, "color": colour, "line": {"width": 2.5}}
    same = {"marker": {"opacity": 1}}
    sheet.figure.add_trace(
        go.Scatter(x=[x], y=[y], mode="markers", marker=marker, unselected=same, hoverinfo="skip", showlegend=False),
        **at,
    )


def legends(figure: Figure, cloud: Cloud, marks: Marks, n: int) -> int:
    """What colours, shapes and rings mean; returns how many rows that takes where the window is narrow."""
    import plotly.graph_objects as go

    widths: list[float] = []

    def entry(label: str, colour: str, shape: str) -> None:
        widths.append(_SIGN + _LETTER * len(label))
        marker: dict[str, Any] = {"color": colour, "symbol": shape, "size": 9}
        if label in ("recommended", "pinned"):
            marker |= {"size": 13, "line": {"width": 2}}
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, hoverinfo="skip"))

    for group in np.unique(cloud.category).tolist():
        colour, own = look_of(group) if group != cloud.muted else (QUIET, "circle-open")
        entry(cloud.categories[group], colour, "circle" if cloud.shapes else own)
    for form, name in enumerate(cloud.shapes):
        entry(name, QUIET, SHAPES[form % len(SHAPES)])
    entry("filled: frontier" if cloud.shapes else "frontier", QUIET, "circle")
    if cloud.bulk is None:
        entry("hollow: dominated" if cloud.shapes else "dominated", QUIET, "circle-open")
    if marks.optimum is not None and n == 1:
        entry("recommended", INK, "circle-open")
    if marks.pins:
        entry("pinned", COLOURS[3], "circle-open")
    room = _NARROW - _LETTER * len(marks.legend)
    if sum(widths) <= room:
        return 1
    return -(-len(widths) // max(1, int(room // max(widths))))  # in several rows all entries are as wide as the widest


def cut(sheet: Sheet, zero_left_out: bool) -> None:
    """Say what the axes leave out: a part of an axis dramatises."""
    (x, y), across, up = sheet.marks.original, sheet.across, sheet.up
    out = not (min(across) <= x <= max(across) and min(up) <= y <= max(up))
    words = ["doing nothing is outside"] * out + ["risk does not start at zero"] * zero_left_out
    if words:
        text = f"<b>{'zoomed in: ' if sheet.marks.span == 'frontier' else ''}</b>{', '.join(words)}"
        right = not sheet.marks.distortion
        sheet.figure.add_annotation(
            xref="paper",
            yref="paper",
            x=1 if right else 0,
            y=0.01,
            xanchor="right" if right else "left",
            yanchor="bottom",
            text=text,
            showarrow=False,
        )
