"""Pictures of the decision sheet and its evidence: each title is an answer with its number."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.wording import lower_first, plural
from engine.report.figures import _png
from engine.report.losses import by_table, largest
from engine.report.map_frame import staircase
from engine.report.sheet import figure_name, named, places_named, risk_figure, short_name
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.loss_facts import Figure

INK, GREY, PALE, BLUE, ORANGE, BAND = "#1b2430", "#566171", "#c9cfd6", "#0067a3", "#a84300", "#e8f1f8"
STAR = "#d55e00"
_FULL = 6.9  # inches of text
_NAME = 44


@dataclass(frozen=True)
class Picture:
    """A drawn picture (PNG) with its title, a line below the title, and its text for readers who cannot see it."""

    png: bytes
    title: str
    note: str
    alt: str

    @property
    def uri(self) -> str:
        """The picture within a page."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode()}"


def _canvas(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    canvas = Drawing(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    axes.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, labelsize=8, colors=GREY)
    return canvas, axes


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _names(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_cut(name) for name in names], color=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)


# -- the map ---------------------------------------------------------------------------------------------------------


def the_map(findings: Findings, *, small: bool = False) -> Picture:
    """All candidates by risk and utility, the frontier, the limit, the lettered ones and the unprotected file."""
    board = findings.map
    scale = _risk_scale(findings)
    canvas, axes = _canvas(3.5 if small else _FULL, 2.45 if small else 2.6)
    axes.grid(color="#e4e8ec", linewidth=0.6)
    limit = findings.sheet.decided_by.limit if findings.sheet else None
    limit_at = board.bound_at if board.bound_at is not None else None
    points = [(u, scale(r)) for u, r in (*board.frontier, *board.others)]
    nothing = None if board.nothing_risk is None or board.nothing_utility is None else (
        board.nothing_utility, scale(board.nothing_risk)
    )  # fmt: skip
    steps = staircase(board)
    axes.plot([u for u, _ in steps], [scale(r) for _, r in steps], color="#8b97a5", linewidth=1, zorder=2)

    def meets(risk: float) -> bool:
        if limit_at is None:
            return True
        return risk >= limit_at if board.risk_better == "higher" else risk <= limit_at

    for places, colour, size in ((board.others, "#9aa5b1", 18), (board.frontier, BLUE, 26)):
        for inside in (True, False):
            chosen = [(u, scale(r)) for u, r in places if meets(r) == inside]
            if chosen:
                axes.scatter(*zip(*chosen, strict=True), s=size, facecolor=colour if inside else "white",
                             edgecolor=colour, linewidths=1.2, zorder=3)  # fmt: skip
    if nothing is not None:
        axes.scatter(*nothing, marker="D", s=44, color=INK, zorder=5)
    own = next((row for row in board.candidates if row.recommended), None)
    if own is not None and own.risk is not None and own.utility is not None:
        axes.scatter(own.utility, scale(own.risk), marker="*", s=190, color=STAR, edgecolor="white", zorder=6)
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    if nothing is not None:
        xs, ys = [*xs, nothing[0]], [*ys, nothing[1]]
    if limit_at is not None:
        ys.append(scale(limit_at))
    room = 0.06 * (max(xs) - min(xs) or 1)
    left, right = min(xs) - room, max(xs) + room
    axes.set_xlim(*((right, left) if board.utility_better == "lower" else (left, right)))
    low, high = min(0.0, *ys), max(ys)
    axes.set_ylim(low, high + 0.12 * (high - low or 1))
    if limit_at is not None and limit is not None:
        at = scale(limit_at)
        lower, upper = (low, at) if board.risk_better == "lower" else (at, high * 1.12)
        axes.axhspan(lower, upper, color=BAND, zorder=0)
        axes.axhline(at, color=ORANGE, linewidth=1.2, linestyle=(0, (5, 3)), zorder=1)
        axes.annotate(f"limit {risk_figure(findings, limit)}", (0.995, at), xycoords=("axes fraction", "data"),
                      xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8, color=ORANGE,
                      weight="bold")  # fmt: skip
    canvas.draw_without_rendering()
    _letters(axes, findings, scale)
    if nothing is not None:
        _place(axes, nothing, "unprotected file", weight="bold", size=8)
    unit = findings.sheet.decided_by if findings.sheet else None
    axes.set_ylabel(f"{board.risk_title}{' (%)' if _as_share(findings) else ''}", fontsize=8, color=GREY)
    utility = board.utility_title.partition(" (")[0] if small else board.utility_title
    axes.set_xlabel(f"{utility}; more useful →", fontsize=8, color=GREY, loc="right")
    within = "" if board.n_within is None else f"; {board.n_within:,} meet the limit"
    title = f"{plural(board.n_candidates, 'candidate')}, {board.n_frontier:,} on the frontier{within}"
    note = "Filled: meets the limit. Blue: on the frontier. Star: proposed." if unit and unit.limit is not None else (
        "Blue: on the frontier. Star: proposed."
    )  # fmt: skip
    alt = f"Map of {title}. " + " ".join(
        f"{row.letter}: {board.risk_title} {figure(row.risk)}, {board.utility_title} {figure(row.utility)}."
        for row in board.candidates
    )
    return Picture(_png(canvas), title, note, alt)


def _as_share(findings: Findings) -> bool:
    return bool(findings.sheet and findings.sheet.decided_by.of)


def _risk_scale(findings: Findings) -> Callable[[float], float]:
    return (lambda risk: 100 * risk) if _as_share(findings) else (lambda risk: risk)


def _letters(axes: Any, findings: Findings, scale: Callable[[float], float]) -> None:
    """Letters beside their candidates; those of candidates that lie on each other stand together."""
    groups: list[tuple[tuple[float, float], list[str], bool]] = []
    for row in sorted(named(findings), key=lambda row: not row.recommended):
        if row.risk is None or row.utility is None:
            continue
        at = (row.utility, scale(row.risk))
        pixels = axes.transData.transform(at)
        near = next((g for g in groups if np.hypot(*(axes.transData.transform(g[0]) - pixels)) < 9), None)
        if near is not None:
            near[1].append(row.letter)
        else:
            groups.append((at, [row.letter], row.recommended))
    for at, letters, is_own in groups:
        _place(axes, at, ", ".join(letters), weight="bold", size=10 if is_own else 8)


def _place(axes: Any, at: tuple[float, float], text: str, *, weight: str, size: float) -> None:
    """Write a text beside a point where it covers no other text and no mark, as far as there is room."""
    taken = getattr(axes, "taken_boxes", [])
    x, y = axes.transData.transform(at)
    wide, high = size * 0.62 * len(text) * axes.figure.dpi / 72, size * 1.25 * axes.figure.dpi / 72
    marks = [axes.transData.transform(p) for c in axes.collections for p in np.atleast_2d(c.get_offsets())]
    frame = axes.bbox
    best, least = None, np.inf
    for distance in (7, 12, 18, 26):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, -0.8), (-0.8, 0.8), (0.8, 0.8), (-0.8, -0.8)):
            cx = x + dx * (distance + wide / 2)
            cy = y + dy * (distance + high / 2)
            box = (cx - wide / 2, cy - high / 2, cx + wide / 2, cy + high / 2)
            cost = distance / 100.0
            cost += 10 * sum(b[0] < box[2] and box[0] < b[2] and b[1] < box[3] and box[1] < b[3] for b in taken)
            cost += sum(box[0] - 4 < px < box[2] + 4 and box[1] - 2 < py < box[3] + 2 for px, py in marks)
            cost += 20 * (box[0] < frame.x0 or box[2] > frame.x1 or box[1] < frame.y0 or box[3] > frame.y1)
            if cost < least:
                best, least = box, cost
    assert best is not None
    axes.taken_boxes = [*taken, best]
    cx, cy = axes.transData.inverted().transform(((best[0] + best[2]) / 2, (best[1] + best[3]) / 2))
    axes.text(cx, cy, text, ha="center", va="center", fontsize=size, color=INK, weight=weight, zorder=7)


# -- what an intruder could do ---------------------------------------------------------------------------------------


def cell_sizes(findings: Findings) -> Picture | None:
    """People by the size of their cell, before and after; altered people pale."""
    rows, fewest = (findings.sheet.sizes if findings.sheet else ()), findings.exposure.fewest
    if not any(row.before or row.unaltered or row.altered for row in rows):
        return None
    canvas, axes = _canvas(_FULL, 2.1)
    axes.grid(axis="y", color="#e4e8ec", linewidth=0.6)
    at = np.arange(len(rows))
    before, kept, moved = (
        np.array([getattr(row, name) for row in rows]) for name in ("before", "unaltered", "altered")
    )
    colours = [ORANGE if row.size < fewest else BLUE for row in rows]
    axes.bar(at - 0.2, before, 0.38, color="#c9cfd6")
    axes.bar(at + 0.2, kept, 0.38, color=colours)
    axes.bar(at + 0.2, moved, 0.38, bottom=kept, color=colours, alpha=0.3)
    for k, row in enumerate(rows):
        if row.size < fewest:
            axes.text(k - 0.2, row.before, f"{row.before:,}", ha="center", va="bottom", fontsize=8, color=GREY)
            axes.text(k + 0.2, row.unaltered, f"{row.unaltered:,}", ha="center", va="bottom", fontsize=8,
                      color=INK, weight="bold")  # fmt: skip
    axes.axvline(fewest - 1.5, color=INK, linewidth=0.8, linestyle=(0, (3, 3)))
    axes.set_xticks(at, [str(row.size) for row in rows])
    axes.set_xlabel("records alike on all keys", fontsize=8, color=GREY, loc="right")
    exposed = findings.exposure
    kept_small = plural(exposed.unaltered_after or 0, "unaltered record")
    title = f"{kept_small} in small cells, {exposed.small_before:,} without protection"
    note = "Records by the size of their cell. Grey: unprotected. Solid: release, unaltered. Pale: release, altered."
    alt = f"{title}. " + " ".join(
        f"Cells of {r.size}: {r.before} before, {r.unaltered} unaltered and {r.altered} altered after." for r in rows
    )
    return Picture(_png(canvas), title, note, alt)


def known_keys(findings: Findings) -> Picture | None:
    """Records in small cells of the unprotected file by what an intruder knows."""
    facts = findings.recognised
    if facts is None:
        return None
    sets = {s.keys: s for s in (*facts.few_keys, *facts.all_but_one, facts.nothing_done)}
    rows = [s for s in sorted(sets.values(), key=lambda s: -s.small) if s.small][:8]
    if len(rows) < 2:
        return None
    canvas, axes = _canvas(_FULL, 0.35 + 0.21 * len(rows))
    axes.barh(range(len(rows)), [s.small for s in rows], 0.6, color=[BLUE if s.exchanged else ORANGE for s in rows])
    for k, s in enumerate(rows):
        axes.text(s.small, k, f" {s.small:,}", va="center", fontsize=8, color=INK, weight="bold")
    all_keys = facts.nothing_done.keys
    _names(axes, [_keys_name(s.keys, all_keys) for s in rows])
    axes.set_xticks([])
    axes.set_xlim(0, max(s.small for s in rows) * 1.1 or 1)
    fixed = facts.unswapped
    title = f"An intruder who knows all {len(all_keys)} keys finds {plural(facts.nothing_done.small, 'record')} in small cells"
    if fixed is not None and fixed.small:
        title = f"{plural(fixed.small, 'record')} in small cells of keys that the release leaves unchanged"
    note = "Unprotected file, by what is known. Orange: the release shows these keys unchanged."
    alt = f"{title}. " + " ".join(f"{', '.join(s.keys)}: {s.small}." for s in rows)
    return Picture(_png(canvas), title, note, alt)


def _keys_name(keys: Sequence[str], all_keys: Sequence[str]) -> str:
    if len(keys) == len(all_keys):
        return f"all {len(keys)} keys"
    left = [key for key in all_keys if key not in keys]
    return f"all but {left[0]}" if len(left) == 1 else ", ".join(keys)


def exposed_groups(findings: Findings, most: int = 10) -> Picture | None:
    """The groups with the largest share of unaltered records in small cells."""
    rows = [g for g in findings.exposure.groups if g.after][:most]
    if not rows:
        return None
    canvas, axes = _canvas(_FULL, 0.45 + 0.2 * len(rows))
    axes.grid(axis="x", color="#e4e8ec", linewidth=0.6)
    shares = [(100 * g.before / g.people, 100 * g.after / g.people) for g in rows]
    axes.hlines(range(len(rows)), *zip(*shares, strict=True), color="#8b97a5", linewidth=1.4, zorder=1)
    axes.scatter([s[0] for s in shares], range(len(rows)), s=26, facecolor="white", edgecolor=INK, zorder=2)
    axes.scatter([s[1] for s in shares], range(len(rows)), s=26, color=ORANGE, zorder=3)
    _names(axes, [short_name(g.group, places_named(findings)) for g in rows])
    axes.set_xlim(left=0)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    for k, g in enumerate(rows):
        axes.annotate(f"{g.before:,} → {g.after:,} of {g.people:,}", (1.01, k), xycoords=("axes fraction", "data"),
                      va="center", fontsize=8, color=INK)  # fmt: skip
    first = rows[0]
    title = (
        f"Most exposed: {short_name(first.group, places_named(findings))}, {100 * first.after / first.people:.1f} % of "
        f"its {first.people:,} records"
    )
    note = "Share of unaltered records in small cells. Ring: unprotected. Dot: release. Sorted by the share left."
    alt = f"{title}. " + " ".join(f"{g.group}: {g.before} before, {g.after} after, of {g.people}." for g in rows)
    return Picture(_png(canvas), title, note, alt)


# -- what users lose -------------------------------------------------------------------------------------------------


def by_tables(findings: Findings, most: int = 10) -> Picture | None:
    """Figures beyond the tolerances by table, values that did not exist apart."""
    rows = by_table(findings.utility.figures)
    if not rows:
        return None
    shown = rows[:most]
    canvas, axes = _canvas(_FULL, 0.3 + 0.19 * len(shown))
    changed = [row.flagged - row.new for row in shown]
    axes.barh(range(len(shown)), changed, 0.62, color=BLUE)
    axes.barh(range(len(shown)), [row.new for row in shown], 0.62, left=changed, color=ORANGE)
    for k, row in enumerate(shown):
        new = f", {row.new:,} new" if row.new else ""
        axes.text(row.flagged, k, f" {row.flagged:,}{new}", va="center", fontsize=8, color=INK)
    _names(axes, [row.of for row in shown])
    axes.set_xticks([])
    axes.set_xlim(0, 1.15 * shown[0].flagged)
    title = f"{shown[0].of} loses most: {plural(shown[0].flagged, 'figure')} beyond tolerance"
    more = f" The first {len(shown)} of {len(rows)} tables." if len(rows) > len(shown) else ""
    note = f"Figures beyond tolerance. Orange: values that did not exist there.{more}"
    alt = f"{title}. " + " ".join(f"{row.of}: {row.flagged}, {row.new} new." for row in shown)
    return Picture(_png(canvas), title, note, alt)


def largest_changes(findings: Findings, most: int = 10) -> Picture | None:
    """The largest changes as bars in standard errors, signed, on the band of the tolerance."""
    rows = [row for row in largest(findings.utility.figures) if row.errors][:most]
    if not rows:
        return None
    canvas, axes = _canvas(_FULL, 0.4 + 0.2 * len(rows))
    band = findings.utility.tolerances.se
    signed = [_signed(row) for row in rows]
    axes.axvspan(-band, band, color="#eef0f2", zorder=0)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.barh(range(len(rows)), signed, 0.5, color=[ORANGE if value > 0 else BLUE for value in signed], zorder=2)
    places = places_named(findings)
    _names(axes, [figure_name(row, places) for row in rows])
    reach = 1.1 * max(band, *(abs(value) for value in signed))
    axes.set_xlim(-reach, reach)
    for k, row in enumerate(rows):
        axes.annotate(change_words(row), (1.01, k), xycoords=("axes fraction", "data"), va="center", fontsize=8,
                      color=INK)  # fmt: skip
    axes.set_xlabel("standard errors", fontsize=8, color=GREY)
    first = rows[0]
    title = f"Largest change: {figure_name(first, places)}, {first.errors:.1f} standard errors"
    note = f"Grey: within {band:g} standard errors. Right: rises. Left: falls."
    alt = f"{title}. " + " ".join(f"{figure_name(r, places)}: {change_words(r)}, {r.errors:.1f} errors." for r in rows)
    return Picture(_png(canvas), title, note, alt)


def _signed(row: Figure) -> float:
    return (row.errors or 0.0) * (1 if (row.after or 0.0) >= (row.before or 0.0) else -1)


def change_words(row: Figure) -> str:
    """A figure before and after: counts within its group where it counts records."""
    if row.note == "lost":
        return f"{figure(row.before)} → no estimate"
    if row.is_count and not row.weighted:
        return f"{row.n:,} → {row.n_after:,} of {row.within:,}"
    unit = " %" if row.is_count else ""
    return f"{figure(row.before, 4)}{unit} → {figure(row.after, 4)}{unit}"


def forest(findings: Findings, most: int = 14) -> Picture | None:
    """Coefficients of the declared analyses: the original's interval, and the release; in standard errors from the
    original, so that all are on one scale."""
    rows = [f for f in findings.utility.figures if f.kind == "coefficient" and f.se and f.after is not None]
    if not rows:
        return None
    shown = rows[:most]
    canvas, axes = _canvas(_FULL, 0.45 + 0.19 * len(shown))
    axes.axvline(0, color="#8b97a5", linewidth=0.8)
    at = [(f.after - f.before) / f.se for f in shown]  # type: ignore[operator]
    axes.hlines(range(len(shown)), -1.96, 1.96, color="#8b97a5", linewidth=1.6, zorder=1)
    axes.scatter([0] * len(shown), range(len(shown)), s=26, facecolor="white", edgecolor=INK, zorder=2)
    axes.scatter(at, range(len(shown)), s=26, color=[ORANGE if f.flagged else BLUE for f in shown], zorder=3)
    _names(axes, [f"{f.of}: {f.what}" for f in shown])
    reach = 1.1 * max(2.2, *(abs(value) for value in at))
    axes.set_xlim(-reach, reach)
    axes.set_xlabel("standard errors of the original", fontsize=8, color=GREY)
    for k, f in enumerate(shown):
        axes.annotate(f"{figure(f.before)} → {figure(f.after)}", (1.01, k), xycoords=("axes fraction", "data"),
                      va="center", fontsize=8, color=INK, weight="bold" if f.flagged else "normal")  # fmt: skip
    flagged = sum(bool(f.flagged) for f in rows)
    title = f"Declared analyses: {flagged} of {plural(len(rows), 'coefficient')} beyond tolerance"
    note = "Ring and line: unprotected with its 95 % interval. Dot: release; orange beyond tolerance. Sorted by change."
    alt = f"{title}. " + " ".join(f"{f.of} {f.what}: {figure(f.before)} becomes {figure(f.after)}." for f in shown)
    return Picture(_png(canvas), title, note, alt)


# -- candidates and places -------------------------------------------------------------------------------------------


def runs(findings: Findings) -> Picture | None:
    """The risk of every run of the lettered candidates, beside the limit."""
    own = findings.recommendation.letter
    letters = {row.letter for row in named(findings)}
    rows = (
        [row for row in findings.sheet.candidates.rows if row.runs and row.letter in letters] if findings.sheet else []
    )
    if not rows or max(len(row.runs) for row in rows) < 2:
        return None
    decided = findings.sheet.decided_by  # type: ignore[union-attr]
    scale = 100 if decided.of else 1
    canvas, axes = _canvas(_FULL, 0.45 + 0.13 * len(rows))
    axes.grid(axis="x", color="#e4e8ec", linewidth=0.6)
    for k, row in enumerate(rows):
        values = [scale * value for value in row.runs]
        axes.hlines(k, min(values), max(values), color="#8b97a5", linewidth=1)
        axes.scatter(values, [k] * len(values), s=14, color=STAR if row.letter == own else BLUE, edgecolor="white",
                     linewidths=0.5, zorder=3)  # fmt: skip
    _names(axes, [row.letter for row in rows])
    if decided.limit is not None:
        at = scale * decided.limit
        axes.axvline(at, color=ORANGE, linewidth=1.2, linestyle=(0, (5, 3)))
        if findings.map.risk_better == "lower":
            axes.axvspan(axes.get_xlim()[0], at, color=BAND, zorder=0)
    axes.set_xlabel(f"{decided.title}{' (%)' if scale == 100 else ''}, each run", fontsize=8, color=GREY, loc="right")
    mine = next(row for row in rows if row.letter == own)
    least, most = (risk_figure(findings, value) for value in (min(mine.runs), max(mine.runs)))
    title = f"{plural(len(mine.runs), 'run')} of {own} range from {least} to {most}"
    limit = "" if decided.limit is None else f"limit {risk_figure(findings, decided.limit)}"
    note = f"Each dot is a run. {f'Dashed: {limit}.' if limit else ''}"
    alt = f"{title}. " + " ".join(f"{r.letter}: {figure(min(r.runs))} to {figure(max(r.runs))}." for r in rows)
    return Picture(_png(canvas), title, note.strip(), alt)


def places(findings: Findings) -> Picture | None:
    """Change of a value's share in each area, by residents."""
    facts = findings.sheet.places if findings.sheet else None
    if facts is None or not facts.areas:
        return None
    rows = [a for a in facts.areas if a.residents and a.residents_after]
    change = np.array([100 * (a.after / a.residents_after - a.before / a.residents) for a in rows])
    residents = np.array([a.residents for a in rows])
    canvas, axes = _canvas(_FULL, 2.1)
    axes.axhspan(-5, 5, color=BAND, zorder=0)
    axes.axhline(0, color=INK, linewidth=0.8)
    large = np.abs(change) > 5
    for mask, size, strength in ((~large, 16, 0.5), (large, 24, 1.0)):
        colours = [ORANGE if value > 0 else BLUE for value in change[mask]]
        axes.scatter(residents[mask], change[mask], s=size, c=colours, alpha=strength, zorder=3)
    axes.set_xscale("log")
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 3)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("residents (log scale)", fontsize=8, color=GREY, loc="right")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+g}".replace("-", "−") if value else "0")
    canvas.draw_without_rendering()
    for k in np.argsort(-np.abs(change))[:5].tolist():
        if large[k]:
            _place(axes, (float(residents[k]), float(change[k])), rows[k].name, weight="normal", size=8)
    n = int(large.sum())
    what = f"{lower_first(facts.attribute)} {facts.value}"
    title = f"{n} of {len(rows)} areas change their share of {what} by over 5 points"
    if n:
        title += f"; they have at most {residents[large].max():,} residents"
    note = f"Percentage points, by {facts.level}. Band: within 5 points."
    worst = [rows[k] for k in np.argsort(-np.abs(change))[:8].tolist()]
    alt = f"{title}. " + " ".join(f"{a.name}: {a.before} of {a.residents} become {a.after}." for a in worst)
    return Picture(_png(canvas), title, note, alt)
