"""The grid of results: a cell for each candidate by what it differs in, coloured by its risk and the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.frontier.factors import Factor, Grid, RoleCounts
from frontier_app.wording.markup import stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_WITHIN = ("#0A5587", "#2475AB", "#8FBEDD")
_OVER = ("#F4DCCB", "#E3A87E", "#C9733A")
_PLAIN = ("#E3E7EB", "#C6CDD4", "#98A3AE")
"""Shades of cells within the limit (darker is safer), over it (darker is riskier), and without a limit."""
_GREY, _UNTOLD = "#B8C0C8", 1.2  # of cells with too few runs to tell, beyond the scale
_ROW, _LOW_ROW = 44, 26  # pixels of a row where there are few, and where there are more
FEW = 8
"""Rows of a grid that have room for two lines."""
_GAP, _TOP = 0.16, 30  # share of a cell; pixels of a line of headings


def factor_grid(
    grid: Grid,
    risk: np.ndarray,
    within: np.ndarray | None,
    known: np.ndarray,
    cells: Sequence[str],
    hover: Sequence[str],
    label: Callable[[Factor, str], str],
) -> Figure:
    """The grid: ``risk`` colours, ``cells`` and ``hover`` are each candidate's words, ``label`` words a factor's
    value; ``within`` marks candidates that meet the limit (None where there is none), among those of which it is
    ``known``."""
    from plotly.graph_objects import Figure

    shades = _shades(np.where(known, risk, np.nan) if within is not None else risk, within)
    shades[np.isnan(shades) & ~np.isnan(risk)] = _UNTOLD
    across, down = _edges(grid.columns, grid.cells.shape[1]), _edges(grid.rows, grid.cells.shape[0])
    shape = (len(down) - 1, len(across) - 1)
    z, words = np.full(shape, np.nan), np.full(shape, "", object)
    tips = np.full(shape, "", object)
    for (row, column), index in np.ndenumerate(grid.cells):
        if index >= 0:
            at = _place(grid.rows, row), _place(grid.columns, column)
            z[at], words[at], tips[at] = shades[index], cells[index], hover[index]
    figure = Figure(
        {
            "data": [
                {
                    "type": "heatmap",
                    "x": across,
                    "y": down,
                    "z": z,
                    "text": words,
                    "hovertext": tips,
                    "texttemplate": "%{text}",
                    "textfont": {"size": 12},
                    "hovertemplate": "%{hovertext}<extra></extra>",
                    "hoverongaps": False,
                    "xgap": 3,
                    "ygap": 3,
                    "zmin": 0,
                    "zmax": _UNTOLD,
                    "showscale": False,
                    "colorscale": _scale(_PLAIN, _PLAIN) if within is None else _scale(_WITHIN, _OVER),
                }
            ],
            "layout": _frame(grid, across, down, label),
        }
    )
    return figure


def _scale(low: Sequence[str], high: Sequence[str]) -> list[tuple[float, str]]:
    stops = [0, 0.25, 0.5, 0.5, 0.75, 1, 1, _UNTOLD]
    return [(stop / _UNTOLD, shade) for stop, shade in zip(stops, (*low, *high, _GREY, _GREY), strict=True)]


def _shades(risk: np.ndarray, within: np.ndarray | None) -> np.ndarray:
    """Each candidate's place on the scale: the first half for those within the limit, the second for the others, by
    their rank among them; NaN where nothing is known."""
    shades = np.full(len(risk), np.nan)
    met = np.ones(len(risk), bool) if within is None else within
    for mask, start in ((met, 0.0), (~met, 0.501)):
        known = np.flatnonzero(mask & ~np.isnan(risk))
        if len(known):
            _, rank = np.unique(risk[known], return_inverse=True)
            shades[known] = start + 0.499 * (rank + 0.5) / (rank.max() + 1)
    return shades


def _edges(axis: Sequence[Factor], n: int) -> list[float]:
    """Edges of cells: those of the innermost factor adjoin, others are set apart."""
    inner = len(axis[-1].values) if axis else 1
    edges, at = [0.0], 0.0
    for i in range(n):
        if i and i % inner == 0 and len(axis) > 1:
            at += _GAP
            edges.append(at)
        at += 1
        edges.append(at)
    return edges


def _place(axis: Sequence[Factor], i: int) -> int:
    """The interval of a row or column, those between groups counted."""
    return i + (i // len(axis[-1].values) if len(axis) > 1 else 0)


def _middles(edges: Sequence[float]) -> list[float]:
    """The middles of cells, without what is between groups."""
    return [(a + b) / 2 for a, b in pairwise(edges) if b - a > 2 * _GAP]


def _frame(grid: Grid, across: Sequence[float], down: Sequence[float], label: Callable[[Factor, str], str]) -> Any:
    """Axes with the values of the innermost factor of the columns, headings above them, and the rows' values."""
    axis: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True, "tickmode": "array"}
    rows: list[str] = [stacked(values) for values in _values(grid.rows, label)] or [""]
    columns = _values(grid.columns, label)
    levels = len(grid.columns) - 1
    notes = []
    for level in range(levels):
        start = 0
        middles = _middles(across)
        for i in range(1, len(columns) + 1):
            if i == len(columns) or columns[i][: level + 1] != columns[start][: level + 1]:
                notes.append(
                    {
                        "x": (middles[start] + middles[i - 1]) / 2,
                        "y": 1,
                        "yref": "paper",
                        "yanchor": "bottom",
                        "yshift": _TOP * (levels - level) - 4,
                        "text": columns[start][level],
                        "showarrow": False,
                    }
                )
                start = i
    return {
        "height": _TOP * (levels + 1) + (_ROW if len(grid.cells) <= FEW else _LOW_ROW) * len(grid.cells) + 16,
        "margin": {"t": _TOP * (levels + 1), "b": 8, "l": 20, "r": 8},
        "annotations": notes,
        "xaxis": axis
        | {"side": "top", "tickangle": 0, "tickvals": _middles(across), "ticktext": [c[-1] for c in columns]},
        "yaxis": axis | {"autorange": "reversed", "tickvals": _middles(down), "ticktext": rows},
    }


def _values(axis: Sequence[Factor], label: Callable[[Factor, str], str]) -> list[tuple[str, ...]]:
    return list(product(*([label(factor, value) for value in factor.values] for factor in axis))) if axis else []


def role_grid(counts: RoleCounts, roles: Mapping[str, str]) -> Figure:
    """Candidates within the limit by attribute and role, as shares: ``roles`` words the columns."""
    from plotly.graph_objects import Figure

    with np.errstate(invalid="ignore"):
        share = np.where(counts.all > 0, counts.within / counts.all, np.nan)
    words = [
        [f"{int(met):,} of {int(n):,}" if n else "" for met, n in zip(row_met, row, strict=True)]
        for row_met, row in zip(counts.within, counts.all, strict=True)
    ]
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True}
    return Figure(
        {
            "data": [
                {
                    "type": "heatmap",
                    "x": list(roles.values()),
                    "y": list(counts.names),
                    "z": share,
                    "text": words,
                    "texttemplate": "%{text}",
                    "hovertemplate": "%{y}, %{x}: %{text} within the limit<extra></extra>",
                    "hoverongaps": False,
                    "xgap": 3,
                    "ygap": 3,
                    "zmin": 0,
                    "zmax": 1,
                    "showscale": False,
                    "colorscale": [(0.0, _OVER[0]), (1.0, _WITHIN[1])],
                }
            ],
            "layout": {
                "height": _TOP + 36 * len(counts.names) + 16,
                "margin": {"t": _TOP, "b": 8, "l": 20, "r": 8},
                "xaxis": axis | {"side": "top"},
                "yaxis": axis | {"autorange": "reversed"},
            },
        }
    )
