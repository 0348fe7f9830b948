"""Annex A for the chair and Annex B for the analyst."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from engine.release.results import NoteKind
from engine.release.spec import percent as rate_percent
from engine.report.chair import chair_facts
from engine.report.context import stand
from engine.report.document import Document, Entries, Paragraph, Section, grid
from engine.report.words import about, figure, percent

if TYPE_CHECKING:
    from engine.report.context import Stand
    from engine.report.document import Block
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_MOST = 200
_CHANGED = "“Changed” is the number of records changed in any attribute; of several tables, on average in one."


def chair_sections(study: Study, made: Remade) -> Document:
    """Annex A: the rate asked for, and what was changed."""
    facts = chair_facts(study, made)
    about_plan = study.plan.about
    rows = [
        ("Candidate", facts.letter),
        ("Method", facts.mechanism),
        ("Records", f"{facts.n_records:,}"),
        ("Rate asked for", rate_percent(facts.asked) if facts.asked else "the method has no single rate"),
        ("What the rate counts", facts.amount),
        (_changed_in(facts.tables), f"{facts.records:,} ({percent(100 * facts.share)})"),
    ]
    if facts.tables > 1:
        rows.append(
            (
                "Records changed in one table, on average",
                f"{facts.per_table:,.0f} ({percent(100 * facts.per_table / facts.n_records)})",
            )
        )
    changed = [(r.name, f"{r.records:,}", percent(100 * r.share)) for r in facts.attributes]
    return Document(
        "Annex A: extent of the change",
        " ".join(filter(None, [about_plan.survey, about_plan.vintage])),
        "For the chair of the disclosure review board only",
        (
            Section(
                "A  Share of records changed",
                (
                    Entries(tuple(rows)),
                    grid(
                        "Values changed, by attribute" + ("; mean over tables" if facts.tables > 1 else ""),
                        ("Attribute", "Records", "Share"),
                        changed,
                        (1, 2),
                        (3, 1, 1),
                    ),
                    Paragraph(
                        "Rates are counted in different ways elsewhere: here both records of every pair count. "
                        "Programs that count pairs or targets give half the figure.",
                        "note",
                    ),
                    Paragraph(
                        "Whoever knows this extent can undo the exchange more easily. Keep this annex apart from the "
                        "memo.",
                        "warning",
                    ),
                ),
            ),
        ),
    )


def analyst_sections(study: Study, made: Remade) -> Document:
    """Annex B: names, specs and figures of the candidates, the runs of the chosen one, notes and the log."""
    at = stand(study, made)
    about_plan = study.plan.about
    return Document(
        "Annex B: the analyst's record",
        " ".join(filter(None, [about_plan.survey, about_plan.vintage])),
        "For the analyst only: it names what can undo the exchange",
        (
            Section("B1  The release", (_release(at, made),)),
            Section("B2  Letters of the memo", (_letters(at),)),
            Section("B3  All candidates on the frontier", tuple(_candidates(at))),
            Section("B4  Runs of the candidate", (_runs(at),)),
            Section("B5  What measures said", tuple(_notes(study, at.scenario.index))),
            Section("B6  Decision log", tuple(_log(study))),
        ),
    )


def _changed_in(tables: int) -> str:
    """What a number of changed records counts."""
    return f"Records changed in at least one of {tables} tables" if tables > 1 else "Records changed"


def _release(at: Stand, made: Remade) -> Entries:
    from engine.release.results import STATUS

    spec, choice = made.spec, at.choice
    return Entries(
        (
            ("Candidate", f"{at.scenario.label} (candidate {at.letter} of the memo)"),
            ("Mechanism", spec.mechanism),
            ("Spec", str(spec.attributes) or "none"),
            ("Parameters", spec.text or "none"),
            ("Rate", rate_percent(spec.rate) if spec.rate else "none"),
            ("Rule", spec.rule),
            ("Replicate", str(choice.replicate) if choice else "not recorded"),
            ("Status of the run", STATUS[made.status]),
            (_changed_in(len(made.tables)), f"{int(made.changed.sum()):,}"),
            ("Rule of the choice", choice.rule if choice else "no choice is recorded"),
            ("Reason", choice.why if choice else "no choice is recorded"),
            ("To make it again", "frontier replay BUNDLE --data DATA"),
        )
    )


def _letters(at: Stand) -> Block:
    rows = [
        (letter, at.view.scenarios[place].label, str(at.view.scenarios[place].spec))
        for letter, place in at.letters.items()
    ]
    return grid("Letters and candidates", ("Letter", "Candidate", "Spec"), rows, (), (0.6, 1, 4))


def _candidates(at: Stand) -> list[Block]:
    view = at.view
    front = view.frontier().tolist()
    rows = [
        (
            view.scenarios[place].label,
            str(view.scenarios[place].spec),
            f"{view.summary.changed[place]:,.0f}",
            about(float(view.summary.mean[place, view.risk]), float(view.summary.se[place, view.risk])),
            about(float(view.summary.mean[place, view.utility]), float(view.summary.se[place, view.utility])),
            "clear" if view.dominance.clear[place] else "uncertain",
        )
        for place in front[:_MOST]
    ]
    said = f"{len(front):,} of {len(view.scenarios):,} candidates are on the frontier"
    said += f"; the first {_MOST} are shown." if len(front) > _MOST else "."
    return [
        Paragraph(f"{said} All others are in the study. {_CHANGED}"),
        grid(
            "Candidates on the frontier, from the safest",
            ("Candidate", "Spec", "Changed", str(view.measures[view.risk]), str(view.measures[view.utility]), "Place"),
            rows,
            (2, 3, 4),
            (0.8, 2.4, 0.8, 1.3, 1.3, 0.9),
        ),
    ]


def _runs(at: Stand) -> Block:
    from engine.release.results import STATUS

    results, view = at.view.results, at.view
    mine = (results.scenario == at.scenario.index).nonzero()[0][:_MOST]
    rows = [
        (
            str(int(results.replicate[i])),
            STATUS[int(results.status[i])],
            f"{int(results.changed[i]):,}",
            figure(float(results.values[i, view.risk]), 5),
            figure(float(results.values[i, view.utility]), 5),
        )
        for i in mine.tolist()
    ]
    return grid(
        "Runs",
        ("Replicate", "Status", "Changed", str(view.measures[view.risk]), str(view.measures[view.utility])),
        rows,
        (0, 2, 3, 4),
        (1, 1, 1, 1.4, 1.4),
    )


def _notes(study: Study, place: int) -> list[Block]:
    notes = [note for note in study.notes(place) if note.kind is not NoteKind.COUNT]
    rows = [(str(note.replicate), note.text) for note in notes[:_MOST]]
    if not rows:
        return [Paragraph("Measures said nothing beside their figures.")]
    return [grid("Notes", ("Replicate", "Note"), rows, (), (0.8, 5))]


def _log(study: Study) -> list[Block]:
    from engine.study.decision_log import EVENTS, entries

    log = entries(study)
    if not log:
        return [Paragraph("The log is empty.")]
    rows = [(str(e.number), e.at, e.by or "not named", EVENTS[e.event], _detail(e.detail), e.digest[:12]) for e in log]
    made_at = time.strftime("%Y-%m-%d", time.gmtime(float(study.about["created"])))
    return [
        Paragraph(f"The study was begun on {made_at}. Entries are chained: each digest covers the one before."),
        grid("Log", ("No.", "Time (UTC)", "By", "Event", "Detail", "Digest"), rows, (0,), (0.4, 1.2, 0.8, 1.4, 2.6, 1)),
    ]


def _detail(detail: object) -> str:
    text = json.dumps(detail, ensure_ascii=False)
    return text if len(text) <= 300 else text[:297] + "..."
