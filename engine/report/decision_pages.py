"""The decision sheet and five sections of evidence as one page of HTML, from findings alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engine.common.wording import upper_first
from engine.decision.statements import Statement, sentence, sentences, shown, statement, words
from engine.report import board_pictures, sheet
from engine.report.board_pictures import Picture
from engine.report.documents import html
from engine.report.facts import EDITS, ROW_ORDER
from engine.report.losses import by_table, flagged_of, new_values
from engine.report.parameters import parameter_rows, released_with
from engine.report.public_wording import claims_checked, public_wording
from engine.report.sentences import ALL_FOUND
from engine.report.sheet import DASH, figure_name, percent, places_named, short_name
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.facts import MeasureRow
    from engine.report.findings import Findings

BANNER = "CONFIDENTIAL: Disclosure Review Board"
"""The text on every page where the plan gives no classification."""
_MOST_LOGGED = 6
_MOST_SETTINGS = 6


def pages(findings: Findings) -> str:
    """Return the decision sheet (section 1) and its evidence (2 to 6) as a page of HTML."""
    return html("pages.html", **names(findings))


def names(findings: Findings) -> dict[str, Any]:
    """Return everything that the template prints."""
    decided = findings.sheet.decided_by if findings.sheet else None
    return {
        "banner": findings.cover.classification or BANNER,
        "letter": findings.recommendation.letter,
        "recommended": findings.cover.recommended,
        "contact": findings.cover.contact,
        "has_limit": decided is not None and decided.limit is not None,
        "has_within": any(row.within is not None for row in findings.map.candidates),
        "has_altered": findings.sheet is not None and any(row.altered for row in findings.sheet.candidates.rows),
        **page_one(findings),
        "intruder": _intruder(findings),
        "other_risks": [
            (title, *(shown(value, row.unit.startswith("share")) for value in (row.before, row.released)))
            for title, row in _other_measures(findings)
        ],
        "users": _losses(findings),
        "choice": _choice(findings),
        "large_map": board_pictures.the_map(findings),
        "candidates": _letters(findings),
        "risk": partial(sheet.risk_figure, findings),
        "percent": percent,
        "history": _history(findings),
        "log": _log(findings),
        "checks": _checks(findings),
        "public_wording": public_wording(findings),
        "notes": notes(findings),
        "parameters": [row for row in parameter_rows(findings.approved.parameters) if row[0] not in _ELSEWHERE],
    }


_ELSEWHERE = (
    "Candidates", "Risk measure", "Utility measure", "Selection rule", "Run to be released", "Tolerances of change",
    "Codes that mean missing", "Edit rules", "Named tables", "Methods",
)  # fmt: skip


def page_one(findings: Findings) -> dict[str, Any]:
    """What the decision sheet prints, picture included."""
    named, new = places_named(findings), new_values(findings.utility.figures)
    choices = sheet.choices(findings)
    return {
        "title": sheet.title(findings),
        "subject": words(sheet.subject(findings)),
        "request": [*(words(each) for each in sheet.request(findings)), ""][:2],
        "figures": sheet.figures(findings),
        "one_run": words(statement("one_run", letter=findings.recommendation.letter)),
        "sure": sentences(sheet.sure(findings)),
        "small_map": board_pictures.the_map(findings, small=True),
        "choices": choices,
        "further": upper_first(sheet.further_name(findings)),
        "losses": [
            (figure_name(row, named), board_pictures.change_words(row), figure(row.errors, 2))
            for row in sheet.worst_losses(findings)
        ],
        "appearing": words(sheet.appearing(findings, new[0])) if new else "",
        "altered_most": sentences(sheet.altered_most(findings)),
        "attacked": any(choice.attack for choice in choices) and not sheet.attacked_alike(findings),
        "failing": any(choice.failed for choice in choices),
        "exposed": [
            (
                short_name(g.group, named),
                f"{g.before:,} of {g.people:,} → {g.after:,} of {g.of_after:,}",
                DASH if g.new is None else f"{g.new:,}",
            )
            for g in sheet.exposed_groups(findings)
        ],
        "names_told": sentences(sheet.names_told(findings)),
        "before_signing": [
            (name, sentences(told)) for name, told in groupby(sheet.before_signing(findings), sheet.heading)
        ],
        "limit_set": sentences(sheet.limit_set(findings)),
        "conditions": sentences(sheet.conditions(findings)),
        "to_sign": sheet.to_sign(findings),
    }


@dataclass(frozen=True)
class Section:
    """A section of evidence: its question, its answer, what is said before and after its pictures, and these."""

    question: str
    answer: Statement
    lead: tuple[Statement, ...]
    pictures: tuple[Picture | None, ...]
    lines: tuple[Statement, ...]


def folded(findings: Findings) -> list[tuple[str, str, list[Picture], list[str]]]:
    """Sections 2 to 6 for a screen, in the order and with the words of the documents: question, answer, pictures and
    lines."""
    shown = [
        (part.question, words(part.answer), [p for p in part.pictures if p], [words(s) for s in part.lead + part.lines])
        for part in (_intruder(findings), _losses(findings), _choice(findings), _history(findings))
    ]
    shown[0][3][1:1] = [
        words(statement("measured", title=title, before=m.before, after=m.released, is_share=m.unit[:5] == "share"))
        for title, m in _other_measures(findings)
    ]
    happened = [f"{day}: {text}" if day else text for day, text in _log(findings)]
    happened += [words(each) for each in _checks(findings)]
    shown[3][3][:0] = [*happened, f"Public description: {public_wording(findings)}"]
    named = [f"{name}: {text}" for name, text in notes(findings)]
    return [*shown, ("Notes", "Definitions, method and plan", [], named)]


# -- 2: what an intruder could do ------------------------------------------------------------------------------------


def _intruder(findings: Findings) -> Section:
    exposed, threat = findings.exposure, findings.threat
    lead = [statement("intruder", who=threat.intruder, keys=threat.keys, fewest=exposed.fewest)]
    if threat.harm:
        lead.append(statement("harm", text=threat.harm.rstrip(".")))
    extent, facts = findings.extent, findings.recognised
    if extent is not None and facts is not None and facts.discarded is not None:
        lead.append(statement("discarded", found=extent.verdict.finds, **asdict(facts.discarded)))
    pictures = (
        board_pictures.cell_sizes(findings),
        board_pictures.known_keys(findings),
        board_pictures.exposed_groups(findings),
    )
    return Section(
        "What could an intruder do?",
        statement(
            "stand_out", after=exposed.unaltered_after, before=exposed.small_before, new=exposed.unaltered_new or 0
        ),
        tuple(lead),
        pictures,
        tuple(_still_true(findings)),
    )


def _other_measures(findings: Findings) -> list[tuple[str, MeasureRow]]:
    """Measures of risk beside the one that decides, by their names; with particulars where two have the same name."""
    rows = [row for row in findings.measures if row.kind == "risk" and not row.chosen_by]
    names = [row.title.partition(" (")[0] for row in rows]
    return [(name if names.count(name) == 1 else row.title, row) for name, row in zip(names, rows, strict=True)]


def _still_true(findings: Findings) -> Iterator[Statement]:
    """What an intruder can rely on in the release, and learn from it."""
    extent, facts = findings.extent, findings.recognised
    kept = tuple(row.name for row in extent.attributes if not row.records) if extent else ()
    if kept:
        yield statement("unmoved_keys", keys=kept)
    if facts is not None and facts.rare and not (extent and extent.verdict.finds):
        yield statement("rare_suspected", of=facts.rare_of)
    if findings.exposure.new_after:
        yield statement("new_combinations", n=findings.exposure.new_after)
    if facts is not None and facts.sensitive:
        yield statement("learns_also", columns=facts.sensitive)


# -- 3: what users lose ----------------------------------------------------------------------------------------------


def _losses(findings: Findings) -> Section:
    utility, at = findings.utility, findings.utility.tolerances
    flagged, eligible = flagged_of(utility)
    tables = by_table(utility.figures)
    counts: dict[str, Any] = {
        "flagged": flagged,
        "eligible": eligible,
        "common": _common(findings, [row.of for row in tables]),
        "new": sum(row.new for row in tables),
    }
    tolerance = {"errors": at.se, "change": at.change, "min_n": at.min_n, "planned": at.planned}
    declared = [*_declared_tables(findings), *_declared_analyses(findings)]
    declared += [statement("no_use", attributes=utility.unused)] if utility.unused else []
    forest = board_pictures.forest(findings)
    pictures = (
        board_pictures.by_tables(findings),
        board_pictures.largest_changes(findings),
        forest or board_pictures.places(findings),
    )
    return Section(
        "What do users lose?",
        statement("flagged", **counts),
        (statement("tolerance", **tolerance),),
        pictures,
        tuple(declared),
    )


def _declared_tables(findings: Findings) -> Iterator[Statement]:
    """Each declared table: how many cells change, and the largest change."""
    for table in findings.utility.tables:
        largest, row = "", table.largest
        if row is not None:
            largest = f"{figure_name(row, places_named(findings))}, {board_pictures.change_words(row)}"
            largest += f" ({row.errors:.1f} standard errors)" if row.errors else ""
        cells = {"changed": table.changed, "cells": table.cells}
        yield statement("table_changes", name=table.name, **cells, largest=largest, reverses=table.reverses)


def _declared_analyses(findings: Findings) -> Iterator[Statement]:
    """Each declared analysis: coefficients beyond the tolerances in the released run, and on average over runs."""
    utility, letter = findings.utility, findings.recommendation.letter
    for model in utility.models:
        own = [
            f for f in utility.figures if f.kind == "coefficient" and f.of == model.analysis and f.before is not None
        ]
        runs = next((r for r in utility.analysis_runs if (r.analysis, r.letter) == (model.analysis, letter)), None)
        yield statement(
            "predicts",
            analysis=model.analysis,
            what=model.predicts,
            beyond=sum(f.flagged is True for f in own),
            coefficients=len(own),
            mean=None if runs is None else runs.beyond,
            runs=0 if runs is None else runs.runs,
        )


def _common(findings: Findings, tables: list[str]) -> str:
    """The one or two altered attributes of which all tables involve one; geography where it is places."""
    if len(tables) < 2:
        return ""
    named = places_named(findings)
    parts = [set(table.split(" × ")) for table in tables]
    if named and all(named & part for part in parts):
        return "geography"
    altered = {row.name for row in findings.extent.attributes if row.records} if findings.extent else set()
    return " or ".join(sorted(altered)) if 0 < len(altered) < 3 and all(altered & part for part in parts) else ""


# -- 4: why this candidate -------------------------------------------------------------------------------------------


def _choice(findings: Findings) -> Section:
    board, advice = findings.map, findings.recommendation
    same, lead = findings.sheet.candidates.same if findings.sheet else "", []
    if same:
        lead.append(statement("better_on_both", letter=same, further=sheet.further_name(findings)))
    lead.append(statement("tried", better=board.utility_better, confusable=sheet.confusable(findings)))
    rule = {"recorded": advice.recorded, "most_useful": advice.by_utility}
    return Section(
        "Why this candidate?",
        statement("chosen", letter=advice.letter, why=advice.why, within=board.n_within or 0, **rule),
        tuple(lead),
        (board_pictures.runs(findings),),
        tuple(_how_sure(findings)),
    )


def _letters(findings: Findings) -> dict[str, Any]:
    """The lettered candidates with their facts and a further measure, the columns in which they differ, and the widths
    of these."""
    if findings.sheet is None:
        return {"rows": [], "settings": [], "widths": []}
    candidates, rows = findings.sheet.candidates, []
    settings, by = candidates.settings[:_MOST_SETTINGS], candidates.same_by
    for row in sheet.named(findings):
        facts = sheet.lettered(findings, row.letter)
        further = "" if by is None else shown(facts.further[by], candidates.further[by].unit.startswith("share"))
        rows.append((row, facts, further))
    columns = zip(*(facts.settings for _, facts, _ in rows), strict=True)
    longest = [max(len(name) * 0.8, *map(len, column)) for name, column in zip(settings, columns, strict=False)]
    widths = [f"{min(3.2, max(0.9, 0.13 * length)):.1f}" for length in longest]
    return {"rows": rows, "settings": settings, "widths": widths}


def _how_sure(findings: Findings) -> Iterator[Statement]:
    run, letter = findings.recommendation.run, findings.recommendation.letter
    if run is not None and run.released is not None and run.mean is not None and run.of > 1:
        figures = {"value": run.released, "mean": run.mean, "is_share": run.unit.startswith("share")}
        yield statement("run_figure", runs=run.of, rule=findings.approved.run_rule, **figures)
    if findings.map.recall is not None and findings.map.recall < ALL_FOUND:
        yield statement("hidden", share=1 - findings.map.recall)
    shown = sum(row.within_bound is True for row in sheet.named(findings))
    if findings.recommendation.by_utility and (others := (findings.map.n_within or 0) - shown) > 0:
        yield statement("others_within", n=others, letter=letter)
    if findings.map.failed:
        yield statement("failed_runs", n=findings.map.failed, letter=letter)
    yield from findings.recommendation.alternatives


# -- 5: what happened, and what may be said --------------------------------------------------------------------------


def _history(findings: Findings) -> Section:
    plan, made = findings.approved, findings.certificate
    answer = statement("plan_not_locked", key_fixed=False)
    if plan.number:
        departures = tuple(change.rstrip(".") for change in plan.departures)
        answer = statement("plan_locked", number=plan.number, at=plan.at, departures=departures)
    return Section(
        "What happened, and what may be said?",
        answer,
        (),
        (board_pictures.places(findings) if board_pictures.forest(findings) else None,),
        (
            *claims_checked(findings),
            released_with(findings.publish.include),
            statement("remade", version=made.version, equal=made.equal, figures=made.figures),
        ),
    )


def _log(findings: Findings) -> list[tuple[str, str]]:
    """Events up to the sweep and the latest, each with its time."""
    log = [
        e
        for e in findings.approved.log
        if not any(one.values.get("again") and one.kind == "rechecked" for one in e.what)
    ]
    begun = next((k for k, event in enumerate(log) if any(one.kind == "sweep_begun" for one in event.what)), 1)
    if len(log) > _MOST_LOGGED:
        first = log[: min(begun + 1, _MOST_LOGGED - 2)]
        log = [*first, *log[len(first) - _MOST_LOGGED :]]
    return [(event.at, event.words) for event in log]


def _checks(findings: Findings) -> list[Statement]:
    """Checks by name, what came of them, and what was found; without those of which there is nothing to check."""
    told, unchecked = [], {EDITS: "not checked: none declared", ROW_ORDER: "checked later"}
    for c in findings.checks:
        outcome = unchecked.get(c.name) if c.holds is None else "holds"
        if c.holds is False:
            outcome = {None: "fails", True: "fails: bars the release"}.get(
                sheet.bars(c), "fails: does not bar the release"
            )
        if outcome:
            told.append(statement("checked", name=c.name, holds=c.holds, outcome=outcome, found=words(c.found)))
    return told


# -- 6: notes --------------------------------------------------------------------------------------------------------


def notes(findings: Findings) -> list[tuple[str, str]]:
    """Definitions of what is shown, the method, and what the plan says of the data."""
    cover, design = findings.cover, findings.design
    rows = [
        (row.title if row.kind == "risk" else f"{sheet.TABLE_CHANGE}: {row.title}", row.meaning)
        for row in findings.measures
        if row.chosen_by
    ]
    rows += [(title, sentence(row.meaning.partition(". ")[0])) for title, row in _other_measures(findings)]
    rows += [
        (name, words(statement("definition", of=name)))
        for name in ("Correct matches", "Standard error", "Frontier", "Limits")
    ]
    if known := sheet.labels(findings):
        meanings = tuple(f"{name}: {label}" for name, label in known.items())
        rows.append(("Attributes", words(statement("names", meanings=meanings, confusable=False))))
    if not findings.recommendation.by_utility:
        rows.append(("Selection rule", f"{upper_first(findings.approved.rule)}."))
    return rows + [
        (name, text)
        for name, text in (
            ("Design", design.design),
            ("Other releases", "" if sheet.says_none(cover.overlaps) else cover.overlaps),
            ("Changes since the last", cover.changes),
        )
        if text
    ]
