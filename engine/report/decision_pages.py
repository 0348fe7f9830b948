"""The decision sheet and five sections of evidence as one page of HTML, from findings alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.common.wording import listed, lower_first, plural, upper_first
from engine.plan.types import no_use_sentence
from engine.report import board_pictures, sheet
from engine.report.claims import claims_summary
from engine.report.coherence import check_rows
from engine.report.documents import html
from engine.report.losses import by_table, flagged_of, new_values
from engine.report.parameters import besides_words, parameter_rows
from engine.report.pictures import Picture
from engine.report.public_wording import public_wording
from engine.report.sheet import DASH, figure_name, percent, places_named, short_name
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings

BANNER = "CONFIDENTIAL: Disclosure Review Board"
"""The text on every page where the plan gives no classification."""
_MOST_LOGGED = 6
_MOST_NEW = 5
_MOST_SETTINGS = 6


@dataclass(frozen=True)
class _Letter:
    letter: str
    kind: str
    warning: str
    values: tuple[str, ...]
    risk: str
    utility: str
    further: str
    within: str


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
        "runs": findings.map.runs,
        "has_limit": decided is not None and decided.limit is not None,
        "has_within": any(row.within is not None for row in findings.map.candidates),
        "further": further_title(findings),
        **page_one(findings),
        **_intruder(findings),
        **_losses(findings),
        **_choice(findings),
        **_history(findings),
        "notes": notes(findings),
        "parameters": [row for row in parameter_rows(findings.approved.parameters) if row[0] not in _ELSEWHERE],
    }


_ELSEWHERE = ("Candidates", "Selection rule", "Run to be released", "Tolerances of change")


def page_one(findings: Findings) -> dict[str, Any]:
    """What the decision sheet prints, picture included."""
    named = places_named(findings)
    return {
        "title": sheet.title(findings),
        "subject": sheet.subject(findings),
        "request": sheet.request(findings),
        "figures": sheet.figures(findings),
        "sure": sheet.sure(findings),
        "small_map": board_pictures.the_map(findings, small=True),
        "choices": sheet.choices(findings),
        "losses": [loss_row(findings, row) for row in sheet.worst_losses(findings)],
        "appearing": sheet.appearing(findings),
        "exposed": [
            (short_name(g.group, named), f"{g.before:,} → {g.after:,}", f"{g.people:,}")
            for g in findings.exposure.groups
            if g.after
        ][:3],
        "before_signing": list(sheet.before_signing(findings)),
        "conditions": sheet.conditions(findings),
        "to_sign": sheet.to_sign(findings),
    }


def loss_row(findings: Findings, row: Any) -> tuple[str, str, str]:
    """A loss by name, its figures, and its change in standard errors."""
    return figure_name(row, places_named(findings)), board_pictures.change_words(row), figure(row.errors, 2)


def further_title(findings: Findings) -> str:
    """The further measure that page 1 shows, as a heading; empty without one."""
    return upper_first(sheet.further_name(findings))


Folded = tuple[str, str, list[Picture], list[str]]
"""A section: its question, its answer, its pictures and its lines."""


def folded(findings: Findings) -> list[Folded]:
    """Sections 2 to 6 for a screen, in the order and with the words of the documents."""
    intruder, losses, choice, history = (part(findings) for part in (_intruder, _losses, _choice, _history))

    def drawn(values: dict[str, Any], *names: str) -> list[Picture]:
        return [values[name] for name in names if values[name] is not None]

    checks = [f"{name}: {holds}. {found}" for name, holds, found in history["checks"]]
    log = [f"{day}: {text}" for day, text in history["log"]]
    said = [f"Public description: {history['public_wording']}", *history["claims"], history["repeat"]]
    return [
        (
            "What could an intruder do?",
            intruder["intruder_title"],
            drawn(intruder, "cell_sizes", "known_keys", "exposed_groups"),
            [
                intruder["intruder_line"],
                *(
                    f"{name}: {before} unprotected, {after} released."
                    for name, before, after in intruder["other_risks"]
                ),
                *intruder["still_true"],
            ],
        ),
        (
            "What do users lose?",
            losses["losses_title"],
            drawn(losses, "by_tables", "largest_changes", "forest"),
            [
                losses["tolerance_line"],
                *(f"{row[1]} appears in {row[2]} groups of {row[0]} (most: {row[4]})." for row in losses["new_values"]),
                *losses["declared"],
            ],
        ),
        (
            "Why this candidate?",
            choice["choice_title"],
            drawn(choice, "runs_picture"),
            [choice["choice_line"], *choice["how_sure"]],
        ),
        (
            "What happened, and what may be said?",
            history["happened_title"],
            drawn(history, "places"),
            [*log, *checks, *said],
        ),
        ("Notes", "Definitions, method and plan", [], [f"{name}: {text}" for name, text in notes(findings)]),
    ]


def _intruder(findings: Findings) -> dict[str, Any]:
    exposed, threat = findings.exposure, findings.threat
    after = exposed.unaltered_after
    title = f"{plural(exposed.small_before, 'record')} stand out without protection."
    if after is not None:
        stand = "stands" if after == 1 else "stand"
        title = (
            f"{plural(after, 'unaltered record')} still {stand} out; {exposed.small_before:,} do without protection."
        )
    line = f"The intruder knows {listed(threat.keys)}. A cell of fewer than {exposed.fewest} records is small."
    if threat.intruder:
        line = f"{upper_first(threat.intruder.rstrip('.'))}. {line}"
    rows = [
        (row.title, _measure_value(row.unit, row.before), _measure_value(row.unit, row.released))
        for row in findings.measures
        if row.kind == "risk" and not row.chosen_by
    ]
    return {
        "intruder_title": title,
        "intruder_line": line,
        "cell_sizes": board_pictures.cell_sizes(findings),
        "known_keys": board_pictures.known_keys(findings),
        "exposed_groups": board_pictures.exposed_groups(findings),
        "other_risks": rows,
        "still_true": _still_true(findings),
    }


def _measure_value(unit: str, value: float | None) -> str:
    return percent(value) if unit.startswith("share") else figure(value)


def _still_true(findings: Findings) -> list[str]:
    """What an intruder can rely on in the release, and learn from it."""
    extent, facts, rows = findings.extent, findings.recognised, []
    if extent is not None:
        kept = [row.name for row in extent.attributes if not row.records]
        if kept:
            rows.append(f"{upper_first(listed(kept))} in every record.")
    if facts is not None and facts.rare:
        rows.append(f"{upper_first(facts.rare_of)} that are rare in the release are more often altered than others.")
    if findings.exposure.new_after:
        n = findings.exposure.new_after
        rows.append(f"{plural(n, 'altered record')} {'has' if n == 1 else 'have'} keys that no original record has.")
    if facts is not None and facts.sensitive:
        rows.append(f"An intruder who finds a record also learns {listed(facts.sensitive)}.")
    if findings.threat.harm:
        rows.append(f"Harm: {findings.threat.harm.rstrip('.')}.")
    return rows


def _losses(findings: Findings) -> dict[str, Any]:
    utility, at = findings.utility, findings.utility.tolerances
    flagged, eligible = flagged_of(utility)
    changed = by_table(utility.figures)
    if not eligible:
        title = "The release cannot change any figure that users compute."
    else:
        title = f"{flagged:,} of {plural(eligible, 'figure')} change beyond tolerance ({percent(flagged / eligible)})"
        common = _common(findings, [row.of for row in changed])
        title += f"; all involve {common}." if common else "."
    share = f"{100 * at.change:g} % of a figure that rests on more than {at.min_n} records"
    line = f"Tolerance: {at.se:g} standard errors, or {share}."
    named = places_named(findings)
    new = new_values(utility.figures)
    declared = [
        f"Table “{table.name}”: {table.changed:,} of {plural(table.cells, 'cell')} change." for table in utility.tables
    ]
    declared += [
        f"{model.analysis}: a positive coefficient means more of {model.predicts}." for model in utility.models
    ]
    if utility.unused:
        declared.append(no_use_sentence(utility.unused))
    return {
        "losses_title": title,
        "tolerance_line": line,
        "by_tables": board_pictures.by_tables(findings),
        "largest_changes": board_pictures.largest_changes(findings),
        "forest": board_pictures.forest(findings),
        "new_values": [
            (
                row.of,
                short_name(row.what, named),
                row.groups,
                row.records,
                f"{short_name(row.most.group, named)}: {row.most.n_after:,} of {row.most.within_after:,}",
            )
            for row in new[:_MOST_NEW]
        ],
        "declared": declared,
    }


def _common(findings: Findings, tables: list[str]) -> str:
    """An attribute that all tables involve; geography where it is places."""
    if len(tables) < 2:
        return ""
    named = places_named(findings)
    parts = [set(table.split(" × ")) for table in tables]
    if named and all(named & part for part in parts):
        return "geography"
    altered = {row.name for row in findings.extent.attributes if row.records} if findings.extent else set()
    return listed(sorted(altered)) if 0 < len(altered) < 3 and all(altered & part for part in parts) else ""


def _choice(findings: Findings) -> dict[str, Any]:
    board, own = findings.map, findings.recommendation.letter
    utility = board.utility_title.partition(" (")[0]
    same = findings.sheet.candidates.same if findings.sheet else ""
    if findings.recommendation.by_utility and board.n_within:
        title = f"{own} changes tables least of the {plural(board.n_within, 'candidate')} within the limit."
    elif findings.recommendation.recorded:
        title = f"{own} was chosen: {findings.recommendation.why.rstrip('.')}."
    else:
        title = f"{own} is shown; no choice is recorded."
    if same:
        title += f" {same} is as good on both axes and better on {sheet.further_name(findings)}."
    better = "Right and down is better" if board.risk_better == "lower" else "Right and up is better"
    tried = f"{plural(board.n_candidates, 'candidate')}, {plural(board.runs, 'run')} of {own}"
    line = f"{tried}. {better}. Table change: {utility}."
    rows, settings, widths = _letters(findings)
    return {
        "choice_title": title,
        "choice_line": line,
        "large_map": board_pictures.the_map(findings),
        "candidates": {"rows": rows, "settings": settings, "widths": widths},
        "runs_picture": board_pictures.runs(findings),
        "how_sure": _how_sure(findings),
    }


def _letters(findings: Findings) -> tuple[list[_Letter], list[str], list[str]]:
    """The lettered candidates, the columns in which they differ, and the widths of these."""
    if findings.sheet is None:
        return [], [], []
    candidates, own = findings.sheet.candidates, findings.recommendation.letter
    settings = list(candidates.settings[:_MOST_SETTINGS])
    by, rows = candidates.same_by, []
    for row in sheet.named(findings):
        facts = sheet.lettered(findings, row.letter)
        further = _measure_value(candidates.further[by].unit, facts.further[by]) if by is not None else ""
        rows.append(
            _Letter(
                letter=row.letter,
                kind="proposed" if row.letter == own else "",
                warning="over" if row.within_bound is False else "",
                values=facts.settings[:_MOST_SETTINGS],
                risk=sheet.shown_risk(findings, row.risk),
                utility=figure(row.utility),
                further=further,
                within=DASH if row.within is None else f"{row.within} of {row.runs}",
            )
        )
    longest = [
        max(len(name) * 0.8, *(len(row.values[k]) for row in rows)) if rows else 1 for k, name in enumerate(settings)
    ]
    return rows, settings, [f"{min(3.2, max(0.9, 0.13 * length)):.1f}" for length in longest]


def _how_sure(findings: Findings) -> list[str]:
    run, own, rows = findings.recommendation.run, findings.recommendation.letter, []
    if text := sheet.sure(findings):
        rows.append(text)
    if run is not None and run.released is not None and run.mean is not None and run.of > 1:
        place = f"The released run is number {run.place} of {run.of} from the safest"
        if run.as_safe and run.as_safe > 1:
            place += f"; {run.as_safe} runs are equally safe"
        rows.append(
            f"{place}. Its figure is {_run_figure(findings, run.released)}, the mean {_run_figure(findings, run.mean)}."
        )
    row = sheet.recommended(findings)
    if row.share is not None and row.shared_runs:
        on = round(row.share * row.shared_runs)
        rows.append(f"{own} is on the frontier in {on} of {plural(row.shared_runs, 'run')} that all candidates share.")
    if findings.map.recall is not None:
        missed = 1 - findings.map.recall
        rows.append(f"Chance hides about {percent(missed, 1)} of the true frontier.")
    if findings.map.failed:
        rows.append(f"{plural(findings.map.failed, 'run')} of {own} failed; they are not counted.")
    for other in findings.recommendation.alternatives:
        rows.append(f"{other.letter} was considered: {(other.why or other.difference).rstrip('.')}.")
    return rows


def _run_figure(findings: Findings, value: float) -> str:
    run = findings.recommendation.run
    return percent(value) if run is not None and run.unit.startswith("share") else figure(value)


def _history(findings: Findings) -> dict[str, Any]:
    plan, certificate = findings.approved, findings.certificate
    if plan.number:
        title = f"The plan was approved as {plan.number} and locked on {plan.at}"
        title += f"; it departs from it in {plural(len(plan.departures), 'change')}." if plan.departures else "."
    else:
        title = "The plan was not locked before results were seen."
    log = list(plan.changes)
    if len(log) > _MOST_LOGGED:
        log = [*log[:2], *log[2 - _MOST_LOGGED :]]
    equal = f"{certificate.equal} of {certificate.figures} figures agree."
    repeat = (
        f"The analyst, with the secret key, the original file and version {certificate.version} of the program. "
        f"The release was remade for this sheet: {equal}"
    )
    return {
        "happened_title": title,
        "places": board_pictures.places(findings),
        "log": log,
        "checks": check_rows(findings.checks),
        "public_wording": public_wording(findings),
        "claims": [text for text in (claims_summary(findings), besides_words(findings.publish.include)) if text],
        "repeat": repeat,
    }


def notes(findings: Findings) -> list[tuple[str, str]]:
    """Definitions of what is shown, the method, and what the plan says of the data."""
    cover, design, extent = findings.cover, findings.design, findings.extent
    rows = [(row.title.partition(" (")[0], row.meaning) for row in findings.measures if row.chosen_by]
    rows += [
        ("Correct matches", "Expected number of true matches in small cells, of an intruder who picks at random."),
        ("Standard error", "That of the original's figure as a simple random sample. One that rests on few records "
         "has the larger one of original and release; a value that did not exist has none."),
        ("Frontier", "Candidates that no other beats on both axes."),
        ("Limits", "Risk counts exposed records; it is no chance of identification. It leaves out what is learnt "
         "without finding a record, and intruders who know more than the keys."),
    ]  # fmt: skip
    if extent is not None:
        rows.append(("Method", f"{extent.mechanism}: {extent.asked_amount}. Amount: {lower_first(extent.amount)}."))
    rows += [("Selection rule", f"{upper_first(findings.approved.rule)}.")]
    if findings.approved.run_rule:
        rows.append(("Run to be released", f"{upper_first(findings.approved.run_rule)}."))
    rows += [
        (name, text)
        for name, text in (
            ("Design", design.design),
            ("Smallest geography", design.geography),
            ("Other releases", cover.overlaps),
            ("Changes since the last", cover.changes),
            ("Public files that overlap", listed(findings.threat.public_files)),
        )
        if text
    ]
    return rows
