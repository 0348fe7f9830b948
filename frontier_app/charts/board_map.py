"""The board's map as a figure: lettered candidates, the frontier, doing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.common.wording import upper_first
from engine.report.candidate_words import ON_FRONTIER, on_frontier, standing_words, utility_words
from engine.report.findings import Findings
from engine.report.map_frame import staircase, window
from engine.report.map_words import bound_title
from engine.report.words import NONE, about, bar, figure
from frontier_app.charts.board_letters import add_letters
from frontier_app.charts.style import COLOURS, INK, QUIET
from frontier_app.wording.figure_text import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def board_map(findings: Findings, *, dark: bool) -> Figure:
    """The recommendation as a star, its neighbours as circles with letters, other candidates as grey squares."""
    import plotly.graph_objects as go

    map_facts = findings.map
    blue = "#56B4E9" if dark else COLOURS[0]
    parts: list[Any] = []
    if map_facts.others:
        parts.append(
            go.Scatter(
                x=[u for u, _ in map_facts.others],
                y=[r for _, r in map_facts.others],
                cliponaxis=False,  # a square at an edge is drawn whole
                mode="markers",
                name="other candidates, moved to a coarse grid",
                marker={"symbol": "square", "size": 8, "color": QUIET, "opacity": 0.5},
                hoverinfo="skip",
            )
        )
    edge = staircase(map_facts)
    for points, mode, named in ((edge, "lines", False), (map_facts.frontier, "markers", True)):
        parts.append(
            go.Scatter(
                x=[u for u, _ in points],
                y=[r for _, r in points],
                mode=mode,
                cliponaxis=mode == "lines",
                name="frontier",
                line={"color": blue, "width": 1.5},
                marker={"symbol": "circle-open", "size": 8, "color": blue},
                hoverinfo="skip",
                showlegend=named,
            )
        )
    if map_facts.nothing_risk is not None and map_facts.nothing_utility is not None:
        parts.append(
            go.Scatter(
                x=[map_facts.nothing_utility],
                y=[map_facts.nothing_risk],
                mode="markers",
                name="doing nothing",
                marker={"symbol": "diamond", "size": 14, "color": INK},
                hovertemplate=f"doing nothing: {figure(map_facts.nothing_risk)}<extra></extra>",
            )
        )
    parts += [_lettered(findings, False, blue), _lettered(findings, True, COLOURS[1])]
    across, up = window(map_facts, 0.1) or ((0.0, 1.0), (0.0, 1.0))
    if map_facts.bound_at is not None:
        parts.append(_bound_line(findings, map_facts.bound_at, across))
    drawing = go.Figure(parts)
    drawing.update_layout(
        height=540,
        margin={"l": 84, "r": 16, "t": 10, "b": 68},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        xaxis={"title": {"text": f"{map_facts.utility_title} — more useful →"}, "zeroline": False},
        yaxis={"title": {"text": f"{map_facts.risk_title} — riskier ↑"}, "zeroline": False},
    )
    drawing.update_xaxes(range=across[::-1] if map_facts.utility_better == "lower" else across)
    drawing.update_yaxes(range=up[::-1] if map_facts.risk_better == "higher" else up)
    add_letters(drawing, findings)
    return drawing


def _bound_line(findings: Findings, bound_at: float, across: tuple[float, float]) -> Any:
    """The bound on risk, from side to side."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=list(across),
        y=[bound_at] * 2,
        mode="lines",
        name=bound_title(findings.map),
        line={"color": INK, "width": 1.5, "dash": "dash"},
        hoverinfo="skip",
    )


def _lettered(findings: Findings, recommended: bool, colour: str) -> Any:
    import plotly.graph_objects as go

    rows = [
        candidate
        for candidate in findings.map.candidates
        if candidate.recommended == recommended and candidate.risk is not None
    ]
    return go.Scatter(
        x=[candidate.utility for candidate in rows],
        y=[candidate.risk for candidate in rows],
        mode="markers",
        name="recommended" if recommended else "neighbours on the frontier",
        marker={"symbol": "star" if recommended else "circle", "size": 22 if recommended else 13, "color": colour},
        error_y={
            "array": [bar(candidate.risk, candidate.risk_se) for candidate in rows],
            "color": colour,
            "thickness": 1.2,
        },
        error_x={
            "array": [bar(candidate.utility, candidate.utility_se) for candidate in rows],
            "color": colour,
            "thickness": 1.2,
        },
        customdata=[drawn("<b>{}</b> {}", candidate.letter, upper_first(candidate.words)) for candidate in rows],
        hovertemplate="%{customdata}<extra></extra>",
    )


def board_table(findings: Findings) -> list[dict[str, str]]:
    """The same candidates as rows of a table."""
    map_facts = findings.map
    rows = []
    for candidate in map_facts.candidates:
        rows.append(
            {
                "Candidate": candidate.letter,
                "What it does": upper_first(candidate.words),
                map_facts.risk_title: about(candidate.risk, candidate.risk_se),
                map_facts.utility_title: utility_words(findings, candidate),
                ON_FRONTIER: on_frontier(candidate),
                "Standing": standing_words(findings, candidate),
            }
        )
    rows.append(
        {
            "Candidate": "–",
            "What it does": "Doing nothing: the original as it is",
            map_facts.risk_title: figure(map_facts.nothing_risk),
            map_facts.utility_title: figure(map_facts.nothing_utility),
            ON_FRONTIER: NONE,
            "Standing": "the original",
        }
    )
    return rows
