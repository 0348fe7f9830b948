"""Pictures of the risk before any result: what each known fact adds, and the limit over what swapping reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frontier_app.charts.style import COLOURS, INK, QUIET
from frontier_app.wording.markup import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW, _FRAME = 30, 52  # pixels of a bar, and of the axis below


def _rows(names: Sequence[str]) -> dict[str, Any]:
    """The axis of rows from the first at the top."""
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    return {"range": [len(names) - 0.5, -0.5], "fixedrange": True, "showgrid": False, "zeroline": False, **ticks}


def fact_bars(names: Sequence[str], base: Sequence[int], added: Sequence[int], most: int, colour: int) -> Figure:
    """A bar for each fact: the records in small cells without it (``base``, grey) and those that it ``added``; the axis
    ends at ``most``."""
    from plotly.graph_objects import Figure

    places = list(range(len(names)))
    totals = [f"{low + more:,}" for low, more in zip(base, added, strict=True)]
    bar: dict[str, Any] = {"type": "bar", "orientation": "h", "y": places, "hoverinfo": "skip"}
    steps = [f"+{more:,}" if low and more > most / 8 else "" for low, more in zip(base, added, strict=True)]
    traces = [
        bar | {"x": list(base), "marker": {"color": QUIET, "opacity": 0.45}},
        bar
        | {
            "x": list(added),
            "marker": {"color": COLOURS[colour]},
            "text": steps,
            "textposition": "inside",
            "insidetextfont": {"color": "#FFFFFF"},
            "textangle": 0,
        },
    ]
    notes = [
        {
            "x": low + more,
            "y": place,
            "text": drawn("<b>{}</b>", words),
            "showarrow": False,
            "xanchor": "left",
            "xshift": 4,
        }
        for low, more, place, words in zip(base, added, places, totals, strict=True)
    ]
    return Figure(
        {
            "data": traces,
            "layout": {
                "barmode": "stack",
                "bargap": 0.35,
                "showlegend": False,
                "height": _ROW * len(names) + 16,
                "margin": {"l": 10, "r": 10, "t": 6, "b": 6},
                "xaxis": {"range": [0, 1.15 * max(1, most)], "visible": False, "fixedrange": True},
                "yaxis": _rows(names),
                "annotations": notes,
            },
        }
    )


def reach(rows: Sequence[tuple[str, float, float]], bound: float | None, original: float | None, title: str) -> Figure:
    """The limit over the range of risk of each row (words, least, largest): within it blue, over it grey; the diamond
    is the unprotected file."""
    from plotly.graph_objects import Figure

    most = max([high for _, _, high in rows] + [value for value in (bound, original) if value is not None])
    limit = most if bound is None else bound
    names = [name for name, _, _ in rows]
    low = [row[1] for row in rows]
    high = [max(row[2], row[1] + most / 150) for row in rows]
    inside = [max(0.0, min(top, limit) - foot) for foot, top in zip(low, high, strict=True)]
    outside = [top - max(foot, limit) if top > limit else 0.0 for foot, top in zip(low, high, strict=True)]
    bar: dict[str, Any] = {"type": "bar", "orientation": "h", "y": list(range(len(rows))), "hoverinfo": "skip"}
    traces = [
        bar | {"base": low, "x": inside, "marker": {"color": COLOURS[0]}},
        bar | {"base": [max(foot, limit) for foot in low], "x": outside, "marker": {"color": QUIET, "opacity": 0.6}},
    ]
    if original is not None:
        diamond = {"symbol": "diamond", "size": 12, "color": INK}
        traces.append(
            {"type": "scatter", "mode": "markers+text", "x": [original], "y": [len(rows)]}
            | {"marker": diamond, "hovertemplate": "%{x:.4g}<extra>unprotected</extra>"}
        )
        names = [*names, "unprotected"]
    shapes, notes = [], []
    if bound is not None:
        area = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0}}
        shapes.append(area | {"x0": 0, "x1": limit, "fillcolor": COLOURS[0], "opacity": 0.1, "layer": "below"})
        shapes.append(area | {"type": "line", "x0": limit, "x1": limit, "line": {"color": COLOURS[1], "width": 2}})
        notes.append(
            {"x": limit, "y": 1, "yref": "paper", "yanchor": "bottom", "text": drawn("<b>limit {}</b>", f"{limit:.4g}")}
            | {"showarrow": False, "font": {"color": COLOURS[1]}}
        )
    return Figure(
        {
            "data": traces,
            "layout": {
                "barmode": "overlay",
                "bargap": 0.4,
                "showlegend": False,
                "height": _ROW * len(names) + _FRAME + 24,
                "margin": {"l": 10, "r": 10, "t": 24, "b": 40},
                "xaxis": {"title": {"text": title}, "range": [0, 1.05 * most], "fixedrange": True},
                "yaxis": _rows(names),
                "shapes": shapes,
                "annotations": notes,
            },
        }
    )
