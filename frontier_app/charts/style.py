"""Colours and shapes of all figures.

Colours are those of Okabe and Ito that keep 3:1 against both themes' grounds; shape says the same as colour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from frontier_app.wording.markup import plainly

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
TOOLBAR = 34
"""Pixels kept free above a legend: plotly's buttons stand there, and would lie on its words."""

MARGIN = {"l": 94, "r": 10, "b": 66}
"""Pixels beside and under a map, a little more than its ticks and titles take: where they need more, plotly makes room
by drawing everything a second time."""
INK = "#10151A"
"""The colour of text in a figure: that of the light theme, which :data:`CSS` turns into that of the page."""
_GRID = "rgba(119, 129, 140, 0.3)"
_NOTE = ("#242B33", "#FFFFFF")
"""Ground and text of what the mouse shows, on either theme."""
CSS = """<style>
[data-testid="stPlotlyChart"] [style*="fill: rgb(16, 21, 26)"] {fill: currentColor !important;}
[data-testid="stPlotlyChart"] [style*="stroke: rgb(16, 21, 26)"] {stroke: currentColor !important;}
/* Plotly rounds the width it finds, and draws again when it is then told the width to the last digit. */
[data-testid="stFullScreenFrame"]:has([data-testid="stPlotlyChart"]) {width: round(down, 100%, 1px);}
</style>"""
"""For ``st.html``: figures know no theme, which may change while they are shown."""
_SMALL = 12
"""Size of most words in a chart, pixels."""
_LISTED = 5_000
_AXIS = re.compile(r"[xy]axis\d*")
WEBGL = 3_000
"""Points above which a cloud is drawn with WebGL, which is slow to begin and then fast."""


def sent(values: np.ndarray) -> list[Any] | np.ndarray:
    """Numbers as a figure takes them: a list, or of very many the array in few bytes, which is written far faster."""
    if len(values) <= _LISTED:
        return [None if value != value else value for value in values.tolist()]
    return values.astype(np.float32 if values.dtype.kind == "f" else np.int32)


def framed(figure: Figure, *, picks: bool = False, size: int = _SMALL) -> Figure:
    """The figure with the frame that all figures have, such that Streamlit's chart draws it once.

    Streamlit's own theme is a template, and it sets how clicks work after the first drawing; either makes plotly draw
    everything again.  Here both are part of the figure from the start.  A constant ``datarevision`` says that data
    which look alike are the same, which holds for lists only: typed arrays always count as changed.  ``picks``: a
    click selects a point.
    """
    figure.layout.template = None
    layout = plainly(figure).layout.to_plotly_json()
    frame: dict[str, Any] = {
        "font": {"color": INK, "size": size, "family": "system-ui, sans-serif"},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "hoverlabel": {"bgcolor": _NOTE[0], "bordercolor": QUIET, "font": {"color": _NOTE[1], "size": size}},
        "margin": {"pad": 8},
        "modebar": {"bgcolor": "rgba(0, 0, 0, 0)", "color": QUIET, "activecolor": COLOURS[0]},
        "datarevision": 1,
    }
    if picks:
        frame |= {"clickmode": "event+select", "hovermode": "closest", "dragmode": "pan"}
    axis = {"gridcolor": _GRID, "zerolinecolor": _GRID, "automargin": True, "ticks": ""}
    for name in dict.fromkeys(("xaxis", "yaxis", *filter(_AXIS.fullmatch, layout))):
        title = {"font": {"size": size + 2}, "standoff": 20 if name[0] == "x" else 24}
        frame[name] = axis | {"title": title}
    figure.layout = _laid(layout, frame)  # at once: each change of a figure takes as long as making it
    figure.layout.template = None  # plotly's own came with it
    return figure


def _laid(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Settings with others laid over them, also where both hold settings of settings."""
    both = {name: _laid(under[name], over[name]) for name in under.keys() & over.keys() if isinstance(over[name], dict)}
    return under | over | both


def look_of(category: int) -> tuple[str, str]:
    """Colour and shape of a category; shapes repeat later than colours."""
    return COLOURS[category % len(COLOURS)], SHAPES[category % len(SHAPES)]
