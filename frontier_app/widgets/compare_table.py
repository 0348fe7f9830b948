"""Candidates side by side as one table: figures, differences from a reference, in words and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from engine.decision.comparison import Difference
from engine.measures import MeasureCall
from frontier_app.wording import recognised, text

CSS = """<style>
.sf-side {overflow-x: auto;}
.sf-side table {border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums;}
.sf-side th, .sf-side td {padding: .42rem .7rem .42rem 0; vertical-align: top; text-align: left;
  border-bottom: 1px solid light-dark(#D5DBE1, #39434D); font-weight: 400; overflow-wrap: anywhere;}
.sf-side thead th {border-bottom-width: 2px; font-weight: 600; max-width: 13rem;}
.sf-side th.candidate {width: 15rem; max-width: 15rem;}
.sf-side tbody th {min-width: 11rem; max-width: 17rem;}
.sf-side b {font-weight: 600;}
.sf-side .quiet {color: light-dark(#55606B, #A9B3BD); font-size: .8rem; font-weight: 400; display: block;}
.sf-side .better {color: light-dark(#005A8C, #6CC0EE); display: block;}
.sf-side .worse {color: light-dark(#A34700, #F59A57); display: block;}
.sf-side .noise {color: light-dark(#55606B, #A9B3BD); display: block;}
</style>"""
"""Blue and vermillion of Okabe and Ito, darkened or lightened to read as text; words and marks say the same.
No arrows: a figure that falls may be the better one."""


@dataclass(frozen=True)
class Column:
    """One candidate: its name, what it does, and lines of words under it."""

    name: str
    words: str
    lines: tuple[str, ...] = ()


def verdict(difference: Difference) -> tuple[str, str]:
    """Class and words of a difference: better or worse, clear or within the noise."""
    if difference.absolute != difference.absolute:
        return "noise", "not known"
    if difference.better == 0:
        return "noise", "= the same"
    if not difference.clear:
        way = "better" if difference.better > 0 else "worse"
        return "noise", f"≈ {way}, but within noise"
    return ("better", "✓ clearly better") if difference.better > 0 else ("worse", "✗ clearly worse")


def side_by_side(
    columns: Sequence[Column],
    measures: Sequence[MeasureCall],
    comparisons: Sequence[Sequence[Difference]],
    reference: str,
    order: Sequence[int],
) -> str:
    """The table as HTML; ``comparisons`` holds the differences of every column, ``order`` the measures from the top."""
    head = "".join(
        f'<th scope="col" class="candidate"><b>{escape(column.name)}</b>'
        f'<span class="quiet">{_unbroken(column.words)}</span></th>'
        for column in columns
    )
    rows = [
        f'<tr><th scope="row">{escape(label)}</th><td></td>'
        + "".join(f"<td>{escape(line)}</td>" for line in lines)
        + "</tr>"
        for label, lines in _lines(columns)
    ]
    for k in order:
        call = measures[k]
        name = escape(text.measure_name(call))
        direction = escape(text.DIRECTION["lower" if call.measure.better == "zero" else call.measure.better])
        cells = "".join(_cell(comparison[k]) for comparison in comparisons)
        base = comparisons[0][k] if comparisons else None
        stands = "" if base is None else _figure(base.reference, base.reference_se)
        rows.append(
            f'<tr title="{escape(call.meaning)}"><th scope="row"><b>{name}</b>'
            f'<span class="quiet">{call.measure.kind}, {direction}</span></th><td>{stands}</td>{cells}</tr>'
        )
    return (
        f'<div class="sf-side" tabindex="0" role="region" aria-label="Candidates side by side">{CSS}<table><thead><tr>'
        f'<th scope="col">Mean over runs</th><th scope="col"><b>{escape(reference)}</b>'
        f'<span class="quiet">reference</span></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _unbroken(words: str) -> str:
    """Words as HTML, in which no line begins with a sign of percent."""
    return escape(words).replace(" %", "&nbsp;%")


def _lines(columns: Sequence[Column]) -> list[tuple[str, list[str]]]:
    counts = ("Runs", "Records changed", "Households moved")
    labels = ("On the frontier?", *counts, recognised.UNSWAPPED, "In no declared use", "Note")
    rows = [(label, [column.lines[i] for column in columns]) for i, label in enumerate(labels)]
    return [(label, lines) for label, lines in rows if any(lines)]


def _figure(value: float, se: float) -> str:
    return escape(text.with_error(value, se) if se else text.figure(value))


def _cell(difference: Difference) -> str:
    kind, verdict_text = verdict(difference)
    share = text.relative(difference.value, difference.reference)
    change = text.signed(difference.absolute) + (f" ({share})" if share else "")
    if difference.better == 0:
        change = ""
    inner = (
        f'<span class="{kind}">{escape(change)}<br>{escape(verdict_text)}</span>'
        if change
        else (f'<span class="{kind}">{escape(verdict_text)}</span>')
    )
    return f"<td>{_figure(difference.value, difference.value_se)}{inner}</td>"


def listing(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A plain table as HTML whose words wrap; the last column takes the room that is left."""
    head = "".join(
        f'<th scope="col" style="max-width: none; white-space: nowrap">{escape(cell)}</th>' for cell in heads
    )
    narrow, wide = '<td style="white-space: nowrap">', "<td>"
    body = "".join(
        "<tr>" + "".join(f"{narrow}{escape(cell)}</td>" for cell in row[:-1]) + f"{wide}{escape(row[-1])}</td></tr>"
        for row in rows
    )
    return (
        f'<div class="sf-side" tabindex="0" role="region" aria-label="{escape(label)}">{CSS}<table><thead><tr>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )
