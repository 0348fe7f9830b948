"""Words on the rate that members are told, and on changes that are told coarsely."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.report.redaction import WITHHELD_WHY
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.rate_facts import ChangeRow, Counts, MembersRate, Range, Step

_STEPS: dict[Step, str] = {
    "exact": "changes are told as they are",
    "two digits": "figures of the release have two digits",
    "rounded changes": "changes are told to the next 5 % and standard error, without the figures of the release",
    "classes": "changes are told in classes, without the figures of the release",
    "classes without figures": "changes are told in classes, without the figures that changed",
    "flags": "of changes only flags are told",
}
_COUNTS: dict[Counts, str] = {
    "exact": "and counts as they are",
    "two digits": "and counts to two digits",
    "one digit": "and counts to one digit",
    "without groups": "and counts to one digit, without those of groups by what is exchanged",
}
"""How coarsely a release is told, within a sentence."""
BEYOND = (
    "This is about this bundle alone: with the released file, and tables of the original that are public anyway, the "
    "share can be inferred more exactly."
)


def rate_words(findings: Findings) -> list[str]:
    """What this bundle says of the share of records changed, in sentences; an empty list where nobody said."""
    rate = findings.members_rate
    match rate.policy:
        case "told":
            return [_told(rate)]
        case "withheld" if rate.attacked:
            return [
                "The share of records changed is withheld from the members of the board; Annex A tells the chair. So "
                f"that these pages do not give it away, {_STEPS[rate.step]}, {_COUNTS[rate.counts]}: two attacks on "
                "this bundle, from its counts and from its changes, leave a factor of three between the least and the "
                "largest share.",
                BEYOND,
            ]
        case "withheld" if findings.design.swap:
            return [
                "The share of records changed is withheld from the members of the board. Their bundle tells figures as "
                "coarsely as that takes, by two attacks on it; these are the exact ones."
            ]
        case "withheld":
            return [
                "The share of records changed is withheld from the members of the board; Annex A tells the chair. "
                "Whether these pages give it away was not tested: the attacks are on the random swap."
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
    return bool(findings.utility.changes)


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


def change_words(row: ChangeRow) -> str:
    """One change in the end of a sentence."""
    parts = []
    if row.relative is not None:
        parts.append(f"{relative_words(row.relative)} of its value")
    if row.errors is not None:
        parts.append(f"{error_words(row.errors)} standard errors")
    weighting = "weighted, " if row.weighted else ""
    name = f"mean of {row.table}" if row.kind == "mean" else row.table
    if not parts:
        return f"{name}, {row.level}: {weighting}{'beyond' if row.flagged else 'within'} the tolerances"
    before = "" if row.before is None else f"from {figure(row.before, 2)}, "
    return f"{name}, {row.level}: {weighting}{before}changes by {', '.join(parts)}"


def worst_changes(rows: Iterable[ChangeRow], most: int = 3) -> list[str]:
    """The worst changes in words, of each table, column and analysis one; rows stand by the size of their class."""
    chosen: dict[tuple[str, str], ChangeRow] = {}
    for row in rows:
        if row.kind not in ("association", "correlation"):
            chosen.setdefault((row.kind, row.table), row)
    return [change_words(row) for row in list(chosen.values())[:most]]
