"""Pictures of documents, drawn by matplotlib without a screen: shape says what colour says.

A caller gives each its title (the answer with its number) and its text for readers who cannot see it.
"""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.common.wording import printable
from engine.report.map_model import (
    FAR,
    Box,
    MapModel,
    Places,
    Point,
    box_at,
    flags,
    lines_of,
    on_lines,
    overlap,
    together,
)
from engine.report.words import figure

INK, GREY, BLUE, ORANGE, GREEN = "#1b2430", "#566171", "#0067a3", "#a84300", "#00704f"
PALE_BLUE, PALE_ORANGE, BAND, STONE, RULE = "#b9d9ee", "#f6d5c0", "#eef5f9", "#c9cfd6", "#dfe3e8"
STAR = "#d55e00"
WIDE, HALF = 6.85, 3.3
"""Widths in inches of a picture across the page and of one in a column."""
_NARROW = 5.0  # inches; a map less wide names the unprotected file below it
_DPI = 200
_SIZE = 8.0
_LABEL = 34  # letters of one line of a label
_ROW = 0.235
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


class Count(NamedTuple):
    """Figures of a table ``beyond`` the tolerance, ``new`` values that did not exist in their group, and a text."""

    label: str
    beyond: int
    new: int
    text: str


class Change(NamedTuple):
    """A figure's change in standard errors, with its sign, and a text."""

    label: str
    errors: float
    text: str


class CellSize(NamedTuple):
    """Records in cells of one size: in the original, and in the release the unaltered and the altered ones."""

    label: str
    before: float
    unaltered: float
    altered: float


class Estimate(NamedTuple):
    """A figure of a declared analysis with the original's interval, ``beyond`` it or not in the release, and a text."""

    label: str
    before: float
    low: float
    high: float
    after: float | None
    beyond: bool
    text: str


class BeforeAfter(NamedTuple):
    """A figure of a place or group in the original and in the release, and a text."""

    label: str
    before: float
    after: float
    text: str


class Tile(NamedTuple):
    """A place: the group and the row in which it stands, its own short name, and its change (None: unknown)."""

    group: str
    row: str
    name: str
    change: float | None


class Strip(NamedTuple):
    """The figures of a candidate's runs."""

    letter: str
    runs: tuple[float, ...]
    recommended: bool = False


def _canvas(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), dpi=_DPI)
    FigureCanvasAgg(canvas)
    return canvas


def _axes(canvas: Any, left: float, bottom: float, right: float, top: float) -> Any:
    """Axes with so many inches around them, and without spines."""
    width, height = canvas.get_size_inches()
    axes = canvas.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=_SIZE - 0.5, labelcolor=GREY, pad=3)
    axes.set_axisbelow(True)
    return axes


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
        canvas.savefig(out, format="png", facecolor="white", metadata={"Software": None})
    return out.getvalue()


def _say(axes: Any, text: str, at: tuple[float, float], shift: Point = (0, 0), **look: Any) -> None:
    """Write a text beside a place of the axes, ``shift`` points to the right and up."""
    form = {"textcoords": "offset points", "fontsize": _SIZE, "color": INK, "va": "center", "annotation_clip": False}
    axes.annotate(text, at, xytext=shift, **{**form, **look})


def text_width(text: str, size: float = _SIZE, weight: str = "normal") -> float:
    """The width of a text in inches; of several lines, of the longest."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    form = FontProperties(size=size, weight=weight)
    lines = printable(text).split("\n")
    return max(text_to_path.get_text_width_height_descent(line, form, False)[0] for line in lines) / 72


def _fitted(title: str, width: float) -> str:
    """A title on as many lines as it needs in a room of so many inches."""
    letters = max(12, int(len(title) * width / max(text_width(title), 1e-9)))
    return "\n".join(textwrap.wrap(printable(title), letters)) or " "


def _ticks(axis: Any, unit: str) -> None:
    """Ticks as figures are printed everywhere, of shares with their sign of per cent."""
    from matplotlib.ticker import FuncFormatter

    sign, times = (" %", 100) if unit.startswith("share") else (" %" if unit == "%" else "", 1)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{figure(round(times * value, 10))}{sign}"))


# The map


def map_picture(
    model: MapModel, *, title: str, alt: str, note: str = "", limit: str = "", width: float = WIDE, height: float = 3.5
) -> Picture | None:
    """Draw the map; None where no candidate has figures.  ``limit`` is the words beside the limit's line."""
    png = _map(model, limit, width, height)
    return None if png is None else Picture(png, title, alt, note)


@lru_cache(maxsize=8)
def _map(model: MapModel, limit: str, width: float, height: float) -> bytes | None:
    ranges = model.window(0.08)
    if ranges is None:
        return None
    canvas = _canvas(width, height)
    legend = "" if width > _NARROW or not model.unprotected else "◇ unprotected file"
    room = width - (1.5 if legend else 0.2)
    titles = _fitted(model.up.title, width - 0.2), _fitted(f"{model.across.title}, more useful →", room)
    above, below = (0.14 * (title.count("\n") + 1) for title in titles)
    axes = _axes(canvas, 0.5, 0.36 + below, 0.1, 0.14 + above)
    small = {"fontsize": _SIZE - 0.5, "color": GREY, "xycoords": "axes fraction"}
    _say(axes, titles[0], (0, 1), (-28, 5), ha="left", va="bottom", **small)
    _say(axes, titles[1], (1, 0), (0, -19), ha="right", va="top", **small)
    _say(axes, legend.replace("◇", "◆" if model.unprotected_meets else "◇"), (0, 0), (-28, -19), va="top", **small)
    (left, right), (low, high) = ranges
    if low <= 0 or low < 0.4 * high:  # a range that begins near 0 begins there
        low = min(low, -0.02 * high)
    axes.set_xlim(*((right, left) if model.across.better == "lower" else (left, right)))
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
    _points(axes, model, model.others, "#9aa5b1", 14, 2.5)
    _points(axes, model, model.frontier, BLUE, 20, 3)
    _lettered(axes, model)
    if model.unprotected:
        axes.plot(
            *model.unprotected, marker="D", markersize=7, linestyle="none", clip_on=False, zorder=5,
            markeredgewidth=1.3, markerfacecolor=INK if model.unprotected_meets else "white", markeredgecolor=INK,
        )  # fmt: skip
    size = (72 * (width - 0.6), 72 * (height - 0.5 - above - below))
    _map_words(axes, model, limit, size, name_unprotected=not legend)
    return _png(canvas)


def _points(axes: Any, model: MapModel, points: Sequence[Point], colour: str, size: float, order: float) -> None:
    """Filled within the limit, rings beyond it."""
    for within in (True, False):
        chosen = [point for point in points if model.meets(point) is within]
        axes.scatter(
            [u for u, _ in chosen], [r for _, r in chosen], s=size, facecolor=colour if within else "white",
            edgecolor=colour, linewidths=1.1, zorder=order,
        )  # fmt: skip


def _lettered(axes: Any, model: MapModel) -> None:
    for mark in model.marks:
        colour = STAR if mark.recommended else BLUE if mark.frontier else GREY
        axes.errorbar(
            *mark.at, xerr=mark.bars[0], yerr=mark.bars[1], fmt="*" if mark.recommended else "o",
            markersize=13 if mark.recommended else 6.5, markeredgewidth=0.6 if mark.recommended else 1.3,
            markerfacecolor=colour if mark.within else "white",
            markeredgecolor="white" if mark.recommended and mark.within else colour,
            ecolor=colour, elinewidth=0.8, zorder=6 if mark.recommended else 4,
        )  # fmt: skip


def _map_words(axes: Any, model: MapModel, limit: str, size: tuple[float, float], *, name_unprotected: bool) -> None:
    """Words of the limit and of the unprotected file, and letters; none meets another, nor the limit's line."""

    def share(points: Sequence[Point]) -> Places:
        """Points as shares of the axes."""
        values = np.array(points, float).reshape(-1, 2)
        x, y = axes.transAxes.inverted().transform(axes.transData.transform(values)).T
        return x, y

    unprotected = [model.unprotected] if model.unprotected else []
    lines = lines_of(model)
    places = [
        share([*(mark.at for mark in model.marks), *model.frontier, *model.others, *20 * unprotected]),
        on_lines(share([begin for begin, _ in lines]), share([end for _, end in lines])),
    ]
    taken: list[Box] = []
    if model.limit is not None:
        level = float(share([(0.0, model.limit)])[1][0])
        places.append((np.linspace(0, 1, 80), np.full(80, level)))
        taken.append((0.0, level * size[1] - 1.5, size[0], level * size[1] + 1.5))
    x, y = share([mark.at for mark in model.marks])
    proposed = [k for k, mark in enumerate(model.marks) if mark.recommended]
    groups = together(list(zip(x * size[0], y * size[1], strict=True)), 7.0, proposed)
    named = [(", ".join(model.marks[k].letter for k in group), model.marks[group[0]].at) for group in groups]
    titled = [("unprotected file", at) for at in unprotected if name_unprotected]
    named = titled + named
    labels, (x, y) = [label for label, _ in named], share([at for _, at in named])
    dots = share([*(mark.at for mark in model.marks), *model.frontier, *model.others, *unprotected])
    n, drawn = len(titled), _joined(places)
    offsets = flags(x[:n], y[:n], labels[:n], drawn, size, taken, (_LETTER, 11.0), dots)
    for label, left, low, (dx, dy) in zip(labels, x, y, offsets, strict=False):
        taken.append(box_at(left * size[0] + dx, low * size[1] + dy, label, _LETTER))
    if limit and model.limit is not None:
        taken.append(_at_limit(axes, limit, float(share([(0.0, model.limit)])[1][0]) * size[1], drawn, taken, size))
    bold = {label for label, group in zip(labels[n:], groups, strict=True) if group[0] in proposed}
    offsets += flags(x[n:], y[n:], labels[n:], drawn, size, taken, (_LETTER, 11.0), dots)
    for label, left, low, (dx, dy) in zip(labels, x, y, offsets, strict=True):
        far = np.hypot(max(0, abs(dx) - _LETTER / 2 * len(label)), max(0, abs(dy) - 7.5)) > FAR
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkB": 4} if far else None
        size_ = 10 if label in bold else 8.5 if len(label) < 12 else _SIZE
        look = {"ha": "center", "fontsize": size_, "fontweight": "bold", "zorder": 7, "arrowprops": line}
        _say(axes, label, (left, low), (dx, dy), xycoords="axes fraction", **look)


def _joined(places: Sequence[Places]) -> Places:
    return np.concatenate([x for x, _ in places]), np.concatenate([y for _, y in places])


def _at_limit(
    axes: Any, text: str, level: float, places: Places, taken: Sequence[Box], size: tuple[float, float]
) -> Box:
    """Words above or below the limit's line, at an end of it, where they cover least; returns their box."""
    half = 36 * text_width(text, weight="bold") + 2

    def box(at: Point) -> Box:
        return (at[0] - half, at[1] - 7.5, at[0] + half, at[1] + 7.5)

    def covered(at: Point) -> float:
        near = (np.abs(places[0] * size[0] - at[0]) < half) & (np.abs(places[1] * size[1] - at[1]) < 6)
        return float(np.count_nonzero(near)) + 1000 * sum(overlap(box(at), other) for other in taken)

    heights = [min(max(height, 7.5), size[1] - 7.5) for height in (level + 8, level - 8)]
    x, y = min(((x, y) for y in heights for x in (size[0] - half - 2, half + 2)), key=covered)
    at = (x / size[0], y / size[1])
    _say(axes, text, at, xycoords="axes fraction", ha="center", fontweight="bold", color=ORANGE, zorder=6)
    return box((x, y))


# Rows


def _wrapped(label: str) -> str:
    """A label on as many lines as it needs: none is cut."""
    return "\n".join(textwrap.wrap(printable(label), _LABEL)) or " "


def _row_axes(
    labels: Sequence[str], texts: Sequence[str], *, width: float, top: float, bottom: float, row: float = _ROW
) -> tuple[Any, Any]:
    """Axes with a row for each label, the first on top, the label to its left and its text to its right."""
    shown = [_wrapped(label) for label in labels]
    row = max(row, 0.135 * max(label.count("\n") + 1 for label in shown) + 0.05)
    left = max(map(text_width, shown)) + 0.12
    right = max(text_width(text, weight="bold") for text in texts) + 0.12 if any(texts) else 0.15
    canvas = _canvas(width, row * len(labels) + top + bottom)
    axes = _axes(canvas, left, bottom, right, top)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), shown)
    axes.tick_params(axis="y", labelsize=_SIZE, labelcolor=INK)
    return canvas, axes


def _row_text(axes: Any, k: int, text: str, *, marked: bool = False) -> None:
    look = {"color": ORANGE, "fontweight": "bold"} if marked else {}
    _say(axes, text, (1, k), (6, 0), xycoords=("axes fraction", "data"), **look)


_BEFORE = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": INK, "markeredgewidth": 1.3}
_WITHIN = {"marker": "o", "markersize": 6, "color": BLUE}
_BEYOND = {"marker": "^", "markersize": 6.5, "color": ORANGE}
_AFTER = {"marker": "o", "markersize": 6, "color": ORANGE}
_LINE = {"color": "#8a97a6", "zorder": 2}


def _marks(axes: Any, marks: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """A legend above the axes."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", **look) for _, look in marks]
    where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.1, "handletextpad": 0.3}
    _legend(axes, handles, [name for name, _ in marks], ncols=3, **where)


def _legend(axes: Any, handles: Sequence[Any], labels: Sequence[str], **where: Any) -> None:
    axes.legend(handles, labels, frameon=False, fontsize=_SIZE, labelcolor=INK, handlelength=1.2, **where)


def losses_by_table(rows: Sequence[Count], *, title: str, alt: str, note: str = "", width: float = WIDE) -> Picture:
    """Draw the figures beyond the tolerance of each table as bars, new values hatched after them; rows come sorted."""
    canvas, axes = _row_axes(
        [r.label for r in rows], [""], width=width, top=0.28 if any(r.new for r in rows) else 0.05, bottom=0.05
    )
    most = max(max(r.beyond + r.new for r in rows), 1)
    axes.set_xlim(0, most * (1 + 1.1 * max(text_width(r.text) for r in rows) / (0.6 * width)))
    changed = axes.barh(range(len(rows)), [r.beyond for r in rows], height=0.62, color=BLUE)
    new = axes.barh(
        range(len(rows)), [r.new for r in rows], left=[r.beyond for r in rows], height=0.62, color=ORANGE,
        hatch="////", edgecolor="white", linewidth=0,
    )  # fmt: skip
    for k, r in enumerate(rows):
        _say(axes, r.text, (r.beyond + r.new, k), (5, 0))
    axes.set_xticks([])
    if any(r.new for r in rows):
        names = ["change beyond tolerance", "value that did not exist in its group"]
        _legend(axes, [changed, new], names, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0)
    return Picture(_png(canvas), title, alt, note)


def changes(
    rows: Sequence[Change], tolerance: float, *, title: str, alt: str, note: str = "", width: float = WIDE
) -> Picture:
    """Draw changes in standard errors as signed bars on the band of the tolerance."""
    canvas, axes = _row_axes([r.label for r in rows], [r.text for r in rows], width=width, top=0.28, bottom=0.4)
    most = 1.08 * max(tolerance, *(abs(r.errors) for r in rows))
    axes.set_xlim(-most, most)
    axes.axvspan(-tolerance, tolerance, color="#ebebeb", zorder=0)
    axes.axvline(0, color=INK, linewidth=1, zorder=3)
    colours = [ORANGE if r.errors > 0 else BLUE for r in rows]
    axes.barh(range(len(rows)), [r.errors for r in rows], height=0.42, color=colours, zorder=2)
    for k, r in enumerate(rows):
        _row_text(axes, k, r.text)
    _ticks(axes.xaxis, "")
    axes.set_xlabel(f"change in standard errors; grey: at most {figure(tolerance)}", fontsize=_SIZE - 0.5, color=GREY)
    marks = [("fall", {"marker": "s", "color": BLUE}), ("rise", {"marker": "s", "color": ORANGE})]
    _marks(axes, marks)
    return Picture(_png(canvas), title, alt, note)


def small_cells(
    rows: Sequence[CellSize], fewest: int, *, axis: str, title: str, alt: str, note: str = "", width: float = WIDE,
    height: float = 2.3,
) -> Picture:  # fmt: skip
    """Draw records by the size of their cell, before and after, the altered ones pale; cells below ``fewest`` come
    first and are small.  ``axis`` names the sizes."""
    from matplotlib.legend_handler import HandlerTuple

    canvas = _canvas(width, height)
    axes = _axes(canvas, 0.62, 0.45, 0.05, 0.48)
    small = min(fewest - 1, len(rows))
    at = np.arange(len(rows))
    high = max(max(r.before, r.unaltered + r.altered) for r in rows) or 1
    axes.set_ylim(0, 1.1 * high)
    axes.set_xlim(-0.55, len(rows) - 0.45)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    strong = [ORANGE if k < small else BLUE for k in at]
    pale = [PALE_ORANGE if k < small else PALE_BLUE for k in at]
    before = axes.bar(at - 0.2, [r.before for r in rows], width=0.36, color=STONE)
    kept = axes.bar(at + 0.2, [r.unaltered for r in rows], width=0.36, color=strong)
    altered = axes.bar(at + 0.2, [r.altered for r in rows], bottom=[r.unaltered for r in rows], width=0.36, color=pale)
    for k, r in enumerate(rows[:small]):
        _say(axes, f"{r.before:,.0f}", (k - 0.2, r.before), (0, 2), ha="center", va="bottom", color=GREY)
        _say(axes, f"{r.unaltered:,.0f}", (k + 0.2, r.unaltered), (0, 2), ha="center", va="bottom", fontweight="bold")
    if small < len(rows):
        axes.axvline(small - 0.5, color=INK, linestyle=(0, (3, 3)), linewidth=0.8)
    look = {"ha": "right", "va": "bottom", "fontweight": "bold", "color": ORANGE}
    _say(axes, "small cells", (small - 0.5, 1.1 * high), (-4, 0), **look)
    axes.set_xticks(at, [r.label for r in rows])
    axes.tick_params(axis="x", labelcolor=INK)
    _ticks(axes.yaxis, "")
    axes.set_xlabel(_fitted(axis, 0.7 * width), fontsize=_SIZE - 0.5, color=GREY, loc="right")
    axes.set_ylabel("records", fontsize=_SIZE - 0.5, color=GREY)
    bars, names = [before[0], kept[0], altered[0]], ["unprotected", "release, unaltered", "release, altered"]
    if small < len(rows):
        bars, names = (
            [before[0], kept[small], altered[small], (kept[0], altered[0])],
            [*names, "the same, in small cells"],
        )
    where = {"loc": "lower right", "bbox_to_anchor": (1, 1 + 0.18 / (height - 0.93)), "borderaxespad": 0}
    _legend(axes, bars, names, ncols=4, handler_map={tuple: HandlerTuple(None)}, **where)
    return Picture(_png(canvas), title, alt, note)


def forest(
    rows: Sequence[Estimate], *, title: str, alt: str, note: str = "", unit: str = "", width: float = WIDE
) -> Picture:
    """Draw figures of declared analyses: a ring with its interval before, a filled mark after, a triangle beyond it."""
    canvas, axes = _row_axes([r.label for r in rows], [r.text for r in rows], width=width, top=0.3, bottom=0.25)
    _across(axes, [v for r in rows for v in (r.low, r.high, r.before, r.before if r.after is None else r.after)], unit)
    if axes.get_xlim()[0] < 0 < axes.get_xlim()[1]:
        axes.axvline(0, color=INK, linewidth=0.8)
    for k, r in enumerate(rows):
        axes.plot([r.low, r.high], [k, k], linewidth=1.6, **_LINE)
        axes.plot(r.before, k, zorder=3, **_BEFORE)
        if r.after is not None:
            axes.plot(r.after, k, zorder=4, **(_BEYOND if r.beyond else _WITHIN))
        _row_text(axes, k, r.text, marked=r.beyond)
    beyond = [("beyond tolerance", _BEYOND)] if any(r.beyond for r in rows) else []
    _marks(axes, [("unprotected, 95 % interval", _BEFORE), ("release", _WITHIN), *beyond])
    return Picture(_png(canvas), title, alt, note)


def before_after(
    rows: Sequence[BeforeAfter], *, title: str, alt: str, note: str = "", unit: str = "%", width: float = WIDE
) -> Picture:
    """Draw figures of places or groups: a ring before, a filled mark after, a line between them."""
    canvas, axes = _row_axes([r.label for r in rows], [r.text for r in rows], width=width, top=0.3, bottom=0.25)
    _across(axes, [0.0, *(v for r in rows for v in (r.before, r.after))], unit)
    for k, r in enumerate(rows):
        axes.plot([r.before, r.after], [k, k], linewidth=1.8, **_LINE)
        axes.plot(r.before, k, zorder=3, **_BEFORE)
        axes.plot(r.after, k, zorder=4, **_AFTER)
        _row_text(axes, k, r.text)
    _marks(axes, [("unprotected", _BEFORE), ("release", _AFTER)])
    return Picture(_png(canvas), title, alt, note)


def _across(axes: Any, values: Sequence[float], unit: str) -> None:
    """The range of values with room for their marks, and a grid."""
    low, high = min(values), max(values)
    room = 0.04 * ((high - low) or abs(high) or 1.0)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color=RULE, linewidth=0.7)
    _ticks(axes.xaxis, unit)


def strips(
    rows: Sequence[Strip], limit: float | None, *, axis: str, better: str = "lower", title: str, alt: str,
    note: str = "", limit_words: str = "",
) -> Picture:  # fmt: skip
    """Draw the runs of each candidate as marks on a line, rings beyond the limit, the recommended one's as stars."""
    canvas, axes = _row_axes([r.letter for r in rows], [""], width=WIDE, top=0.24, bottom=0.45, row=0.2)
    axes.tick_params(axis="y", labelsize=_SIZE + 0.5)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold")
    _across(axes, [v for r in rows for v in r.runs] + ([] if limit is None else [limit]), "")
    low, high = axes.get_xlim()
    if limit is not None:
        axes.axvspan(limit, high if better == "higher" else low, color=BAND, zorder=0)
        axes.axvline(limit, color=ORANGE, linestyle=(0, (5, 3)), linewidth=1.2)
        side = "right" if (limit - low) > 0.6 * (high - low) else "left"
        look = {"ha": side, "va": "bottom", "fontweight": "bold", "color": ORANGE}
        _say(axes, limit_words, (limit, 1), (0, 2), xycoords=("data", "axes fraction"), **look)
    sign = -1 if better == "higher" else 1
    for k, r in enumerate(rows):
        colour = STAR if r.recommended else BLUE
        axes.plot([min(r.runs), max(r.runs)], [k, k], linewidth=1, **_LINE)
        for within, face, edge, thick in ((True, colour, "white", 0.5), (False, "white", colour, 1)):
            chosen = [v for v in r.runs if (limit is None or bool(sign * v <= sign * limit)) is within]
            axes.plot(
                chosen, [k] * len(chosen), "*" if r.recommended else "o", markersize=8 if r.recommended else 5,
                markerfacecolor=face, markeredgecolor=edge, markeredgewidth=thick, zorder=3,
            )  # fmt: skip
    axes.set_xlabel(_fitted(axis, 0.7 * WIDE), fontsize=_SIZE - 0.5, color=GREY, loc="right")
    return Picture(_png(canvas), title, alt, note)


def tiles(
    places: Sequence[Tile], beyond: float, *, title: str, alt: str, note: str = "", width: float = WIDE
) -> Picture:
    """Draw places as tiles with their change, a line for each row and a block for each group; a change beyond the
    threshold is on a full ground, a rise orange and a fall blue, and the sign says the same."""
    from matplotlib.patches import FancyBboxPatch

    groups = {name: [t for t in places if t.group == name] for name in dict.fromkeys(t.group for t in places)}
    across = 2 if len(groups) > 1 else 1
    columns = max(sum(t.group == own.group and t.row == own.row for t in places) for own in places)
    labels = max(text_width(t.row) for t in places) + 0.08
    wide = (width - 0.15 * (across - 1)) / across
    tile = min(0.62, (wide - labels) / columns)
    lines = [len(dict.fromkeys(t.row for t in own)) for own in groups.values()]
    blocks = [max(lines[k : k + across]) for k in range(0, len(lines), across)]
    height = sum(0.3 + 0.4 * n + 0.08 for n in blocks)
    canvas = _canvas(width, height)
    axes = _axes(canvas, 0, 0, 0, 0)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    top = 0.0
    for k, (name, own) in enumerate(groups.items()):
        if k and k % across == 0:
            top += 0.38 + 0.4 * blocks[k // across - 1]
        left = (k % across) * (wide + 0.15)
        _say(axes, name, (left, top + 0.17), fontweight="bold")
        for row_number, row in enumerate(dict.fromkeys(t.row for t in own)):
            y = top + 0.3 + 0.4 * row_number
            _say(axes, row, (left, y + 0.18), color=GREY)
            for j, t in enumerate(place for place in own if place.row == row):
                x = left + labels + j * tile
                ground, ink = _tile_colours(t.change, beyond)
                form: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.03", "color": ground, "linewidth": 0}
                axes.add_patch(FancyBboxPatch((x + 0.02, y + 0.02), tile - 0.04, 0.34, **form))
                widest = max(text_width(t.name), text_width(_signed(t.change), weight="bold"), 1e-9)
                look: dict[str, Any] = {
                    "ha": "center",
                    "color": ink,
                    "fontsize": min(_SIZE, _SIZE * (tile - 0.06) / widest),
                }
                _say(axes, t.name, (x + tile / 2, y + 0.11), **look)
                _say(axes, _signed(t.change), (x + tile / 2, y + 0.26), fontweight="bold", **look)
    return Picture(_png(canvas), title, alt, note)


def _signed(change: float | None) -> str:
    if change is None:
        return "–"
    text = f"{change:+.1f}".replace("-", "−")
    return "0" if text in ("+0.0", "−0.0") else text


def _tile_colours(change: float | None, beyond: float) -> tuple[str, str]:
    """The ground and the ink of a tile: pale within the threshold, full beyond it."""
    from matplotlib.colors import to_hex, to_rgb

    if not change:
        return "#f3f5f7", INK
    full = to_rgb(ORANGE if change > 0 else BLUE)
    depth = 0.12 + 0.3 * abs(change) / beyond if abs(change) < beyond else 1.0
    red, green, blue = (1 - depth * (1 - channel) for channel in full)
    return to_hex((red, green, blue)), "white" if depth == 1.0 else INK
