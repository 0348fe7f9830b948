"""Letters of candidates on the board's map, on short lines beside their points."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from engine.report.findings import Findings
from engine.report.map_frame import staircase
from engine.report.words import bar
from frontier_app.charts import label_layout
from frontier_app.charts.style import INK, QUIET
from frontier_app.wording.figure_text import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = 17  # letters are read from the end of a table
_PIXELS = (720.0, 400.0)
"""About how wide and high the drawing is in a window of 1280 pixels."""
_ON_LINE = 80
"""Places of the bound's line that letters keep clear of."""


def add_letters(drawing: Figure, findings: Findings) -> None:
    """Write every letter beside its point, clear of other letters, points, bars and lines.

    Rounded figures coincide: letters of one place are written together.
    """
    map_facts = findings.map
    shared: dict[tuple[float, float], list[str]] = {}
    emphasised = set()
    for candidate in map_facts.candidates:
        if candidate.utility is None or candidate.risk is None:
            continue
        place = (candidate.utility, candidate.risk)
        shared.setdefault(place, []).append(candidate.letter)
        if candidate.recommended:
            emphasised.add(place)
    if not shared:
        return
    labels = [", ".join(sorted(letters)) for letters in shared.values()]
    points = [*shared, *map_facts.others, *map_facts.frontier]
    x, y = _across(drawing, points)
    n = len(shared)
    others = [(x, y)]
    if map_facts.bound_at is not None:
        _, (level,) = _across(drawing, [(points[0][0], map_facts.bound_at)])
        others.append((np.linspace(0, 1, _ON_LINE), np.full(_ON_LINE, level)))
    lines = [*_bars(findings), *pairwise(staircase(map_facts))]
    if lines:
        begin, end = (_across(drawing, [line[which] for line in lines]) for which in (0, 1))
        others.append(label_layout.on_lines(begin, end))
    covered = np.concatenate([place[0] for place in others]), np.concatenate([place[1] for place in others])
    offsets = label_layout.flags(x[:n], y[:n], labels, covered, _PIXELS)
    for place, label, (right, above) in zip(shared, labels, offsets, strict=True):
        drawing.add_annotation(
            x=place[0],
            y=place[1],
            text=drawn("<b>{}</b>", label) if place in emphasised else label,
            ax=right,
            ay=-above,
            showarrow=True,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=QUIET,
            standoff=8,
            font={"size": _SIZE + 3 * (place in emphasised), "color": INK},
        )


def _bars(findings: Findings) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Both ends of every bar about a lettered candidate."""
    ends = []
    for candidate in findings.map.candidates:
        if candidate.utility is None or candidate.risk is None:
            continue
        use, risk = candidate.utility, candidate.risk
        wide, high = bar(use, candidate.utility_se) or 0.0, bar(risk, candidate.risk_se) or 0.0
        ends += [((use - wide, risk), (use + wide, risk)), ((use, risk - high), (use, risk + high))]
    return ends


def _across(drawing: Figure, points: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """The positions of points, from 0 to 1 across the drawing and upwards."""
    values = np.array(points, float)
    (left, right), (low, high) = drawing.layout.xaxis.range, drawing.layout.yaxis.range
    return (values[:, 0] - left) / (right - left), (values[:, 1] - low) / (high - low)
