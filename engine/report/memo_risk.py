"""Sections 5 and 7 of the memo: risk before and after, the frontier and the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report import figures
from engine.report.answers import (
    NOISE_WORDS,
    neighbour_sentence,
    neighbours,
    omissions,
    risk_sentence,
    small_words,
    sureness,
    utility_words,
)
from engine.report.document import Bullets, Paragraph, Section, grid
from engine.report.map_words import counted_words
from engine.report.words import about, figure, percent, plural

if TYPE_CHECKING:
    from engine.report.findings import Findings


def risk(found: Findings) -> Section:
    """Section 5."""
    exposed, least = found.exposure, found.utility.tolerances.min_n
    rows = [
        (r.title, figure(r.before), about(r.mean, r.se), figure(r.released), r.unit)
        for r in found.measures
        if r.kind == "risk"
    ]
    groups = [
        (
            g.group,
            f"{g.people:,}",
            f"{g.before:,}",
            f"{g.after:,}",
            percent(100 * g.after / g.people, 1),
        )
        for g in exposed.groups
    ]
    counts = [
        ("Combinations that occur", f"{exposed.cells_before:,}", f"{exposed.cells_after:,}"),
        ("Combinations with one record", f"{exposed.ones_before:,}", f"{exposed.ones_after:,}"),
        ("Combinations with two records", f"{exposed.twos_before:,}", f"{exposed.twos_after:,}"),
        (f"Records in {small_words(found)}", f"{exposed.small_before:,}", f"{exposed.small_after:,}"),
        ("Unaltered records among them", f"{exposed.small_before:,}", f"{exposed.unaltered_after:,}"),
    ]
    meanings = tuple(f"{r.title}: {r.meaning}" for r in found.measures if r.kind == "risk")
    return Section(
        "5  Risk before and after",
        (
            Paragraph(risk_sentence(found), "lead"),
            figures.small_cells(found),
            grid("The table of the keys", ("Count", "Before", "After"), counts, (1, 2), (4, 1, 1)),
            *_tables_note(found.design.tables),
            grid(
                "Risk measures",
                ("Measure", "Before", "Mean over runs ± SE", "Run to be released", "Unit"),
                rows,
                (1, 2, 3),
                (2.4, 1, 1.4, 1.2, 1.4),
            ),
            Paragraph(NOISE_WORDS, "note"),
            Bullets(meanings),
            grid(
                f"Who stays most exposed: share of unaltered records in small cells, groups of more than {least} first",
                ("Group", "Records", "Exposed before", "Exposed after", "Share after"),
                groups,
                (1, 2, 3, 4),
                (2.4, 1, 1, 1, 1),
            ),
            Paragraph("What these figures leave out:"),
            Bullets(tuple(omissions(found))),
        ),
    )


def _tables_note(tables: int) -> tuple[Paragraph, ...]:
    """What a count of a release of several tables is."""
    if tables < 2:
        return ()
    words = f"Counts after are means over the {tables} tables of the release; those of runs need not be whole numbers."
    return (Paragraph(words, "note"),)


def frontier(found: Findings) -> Section:
    """Section 7."""
    at = found.map
    rows = []
    for c in at.candidates:
        place = "on the frontier" if c.undominated else "dominated"
        marks = ["recommended"] if c.recommended else []
        marks += [place, "clear" if c.clear else "uncertain"]
        if c.within_bound is not None:
            marks.append("within the bound" if c.within_bound else "beyond the bound")
        if c.riskier_than_nothing:
            marks.append("riskier than doing nothing")
        rows.append(
            (
                c.letter,
                c.words,
                about(c.risk, c.risk_se),
                utility_words(found, c),
                "–" if c.share is None else f"{100 * c.share:.0f} %",
                "; ".join(marks),
            )
        )
    nothing = ("Doing nothing", "no change", figure(at.nothing_risk), figure(at.nothing_utility), "–", "the original")
    spread = [(s.title, figure(s.least), figure(s.mean), figure(s.most), figure(s.released)) for s in at.spreads]
    safer, useful = neighbours(found)
    against = [
        neighbour_sentence(found, row, safer=is_safer) for row, is_safer in ((safer, True), (useful, False)) if row
    ]
    within = f" {at.n_within:,} of them are within the bound." if at.n_within is not None else ""
    return Section(
        "7  The frontier and the choice",
        (
            Paragraph(
                f"{plural(at.n_candidates, 'candidate')} were tried.{within} {at.n_frontier:,} are on the frontier: "
                "for each of these, no other candidate has less risk without less utility. A is the "
                "recommended candidate; the other letters run from the safest to the most useful shown. What the noise "
                "of the runs cannot tell apart is shown as one."
            ),
            Paragraph(f"Selection rule: {found.approved.rule}."),
            figures.frontier(found),
            grid(
                "The recommended candidate and its neighbours",
                ("Candidate", "What it does", at.risk_title, at.utility_title, "On the frontier in", "Standing"),
                [*rows, nothing],
                (2, 3, 4),
                (1.0, 1.9, 1.1, 1.2, 0.9, 1.6),
            ),
            Paragraph("The chosen candidate against its neighbours:"),
            Bullets(tuple(against) or ("No candidate on the frontier differs by more than the noise of the runs.",)),
            grid(
                f"Spread over the {plural(at.runs, 'run')} of the recommended candidate, which differ only in chance",
                ("Measure", "Least", "Mean", "Most", "Run to be released"),
                spread,
                (1, 2, 3, 4),
                (2.4, 1, 1, 1, 1.2),
            ),
            Paragraph("How sure this is:"),
            Bullets(tuple(sureness(found))),
            Paragraph(
                f"{NOISE_WORDS} The run to be released follows a rule fixed beforehand, never its "
                "figures." + (f" {said}" if (said := counted_words(found)) else ""),
                "note",
            ),
        ),
    )
