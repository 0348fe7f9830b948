"""The memo to the board: sections 0 to 11, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report import memo_risk, memo_utility
from engine.report.answers import (
    decision_words,
    public_wording,
    summary,
)
from engine.report.document import Bullets, Document, Entries, Paragraph, Section, grid
from engine.report.parameters import besides_words, cover_rows, policy_words, unique_words
from engine.report.redaction import listed

if TYPE_CHECKING:
    from engine.report.document import Block
    from engine.report.findings import Findings

BANNER = "CONFIDENTIAL: for members of the disclosure review board"
"""What stands on every page where the plan gives no classification."""


def memo(found: Findings) -> Document:
    """The whole memo."""
    cover = found.cover
    return Document(
        title="Disclosure review memo",
        subtitle=": ".join(filter(None, [" ".join(filter(None, [cover.survey, cover.vintage])), cover.title])),
        banner=cover.classification or BANNER,
        sections=(
            _cover(found),
            _recommendation(found),
            _design(found),
            _scenario(found),
            _plan(found),
            memo_risk.risk(found),
            memo_utility.section(found),
            memo_risk.frontier(found),
            _audit(found),
            _limits(found),
            _wording(found),
            _certificate(found),
        ),
    )


def _cover(found: Findings) -> Section:
    cover = found.cover
    rows = cover_rows(cover, cover.title)
    rows += [
        ("Decision requested", decision_words(found)),
        ("State", cover.state_words),
        ("Recommended on", cover.recommended),
        ("Approval number", cover.number),
        ("Conditions", cover.conditions or ("none" if cover.state in ("approved", "released") else "")),
        ("Signed for the board", ""),
        ("Date", ""),
    ]
    return Section("0  Cover", (Entries(tuple(rows)),))


def _recommendation(found: Findings) -> Section:
    rec = found.recommendation
    blocks: list[Block] = [Paragraph(" ".join(summary(found)), "lead")]
    if rec.recorded:
        blocks += [Paragraph(f"Reason given: {rec.why}"), Paragraph(f"How it was chosen: {rec.rule}")]
    if rec.cautions:
        blocks += [Paragraph("Before relying on it, the board should know:", "warning"), Bullets(rec.cautions)]
    if rec.alternatives:
        lines = tuple(
            f"Candidate {a.letter}: {'. '.join(filter(None, [a.difference, a.why]))}" for a in rec.alternatives
        )
        blocks += [Paragraph("Alternatives that were considered:"), Bullets(lines)]
    return Section("1  Recommendation", tuple(blocks))


def _design(found: Findings) -> Section:
    data = found.design
    rows = [
        ("Records", f"{data.n_records:,}"),
        ("Weights", "each record has one; it stays with its record" if data.has_weight else "none declared"),
        ("Strata, sampling units, households", data.design),
        ("Smallest geography released", data.geography),
        ("Method", data.method),
        ("Tables released together", str(data.tables)),
        ("Numeric columns that figures use", listed(data.numeric) or "none"),
        ("Columns that stay with their record", listed(data.carried) or "none"),
        ("Columns that never leave", str(data.dropped) if data.dropped else "none"),
        ("Record ids", "not released; new ones are given" if data.has_id else "none in the file"),
    ]
    attributes = [
        (
            a.name + (f" (columns {', '.join(a.columns)})" if a.columns != (a.name,) else ""),
            a.role,
            str(a.levels),
            a.coding,
            listed([w for w, yes in (("key", a.key), ("tabulated", a.analysed)) if yes]) or "neither",
        )
        for a in data.attributes
    ]
    return Section(
        "2  Data and design",
        (
            Entries(tuple(rows)),
            grid(
                "Attributes, and what the recommended candidate does with them",
                ("Attribute", "Role in the release", "Levels", "Coding", "Known to an intruder, tabulated by users"),
                attributes,
                (2,),
                (1.2, 1.8, 0.6, 2.2, 1.2),
            ),
        ),
    )


def _scenario(found: Findings) -> Section:
    threat, n = found.threat, found.design.n_records
    return Section(
        "3  Disclosure scenario",
        (
            Entries(
                (
                    ("Intruder", threat.intruder),
                    ("Knows about a person (keys)", listed(threat.keys)),
                    ("Public files that overlap", listed(threat.public_files)),
                    ("Harm of a disclosure", threat.harm),
                )
            ),
            Paragraph(unique_words(threat, n)),
        ),
    )


def _plan(found: Findings) -> Section:
    plan = found.approved
    blocks: list[Block] = [
        Paragraph(
            f"The plan was approved as {plan.number} and locked on {plan.at}."
            if plan.number
            else "The plan carries no approval: it was not locked before results were seen.",
            "plain" if plan.number else "warning",
        ),
        grid("Parameters of the plan", ("Parameter", "As planned"), plan.parameters, (), (1.6, 4.4)),
    ]
    if plan.number:
        if plan.departures:
            blocks += [Paragraph("Departures from what was approved:", "warning"), Bullets(plan.departures)]
        else:
            blocks.append(Paragraph("Deviations: none. The study runs what was approved."))
    if plan.changes:
        blocks.append(grid("What happened, from the log", ("Day", "Event"), plan.changes, (), (1, 5)))
    blocks.append(Paragraph("How many records are exchanged is not stated here; the chair has it in Annex A.", "note"))
    return Section("4  Analysis plan, approved parameters, deviations", tuple(blocks))


def _audit(found: Findings) -> Section:
    words = {True: "holds", False: "does not hold", None: "does not apply"}
    rows = [(c.name, words[c.holds], c.found) for c in found.checks]
    return Section(
        "8  Audit of the release",
        (grid("Checks on the records themselves", ("Check", "Result", "What was found"), rows, (), (1.6, 0.9, 3.8)),),
    )


def _limits(found: Findings) -> Section:
    threat, data = found.threat, found.design
    several = (
        f" {data.tables} tables are released together, and together they tell an intruder more than one would."
        if data.tables > 1
        else ""
    )
    rows = [
        (
            "Safe projects",
            "The figures assume no purpose: they hold for any use of the file. What it is good for is judged by the "
            "declared analyses and tables alone; a use that nobody declared may fare worse.",
        ),
        (
            "Safe people",
            f"Users are not assumed to be trustworthy. The intruder is taken to know {listed(threat.keys)} exactly, "
            "and nothing else; somebody who knows more is not covered.",
        ),
        (
            "Safe settings",
            "The figures take the file to be open to anybody. An access agreement or a secure room would lower the "
            "risk further; none is counted.",
        ),
        (
            "Safe data",
            "The risk figures count exposed records and are not chances of identification. Exchanging values protects "
            "by doubt: a record that seems to fit may be altered. What is not exchanged is as it was." + several,
        ),
        (
            "Safe outputs",
            "Tables and models made from the file are not checked again. Other releases of the same data can undo the "
            "protection"
            + (
                f"; the plan names: {found.cover.overlaps.rstrip('.')}."
                if found.cover.overlaps
                else "; the plan names none."
            ),
        ),
    ]
    return Section(
        "9  Limits",
        (
            grid("Limits in the terms of the Five Safes", ("Aspect", "What holds here"), rows, (), (1, 5)),
            Paragraph(
                "Distances such as the Hellinger distance compare releases of one file. They must not be compared "
                "between different data sets.",
                "note",
            ),
        ),
    )


def _wording(found: Findings) -> Section:
    return Section(
        "10  Proposed public wording",
        (
            Paragraph(f"“{public_wording(found)}”", "lead"),
            Paragraph(policy_words(found.publish.extent)),
            Paragraph(besides_words(found.publish.include)),
            Paragraph(
                "This paragraph goes with the public file word for word. Nothing else about the method is to be said "
                "in public: not which attributes were exchanged, not the figures of this memo, and not how many "
                "candidates there were."
            ),
        ),
    )


def _certificate(found: Findings) -> Section:
    sure = found.certificate
    rows = [
        ("Made again", "from the original data and the study key, down to the records"),
        ("Figures that agree with the study", f"{sure.equal} of {sure.figures}"),
        ("Program", f"swap-frontier {sure.version}, stream version {sure.stream_version}"),
        ("Platform", ", ".join(f"{name} {text}" for name, text in sure.platform)),
        ("Who can make it again", "the holder of the study key and the original data, with the analyst's bundle"),
        ("Secrets stated here", "none"),
    ]
    return Section("11  Reproduction certificate", (Entries(tuple(rows)),))
