"""The board's map as a figure: lettered candidates, the frontier, doing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.common.wording import upper_first
from engine.report.answers import utility_words
from engine.report.findings import Findings
from engine.report.map_frame import staircase, window
from engine.report.words import about, bar, figure
from frontier_app.charts.style import COLOURS, INK, QUIET
from frontier_app.wording.figure_text import drawn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = 17  # letters are read from the end of a table


def board_map(found: Findings, *, dark: bool) -> Figure:
    """The recommendation as a star, its neighbours as circles with letters, other candidates as grey squares."""
    import plotly.graph_objects as go

    at = found.map
    blue = "#56B4E9" if dark else COLOURS[0]
    parts: list[Any] = []
    if at.others:
        parts.append(
            go.Scatter(
                x=[u for u, _ in at.others],
                y=[r for _, r in at.others],
                mode="markers",
                name="other candidates, roughly",
                marker={"symbol": "square", "size": 8, "color": QUIET, "opacity": 0.5},
                hoverinfo="skip",
            )
        )
    edge = staircase(at)
    for points, mode, named in ((edge, "lines", False), (at.frontier, "markers", True)):
        parts.append(
            go.Scatter(
                x=[u for u, _ in points],
                y=[r for _, r in points],
                mode=mode,
                name="frontier",
                line={"color": blue, "width": 1.5},
                marker={"symbol": "circle-open", "size": 8, "color": blue},
                hoverinfo="skip",
                showlegend=named,
            )
        )
    if at.nothing_risk is not None and at.nothing_utility is not None:
        parts.append(
            go.Scatter(
                x=[at.nothing_utility],
                y=[at.nothing_risk],
                mode="markers",
                name="doing nothing",
                marker={"symbol": "diamond", "size": 14, "color": INK},
                hovertemplate=f"doing nothing: {figure(at.nothing_risk)}<extra></extra>",
            )
        )
    parts += [_lettered(found, False, blue), _lettered(found, True, COLOURS[1])]
    made = go.Figure(parts)
    made.update_layout(
        height=540,
        margin={"l": 84, "r": 16, "t": 10, "b": 68},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        xaxis={"title": {"text": f"{at.utility_title} — more useful →"}, "zeroline": False},
        yaxis={"title": {"text": f"{at.risk_title} — riskier ↑"}, "zeroline": False},
    )
    across, up = window(at, 0.1) or ((0.0, 1.0), (0.0, 1.0))
    made.update_xaxes(range=across[::-1] if at.utility_better == "lower" else across)
    made.update_yaxes(range=up[::-1] if at.risk_better == "higher" else up)
    return made


def _lettered(found: Findings, recommended: bool, colour: str) -> Any:
    import plotly.graph_objects as go

    rows = [c for c in found.map.candidates if c.recommended == recommended and c.risk is not None]
    # Rounded figures coincide: letters of one place are written once, and not over the recommended one's.
    others = {(c.utility, c.risk) for c in found.map.candidates if c.recommended != recommended}
    shared: dict[tuple[float | None, float | None], list[str]] = {}
    for c in rows:
        shared.setdefault((c.utility, c.risk), []).append(c.letter)
    words = [", ".join(shared.pop((c.utility, c.risk), [])) for c in rows]
    return go.Scatter(
        x=[c.utility for c in rows],
        y=[c.risk for c in rows],
        mode="markers+text",
        name="recommended" if recommended else "neighbours on the frontier",
        text=words,
        textposition=[
            "top left" if not recommended and (c.utility, c.risk) in others else "bottom right" for c in rows
        ],
        textfont={"size": _SIZE + 3 * recommended, "color": INK},
        marker={"symbol": "star" if recommended else "circle", "size": 22 if recommended else 13, "color": colour},
        error_y={"array": [bar(c.risk, c.risk_se) for c in rows], "color": colour, "thickness": 1.2},
        error_x={"array": [bar(c.utility, c.utility_se) for c in rows], "color": colour, "thickness": 1.2},
        customdata=[drawn("<b>{}</b> {}", c.letter, upper_first(c.words)) for c in rows],
        hovertemplate="%{customdata}<extra></extra>",
    )


def board_table(found: Findings) -> list[dict[str, str]]:
    """The same candidates as rows of a table."""
    at = found.map
    rows = []
    for c in at.candidates:
        marks = ["on the frontier" if c.undominated else "dominated", "clear" if c.clear else "uncertain"]
        if c.within_bound is not None:
            marks.append("within the bound" if c.within_bound else "beyond the bound")
        rows.append(
            {
                "Candidate": c.letter,
                "What it does": upper_first(c.words) + (" (recommended)" if c.recommended else ""),
                at.risk_title: about(c.risk, c.risk_se),
                at.utility_title: utility_words(found, c),
                "Standing": ", ".join(marks),
            }
        )
    rows.append(
        {
            "Candidate": "–",
            "What it does": "Doing nothing: the original as it is",
            at.risk_title: figure(at.nothing_risk),
            at.utility_title: figure(at.nothing_utility),
            "Standing": "",
        }
    )
    return rows
