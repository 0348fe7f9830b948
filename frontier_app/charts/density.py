"""Very many points as a density: counts in a grid, darker where there are more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frontier_app.charts.style import COLOURS

MANY = 50_000
"""Points above which a cloud is drawn as a density."""
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
