"""Words on the rate that members are told, and on changes that are told coarsely."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.report.rate_facts import COARSE
from engine.report.redaction import WITHHELD_WHY
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.facts import Tolerances
    from engine.report.findings import Findings
    from engine.report.rate_facts import ChangeRow, Counts, MembersRate, Range, Step

_STEPS: dict[Step, str] = {
    "exact": "changes are told as they are",
    "two digits": "figures of the release have two digits",
    "rounded changes": "changes are told to the next 5 % and standard error, without the figures of the release",
    "classes": "the size of a change is told as a class, such as 5 to 10 %, without the figure of the release",
    "classes without figures": "the size of a change is told as a class, such as 5 to 10 %, without the figure itself",
    "flags": "of a change they show only whether it is beyond the tolerances, and of the worst one in up to three "
    "tables a wide range such as 2 to 20 standard errors",
    "worst": "of the worst three changes a wide class is told, such as 2 to 20 standard errors, and of others only in "
    "which tables some are beyond the tolerances",
    "tables": "of changes it is only told in which tables some are beyond the tolerances",
    "analyses": "of changes it is only told in which declared analyses and tables some are beyond the tolerances",
}
_COUNTS: dict[Counts, str] = {
    "exact": "and counts are exact",
    "two digits": "and counts have two digits",
    "one digit": "and counts have one digit",
    "without groups": "and counts have one digit, without those of groups by what is exchanged",
    "without runs": "and counts have one digit, without those of single runs and of groups by what is exchanged",
    "withheld": "and counts of the release are withheld",
}
"""How coarsely a release is told, within a sentence."""
_UNTESTED = "the attacks are on the random swap, and none is on this method"
BEYOND = (
    "This holds for these pages and the files beside them alone: tables of the original or the released file tell the "
    "share more exactly, and both together still more so."
)


def rate_words(findings: Findings) -> list[str]:
    """What this bundle says of the share of records changed, in sentences; an empty list where nobody said."""
    rate = findings.members_rate
    match rate.policy:
        case "told":
            return [_told(rate)]
        case "withheld" if rate.attacked:
            return [
                "Members of the board are not told the share of records changed; Annex A tells the chair. So that "
                f"nobody can work it out from these pages and tables.xlsx, {_STEPS[rate.step]}, "
                f"{_COUNTS[rate.counts]}. We tested "
                "whether it can be, from the counts, those of single runs and their averages among them, and from the "
                "changes: the largest possible share is still at least three times the smallest.",
                BEYOND,
            ]
        case "withheld" if findings.design.swap:
            return [
                "The share of records changed is withheld from the members of the board. Their bundle tells figures as "
                "coarsely as that takes, by two attacks on it; these are the exact ones."
            ]
        case "withheld" if is_coarse(findings):
            return [
                "The share of records changed is withheld from the members of the board; Annex A tells the chair. "
                f"Whether these pages give it away was not tested: {_UNTESTED}. So that they tell little, "
                f"{_STEPS[rate.step]}, {_COUNTS[rate.counts]}.",
                BEYOND,
            ]
        case "withheld":
            return [
                "The share of records changed is withheld from the members of the board. Their bundle tells figures "
                f"coarsely; whether it gives the share away is not tested: {_UNTESTED}. These are the exact "
                "figures."
            ]
        case _:
            return []


def _told(rate: MembersRate) -> str:
    changed = "" if rate.share is None else f"{figure(100 * rate.share)} % of the records were changed"
    asked = f"The plan asked for a rate of {100 * float(rate.asked):g} %" if rate.asked else ""
    parts = [part for part in (asked, changed) if part]
    return f"{' and '.join(parts)}; the plan lets the members of the board know it."


def is_coarse(findings: Findings) -> bool:
    """Whether sizes of changes stand in place of the release's figures."""
    return bool(findings.utility.changes) or findings.members_rate.step in COARSE


def withheld_why(findings: Findings) -> str:
    """Why a distance is not shown."""
    return "it would tell how many records were altered" if is_coarse(findings) else WITHHELD_WHY


def range_words(size: Range) -> str:
    """A range by itself, relative changes as shares."""
    return _size(size, 1.0, "")


def relative_words(size: Range | None) -> str:
    """The size of a relative change."""
    return _size(size, 100.0, " %")


def error_words(size: Range | None) -> str:
    """The size of a change in standard errors, without the unit."""
    return _size(size, 1.0, "")


def _size(size: Range | None, scale: float, unit: str) -> str:
    if size is None:
        return "–"
    if size.high is None:
        return f"{scale * size.low:g}{unit} or more"
    if size.low <= 0:
        return f"less than {scale * size.high:g}{unit}"
    if size.about:
        return f"about {scale * (size.low + size.high) / 2:g}{unit}"
    return f"{scale * size.low:g} to {scale * size.high:g}{unit}"


def place_words(table: str, level: str, *, of_mean: bool = False) -> str:
    """A figure by name: of a percentage of several attributes each with its level, as far as commas in the levels leave
    that clear."""
    attributes, levels = table.split(" × "), level.split(", ")
    if 1 < len(attributes) == len(levels):
        return " and ".join(f"{name}: {value}" for name, value in zip(attributes, levels, strict=True))
    return f"{'mean of ' if of_mean else ''}{table}, {level}"


def change_words(row: ChangeRow, at: Tolerances | None = None) -> str:
    """One change in the end of a sentence; of one that is beyond the tolerances (``at``) by its value, that it is."""
    parts = []
    if row.relative is not None:
        parts.append(f"{relative_words(row.relative)} of its value")
    if row.errors is not None:
        parts.append(f"{error_words(row.errors)} standard errors")
    weighting = "weighted, " if row.weighted else ""
    name = place_words(row.table, row.level, of_mean=row.kind == "mean")
    if not parts:
        return f"{name}: {weighting}changes by {'more' if row.flagged else 'no more'} than the tolerances"
    before = "" if row.before is None else f"from {figure(row.before, 2)}, "
    by_value = "" if at is None else _by_value(row, at)
    return f"{name}: {weighting}{before}changes by {', which is '.join(parts)}{by_value}"


def _by_value(row: ChangeRow, at: Tolerances) -> str:
    """By what a change is beyond the tolerances whose class of standard errors lies within them, or nearly."""
    errors = row.errors
    if not row.flagged or row.relative is not None or errors is None or errors.high is None or errors.low >= at.se:
        return ""
    nearly = "" if errors.high <= at.se else f" or {at.se:.3g} of these errors"
    return f", but by more than {100 * at.change:.3g} % of its value{nearly}" if errors.high < 2 * at.se else ""


def worst_change_rows(rows: Iterable[ChangeRow]) -> list[ChangeRow]:
    """Of each table, column and analysis its worst change; rows stand by the size of their class.  Associations are not
    among them: they sum up percentages, which are."""
    chosen: dict[tuple[str, str], ChangeRow] = {}
    for row in rows:
        if row.kind != "association":
            chosen.setdefault((row.kind, row.table), row)
    return list(chosen.values())


def worst_changes(rows: Iterable[ChangeRow], most: int = 3, at: Tolerances | None = None) -> list[str]:
    """The first of these in words, with the tolerances that they are held against."""
    return [change_words(row, at) for row in worst_change_rows(rows)[:most]]
