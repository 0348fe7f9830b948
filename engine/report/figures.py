"""Pictures for memo and slides: drawn without a screen, with shapes beside colours and a text for each."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.common.printable import printable
from engine.common.wording import lower_first, plural
from engine.report.answers import small_words
from engine.report.certainty import recommended
from engine.report.document import Picture
from engine.report.map_model import map_model
from engine.report.map_words import bars_words, bound_title
from engine.report.pictures import map_picture
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings

BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#767676"
_DPI = 150
_NAME = 30  # letters of a name beside an axis


def _canvas(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return canvas, axes


def _png(canvas: Any) -> bytes:
    """The picture; no name in it steers or is read as a formula, neither in words that are there nor in ticks that come
    with the drawing."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in canvas.findobj(Text):
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))
    out = io.BytesIO()
    with rc_context({"text.parse_math": False}):
        canvas.savefig(out, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return out.getvalue()


def _cut(name: str) -> str:
    """A name as long as a picture has room for."""
    name = printable(name)
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def frontier(findings: Findings) -> Picture | None:
    """The map: frontier, recommendation and lettered neighbours, other candidates, doing nothing; None where their
    figures are withheld."""
    board_map, row = findings.map, recommended(findings)
    if all(c.risk is None or c.utility is None for c in board_map.candidates):
        return None
    limit = lower_first(bound_title(board_map))
    drawn = map_picture(map_model(board_map), title="", alt="", limit=limit, width=6.2, height=3.4)
    if drawn is None:
        return None
    positions = ", ".join(
        f"{c.letter} at {figure(c.risk)} and {figure(c.utility)}" for c in board_map.candidates if c.risk is not None
    )
    return Picture(
        drawn.png,
        f"Scatter plot of risk ({lower_first(board_map.risk_title)}) against utility "
        f"({lower_first(board_map.utility_title)}). Lettered candidates from the safest to the most useful, with risk "
        f"and utility: {positions}. Recommended is {row.letter}. "
        f"Doing nothing has risk {figure(board_map.nothing_risk)}."
        + ("" if board_map.bound_at is None else f" A dashed line is the {bound_title(board_map)}."),
        f"The frontier of {plural(board_map.n_candidates, 'candidate')}, averages over runs ({board_map.runs} for "
        f"{row.letter}); " + bars_words(findings),
        6.2,
    )


@lru_cache(maxsize=4)
def small_cells(findings: Findings) -> Picture | None:
    """Records in small cells before and after; None where those after are withheld."""
    exposed = findings.exposure
    if exposed.unaltered_after is None or exposed.small_after is None:
        return None
    canvas, axes = _canvas(6.4, 2.5)
    names = ["after: unaltered", "after: all", "before"]
    values = [exposed.unaltered_after, exposed.small_after, exposed.small_before]
    bars = axes.barh(names, values, color=[VERMILLION, "#c4c4c4", BLUE], edgecolor="black", linewidth=0.6)
    for patch, hatch in zip(bars, ("//", "", ""), strict=True):
        patch.set_hatch(hatch)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.bar_label(bars, [f"{value:,}" for value in values], padding=4)
    axes.set_xlim(0, max(*values, 1) * 1.15)
    axes.set_xlabel(f"records in {small_words(findings)}")
    return Picture(
        _png(canvas),
        f"Bars of records in small cells: {exposed.small_before:,} before, {exposed.small_after:,} after in all, of "
        f"which {exposed.unaltered_after:,} are unaltered.",
        f"Records in {small_words(findings)}, of what an intruder knows",
    )


@lru_cache(maxsize=4)
def associations(findings: Findings) -> Picture | None:
    """The associations that change most, before and after, as pairs of marks; None without any."""
    rows = [r for r in findings.utility.associations if r.what == "Cramér's V" and r.before is not None][:12]
    if not rows:
        return None
    canvas, axes = _canvas(6.6, 0.9 + 0.32 * len(rows))
    heights = list(range(len(rows)))[::-1]
    before, after = [r.before or 0.0 for r in rows], [r.after or 0.0 for r in rows]
    axes.hlines(heights, before, after, color=GREY, linewidth=1.4)
    axes.scatter(before, heights, marker="o", s=42, color=BLUE, label="before", zorder=3)
    axes.scatter(after, heights, marker="x", s=46, color=VERMILLION, linewidths=2, label="after", zorder=4)
    axes.set_yticks(heights, [_cut(r.of) for r in rows])
    axes.set_xlim(left=0)
    axes.set_xlabel("Cramér's V: 0 no association, 1 one decides the other")
    axes.legend(fontsize=9, loc="best")
    first = rows[0]
    return Picture(
        _png(canvas),
        f"Cramér's V before and after for the {len(rows)} pairs of attributes that change most; the largest change is "
        f"that of {first.of}, from {figure(first.before)} to {figure(first.after)}.",
        "Associations between attributes before and after, most changed first",
    )
