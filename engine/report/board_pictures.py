"""Pictures of the decision sheet and its evidence from findings, drawn by matplotlib without a screen: each title is an
answer with its number, and shape says what colour says."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.common.wording import listed, lower_first, plural, printable, upper_first
from engine.report.losses import by_table, largest
from engine.report.map_model import (
    FAR,
    Box,
    MapModel,
    Places,
    Point,
    box_at,
    flags,
    lettered,
    map_model,
    overlap,
    places_of,
)
from engine.report.sheet import (
    TABLE_CHANGE,
    choices,
    figure_name,
    is_share,
    named,
    places_named,
    risk_figure,
    short_name,
)
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.facts import Figure
    from engine.report.findings import Findings

INK, GREY, BLUE, ORANGE = "#1b2430", "#566171", "#0067a3", "#a84300"
PALE_BLUE, PALE_ORANGE, BAND, STONE, RULE = "#b9d9ee", "#f6d5c0", "#eef5f9", "#c9cfd6", "#dfe3e8"
STAR = "#d55e00"
WIDE, HALF = 6.85, 3.3
"""Widths in inches of a picture across the page and of one in a column."""
_NARROW = 5.0  # inches; a map less wide names the unprotected file below it
SIZE = 8.0
_LABEL = 34  # letters of one line of a label
_LETTER = 6.2  # points, about the width of a bold sign
_MOST, _MOST_CHANGES, _MOST_TILES = 6, 8, 120
_KEY = 0.24  # inches above tiles
_POINTS = 5.0
"""Percentage points from which on a place has changed much."""


@dataclass(frozen=True)
class Picture:
    """A PNG with its title, a note below the title, and what it shows in words."""

    png: bytes = field(repr=False)
    title: str
    alt: str
    note: str = ""

    @property
    def uri(self) -> str:
        """The picture as the source of an ``<img>``."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


class Pair(NamedTuple):
    """A figure in the original and in the release (None: lost), and a text; ``beyond`` the tolerance where it is
    judged."""

    label: str
    before: float
    after: float | None
    text: str
    beyond: bool = False


def _empty_axes(width: float, height: float, left: float, bottom: float, right: float, top: float) -> Any:
    """Axes of a new picture with so many inches around them, and without spines."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(width, height), dpi=200).add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=SIZE - 0.5, labelcolor=GREY, pad=3)
    axes.set_axisbelow(True)
    return axes


def _png(axes: Any) -> bytes:
    """The picture; no name in it steers or is read as a formula, neither in words that are there nor in ticks that come
    with the drawing."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in axes.figure.findobj(Text):
        text.set_parse_math(False)
        text.set_text(printable(text.get_text()))
    out = io.BytesIO()
    with rc_context({"text.parse_math": False}):
        axes.figure.savefig(out, format="png", facecolor="white", metadata={"Software": None})
    return out.getvalue()


def _say(axes: Any, text: str, at: Point, shift: Point = (0, 0), **look: Any) -> None:
    """Write a text beside a place of the axes, ``shift`` points to the right and up."""
    form = {"textcoords": "offset points", "fontsize": SIZE, "color": INK, "va": "center", "annotation_clip": False}
    axes.annotate(text, at, xytext=shift, **{**form, **look})


def _text_width(text: str, weight: str = "normal") -> float:
    """The width of a text in inches; of several lines, of the longest."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    form = FontProperties(size=SIZE, weight=weight)
    lines = printable(text).split("\n")
    return max(text_to_path.get_text_width_height_descent(line, form, False)[0] for line in lines) / 72


def _fitted(title: str, width: float) -> str:
    """A title on as many lines as it needs in a room of so many inches."""
    return textwrap.fill(printable(title), max(12, int(len(title) * width / max(_text_width(title), 1e-9)))) or " "


def _ticks(axis: Any, unit: str) -> None:
    """Ticks as figures are printed everywhere, of shares with their sign of per cent."""
    from matplotlib.ticker import FuncFormatter

    sign, times = (" %", 100) if unit.startswith("share") else (" %" if unit == "%" else "", 1)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{figure(round(times * value, 10))}{sign}"))


# The map


@lru_cache(maxsize=8)
def map_picture(model: MapModel, *, limit: str = "", width: float = WIDE, height: float = 2.7) -> bytes | None:
    """Draw the map; None where no candidate has figures.  ``limit`` is the words beside the limit's line."""
    ranges = model.window(0.08)
    if ranges is None:
        return None
    below_it = "" if width > _NARROW or not model.unprotected else "◇ unprotected file"
    room = width - (1.5 if below_it else 0.2)
    titles = _fitted(model.up.title, width - 0.2), _fitted(model.across.with_use, room)
    above, below = (0.14 * (title.count("\n") + 1) for title in titles)
    axes = _empty_axes(width, height, 0.5, 0.36 + below, 0.1, 0.14 + above)
    small = {"fontsize": SIZE - 0.5, "color": GREY, "xycoords": "axes fraction"}
    _say(axes, titles[0], (0, 1), (-28, 5), ha="left", va="bottom", **small)
    _say(axes, titles[1], (1, 0), (0, -19), ha="right", va="top", **small)
    _say(axes, below_it.replace("◇", "◆" if model.unprotected_meets else "◇"), (0, 0), (-28, -19), va="top", **small)
    (left, right), (low, high) = ranges
    if low <= 0 or low < 0.4 * high:  # a range that begins near 0 begins there
        low = min(low, -0.02 * high)
    axes.set_xlim(left, right)
    axes.set_ylim(*((high, low) if model.up.better == "higher" else (low, high)))
    axes.grid(color=RULE, linewidth=0.6)
    axes.locator_params(axis="x", nbins=6 if width > _NARROW else 4)
    axes.locator_params(axis="y", nbins=6)
    _ticks(axes.xaxis, model.across.unit)
    _ticks(axes.yaxis, model.up.unit)
    if model.limit is not None:
        axes.axhspan(model.limit, 10 * high if model.up.better == "higher" else low, color=BAND, zorder=0)
        axes.axhline(model.limit, color=ORANGE, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1.5)
    axes.plot([u for u, _ in model.edge], [r for _, r in model.edge], color="#8a97a6", linewidth=1, zorder=2)
    for points, colour, area, order in ((model.others, "#9aa5b1", 14, 2.5), (model.frontier, BLUE, 20, 3)):
        for within in (True, False):  # filled within the limit, rings beyond it
            chosen = [point for point in points if model.meets(point) is within]
            axes.scatter(
                [u for u, _ in chosen], [r for _, r in chosen], s=area, facecolor=colour if within else "white",
                edgecolor=colour, linewidths=1.1, zorder=order,
            )  # fmt: skip
    for mark in model.marks:
        colour = STAR if mark.recommended else BLUE if mark.frontier else GREY
        axes.plot(
            *mark.at, marker="*" if mark.recommended else "o",
            markersize=13 if mark.recommended else 6.5, markeredgewidth=0.6 if mark.recommended else 1.3,
            markerfacecolor=colour if mark.within else "white",
            markeredgecolor="white" if mark.recommended and mark.within else colour,
            zorder=6 if mark.recommended else 4,
        )  # fmt: skip
    if model.unprotected:
        axes.plot(
            *model.unprotected, marker="D", markersize=7, linestyle="none", clip_on=False, zorder=5,
            markeredgewidth=1.3, markerfacecolor=INK if model.unprotected_meets else "white", markeredgecolor=INK,
        )  # fmt: skip
    _map_words(axes, model, limit, (72 * (width - 0.6), 72 * (height - 0.5 - above - below)), is_named=not below_it)
    return _png(axes)


def _map_words(axes: Any, model: MapModel, limit: str, size: tuple[float, float], *, is_named: bool) -> None:
    """Words of the limit and, where it ``is_named``, of the unprotected file, and letters; none meets another, nor the
    limit's line."""

    def share(points: Sequence[Point]) -> Places:
        values = np.array(points, float).reshape(-1, 2)
        x, y = axes.transAxes.inverted().transform(axes.transData.transform(values)).T
        return x, y

    taken: list[Box] = []
    drawn, unprotected = places_of(model, share), [model.unprotected] if model.unprotected else []
    level = 0.0 if model.limit is None else float(share([(0.0, model.limit)])[1][0]) * size[1]
    if model.limit is not None:
        taken.append((0.0, level - 1.5, size[0], level + 1.5))
    named = lettered(model, share, size, 7.0)
    letters, bold = [(label, mark.at) for label, mark in named], [label for label, mark in named if mark.recommended]
    dots = share([*(mark.at for mark in model.marks), *model.frontier, *model.others, *unprotected])
    for words in ([("unprotected file", at) for at in unprotected if is_named], letters):
        if words is letters and limit and model.limit is not None:
            taken.append(_at_limit(axes, limit, level, drawn, taken, size))
        labels, (x, y) = [label for label, _ in words], share([at for _, at in words])
        offsets = flags(x, y, labels, drawn, size, taken, (_LETTER, 11.0), dots)
        for label, left, low, (dx, dy) in zip(labels, x, y, offsets, strict=True):
            taken.append(box_at(left * size[0] + dx, low * size[1] + dy, label, _LETTER))
            far = np.hypot(max(0, abs(dx) - _LETTER / 2 * len(label)), max(0, abs(dy) - 7.5)) > FAR
            line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkB": 4} if far else None
            look = {"ha": "center", "fontweight": "bold", "zorder": 7, "arrowprops": line}
            look["fontsize"] = 10 if label in bold else 8.5 if len(label) < 12 else SIZE
            _say(axes, label, (left, low), (dx, dy), xycoords="axes fraction", **look)


def _at_limit(axes: Any, text: str, level: float, drawn: Places, taken: Sequence[Box], size: Point) -> Box:
    """Words above or below the limit's line, at an end of it, where they cover least; returns their box."""
    half = 36 * _text_width(text, weight="bold") + 2

    def box(x: float, y: float) -> Box:
        return (x - half, y - 7.5, x + half, y + 7.5)

    def covered(at: Point) -> float:
        near = (np.abs(drawn[0] * size[0] - at[0]) < half) & (np.abs(drawn[1] * size[1] - at[1]) < 6)
        return float(np.count_nonzero(near)) + 1000 * sum(overlap(box(*at), other) for other in taken)

    heights = [min(max(height, 7.5), size[1] - 7.5) for height in (level + 8, level - 8)]
    x, y = min(((x, y) for y in heights for x in (size[0] - half - 2, half + 2)), key=covered)
    at = (x / size[0], y / size[1])
    _say(axes, text, at, xycoords="axes fraction", ha="center", fontweight="bold", color=ORANGE, zorder=6)
    return box(x, y)


# Rows


def _row_axes(labels: Sequence[str], texts: Sequence[str], *, top: float, bottom: float, row: float = 0.235) -> Any:
    """Axes with a row for each label, the first on top, the label to its left and its text to its right."""
    shown = [textwrap.fill(printable(label), _LABEL) or " " for label in labels]
    row = max(row, 0.135 * max(label.count("\n") + 1 for label in shown) + 0.05)
    left = max(map(_text_width, shown)) + 0.12
    right = max(_text_width(text, weight="bold") for text in texts) + 0.12 if any(texts) else 0.15
    axes = _empty_axes(WIDE, row * len(labels) + top + bottom, left, bottom, right, top)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), shown)
    axes.tick_params(axis="y", labelsize=SIZE, labelcolor=INK)
    return axes


def _row_text(axes: Any, k: int, text: str, **look: Any) -> None:
    _say(axes, text, (1, k), (6, 0), xycoords=("axes fraction", "data"), **look)


_BEFORE = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": INK, "markeredgewidth": 1.3}
_WITHIN = {"marker": "o", "markersize": 6, "color": BLUE}
_BEYOND = {"marker": "^", "markersize": 6.5, "color": ORANGE}
_AFTER = {"marker": "o", "markersize": 6, "color": ORANGE}
LINE = {"color": "#8a97a6", "zorder": 2}


def _marks(axes: Any, marks: Mapping[str, dict[str, Any]]) -> None:
    """A legend above the axes."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", **look) for look in marks.values()]
    where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.1, "handletextpad": 0.3}
    _legend(axes, handles, list(marks), ncols=3, **where)


def _legend(axes: Any, handles: Sequence[Any], labels: Sequence[str], **where: Any) -> None:
    axes.legend(handles, labels, frameon=False, fontsize=SIZE, labelcolor=INK, handlelength=1.2, **where)


def before_after(rows: Sequence[Pair], *, unit: str = "%", interval: float | None = None) -> bytes:
    """Draw a ring for each figure before, a filled mark after, and a line between them.

    With ``interval``, half the width of the original's, the line is that interval, and a figure beyond the tolerance is
    a triangle.
    """
    axes = _row_axes([r.label for r in rows], [r.text for r in rows], top=0.3, bottom=0.25)
    half, is_judged = interval or 0.0, interval is not None
    ends = [(r.before - half, r.before + half, r.before if r.after is None else r.after) for r in rows]
    _grid_across(axes, [0.0, *(value for row in ends for value in row)], unit)
    if is_judged:
        axes.axvline(0, color=INK, linewidth=0.8)
    for k, (r, (low, high, after)) in enumerate(zip(rows, ends, strict=True)):
        line = [low, high] if is_judged else [r.before, after]
        axes.plot(line, [k, k], linewidth=1.6 if is_judged else 1.8, **LINE)
        axes.plot(r.before, k, zorder=3, **_BEFORE)
        if r.after is not None:
            axes.plot(r.after, k, zorder=4, **(_BEYOND if r.beyond else _WITHIN if is_judged else _AFTER))
        _row_text(axes, k, r.text, **({"color": ORANGE, "fontweight": "bold"} if r.beyond else {}))
    beyond = {"beyond tolerance": _BEYOND} if any(r.beyond for r in rows) else {}
    first = "unprotected, 95 % interval" if is_judged else "unprotected"
    _marks(axes, {first: _BEFORE, "release": _WITHIN if is_judged else _AFTER, **beyond})
    return _png(axes)


def _grid_across(axes: Any, values: Sequence[float], unit: str) -> None:
    """The range of values with room for their marks, and a grid."""
    low, high = min(values), max(values)
    room = 0.04 * ((high - low) or abs(high) or 1.0)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color=RULE, linewidth=0.7)
    _ticks(axes.xaxis, unit)


def _picture(drawn: Any, title: str, told: Iterable[str], note: str = "") -> Picture:
    """A picture of axes, or of a PNG that is there already."""
    png = drawn if isinstance(drawn, bytes) else _png(drawn)
    return Picture(png, title, f"{title}. {' '.join(told)}", note)


# -- the map ---------------------------------------------------------------------------------------------------------


def the_map(findings: Findings, *, small: bool = False) -> Picture | None:
    """All candidates by risk and utility, the frontier, the limit, the named ones and the unprotected file."""
    board, model = findings.map, board_model(findings, small=small)
    png = map_picture(
        replace(model, marks=tuple(replace(mark, bars=(None, None)) for mark in model.marks)),
        limit="" if board.bound_at is None else f"limit {risk_figure(findings, board.bound_at)}",
        width=HALF if small else WIDE,
        height=2.5 if small else 2.7,
    )
    if png is None:
        return None
    within = (
        "" if board.n_within is None else f"; {board.n_within:,} {'meets' if board.n_within == 1 else 'meet'} the limit"
    )
    title = f"{plural(board.n_candidates, 'candidate')}, {board.n_frontier:,} on the frontier{within}"
    note = "Blue: on the frontier. Star: proposed."
    if board.bound_at is not None:
        asked = "" if board.bound_asked is None else f" in at least {100 * board.bound_asked:.3g} % of its runs"
        below = any(model.under_limit(point) and not model.meets(point) for point in model.points)
        hollow = f"; hollow below the line: {'in fewer' if asked else 'too few runs'}" if below else ""
        hollow += ", or excluded by an edit rule" if below and board.edit_limits else ""
        note = f"Filled: meets the limit{asked}{hollow}. {note}"
    note = f"Marks are means. {note}" if small else "Marks as on page 1."
    alt = f"Map of {title}. " + " ".join(
        f"{row.letter}: {board.risk_title} {figure(row.risk)}, {lower_first(TABLE_CHANGE)} {figure(row.utility)}."
        for row in named(findings)
    )
    return Picture(png, title, alt, note)


def board_model(findings: Findings, *, small: bool) -> MapModel:
    """Return the map with letters for the candidates that the sheet names; a share in per cent."""
    letters = {row.letter for row in (choices(findings) if small else named(findings))}
    model = map_model(findings.map, letters, 100.0 if is_share(findings) else 1.0)
    title = f"{model.up.title} (%)" if is_share(findings) else model.up.title
    return replace(model, up=replace(model.up, title=title, unit=""), across=replace(model.across, title=TABLE_CHANGE))


# -- what an intruder could do ---------------------------------------------------------------------------------------


def cell_sizes(findings: Findings) -> Picture | None:
    """Records by the size of their cell, before and after, the altered ones pale."""
    from matplotlib.legend_handler import HandlerTuple

    rows, exposed = (findings.sheet.sizes if findings.sheet else ()), findings.exposure
    if exposed.unaltered_after is None or not any(row.before or row.unaltered or row.altered for row in rows):
        return None
    height = 2.0
    axes = _empty_axes(WIDE, height, 0.62, 0.45, 0.05, 0.48)
    small, at = min(exposed.fewest - 1, len(rows)), np.arange(len(rows))
    high = max(max(r.before, r.unaltered + r.altered) for r in rows) or 1
    axes.set_ylim(0, 1.1 * high)
    axes.set_xlim(-0.55, len(rows) - 0.45)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    strong = [ORANGE if k < small else BLUE for k in at]
    pale = [PALE_ORANGE if k < small else PALE_BLUE for k in at]
    unaltered = [r.unaltered for r in rows]
    before = axes.bar(at - 0.2, [r.before for r in rows], width=0.36, color=STONE)
    kept = axes.bar(at + 0.2, unaltered, width=0.36, color=strong)
    altered = axes.bar(at + 0.2, [r.altered for r in rows], bottom=unaltered, width=0.36, color=pale)
    for k, r in enumerate(rows[:small]):
        _say(axes, f"{r.before:,.0f}", (k - 0.2, r.before), (0, 2), ha="center", va="bottom", color=GREY)
        _say(axes, f"{r.unaltered:,.0f}", (k + 0.2, r.unaltered), (0, 2), ha="center", va="bottom", fontweight="bold")
    bars, names = [before[0], kept[0], altered[0]], ["unprotected", "release, unaltered", "release, altered"]
    if small < len(rows):
        axes.axvline(small - 0.5, color=INK, linestyle=(0, (3, 3)), linewidth=0.8)
        bars = [before[0], kept[small], altered[small], (kept[0], altered[0])]
        names.append("the same, in small cells")
    look = {"ha": "right", "va": "bottom", "fontweight": "bold", "color": ORANGE}
    _say(axes, "small cells", (small - 0.5, 1.1 * high), (-4, 0), **look)
    axes.set_xticks(at, [str(r.size) for r in rows])
    axes.tick_params(axis="x", labelcolor=INK)
    _ticks(axes.yaxis, "")
    axes.set_xlabel("records alike on all keys", fontsize=SIZE - 0.5, color=GREY, loc="right")
    axes.set_ylabel("records", fontsize=SIZE - 0.5, color=GREY)
    where = {"loc": "lower right", "bbox_to_anchor": (1, 1 + 0.18 / (height - 0.93)), "borderaxespad": 0}
    _legend(axes, bars, names, ncols=4, handler_map={tuple: HandlerTuple(None)}, **where)
    return _picture(
        axes,
        "Records by how many are alike on all keys",
        (f"Cells of {r.size}: {r.before} before, {r.unaltered} unaltered and {r.altered} altered after." for r in rows),
    )


def known_keys(findings: Findings) -> Picture | None:
    """Records in small cells by what an intruder knows, unprotected and in the release."""
    facts = findings.recognised
    if facts is None:
        return None
    sets = {s.keys: s for s in (*facts.few_keys, *facts.all_but_one, facts.nothing_done)}
    rows = [s for s in sorted(sets.values(), key=lambda s: -s.small) if s.small and s.left is not None][:6]
    if len(rows) < 2:
        return None
    all_keys, fixed = facts.nothing_done.keys, facts.unswapped
    title = f"Knowing all {len(all_keys)} keys exposes most, {plural(rows[0].left or 0, 'record')} in the release"
    if fixed is not None and fixed.small:
        title = f"Keys that the release leaves unaltered expose {plural(fixed.small, 'record')}: {listed(fixed.keys)}"
    pairs = []
    for s in rows:
        left = [key for key in all_keys if key not in s.keys]
        name = f"all but {left[0]}" if len(left) == 1 else ", ".join(s.keys) if left else f"all {len(all_keys)} keys"
        pairs.append(Pair(name, s.small, s.left or 0, f"{s.small:,} → {s.left:,}"))
    return _picture(
        before_after(pairs, unit=""),
        title,
        (f"{', '.join(s.keys)}: {s.small} → {s.left}." for s in rows),
        "Records in small cells (in the release, unaltered ones) by known keys.",
    )


def exposed_groups(findings: Findings) -> Picture | None:
    """The groups with the largest share of unaltered records in small cells."""
    groups, places = [g for g in findings.exposure.groups if g.after][:7], places_named(findings)
    if not groups:
        return None
    first = groups[0]
    be = "is" if first.of_after == 1 else "are"
    share = figure(100 * first.after / max(first.of_after, 1), 2)
    of = plural(first.of_after, "unaltered record")
    rows = [
        Pair(
            short_name(g.group, places),
            100 * g.before / g.people,
            100 * g.after / max(g.of_after, 1),
            f"{g.before:,} of {g.people:,} → {g.after:,} of {g.of_after:,}" + (f" ({g.new:,} new)" if g.new else ""),
        )
        for g in groups
    ]
    return _picture(
        before_after(rows),
        f"{upper_first(rows[0].label)}: {share} % of its {of} {be} in small cells",
        (f"{r.label}: {r.text}." for r in rows),
        "Share of records in small cells, in the release of unaltered ones.",
    )


# -- what users lose -------------------------------------------------------------------------------------------------


def by_tables(findings: Findings) -> Picture | None:
    """Figures beyond the tolerances by table, and hatched the values that did not exist in their group; None where no
    table has two."""
    rows = by_table(findings.utility.figures)
    if not rows or rows[0].flagged + rows[0].new < 2:
        return None
    title = f"{rows[0].of} loses most: {plural(rows[0].flagged, 'figure')} beyond tolerance"
    if rows[0].new:
        title += f", {plural(rows[0].new, 'value')} new in a group"
    shown = rows[:_MOST]
    texts = [f"{row.flagged:,}" + (f" + {row.new:,} new" if row.new else "") for row in shown]
    beyond, has_new = [row.flagged for row in shown], any(row.new for row in shown)
    axes = _row_axes([row.of for row in shown], [""], top=0.28 if has_new else 0.05, bottom=0.05)
    most = max(row.flagged + row.new for row in shown)
    axes.set_xlim(0, most * (1 + 1.1 * max(map(_text_width, texts)) / (0.6 * WIDE)))
    changed = axes.barh(range(len(shown)), beyond, height=0.62, color=BLUE)
    look = {"color": ORANGE, "hatch": "////", "edgecolor": "white", "linewidth": 0}
    appeared = axes.barh(range(len(shown)), [row.new for row in shown], left=beyond, height=0.62, **look)
    for k, (row, text) in enumerate(zip(shown, texts, strict=True)):
        _say(axes, text, (row.flagged + row.new, k), (5, 0))
    axes.set_xticks([])
    if has_new:
        names = ["change beyond tolerance", "value that did not exist in its group"]
        _legend(axes, [changed, appeared], names, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0)
    note = f"The first {_MOST} of {len(rows)} tables." if len(rows) > _MOST else ""
    told = (f"{row.of}: {text}." for row, text in zip(shown, texts, strict=True))
    return _picture(axes, title, told, note)


def largest_changes(findings: Findings) -> Picture | None:
    """The largest changes as signed bars in standard errors on the band of the tolerance, pale within it."""
    changes, places = [row for row in largest(findings.utility.figures) if row.errors], places_named(findings)
    rows = sorted(changes, key=lambda row: not row.flagged)[:_MOST_CHANGES]
    if not rows:
        return None
    names, texts = [figure_name(row, places) for row in rows], [change_words(row) for row in rows]
    errors = [float(np.copysign(row.errors or 0.0, (row.after or 0.0) - (row.before or 0.0))) for row in rows]
    at, beyond = findings.utility.tolerances, [bool(row.flagged) for row in rows]
    full, pale = (BLUE, ORANGE), (PALE_BLUE, PALE_ORANGE)
    colours = [(full if is_beyond else pale)[e > 0] for e, is_beyond in zip(errors, beyond, strict=True)]
    axes = _row_axes(names, texts, top=0.28, bottom=0.4)
    most = 1.08 * max(at.se, *map(abs, errors))
    axes.set_xlim(-most, most)
    axes.axvspan(-at.se, at.se, color="#ebebeb", zorder=0)
    axes.axvline(0, color=INK, linewidth=1, zorder=3)
    axes.barh(range(len(rows)), errors, height=0.42, color=colours, zorder=2)
    for k, text in enumerate(texts):
        _row_text(axes, k, text)
    _ticks(axes.xaxis, "")
    axes.set_xlabel(f"change in standard errors; grey: at most {figure(at.se)}", fontsize=SIZE - 0.5, color=GREY)
    _marks(axes, {"fall": {"marker": "s", "color": BLUE}, "rise": {"marker": "s", "color": ORANGE}})
    note = "" if all(beyond) else "Pale: within tolerance."
    if any(is_beyond and abs(e) <= at.se for e, is_beyond in zip(errors, beyond, strict=True)):
        note += f" Full colour inside the grey band: beyond tolerance by the {100 * at.change:g} % rule alone."
    return _picture(
        axes,
        f"Largest change: {figure_name(changes[0], places)}, {changes[0].errors:.1f} standard errors",
        (f"{name}: {text}, {e:+.1f} errors." for name, text, e in zip(names, texts, errors, strict=True)),
        note.strip(),
    )


def change_words(row: Figure) -> str:
    """A figure before and after: counts within its group where it counts records."""
    if row.note == "lost":
        return f"{figure(row.before)} → no estimate"
    if row.is_count and not row.weighted and row.n is not None and row.n_after is not None and row.within is not None:
        if row.within_after not in (None, row.within):
            return f"{row.n:,} of {row.within:,} → {row.n_after:,} of {row.within_after:,}"
        return f"{row.n:,} → {row.n_after:,} of {row.within:,}"
    unit, digits = (" %", 3) if row.is_count else ("", 4)
    return f"{figure(row.before, digits)}{unit} → {figure(row.after, digits)}{unit}"


def forest(findings: Findings) -> Picture | None:
    """Coefficients of the declared analyses in standard errors from the original's, so that all are on one scale."""
    rows = [f for f in findings.utility.figures if f.kind == "coefficient" and f.se and f.before is not None]
    if not rows:
        return None
    pairs = [
        Pair(
            f"{f.of} · {short_name(f.what)}",
            0.0,
            None if f.after is None else (f.after - f.before) / f.se,  # type: ignore[operator]
            f"{_with_error(f.before, f.se)} → {_with_error(f.after, f.se_after)}",
            bool(f.flagged),
        )
        for f in rows[:14]
    ]
    beyond, at = sum(bool(f.flagged) for f in rows), findings.utility.tolerances
    note = "Change in standard errors of the original, largest first; estimates with their standard errors in brackets."
    if any(f.flagged is False and abs(f.relative or 0) > at.change for f in rows[:14]):
        note += f" The {100 * at.change:g} % rule asks only coefficients over {at.se:g} standard errors from 0."
    return _picture(
        before_after(pairs, unit="", interval=1.96),
        f"Declared analyses: {beyond} of {plural(len(rows), 'coefficient')} beyond tolerance in the released run",
        (f"{e.label}: {e.text}." for e in pairs),
        note,
    )


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "no estimate"
    return figure(value, 4) if error is None else f"{figure(value, 4)} ({figure(error, 2)})"


# -- candidates and places -------------------------------------------------------------------------------------------


def runs(findings: Findings) -> Picture | None:
    """The risk of every run of the named candidates beside the limit, as ticks, which do not cover each other as marks
    do."""
    if findings.sheet is None:
        return None
    own, letters = findings.recommendation.letter, {row.letter for row in named(findings)}
    scale = 100 if is_share(findings) else 1
    rows = {
        row.letter: tuple(scale * v for v in row.runs)
        for row in findings.sheet.candidates.rows
        if row.runs and row.letter in letters
    }
    mine = next((row.runs for row in findings.sheet.candidates.rows if row.letter == own and own in rows), ())
    if len(mine) < 2:
        return None
    decided, better = findings.sheet.decided_by, findings.map.risk_better
    least, most = (risk_figure(findings, value) for value in (min(mine), max(mine)))
    limit = None if decided.limit is None else scale * decided.limit
    labels = [f"★ {letter}" if letter == own else letter for letter in rows]
    axes = _row_axes(labels, [""], top=0.24, bottom=0.45, row=0.2)
    axes.tick_params(axis="y", labelsize=SIZE + 0.5)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold")
    _grid_across(axes, [v for values in rows.values() for v in values] + ([] if limit is None else [limit]), "")
    low, high = axes.get_xlim()
    if limit is not None and decided.limit is not None:
        axes.axvspan(limit, high if better == "higher" else low, color=BAND, zorder=0)
        axes.axvline(limit, color=ORANGE, linestyle=(0, (5, 3)), linewidth=1.2)
        side = "right" if (limit - low) > 0.6 * (high - low) else "left"
        look: dict[str, Any] = {"ha": side, "va": "bottom", "fontweight": "bold", "color": ORANGE}
        words = f"limit {risk_figure(findings, decided.limit)}"
        _say(axes, words, (limit, 1), (0, 2), xycoords=("data", "axes fraction"), **look)
    for k, (letter, values) in enumerate(rows.items()):
        axes.plot([min(values), max(values)], [k, k], linewidth=1, **LINE)
        colour = STAR if letter == own else BLUE
        axes.plot(values, [k] * len(values), "|", markersize=9, color=colour, markeredgewidth=1, zorder=3)
    name = f"{decided.title}{' (%)' if scale > 1 else ''}, a tick for each run"
    axes.set_xlabel(_fitted(name, 0.7 * WIDE), fontsize=SIZE - 0.5, color=GREY, loc="right")
    return _picture(
        axes,
        f"{plural(len(mine), 'run')} of candidate {own} in the sweep range from {least} to {most}",
        (f"{letter}: {figure(min(values))} to {figure(max(values))}." for letter, values in rows.items()),
    )


def places(findings: Findings) -> Picture | None:
    """Change of a value's share in each area, as tiles; of very many areas those that change most."""
    facts = findings.sheet.places if findings.sheet else None
    areas = [a for a in facts.areas if a.residents and a.residents_after] if facts else []
    if facts is None or not areas:
        return None
    change = {a.name: 100 * (a.after / a.residents_after - a.before / a.residents) for a in areas}
    large = [a for a in areas if abs(change[a.name]) > _POINTS]
    what = f"{lower_first(facts.attribute)} {facts.value}"
    title = f"{len(large)} of {len(areas)} areas change their share of {what} by over {_POINTS:g} points"
    if large:
        title += f"; they have at most {max(a.residents for a in large):,} residents"
    note = f"Change in percentage points, by {facts.level}."
    worst = sorted(areas, key=lambda a: -abs(change[a.name]))
    if len(areas) > _MOST_TILES:
        shown = {a.name for a in worst[:_MOST_TILES]}
        areas = [a for a in areas if a.name in shown]
        note += f" The {_MOST_TILES} areas that change most."
    groups: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for area in areas:
        group, *_, row = (*area.parents, "", "") if len(area.parents) < 2 else area.parents
        name = area.name.removeprefix(area.parents[-1]).strip(".-/ ") if area.parents else area.name
        short = row.removeprefix(group).strip(".-/ ") or row
        groups.setdefault(group, {}).setdefault(short, []).append((name or area.name, change[area.name]))
    told = (f"{a.name}: {a.before} of {a.residents} become {a.after}." for a in worst[:8])
    return _picture(_tiles(groups), title, told, note)


def _tiles(groups: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]]) -> Any:
    """Places (name and change) as tiles, a line for each row and a block for each group; a change beyond the threshold
    is on a full ground, a rise orange and a fall blue, and the sign says the same."""
    from matplotlib.patches import FancyBboxPatch

    across = 2 if len(groups) > 1 else 1
    labels = max(_text_width(row) for rows in groups.values() for row in rows) + 0.08
    wide = (WIDE - 0.15 * (across - 1)) / across
    tile = min(0.62, (wide - labels) / max(len(own) for rows in groups.values() for own in rows.values()))
    lines = [len(rows) for rows in groups.values()]
    blocks = [max(lines[k : k + across]) for k in range(0, len(lines), across)]
    height = _KEY + sum(0.38 + 0.4 * n for n in blocks)
    axes = _empty_axes(WIDE, height, 0, 0, 0, 0)
    axes.set_xlim(0, WIDE)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _tile_key(axes)
    for k, (group, rows) in enumerate(groups.items()):
        top = _KEY + sum(0.38 + 0.4 * n for n in blocks[: k // across])
        left = (k % across) * (wide + 0.15)
        _say(axes, group, (left, top + 0.17), fontweight="bold")
        for row_number, (row, own) in enumerate(rows.items()):
            y = top + 0.3 + 0.4 * row_number
            _say(axes, row, (left, y + 0.18), color=GREY)
            for j, (name, change) in enumerate(own):
                x = left + labels + j * tile
                ground, ink = _tile_colours(change)
                form: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.03", "color": ground, "linewidth": 0}
                axes.add_patch(FancyBboxPatch((x + 0.02, y + 0.02), tile - 0.04, 0.34, **form))
                signed = "0" if abs(change) < 0.05 else f"{change:+.1f}".replace("-", "−")
                widest = max(_text_width(name), _text_width(signed, weight="bold"), 1e-9)
                look: dict[str, Any] = {
                    "ha": "center",
                    "color": ink,
                    "fontsize": min(1, (tile - 0.06) / widest) * SIZE,
                }
                _say(axes, name, (x + tile / 2, y + 0.11), **look)
                _say(axes, signed, (x + tile / 2, y + 0.26), fontweight="bold", **look)
    return axes


def _tile_key(axes: Any) -> None:
    """The meaning of tiles' colours, in a line above them."""
    from matplotlib.patches import Rectangle

    at, most = 0.0, f"by over {_POINTS:g} points"
    texts = {-1: f"falls {most}", -0.5: "falls less", 0: "unchanged", 0.5: "rises less", 1: f"rises {most}"}
    for share, text in texts.items():
        axes.add_patch(Rectangle((at, 0.03), 0.14, 0.14, color=_tile_colours(share * _POINTS)[0], linewidth=0))
        _say(axes, text, (at + 0.2, 0.1))
        at += 0.4 + _text_width(text)


def _tile_colours(change: float) -> tuple[str, str]:
    """The ground and the ink of a tile: pale within the threshold, full beyond it."""
    from matplotlib.colors import to_hex, to_rgb

    if not change:
        return "#f3f5f7", INK
    full = to_rgb(ORANGE if change > 0 else BLUE)
    depth = 0.12 + 0.3 * abs(change) / _POINTS if abs(change) < _POINTS else 1.0
    red, green, blue = (1 - depth * (1 - channel) for channel in full)
    return to_hex((red, green, blue)), "white" if depth == 1.0 else INK
