"""The decision sheet: the figures that decide, neighbours, losses, and statements on what is asked and what to know."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.common.wording import lower_first, plural, upper_first
from engine.decision.statements import KINDS, Statement, shown, statement, words
from engine.decision.verdict_log import verdict_statement
from engine.measures.verdict import NEED_TABLES
from engine.report.log import ledger_summary
from engine.report.losses import flagged_of, largest
from engine.report.parameters import not_declared
from engine.report.sheet_facts import Attacked
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.facts import CandidateRow, Check, Figure, GroupRow, NewValue
    from engine.report.findings import Findings
    from engine.report.sheet_facts import Lettered

DASH = "–"
TABLE_CHANGE = "Table change"
"""The name of the utility measure that decides, wherever candidates are compared by it."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class Row:
    """A figure of the unprotected file and of the release, each with what is printed below it, and the limit on it."""

    title: str
    under: str
    before: str
    after: str
    before_under: str = ""
    after_under: str = ""
    limit: str = ""
    met: bool = True


@dataclass(frozen=True)
class Choice:
    """A candidate beside the proposed one: why it is named, whether it is over the limit, what distinguishes it, its
    risk and its utility, a further measure (empty: none is shown), how many of its suspects are altered, and the checks
    that it fails (both None: unknown)."""

    letter: str
    kind: str
    why: Statement
    warning: Statement | None
    settings: str
    risk: str
    utility: str
    utility_change: str
    further: str
    attack: Statement | None
    failed: tuple[Statement, ...] | None


# -- names and figures -----------------------------------------------------------------------------------------------


def percent(share: float | None, digits: int = 2) -> str:
    """A share in per cent."""
    return DASH if share is None else f"{figure(100 * share, digits)} %"


def risk_figure(findings: Findings, value: float | None) -> str:
    """A figure of the risk that decides."""
    return shown(value, is_share(findings))


def is_share(findings: Findings) -> bool:
    """Whether the risk that decides is a share."""
    return findings.sheet is not None and bool(findings.sheet.decided_by.of)


def places_named(findings: Findings) -> frozenset[str]:
    """The attributes that are places."""
    return frozenset(row.level for row in findings.extent.levels) if findings.extent else frozenset()


def short_name(label: str, places: Collection[str] = ()) -> str:
    """A group or value by name: its attribute and level; of a place its level alone."""
    attribute, colon, level = label.partition(": ")
    return label if not colon else level if attribute in places else f"{attribute} {level}"


def figure_name(row: Figure, places: Collection[str] = ()) -> str:
    """A figure of users by name."""
    if row.kind == "coefficient":
        return f"{row.of} · coefficient of {short_name(row.what, places)}"
    if row.kind in ("mean", "correlation", "association"):
        if not row.group:
            return f"{row.what} of {row.of}"
        column = row.of.removesuffix(f" by {row.group.partition(': ')[0]}")
        return f"{row.what} of {column} · {short_name(row.group, places)}"
    is_cell = row.kind == "cell of a declared table"
    what = ", ".join(short_name(part, places) for part in (row.what.split(", ") if is_cell else [row.what]))
    name = f"{short_name(row.group, places)} · {what}" if row.group else f"{row.of} {what}"
    return f"{name}, weighted" if row.weighted else name


# -- what is asked ---------------------------------------------------------------------------------------------------


def title(findings: Findings) -> str:
    """The survey and the release by name; the release alone where it names the survey."""
    cover = findings.cover
    named = " ".join(part for part in (cover.survey, cover.vintage) if part)
    release = upper_first(cover.title)
    if set(re.findall(r"\w+", named.casefold())) <= set(re.findall(r"\w+", release.casefold())):
        named = ""
    return f"{named}: {release}" if named and release else named or release or "Disclosure review"


def subject(findings: Findings) -> Statement:
    """The data in a line."""
    design, places = findings.design, findings.sheet.places if findings.sheet else None
    return statement(
        "data",
        records=design.n_records,
        households=design.n_units,
        areas=len(places.areas) if places else 0,
        level=places.level if places else "",
        attributes=len(design.attributes),
        who=", ".join(filter(None, (findings.cover.sponsor, findings.cover.authority))),
    )


def request(findings: Findings) -> list[Statement]:
    """The decision that is asked for, or its record, and what the release does with how many records or households."""
    cover, advice, extent = findings.cover, findings.recommendation, findings.extent
    filed = {"state": cover.state, "at": cover.decided, "number": cover.number}
    asked = statement("requested", letter=advice.letter, recorded=advice.recorded, **filed)
    if extent is None:
        return [asked]
    method = extent.mechanism if extent.mechanism[:2].isupper() else lower_first(extent.mechanism)
    if extent.units is not None and extent.units.changed and places_named(findings):
        n, of = extent.units.changed, extent.units.n_units
        return [
            asked,
            statement("moves", n=n, of=of, persons=extent.units.persons, level=extent.levels[-1].level, method=method),
        ]
    names = tuple(
        f"{row.name} ({label})" if (label := labels(findings).get(row.name)) else row.name
        for row in extent.attributes
        if row.records
    )
    counts = {"n": extent.records, "of": findings.design.n_records, "files": extent.tables}
    return [asked, statement("alters", swap=findings.design.swap, names=names, **counts, method=method)]


def labels(findings: Findings) -> dict[str, str]:
    """The labels of attributes that have one, in words within a sentence."""
    return {row.name: lower_first(row.label) for row in findings.design.attributes if row.label}


def names_told(findings: Findings) -> list[Statement]:
    """What the names mean that stand in the largest changes and the exposed groups of page 1; empty without labels."""
    of_changes = [label for row in worst_losses(findings) for label in (row.group, row.of, *row.what.split(", "))]
    shown = {label.partition(": ")[0] for label in (*of_changes, *(g.group for g in exposed_groups(findings)))}
    known = tuple(f"{name}: {label}" for name, label in labels(findings).items() if name in shown)
    return [statement("names", meanings=known, confusable=confusable(findings))] if known else []


def confusable(findings: Findings) -> bool:
    """Whether an attribute is called like a candidate that the sheet names."""
    return not {row.letter for row in named(findings)}.isdisjoint(row.name for row in findings.design.attributes)


# -- the figures that decide -----------------------------------------------------------------------------------------


def figures(findings: Findings) -> list[Row]:
    """The figures of page 1: the risk that decides, people in small cells, matches, losses, and what stays."""
    rows = [_decided(findings)] if findings.sheet else []
    exposed, utility = findings.exposure, findings.utility
    alike = f"unaltered, under {exposed.fewest} alike"
    counts = rows[0].before_under if rows else ""
    if not counts.startswith(f"{exposed.small_before:,} of {findings.design.n_records:,}"):
        after = DASH if exposed.unaltered_after is None else f"{exposed.unaltered_after:,}"
        rows.append(Row("Records in small cells", alike, f"{exposed.small_before:,}", after))
    if exposed.matches_before is not None and exposed.matches_after is not None:
        before, after = f"{exposed.matches_before:,}", f"{exposed.matches_after:,.0f}"
        rows.append(Row("Correct matches", "of an intruder", before, after))
    flagged, eligible = flagged_of(utility)
    if eligible:
        share = f"of {eligible:,} ({percent(flagged / eligible)})"
        rows.append(Row("Users' figures", "beyond tolerance", DASH, f"{flagged:,}", after_under=share))
    for row in findings.measures:
        if row.kind == "utility" and row.chosen_by:
            before, after = (shown(value, row.unit.startswith("share")) for value in (row.before, row.released))
            rows.append(Row(TABLE_CHANGE, row.title.partition(" (")[0], before, after))
    one_way = next((t for t in utility.tallies if t.kind == "percentages of one attribute"), None)
    if one_way is not None and one_way.compared == one_way.unchangeable:
        rows.append(Row(plural(len(findings.design.attributes), "one-way table"), "", DASH, "unchanged"))
    return rows


def _decided(findings: Findings) -> Row:
    assert findings.sheet is not None
    facts, is_high = findings.sheet.decided_by, findings.map.risk_better == "higher"
    before, after = (risk_figure(findings, value) for value in (facts.before, facts.after))
    was, now = (f"{c.part:,} of {c.of:,}" if c else "" for c in (facts.counted_before, facts.counted_after))
    row = Row(facts.title, facts.of and f"of {facts.of}", before, after, was, now)
    if facts.limit is None or facts.after is None:
        return row
    met = facts.after >= facts.limit if is_high else facts.after <= facts.limit
    return replace(row, limit=f"{'≥' if is_high else '≤'} {risk_figure(findings, facts.limit)}", met=met)


def sure(findings: Findings) -> list[Statement]:
    """How many runs meet the limit, fresh ones first where there are any; empty without a limit."""
    run = findings.recommendation.run
    if run is None or run.within is None:
        return []
    if run.fresh_within is None:
        values = {"within": run.within, "runs": run.of, "low": run.low, "high": run.high, "asked": run.asked}
        return [statement("runs_within", fresh=False, **values)]
    fresh = {"within": run.fresh_within, "runs": run.fresh, "low": run.fresh_low, "high": run.fresh_high}
    swept = statement("swept_within", within=run.within, runs=run.of)
    return [statement("runs_within", fresh=True, asked=run.asked, **fresh), swept]


# -- neighbours ------------------------------------------------------------------------------------------------------


def choices(findings: Findings) -> list[Choice]:
    """The proposed candidate, one that is as good and better elsewhere, the next safer and the next more useful one."""
    candidates, own = findings.map.candidates, findings.map.recommended
    rows = [row for row in candidates if not row.also_within or row.recommended]
    at, further = rows.index(own), [row for row in candidates if row.also_within]
    same = findings.sheet.candidates.same if findings.sheet else ""
    told = [(own, "proposed"), *((row, "better") for row in candidates if row.dominates)]
    told += [(row, "same") for row in candidates if row.letter == same]
    told += [(row, "safer") for row in reversed(rows[:at]) if (row.safer_by or 0) > 0][:1]
    told += [(row, "more useful") for row in rows[at + 1 :] if (row.more_useful_by or 0) > 0][:1]
    told += [(row, "also") for row in further if len(further) == 1]
    first: dict[str, tuple[CandidateRow, str]] = {}
    for row, kind in told:
        first.setdefault(row.letter, (row, kind))
    return [_choice(findings, row, own, kind) for row, kind in list(first.values())[:5]]


def named(findings: Findings) -> list[CandidateRow]:
    """The candidates that the sheet names: neighbours along the frontier, the one that is better elsewhere, and, as far
    as a table has room for all, others within the limit."""
    same = findings.sheet.candidates.same if findings.sheet else ""
    rows = findings.map.candidates
    if len(rows) <= _MOST_NAMED:
        return list(rows)
    return [row for row in rows if not row.also_within or row.recommended or row.dominates or row.letter == same]


def _choice(findings: Findings, row: CandidateRow, own: CandidateRow, kind: str) -> Choice:
    candidates = findings.sheet.candidates if findings.sheet else None
    further, by = "", None if candidates is None else candidates.same_by
    if candidates is not None and by is not None:
        value, unit = lettered(findings, row.letter).further[by], candidates.further[by].unit
        further = shown(value, unit.startswith("share"))
    over = row.runs - row.within if row.within_bound is False and row.runs and row.within is not None else 0
    change, advice = findings.map.utility_change(row), findings.recommendation
    within = findings.map.n_within or 0
    why = statement("proposed", recorded=advice.recorded, most_useful=advice.by_utility, within=within)
    if kind != "proposed":
        clear = {"safer": row.risk_clear, "more useful": row.utility_clear}.get(kind, True)
        elsewhere = further_name(findings) if kind == "same" and further else ""
        why = statement("neighbour", side=kind, further=elsewhere, clear=clear)
    attacked = lettered(findings, row.letter).attacked if findings.sheet else None
    if row.recommended and findings.extent:
        failed = tuple(check for check in findings.checks if check.holds is False)
        attacked = Attacked(findings.extent.verdict, failed)
    verdict = attacked.verdict if attacked and attacked.verdict.named else None
    return Choice(
        letter=row.letter,
        kind=kind,
        why=why,
        warning=statement("over_in_runs", over=over, runs=row.runs) if over else None,
        settings=settings_words(findings, row.letter),
        risk=risk_figure(findings, row.risk),
        utility=figure(row.utility),
        utility_change=f"{100 * change:+.0f} %".replace("-", "−") if change and abs(change) >= 0.005 else "",
        further=further,
        attack=statement("suspects_altered", named=verdict.named, right=float(verdict.right)) if verdict else None,
        failed=None
        if attacked is None
        else tuple(
            statement("fails", check=check.name, areas=check.found.values.get("areas", 0)) for check in attacked.failed
        ),
    )


def further_name(findings: Findings) -> str:
    """The further measure that page 1 shows within a sentence, without its particulars; empty without one."""
    candidates = findings.sheet.candidates if findings.sheet else None
    if candidates is None or candidates.same_by is None:
        return ""
    return lower_first(candidates.further[candidates.same_by].title.partition(" (")[0])


def lettered(findings: Findings, letter: str) -> Lettered:
    """The settings and runs of a lettered candidate."""
    assert findings.sheet is not None
    return next(row for row in findings.sheet.candidates.rows if row.letter == letter)


def settings_words(findings: Findings, letter: str) -> str:
    """What a candidate is made with; of a neighbour only what differs from the proposed one."""
    if findings.sheet is None:
        return next(row.words for row in findings.map.candidates if row.letter == letter)
    names = findings.sheet.candidates.settings
    own, rows = findings.recommendation.letter, lettered(findings, letter).settings
    base = lettered(findings, own).settings
    if names == ("Method", "Settings"):
        return f"{rows[0]}: {lower_first(rows[1])}"
    parts = [
        f"{lower_first(name)}: {value}"
        for name, value, other in zip(names, rows, base, strict=True)
        if (letter == own and value != DASH) or value != other
    ]
    return words(statement("differs", parts=tuple(parts)))


# -- losses, exposure, and what to know ------------------------------------------------------------------------------


def worst_losses(findings: Findings, most: int = 3) -> list[Figure]:
    """The largest changes that are beyond the tolerances; where none is, the largest change."""
    rows = largest(findings.utility.figures)
    return [row for row in rows if row.flagged][:most] or rows[:1]


def exposed_groups(findings: Findings, most: int = 3) -> list[GroupRow]:
    """The groups of which most unaltered records are in small cells of the release."""
    return [group for group in findings.exposure.groups if group.after][:most]


def altered_most(findings: Findings) -> list[Statement]:
    """The group of which the largest share is altered, beside the share of all; empty where nothing is."""
    extent = findings.extent
    if extent is None or not extent.groups or not extent.records:
        return []
    group, places = extent.groups[0], places_named(findings)
    counts = {"n": group.altered, "of": group.records, "share": extent.share}
    return [statement("altered_most", group=short_name(group.name, places), **counts)]


def appearing(findings: Findings, row: NewValue, table: str = "") -> Statement:
    """A value that appears in places or groups that had none."""
    what, places = short_name(row.what, places_named(findings)), places_named(findings)
    if not row.most.group:
        return statement("new_to_file", what=what, n=row.records)
    noun = "area" if row.most.group.partition(": ")[0] in places else "group"
    most = {"where": short_name(row.most.group, places), "n": row.most.n_after, "of": row.most.within_after}
    return statement("new_value", what=what, table=table, groups=row.groups, noun=noun, **most)


HEADINGS = {
    "despite": "Submitted despite this",
    "attack": "Attack",
    "attacked_alike": "Attack",
    "values_guessed": "Attack",
    "departs": "Departs from the approved plan",
    "check_failed": "Check failed",
    "not_stated": "For the agency to fill in",
    "tables_published": "Published tables",
    "files_overlap": "Public files with keys",
    "releases_overlap": "Other releases",
    "no_other_release": "Other releases",
}
"""Headings of kinds of statements on page 1; others have that of their group or severity."""


def heading(found: Statement) -> str:
    """The heading of a statement on page 1."""
    if found.severity == "obstacle":
        return "Against release"
    if found.values.get("needed"):
        return "Attack"
    return HEADINGS.get(found.kind, "Earlier studies" if KINDS[found.kind].group == "earlier" else "Note")


def before_signing(findings: Findings) -> list[Statement]:
    """What a member should know before signing, the weightiest first."""
    advice, plan = findings.recommendation, findings.approved
    told = list(advice.obstacles)
    if told:
        told.append(statement("despite", reason=advice.despite))
    verdict = findings.extent.verdict if findings.extent else None
    if verdict is not None and verdict.finds:
        told += [verdict_statement(verdict, "attack"), *attacked_alike(findings)]
        told += [one for one in other_sources(findings) if one.values.get("needed")]
    told += advice.cautions
    if not plan.number:
        told.append(statement("plan_not_locked", key_fixed=advice.key_fixed))
    told += [statement("departs", change=change) for change in plan.departures]
    if plan.ledger is not None and (plan.ledger.earlier or plan.ledger.unrelated or plan.ledger.unread):
        told += ledger_summary(plan.ledger)
    for check in findings.checks:
        if check.holds is False:
            told.append(statement("check_failed", name=check.name, found=words(check.found), bars=bars(check)))
    told += [one for one in other_sources(findings) if one not in told]
    missing, undeclared = not_stated(findings), not_declared(findings.approved.parameters)
    if plan.limit_origin:
        missing.append("reason for the limit" if plan.by else "who set the limit, and why")
    if findings.recognised is not None and findings.recognised.published != "no":
        missing.append("published two-way tables, by name")
    if missing or undeclared:
        told.append(statement("not_stated", entries=tuple(missing), undeclared=tuple(undeclared)))
    return told


def bars(check: Check) -> bool | None:
    """Whether a check that failed keeps the release from being published; None in findings of an earlier version."""
    found = check.found
    if found.kind == "recorded":
        return None
    return found.kind in ("not_to_change", "recode_broken", "row_order") or found.values.get("undoes") is True


def attacked_alike(findings: Findings) -> list[Statement]:
    """The neighbours, where each of them is recognised as well as the proposed candidate."""
    own, *others = choices(findings)
    attacks = [choice.attack.values for choice in (own, *others) if choice.attack]
    shares = {round(float(values["right"] / values["named"]), 9) for values in attacks}  # type: ignore[operator]
    if not others or len(attacks) <= len(others) or len(shares) > 1:
        return []
    neighbours = tuple(f"{other.letter} ({words(other.attack)})" for other in others if other.attack)
    return [statement("attacked_alike", neighbours=neighbours)]


def other_sources(findings: Findings) -> list[Statement]:
    """Published tables, public files and other releases that an intruder has beside this release, as far as the plan
    names them."""
    told, facts, extent = [], findings.recognised, findings.extent
    if facts is not None:
        verdict = extent.verdict if extent else None
        needed = verdict is not None and verdict.finds and (verdict.kind in NEED_TABLES or verdict.outright is not None)
        told.append(statement("tables_published", published=facts.published, needed=needed))
    if files := tuple(name for name in findings.threat.public_files if not says_none(name)):
        told.append(statement("files_overlap", names=files))
    if overlaps := findings.cover.overlaps:
        none = statement("no_other_release")
        told.append(none if says_none(overlaps) else statement("releases_overlap", text=overlaps))
    return told


def says_none(text: str) -> bool:
    """Whether a text of the plan says that there is nothing."""
    return text.strip().rstrip(".").casefold() in ("none", "none known", "no", "nothing")


def limit_set(findings: Findings) -> list[Statement]:
    """Who set the limit, and when; empty without one and in findings of an earlier version."""
    plan = findings.approved
    if not plan.limit_origin:
        return []
    times = {one.kind: one.values.get("at") or event.at for event in plan.log for one in event.what}
    kind = {"fixed": "locked", "changed": "plan_changed"}.get(plan.limit_origin, "recommended")
    begun = next((e.at for e in plan.log for one in e.what if one.kind == "sweep_begun"), "")
    at = times.get(kind) or (plan.at if plan.number else findings.cover.recommended)
    return [statement("limit_set", origin=plan.limit_origin, number=plan.number, by=plan.by, at=at, sweep=begun)]


def not_stated(findings: Findings) -> list[str]:
    """What a board asks for and the plan leaves empty."""
    cover, design, threat = findings.cover, findings.design, findings.threat
    entries = (
        ("survey", cover.survey),
        ("vintage", cover.vintage),
        ("sponsor", cover.sponsor),
        ("contact", cover.contact),
        ("authority", cover.authority),
        ("survey design (census or sample)", design.design),
        ("smallest geography", design.geography),
        ("changes since the last release", cover.changes or cover.release_type == "new"),
        ("other releases of these records", cover.overlaps),
        ("title", cover.title),
        ("intruder", threat.intruder),
        ("overlapping public files", threat.public_files),
        ("harm", threat.harm),
    )
    return [name for name, value in entries if not value]


def conditions(findings: Findings) -> list[Statement]:
    """The conditions under which the figures of risk hold, and those of the board."""
    told = [statement("only_description")]
    if findings.recognised is not None and findings.recognised.published == "no":
        told.append(statement("no_table_published"))
    if findings.cover.conditions:
        told.append(statement("condition", text=findings.cover.conditions))
    return told


def to_sign(findings: Findings) -> bool:
    """Whether a decision is still to be signed."""
    return findings.recommendation.recorded and findings.cover.state not in ("approved", "released", "returned")
