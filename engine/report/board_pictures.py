"""Pictures of the decision sheet and its evidence from findings: each title is an answer with its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural, upper_first
from engine.report import pictures
from engine.report.losses import by_table, largest
from engine.report.map_model import map_model
from engine.report.pictures import HALF, WIDE, Picture
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
    from engine.report.map_model import MapModel

_MOST_TILES = 120
_POINTS = 5.0
"""Percentage points from which on a place has changed much."""


# -- the map ---------------------------------------------------------------------------------------------------------


def the_map(findings: Findings, *, small: bool = False) -> Picture | None:
    """All candidates by risk and utility, the frontier, the limit, the named ones and the unprotected file."""
    board = findings.map
    within = (
        "" if board.n_within is None else f"; {board.n_within:,} {'meets' if board.n_within == 1 else 'meet'} the limit"
    )
    title = f"{plural(board.n_candidates, 'candidate')}, {board.n_frontier:,} on the frontier{within}"
    note = "Blue: on the frontier. Star: proposed."
    if board.bound_at is not None:
        often = f"{100 * board.bound_asked:.3g} % of its runs meet" if board.bound_asked else "its mean meets"
        note = f"Filled: {often} the limit. Shaded: means within it. {note}"
    alt = f"Map of {title}. " + " ".join(
        f"{row.letter}: {board.risk_title} {figure(row.risk)}, {lower_first(TABLE_CHANGE)} {figure(row.utility)}."
        for row in named(findings)
    )
    model = board_model(findings, small=small)
    return pictures.map_picture(
        replace(model, marks=tuple(replace(mark, bars=(None, None)) for mark in model.marks)),
        title=title,
        alt=alt,
        note=note,
        limit="" if board.bound_at is None else f"limit {risk_figure(findings, board.bound_at)}",
        width=HALF if small else WIDE,
        height=2.5 if small else 2.7,
    )


def board_model(findings: Findings, *, small: bool) -> MapModel:
    """Return the map with letters for the candidates that the sheet names; a share in per cent."""
    scale = 100.0 if is_share(findings) else 1.0
    letters = {row.letter for row in (choices(findings) if small else named(findings))}
    model = map_model(findings.map)
    left = tuple(mark for mark in model.marks if mark.letter not in letters)
    up, across = model.up, model.across

    def scaled(at: tuple[float, float]) -> tuple[float, float]:
        return at[0], at[1] * scale

    return replace(
        model,
        up=replace(up, title=f"{up.title} (%)" if scale > 1 else up.title, unit=""),
        across=replace(across, title=TABLE_CHANGE),
        marks=tuple(
            replace(m, at=scaled(m.at), bars=(m.bars[0], None if m.bars[1] is None else m.bars[1] * scale))
            for m in model.marks
            if m.letter in letters
        ),
        frontier=tuple(map(scaled, (*model.frontier, *(mark.at for mark in left if mark.frontier)))),
        others=tuple(map(scaled, (*model.others, *(mark.at for mark in left if not mark.frontier)))),
        edge=tuple(map(scaled, model.edge)),
        unprotected=None if model.unprotected is None else scaled(model.unprotected),
        limit=None if model.limit is None else model.limit * scale,
        inside=None
        if model.inside is None
        else frozenset(map(scaled, (*model.inside, *(mark.at for mark in left if mark.within)))),
    )


# -- what an intruder could do ---------------------------------------------------------------------------------------


def cell_sizes(findings: Findings) -> Picture | None:
    """People by the size of their cell, before and after; altered people pale."""
    rows, exposed = (findings.sheet.sizes if findings.sheet else ()), findings.exposure
    if exposed.unaltered_after is None or not any(row.before or row.unaltered or row.altered for row in rows):
        return None
    title = "Records by how many are alike on all keys"
    alt = f"{title}. " + " ".join(
        f"Cells of {r.size}: {r.before} before, {r.unaltered} unaltered and {r.altered} altered after." for r in rows
    )
    cells = [pictures.CellSize(str(r.size), r.before, r.unaltered, r.altered) for r in rows]
    return pictures.small_cells(
        cells,
        exposed.fewest,
        axis="records alike on all keys",
        title=title,
        alt=alt,
        note=f"Cells of over {rows[-1].size} records are not shown.",
        height=2.0,
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
    marks = [
        pictures.BeforeAfter(_keys_name(s.keys, all_keys), s.small, s.left or 0, f"{s.small:,} → {s.left:,}")
        for s in rows
    ]
    alt = f"{title}. " + " ".join(f"{', '.join(s.keys)}: {s.small} → {s.left}." for s in rows)
    note = "Records in small cells (in the release, unaltered ones) by known keys."
    return pictures.before_after(marks, title=title, alt=alt, note=note, unit="")


def _keys_name(keys: Sequence[str], all_keys: Sequence[str]) -> str:
    if len(keys) == len(all_keys):
        return f"all {len(keys)} keys"
    left = [key for key in all_keys if key not in keys]
    return f"all but {left[0]}" if len(left) == 1 else ", ".join(keys)


def exposed_groups(findings: Findings, most: int = 7) -> Picture | None:
    """The groups with the largest share of unaltered records in small cells."""
    groups, places = [g for g in findings.exposure.groups if g.after][:most], places_named(findings)
    if not groups:
        return None
    first = groups[0]
    be = "is" if first.of_after == 1 else "are"
    share = (
        f"{figure(100 * first.after / max(first.of_after, 1), 2)} % of its {plural(first.of_after, 'unaltered record')}"
    )
    title = f"{upper_first(short_name(first.group, places))}: {share} {be} in small cells"
    rows = [
        pictures.BeforeAfter(
            short_name(g.group, places),
            100 * g.before / g.people,
            100 * g.after / max(g.of_after, 1),
            f"{g.before:,} of {g.people:,} → {g.after:,} of {g.of_after:,}" + (f" ({g.new:,} new)" if g.new else ""),
        )
        for g in groups
    ]
    alt = f"{title}. " + " ".join(f"{r.label}: {r.text}." for r in rows)
    note = "Share of records in small cells, in the release of unaltered ones."
    if any(g.new for g in groups):
        note += " New: in no small cell before."
    return pictures.before_after(rows, title=title, alt=alt, note=note)


# -- what users lose -------------------------------------------------------------------------------------------------


def by_tables(findings: Findings, most: int = 10) -> Picture | None:
    """Figures beyond the tolerances by table, values that did not exist apart; None where no table has two."""
    rows = by_table(findings.utility.figures)
    if not rows or rows[0].flagged + rows[0].new < 2:
        return None
    title = f"{rows[0].of} loses most: {plural(rows[0].flagged, 'figure')} beyond tolerance"
    if rows[0].new:
        title += f", {plural(rows[0].new, 'value')} new in a group"
    counts = [
        pictures.Count(row.of, row.flagged, row.new, f"{row.flagged:,}" + (f" + {row.new:,} new" if row.new else ""))
        for row in rows[:most]
    ]
    alt = f"{title}. " + " ".join(f"{row.label}: {row.text}." for row in counts)
    note = f"The first {most} of {len(rows)} tables." if len(rows) > most else ""
    return pictures.losses_by_table(counts, title=title, alt=alt, note=note)


def largest_changes(findings: Findings, most: int = 10) -> Picture | None:
    """The largest changes as signed bars in standard errors on the band of the tolerance."""
    rows, places = [row for row in largest(findings.utility.figures) if row.errors][:most], places_named(findings)
    if not rows:
        return None
    title = f"Largest change: {figure_name(rows[0], places)}, {rows[0].errors:.1f} standard errors"
    bars = [pictures.Change(figure_name(row, places), _signed(row), change_words(row)) for row in rows]
    alt = f"{title}. " + " ".join(f"{bar.label}: {bar.text}, {bar.errors:+.1f} errors." for bar in bars)
    return pictures.changes(bars, findings.utility.tolerances.se, title=title, alt=alt)


def _signed(row: Figure) -> float:
    return (row.errors or 0.0) * (1 if (row.after or 0.0) >= (row.before or 0.0) else -1)


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


def forest(findings: Findings, most: int = 14) -> Picture | None:
    """Coefficients of the declared analyses in standard errors from the original's, so that all are on one scale."""
    rows = [f for f in findings.utility.figures if f.kind == "coefficient" and f.se and f.before is not None]
    if not rows:
        return None
    beyond = sum(bool(f.flagged) for f in rows)
    title = f"Declared analyses: {beyond} of {plural(len(rows), 'coefficient')} beyond tolerance in the released run"
    estimates = [
        pictures.Estimate(
            f"{f.of} · {short_name(f.what)}",
            0.0,
            -1.96,
            1.96,
            None if f.after is None else (f.after - f.before) / f.se,  # type: ignore[operator]
            bool(f.flagged),
            f"{_with_error(f.before, f.se)} → {_with_error(f.after, f.se_after)}",
        )
        for f in rows[:most]
    ]
    alt = f"{title}. " + " ".join(f"{e.label}: {e.text}." for e in estimates)
    note = "Change in standard errors of the original, largest first; estimates with their standard errors in brackets."
    return pictures.forest(estimates, title=title, alt=alt, note=note)


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "no estimate"
    return figure(value, 4) if error is None else f"{figure(value, 4)} ({figure(error, 2)})"


# -- candidates and places -------------------------------------------------------------------------------------------


def runs(findings: Findings) -> Picture | None:
    """The risk of every run of the named candidates, beside the limit."""
    if findings.sheet is None:
        return None
    own, letters = findings.recommendation.letter, {row.letter for row in named(findings)}
    rows = [row for row in findings.sheet.candidates.rows if row.runs and row.letter in letters]
    mine = next((row for row in rows if row.letter == own), None)
    if mine is None or len(mine.runs) < 2:
        return None
    decided, scale = findings.sheet.decided_by, 100 if is_share(findings) else 1
    least, most = (risk_figure(findings, value) for value in (min(mine.runs), max(mine.runs)))
    title = f"{plural(len(mine.runs), 'run')} of {own} range from {least} to {most}"
    strips = [pictures.Strip(row.letter, tuple(scale * v for v in row.runs), row.letter == own) for row in rows]
    alt = f"{title}. " + " ".join(f"{r.letter}: {figure(min(r.runs))} to {figure(max(r.runs))}." for r in strips)
    return pictures.strips(
        strips,
        None if decided.limit is None else scale * decided.limit,
        axis=f"{decided.title}{' (%)' if scale > 1 else ''}, each run",
        better=findings.map.risk_better,
        title=title,
        alt=alt,
        limit_words="" if decided.limit is None else f"limit {risk_figure(findings, decided.limit)}",
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
    note = f"Change in percentage points, by {facts.level}. Orange rises, blue falls; full colour: by over {_POINTS:g}."
    if len(areas) > _MOST_TILES:
        shown = {a.name for a in sorted(areas, key=lambda a: -abs(change[a.name]))[:_MOST_TILES]}
        areas = [a for a in areas if a.name in shown]
        note += f" The {_MOST_TILES} areas that change most."
    tiles = []
    for area in areas:
        parents = area.parents
        name = area.name.removeprefix(parents[-1]).strip(".-/ ") if parents else area.name
        row = parents[-1] if len(parents) > 1 else ""
        short = row.removeprefix(parents[0]).strip(".-/ ") if row else ""
        tiles.append(pictures.Tile(parents[0] if parents else "", short or row, name or area.name, change[area.name]))
    worst = sorted(areas, key=lambda a: -abs(change[a.name]))[:8]
    alt = f"{title}. " + " ".join(f"{a.name}: {a.before} of {a.residents} become {a.after}." for a in worst)
    return pictures.tiles(tiles, _POINTS, title=title, alt=alt, note=note)
