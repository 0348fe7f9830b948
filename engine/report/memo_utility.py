"""Section 6 of the memo: utility before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report import figures
from engine.report.answers import distance_words, flags_sentence, largest_changes, worst
from engine.report.document import Bullets, Paragraph, Section, grid
from engine.report.parameters import tolerance_words
from engine.report.redaction import WITHHELD_WORDS
from engine.report.words import about, figure, percent, relative, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.report.document import Block, Grid
    from engine.report.facts import MeanRow, ShareRow
    from engine.report.findings import Findings

_MOST = 15
_MOST_NAMED = 24


def _flag(flagged: bool) -> str:
    return "flagged" if flagged else ""


def _shares(caption: str, rows: Sequence[ShareRow]) -> Grid:
    return grid(
        caption,
        ("Table", "Level", "Records", "Before", "After", "Change", "Flag"),
        [
            (
                r.table,
                r.level,
                f"{r.n:,}",
                percent(r.before),
                percent(r.after),
                relative(r.relative),
                _flag(r.flagged),
            )
            for r in rows
        ],
        (2, 3, 4, 5),
        (1.5, 1.8, 0.9, 0.9, 0.9, 0.9, 0.9),
    )


def _means(caption: str, rows: Sequence[MeanRow]) -> Grid:
    return grid(
        caption,
        ("Column", "Records in", "Records", "Before", "After", "Change", "Flag"),
        [
            (
                r.column,
                r.group,
                f"{r.n:,}",
                figure(r.before, 4),
                figure(r.after, 4),
                relative(r.relative),
                _flag(r.flagged),
            )
            for r in rows
        ],
        (2, 3, 4, 5),
        (1.2, 2.0, 0.9, 1, 1, 0.9, 0.9),
    )


def section(found: Findings) -> Section:
    """The section."""
    use = found.utility
    blocks: list[Block] = [Paragraph(flags_sentence(found), "lead"), _tolerances(found)]
    losses = worst(found)
    if losses:
        blocks += [Paragraph("The largest losses, in standard errors:"), Bullets(tuple(losses))]
    blocks.append(
        grid(
            "Utility measures",
            ("Measure", "Before", "Mean over runs ± SE", "Run to be released", "Unit", "Better"),
            [
                (r.title, figure(r.before), about(r.mean, r.se), figure(r.released), r.unit, r.better)
                for r in found.measures
                if r.kind == "utility"
            ],
            (1, 2, 3),
            (2.0, 0.8, 1.7, 1.2, 1.3, 0.8),
        )
    )
    blocks += [
        Paragraph(f"{r.title}: {WITHHELD_WORDS}.", "note")
        for r in found.measures
        if r.kind == "utility" and WITHHELD_WORDS in r.meaning
    ]
    blocks += _percentages(found)
    blocks += _mean_blocks(found)
    blocks += _association_blocks(found)
    blocks += _coefficient_blocks(found)
    blocks += _distance(found)
    for table in use.tables:
        rows = [
            (", ".join(c.levels), f"{c.before:,}", f"{c.after:,}", signed(float(c.after - c.before), 9))
            for c in table.rows[:_MOST_NAMED]
        ]
        more = "" if len(rows) == table.cells else f"; {len(rows)} of {table.cells} cells shown"
        blocks.append(
            grid(
                f"{table.name} ({' × '.join(table.attributes)}): {table.changed} of {table.cells} cells change{more}",
                (" × ".join(table.attributes), "Before", "After", "Difference"),
                rows,
                (1, 2, 3),
                (3, 1, 1, 1),
            )
        )
    if not use.tables:
        blocks.append(Paragraph("The plan names no tables that users make, so none is shown before and after."))
    return Section("6  Utility before and after", tuple(blocks))


def _tolerances(found: Findings) -> Paragraph:
    return Paragraph(
        f"{tolerance_words(found.utility.tolerances)} Rows are sorted by the size of the relative change, those on so "
        "many records first. Standard errors take no account of strata and clusters.",
        "note",
    )


def _percentages(found: Findings) -> list[Block]:
    blocks: list[Block] = []
    for weighted in (False, True) if found.design.has_weight else (False,):
        one = largest_changes(found, weighted=weighted, two_way=False, most=_MOST)
        kind = "weighted" if weighted else "unweighted"
        if one and all(r.before == r.after for r in one):
            blocks.append(Paragraph(f"Every {kind} percentage of one attribute is exactly as it was."))
        elif one:
            moved = [r for r in one if r.before != r.after]
            blocks.append(_shares(f"Percentages of one attribute, {kind}: the {len(moved)} that change most", moved))
        two = [r for r in largest_changes(found, weighted=weighted, two_way=True, most=_MOST) if r.before != r.after]
        if two:
            caption = f"Percentages of two attributes together, {kind}: the {len(two)} that change most"
            blocks.append(_shares(caption, two))
        elif not weighted:
            blocks.append(Paragraph("Every percentage of two attributes together is exactly as it was."))
    if not found.design.has_weight:
        blocks.append(Paragraph("The plan declares no weight, so weighted figures equal the unweighted ones."))
    picture = figures.percentages(found)
    return [*blocks, picture] if picture else blocks


def _mean_blocks(found: Findings) -> list[Block]:
    use = found.utility
    if not use.means:
        return [Paragraph("The plan names no numeric column, so there are no means and no correlations to compare.")]
    blocks: list[Block] = []
    for weighted in (False, True):
        rows = [r for r in use.means if r.weighted == weighted][:_MOST]
        if rows:
            kind = "weighted" if weighted else "unweighted"
            blocks.append(_means(f"Means, {kind}, overall and in groups: the {len(rows)} that change most", rows))
    if use.correlations:
        blocks.append(
            grid(
                "Pearson's r of numeric columns",
                ("First", "Second", "Before", "After", "Change"),
                [
                    (r.first, r.second, figure(r.before), figure(r.after), _difference(r.before, r.after))
                    for r in use.correlations[:_MOST]
                ],
                (2, 3, 4),
                (2, 2, 1, 1, 1),
            )
        )
    else:
        blocks.append(Paragraph("There is only one numeric column, so there is no Pearson's r to compare."))
    return blocks


def _difference(before: float | None, after: float | None) -> str:
    return "–" if before is None or after is None else signed(after - before)


def _association_blocks(found: Findings) -> list[Block]:
    rows = found.utility.associations
    if not rows:
        return [Paragraph("Only one attribute is tabulated, so there are no associations to compare.")]
    blocks: list[Block] = []
    picture = figures.associations(found)
    if picture:
        blocks.append(picture)
    pairs: dict[tuple[str, str], dict[str, tuple[float | None, float | None]]] = {}
    for r in rows:
        pairs.setdefault((r.first, r.second), {})[r.statistic] = (r.before, r.after)
    names = ("contingency coefficient C", "Cramér's V")
    lines = []
    for (first, second), by in list(pairs.items())[:_MOST]:
        figures_of = [by.get(name, (None, None)) for name in names]
        lines.append(
            (
                f"{first} × {second}",
                *(text for b, a in figures_of for text in (figure(b), figure(a), _difference(b, a))),
            )
        )
    blocks.append(
        grid(
            f"Associations: the {len(lines)} of {len(pairs)} pairs that change most",
            ("Pair", "C before", "C after", "Change", "V before", "V after", "Change"),
            lines,
            (1, 2, 3, 4, 5, 6),
            (2.2, 1, 1, 1, 1, 1, 1),
        )
    )
    return blocks


def _coefficient_blocks(found: Findings) -> list[Block]:
    rows = found.utility.coefficients
    if not rows:
        return [Paragraph("The plan declares no regressions, so none was repeated.")]
    lines = [
        (
            f"{r.analysis}: {r.name}",
            about(r.before, r.se_before),
            r.lost or about(r.after, r.se_after),
            figure(r.shift, 2),
            "–" if r.ratio is None else f"{r.ratio:.3f}",
            _flag(r.flagged),
        )
        for r in rows[: 2 * _MOST]
    ]
    blocks: list[Block] = [
        grid(
            "Coefficients of the declared analyses, most shifted first",
            ("Coefficient", "Before ± SE", "After ± SE", "Shift in SE", "Ratio of SEs", "Flag"),
            lines,
            (1, 2, 3, 4),
            (2.4, 1.3, 1.3, 0.8, 0.8, 0.9),
        )
    ]
    picture = figures.coefficients(found)
    return [*blocks, picture] if picture else blocks


def _distance(found: Findings) -> list[Block]:
    d = found.utility.distance
    text = (
        f"The Hellinger distance of the tabulated attributes is {distance_words(found)} with all cells and "
        f"{figure(d.hellinger_large)} without those of fewer than {d.fewest} records. {100 * d.small_cells:.0f} % of "
        "the occupied cells are that small."
    )
    if d.small_cells > 0.9:
        text += " Nearly all cells are small, so the figure without them says nothing."
    return [Paragraph(text)]
