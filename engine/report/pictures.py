"""Parts of pictures and the map, drawn by matplotlib without a screen: shape says what colour says."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.common.wording import printable
from engine.report.map_model import FAR, Box, MapModel, Places, Point, box_at, flags, lettered, overlap, places_of
from engine.report.words import figure

INK, GREY, BLUE, ORANGE = "#1b2430", "#566171", "#0067a3", "#a84300"
PALE_BLUE, PALE_ORANGE, BAND, STONE, RULE = "#b9d9ee", "#f6d5c0", "#eef5f9", "#c9cfd6", "#dfe3e8"
STAR = "#d55e00"
WIDE, HALF = 6.85, 3.3
"""Widths in inches of a picture across the page and of one in a column."""
_NARROW = 5.0  # inches; a map less wide names the unprotected file below it
SIZE = 8.0
_LABEL = 34  # letters of one line of a label
_LETTER = 6.2  # points, about the width of a bold sign


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


def empty_axes(width: float, height: float, left: float, bottom: float, right: float, top: float) -> Any:
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


def png_of(axes: Any) -> bytes:
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


def say(axes: Any, text: str, at: Point, shift: Point = (0, 0), **look: Any) -> None:
    """Write a text beside a place of the axes, ``shift`` points to the right and up."""
    form = {"textcoords": "offset points", "fontsize": SIZE, "color": INK, "va": "center", "annotation_clip": False}
    axes.annotate(text, at, xytext=shift, **{**form, **look})


def text_width(text: str, weight: str = "normal") -> float:
    """The width of a text in inches; of several lines, of the longest."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    form = FontProperties(size=SIZE, weight=weight)
    lines = printable(text).split("\n")
    return max(text_to_path.get_text_width_height_descent(line, form, False)[0] for line in lines) / 72


def fitted(title: str, width: float) -> str:
    """A title on as many lines as it needs in a room of so many inches."""
    return textwrap.fill(printable(title), max(12, int(len(title) * width / max(text_width(title), 1e-9)))) or " "


def ticks(axis: Any, unit: str) -> None:
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
    titles = fitted(model.up.title, width - 0.2), fitted(model.across.with_use, room)
    above, below = (0.14 * (title.count("\n") + 1) for title in titles)
    axes = empty_axes(width, height, 0.5, 0.36 + below, 0.1, 0.14 + above)
    small = {"fontsize": SIZE - 0.5, "color": GREY, "xycoords": "axes fraction"}
    say(axes, titles[0], (0, 1), (-28, 5), ha="left", va="bottom", **small)
    say(axes, titles[1], (1, 0), (0, -19), ha="right", va="top", **small)
    say(axes, below_it.replace("◇", "◆" if model.unprotected_meets else "◇"), (0, 0), (-28, -19), va="top", **small)
    (left, right), (low, high) = ranges
    if low <= 0 or low < 0.4 * high:  # a range that begins near 0 begins there
        low = min(low, -0.02 * high)
    axes.set_xlim(left, right)
    axes.set_ylim(*((high, low) if model.up.better == "higher" else (low, high)))
    axes.grid(color=RULE, linewidth=0.6)
    axes.locator_params(axis="x", nbins=6 if width > _NARROW else 4)
    axes.locator_params(axis="y", nbins=6)
    ticks(axes.xaxis, model.across.unit)
    ticks(axes.yaxis, model.up.unit)
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
    return png_of(axes)


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
            say(axes, label, (left, low), (dx, dy), xycoords="axes fraction", **look)


def _at_limit(axes: Any, text: str, level: float, drawn: Places, taken: Sequence[Box], size: Point) -> Box:
    """Words above or below the limit's line, at an end of it, where they cover least; returns their box."""
    half = 36 * text_width(text, weight="bold") + 2

    def box(x: float, y: float) -> Box:
        return (x - half, y - 7.5, x + half, y + 7.5)

    def covered(at: Point) -> float:
        near = (np.abs(drawn[0] * size[0] - at[0]) < half) & (np.abs(drawn[1] * size[1] - at[1]) < 6)
        return float(np.count_nonzero(near)) + 1000 * sum(overlap(box(*at), other) for other in taken)

    heights = [min(max(height, 7.5), size[1] - 7.5) for height in (level + 8, level - 8)]
    x, y = min(((x, y) for y in heights for x in (size[0] - half - 2, half + 2)), key=covered)
    at = (x / size[0], y / size[1])
    say(axes, text, at, xycoords="axes fraction", ha="center", fontweight="bold", color=ORANGE, zorder=6)
    return box(x, y)


# Rows


def row_axes(labels: Sequence[str], texts: Sequence[str], *, top: float, bottom: float, row: float = 0.235) -> Any:
    """Axes with a row for each label, the first on top, the label to its left and its text to its right."""
    shown = [textwrap.fill(printable(label), _LABEL) or " " for label in labels]
    row = max(row, 0.135 * max(label.count("\n") + 1 for label in shown) + 0.05)
    left = max(map(text_width, shown)) + 0.12
    right = max(text_width(text, weight="bold") for text in texts) + 0.12 if any(texts) else 0.15
    axes = empty_axes(WIDE, row * len(labels) + top + bottom, left, bottom, right, top)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), shown)
    axes.tick_params(axis="y", labelsize=SIZE, labelcolor=INK)
    return axes


def row_text(axes: Any, k: int, text: str, **look: Any) -> None:
    """Write the text of a row to the right of it."""
    say(axes, text, (1, k), (6, 0), xycoords=("axes fraction", "data"), **look)


_BEFORE = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": INK, "markeredgewidth": 1.3}
_WITHIN = {"marker": "o", "markersize": 6, "color": BLUE}
_BEYOND = {"marker": "^", "markersize": 6.5, "color": ORANGE}
_AFTER = {"marker": "o", "markersize": 6, "color": ORANGE}
LINE = {"color": "#8a97a6", "zorder": 2}


def marks_legend(axes: Any, marks: Mapping[str, dict[str, Any]]) -> None:
    """A legend above the axes."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", **look) for look in marks.values()]
    where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.1, "handletextpad": 0.3}
    legend(axes, handles, list(marks), ncols=3, **where)


def legend(axes: Any, handles: Sequence[Any], labels: Sequence[str], **where: Any) -> None:
    """Add a legend without a frame."""
    axes.legend(handles, labels, frameon=False, fontsize=SIZE, labelcolor=INK, handlelength=1.2, **where)


def before_after(rows: Sequence[Pair], *, unit: str = "%", interval: float | None = None) -> bytes:
    """Draw a ring for each figure before, a filled mark after, and a line between them.

    With ``interval``, half the width of the original's, the line is that interval, and a figure beyond the tolerance is
    a triangle.
    """
    axes = row_axes([r.label for r in rows], [r.text for r in rows], top=0.3, bottom=0.25)
    half, is_judged = interval or 0.0, interval is not None
    ends = [(r.before - half, r.before + half, r.before if r.after is None else r.after) for r in rows]
    grid_across(axes, [0.0, *(value for row in ends for value in row)], unit)
    if is_judged:
        axes.axvline(0, color=INK, linewidth=0.8)
    for k, (r, (low, high, after)) in enumerate(zip(rows, ends, strict=True)):
        line = [low, high] if is_judged else [r.before, after]
        axes.plot(line, [k, k], linewidth=1.6 if is_judged else 1.8, **LINE)
        axes.plot(r.before, k, zorder=3, **_BEFORE)
        if r.after is not None:
            axes.plot(r.after, k, zorder=4, **(_BEYOND if r.beyond else _WITHIN if is_judged else _AFTER))
        row_text(axes, k, r.text, **({"color": ORANGE, "fontweight": "bold"} if r.beyond else {}))
    beyond = {"beyond tolerance": _BEYOND} if any(r.beyond for r in rows) else {}
    first = "unprotected, 95 % interval" if is_judged else "unprotected"
    marks_legend(axes, {first: _BEFORE, "release": _WITHIN if is_judged else _AFTER, **beyond})
    return png_of(axes)


def grid_across(axes: Any, values: Sequence[float], unit: str) -> None:
    """The range of values with room for their marks, and a grid."""
    low, high = min(values), max(values)
    room = 0.04 * ((high - low) or abs(high) or 1.0)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color=RULE, linewidth=0.7)
    ticks(axes.xaxis, unit)
