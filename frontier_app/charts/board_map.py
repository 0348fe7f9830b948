"""The board's map as a figure of plotly, and its candidates as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.wording import upper_first
from engine.report.board_pictures import board_model
from engine.report.findings import Findings
from engine.report.map_model import MapModel, Mark, Point, flags, lines_of, on_lines, together
from engine.report.map_words import bound_title
from engine.report.words import figure
from frontier_app.charts.style import COLOURS, INK, QUIET
from frontier_app.wording.figure_text import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = 17  # letters are read from the end of a table
_PIXELS = (720.0, 400.0)
"""About how wide and high the drawing is in a window of 1280 pixels."""
_LETTER = 10.0
"""Pixels, about the width of a sign of that size."""
_ON_LINE = 80
"""Places of the limit's line that letters keep clear of."""


def board_map(findings: Findings, *, dark: bool) -> Figure:
    """Return the map: filled marks are within the limit, rings beyond it, the recommended candidate is a star."""
    import plotly.graph_objects as go

    model = board_model(findings, small=True)
    blue = "#56B4E9" if dark else COLOURS[0]
    parts: list[Any] = [
        _points(model, model.others, "other candidates", QUIET),
        go.Scatter(
            x=[u for u, _ in model.edge],
            y=[r for _, r in model.edge],
            mode="lines",
            name="frontier",
            line={"color": blue, "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        ),
        _points(model, model.frontier, "frontier", blue),
    ]
    if model.unprotected:
        parts.append(
            go.Scatter(
                x=[model.unprotected[0]],
                y=[model.unprotected[1]],
                mode="markers",
                name="unprotected file",
                marker={"symbol": "diamond", "size": 14, "color": INK},
                hovertemplate=f"unprotected file: {figure(model.unprotected[1])}<extra></extra>",
            )
        )
    for recommended, name, colour in ((False, "lettered neighbours", blue), (True, "recommended", COLOURS[1])):
        marks = [mark for mark in model.marks if mark.recommended == recommended]
        parts.append(_lettered(findings, model, marks, name, colour))
    across, up = model.window(0.1) or ((0.0, 1.0), (0.0, 1.0))
    if model.limit is not None:
        parts.append(
            go.Scatter(
                x=list(across),
                y=[model.limit] * 2,
                mode="lines",
                name=bound_title(findings.map),
                line={"color": INK, "width": 1.5, "dash": "dash"},
                hoverinfo="skip",
            )
        )
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


def _points(model: MapModel, points: Sequence[Point], name: str, colour: str) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        x=[u for u, _ in points],
        y=[r for _, r in points],
        mode="markers",
        cliponaxis=False,  # a mark at an edge is drawn whole
        name=name,
        marker={
            "symbol": ["circle" if model.meets(point) else "circle-open" for point in points],
            "size": 8,
            "color": colour,
        },
        hoverinfo="skip",
        showlegend=bool(points),
    )


def _lettered(findings: Findings, model: MapModel, marks: Sequence[Mark], name: str, colour: str) -> Any:
    import plotly.graph_objects as go

    words = {candidate.letter: candidate.words for candidate in findings.map.candidates}
    star = name == "recommended"
    return go.Scatter(
        x=[mark.at[0] for mark in marks],
        y=[mark.at[1] for mark in marks],
        mode="markers",
        name=name,
        marker={
            "symbol": [f"{'star' if star else 'circle'}{'' if mark.within else '-open'}" for mark in marks],
            "size": 22 if star else 13,
            "color": colour,
            "line": {"width": [0 if mark.within else 2 for mark in marks]},
        },
        error_x={"array": [mark.bars[0] for mark in marks], "color": colour, "thickness": 1.2},
        error_y={"array": [mark.bars[1] for mark in marks], "color": colour, "thickness": 1.2},
        customdata=[drawn("<b>{}</b> {}", mark.letter, upper_first(words[mark.letter])) for mark in marks],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _add_letters(drawing: Figure, model: MapModel) -> None:
    """Write every letter beside its point, clear of other letters, points, bars and lines; marks that lie on each other
    share one label."""
    if not model.marks:
        return
    points = [*(mark.at for mark in model.marks), *model.others, *model.frontier]
    points += [model.unprotected] if model.unprotected else []
    x, y = _across(drawing, points)
    at = [(float(x[k]) * _PIXELS[0], float(y[k]) * _PIXELS[1]) for k in range(len(model.marks))]
    groups = together(at, 9.0, [k for k, mark in enumerate(model.marks) if mark.recommended])
    labels = [", ".join(model.marks[k].letter for k in group) for group in groups]
    others = [(x, y)]
    if model.limit is not None:
        _, (level,) = _across(drawing, [(points[0][0], model.limit)])
        others.append((np.linspace(0, 1, _ON_LINE), np.full(_ON_LINE, level)))
    if lines := lines_of(model):
        begin, end = (_across(drawing, [line[which] for line in lines]) for which in (0, 1))
        others.append(on_lines(begin, end))
    covered = np.concatenate([place[0] for place in others]), np.concatenate([place[1] for place in others])
    first = np.array([group[0] for group in groups])
    offsets = flags(x[first], y[first], labels, covered, _PIXELS, letter=_LETTER)
    for group, label, (right, above) in zip(groups, labels, offsets, strict=True):
        mark = model.marks[group[0]]
        drawing.add_annotation(
            x=mark.at[0],
            y=mark.at[1],
            text=drawn("<b>{}</b>", label) if mark.recommended else label,
            ax=right,
            ay=-above,
            showarrow=True,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=QUIET,
            standoff=8,
            font={"size": _SIZE + 3 * mark.recommended, "color": INK},
        )


def _across(drawing: Figure, points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
    """The positions of points, from 0 to 1 across the drawing and upwards."""
    values = np.array(points, float)
    (left, right), (low, high) = drawing.layout.xaxis.range, drawing.layout.yaxis.range
    return (values[:, 0] - left) / (right - left), (values[:, 1] - low) / (high - low)
