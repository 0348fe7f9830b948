"""Pictures of the decision sheet and its evidence from findings: each title is an answer with its number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural, upper_first
from engine.report import pictures
from engine.report.losses import by_table, largest
from engine.report.map_model import map_model
from engine.report.pictures import HALF, WIDE, Pair, Picture
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

_MOST, _MOST_CHANGES, _MOST_TILES = 6, 8, 120
_POINTS = 5.0
"""Percentage points from which on a place has changed much."""


def _picture(png: bytes, title: str, told: Iterable[str], note: str = "") -> Picture:
    return Picture(png, title, f"{title}. {' '.join(told)}", note)


# -- the map ---------------------------------------------------------------------------------------------------------


def the_map(findings: Findings, *, small: bool = False) -> Picture | None:
    """All candidates by risk and utility, the frontier, the limit, the named ones and the unprotected file."""
    board, model = findings.map, board_model(findings, small=small)
    png = pictures.map_picture(
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
    note = "Blue: on the frontier. Grey: dominated. Star: proposed."
    if board.bound_at is not None:
        often = f"{100 * board.bound_asked:.3g} % of runs meet" if board.bound_asked else "the mean meets"
        note = f"Filled: {often} the limit. {note}"
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
    """People by the size of their cell, before and after; altered people pale."""
    rows, exposed = (findings.sheet.sizes if findings.sheet else ()), findings.exposure
    if exposed.unaltered_after is None or not any(row.before or row.unaltered or row.altered for row in rows):
        return None
    return _picture(
        pictures.small_cells(rows, exposed.fewest, axis="records alike on all keys"),
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
        pictures.before_after(pairs, unit=""),
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
        pictures.before_after(rows),
        f"{upper_first(rows[0].label)}: {share} % of its {of} {be} in small cells",
        (f"{r.label}: {r.text}." for r in rows),
        "Share of records in small cells, in the release of unaltered ones.",
    )


# -- what users lose -------------------------------------------------------------------------------------------------


def by_tables(findings: Findings) -> Picture | None:
    """Figures beyond the tolerances by table, values that did not exist apart; None where no table has two."""
    rows = by_table(findings.utility.figures)
    if not rows or rows[0].flagged + rows[0].new < 2:
        return None
    title = f"{rows[0].of} loses most: {plural(rows[0].flagged, 'figure')} beyond tolerance"
    if rows[0].new:
        title += f", {plural(rows[0].new, 'value')} new in a group"
    counts = [
        (row.of, row.flagged, row.new, f"{row.flagged:,}" + (f" + {row.new:,} new" if row.new else ""))
        for row in rows[:_MOST]
    ]
    note = f"The first {_MOST} of {len(rows)} tables." if len(rows) > _MOST else ""
    return _picture(pictures.losses_by_table(counts), title, (f"{name}: {text}." for name, _, _, text in counts), note)


def largest_changes(findings: Findings) -> Picture | None:
    """The largest changes as signed bars in standard errors on the band of the tolerance."""
    changes, places = [row for row in largest(findings.utility.figures) if row.errors], places_named(findings)
    rows = sorted(changes, key=lambda row: not row.flagged)[:_MOST_CHANGES]
    if not rows:
        return None
    bars = []
    for row in rows:
        sign = 1 if (row.after or 0.0) >= (row.before or 0.0) else -1
        bars.append((figure_name(row, places), sign * (row.errors or 0.0), change_words(row), bool(row.flagged)))
    at = findings.utility.tolerances
    note = "" if all(beyond for *_, beyond in bars) else "Pale: within tolerance."
    if any(beyond and abs(errors) <= at.se for _, errors, _, beyond in bars):
        note += f" Full colour inside the grey band: beyond tolerance by the {100 * at.change:g} % rule alone."
    return _picture(
        pictures.changes(bars, at.se),
        f"Largest change: {figure_name(changes[0], places)}, {changes[0].errors:.1f} standard errors",
        (f"{name}: {text}, {errors:+.1f} errors." for name, errors, text, _ in bars),
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
        pictures.before_after(pairs, unit="", interval=1.96),
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
    """The risk of every run of the named candidates, beside the limit."""
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
    decided = findings.sheet.decided_by
    least, most = (risk_figure(findings, value) for value in (min(mine), max(mine)))
    return _picture(
        pictures.strips(
            rows,
            own,
            None if decided.limit is None else scale * decided.limit,
            axis=f"{decided.title}{' (%)' if scale > 1 else ''}, a tick for each run",
            better=findings.map.risk_better,
            limit_words="" if decided.limit is None else f"limit {risk_figure(findings, decided.limit)}",
        ),
        f"{plural(len(mine), 'run')} of release {own} range from {least} to {most}",
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
    tiles = []
    for area in areas:
        group, *_, row = (*area.parents, "", "") if len(area.parents) < 2 else area.parents
        name = area.name.removeprefix(area.parents[-1]).strip(".-/ ") if area.parents else area.name
        short = row.removeprefix(group).strip(".-/ ")
        tiles.append((group, short or row, name or area.name, change[area.name]))
    told = (f"{a.name}: {a.before} of {a.residents} become {a.after}." for a in worst[:8])
    return _picture(pictures.tiles(tiles, _POINTS), title, told, note)
