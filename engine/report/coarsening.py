"""Changes told more and more coarsely, until they do not give the rate away.

1. ``two digits``: figures of the release and their changes have two significant digits.
2. ``rounded changes``: no figure of the release stands beside the original's, only the size of the change, to the next
   5 % and standard error; distances have one digit.
3. ``classes``: the size of the change is a class (less than 5 %, 5 to 10 %, ...); the distance on the map has one digit
   everywhere, others are withheld.
4. ``classes without figures``: neither does the original's figure stand beside the class; strengths of association,
   whose relative change is that of the rate, and the relative change of coefficients are withheld.
5. ``flags``: only whether a figure is flagged, and of the worst three in which wide class the change is (less than 2
   standard errors, 2 to 20, 20 or more).
6. ``worst``: the same of the worst three; of others only whether their table, column or analysis has a figure that is
   flagged.
7. ``tables``: only whether a table, column or analysis has a figure that is flagged, and how many are in all.
8. ``analyses``: only whether a declared analysis or table has a figure that is flagged; the distance, and how
   many figures are flagged, are withheld.

Percentages of one attribute that a swap cannot move stay as they are.  Rows stand by class and name, so that their
order tells no more than the class does.  Counts are exact, or have two digits or one; then those of groups of an
exchanged attribute are left out, then figures of single runs beside how many of them meet the bound.  Last, counts of
the release are withheld: what is told then is whether bounds are met.  With changes of ``analyses`` and counts withheld
no figure depends on the rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.measures.distortion import moved_between_rounded
from engine.report.coarse_counts import count, rounded, with_coarse_counts, with_rounded
from engine.report.facts import MISFITS
from engine.report.rate_facts import AT_LEAST_ONE, STEPS, ChangeKind, ChangeRow, Counts, Range, Step
from engine.report.redaction import half_unit

if TYPE_CHECKING:
    from engine.report.facts import CoefficientRow, Distance, MeanRow, PairRow, ShareRow, Utility
    from engine.report.findings import Findings
    from engine.report.loss_facts import Loss

_PERCENT = 0.05  # the step of rounded changes
CLASSES = (0.0, 0.05, 0.1, 0.2, 0.5, None)
"""Ends of the classes of relative change."""
ERROR_CLASSES = (0.0, 2.0, 5.0, 10.0, 20.0, None)
"""Ends of the classes of change in standard errors."""
WIDE_CLASSES = (0.0, 2.0, 20.0, None)
"""The same where only the worst are in classes: one is a factor of ten wide, and what goes with it at least three."""
NAMED_WORST = 3
"""Figures whose change is told in wide classes."""
_CROSS = " × "
_FIGURE = re.compile(r" \([^()]*%\)")


def coarsened(findings: Findings, step: Step, counts: Counts = "exact") -> Findings:
    """The findings with changes as they stand at a step, and with counts to fewer digits; unchanged but for the names
    of both where these are exact."""
    findings = replace(findings, members_rate=replace(findings.members_rate, step=step, counts=counts))
    findings = with_coarse_counts(findings, counts, step)
    if step == "exact":
        return findings
    if step == "two digits":
        return replace(findings, utility=_rounded(findings.utility))
    # how surely altered records are named depends on how many there are
    told = [check for check in findings.checks if check.name != MISFITS]
    checks = tuple(replace(check, found=_FIGURE.sub("", check.found)) for check in told)
    is_distance_told = step != "analyses" and _is_on_map(findings)
    utility = _changes(findings.utility, step, is_distance_told=is_distance_told)
    facts = findings.recognised
    if step == STEPS[-1] and facts is not None:  # a verdict follows from how many records were altered
        facts = replace(facts, finding=None, tables=replace(facts.tables, certain=None))
    return replace(findings, utility=utility, checks=checks, recognised=facts)


def _is_on_map(findings: Findings) -> bool:
    """Whether the map shows the Hellinger distance of the tabulated attributes, to one digit of which it is told."""
    return any(row.chosen_by and row.title == "Hellinger distance" for row in findings.measures)


def _rounded(utility: Utility) -> Utility:
    """Two significant digits of everything that the release has made; what the original says is exact."""
    tables = tuple(
        replace(table, rows=tuple(replace(cell, after=count(cell.after, 2)) for cell in table.rows))
        for table in utility.tables
    )
    return replace(
        utility,
        shares=_two_digits(utility.shares),
        means=_two_digits(utility.means),
        correlations=_two_digits(utility.correlations),
        associations=_two_digits(utility.associations),
        coefficients=_two_digits(utility.coefficients),
        tables=tables,
        distance=_distance(utility.distance, 2),
        losses=_two_digits(utility.losses),
    )


Row = TypeVar("Row", "ShareRow", "MeanRow", "PairRow", "CoefficientRow", "Loss")


def _two_digits(rows: Iterable[Row]) -> tuple[Row, ...]:
    names = ("after", "relative", "errors", "se_after", "shift", "ratio")
    return tuple(with_rounded(row, names, 2) if row.before != row.after else row for row in rows)


def _changes(utility: Utility, step: Step, *, is_distance_told: bool) -> Utility:
    """Only the sizes of changes, and percentages of one attribute that have not moved."""
    fixed = tuple(r for r in utility.shares if r.before == r.after and " × " not in r.table and not r.weighted)
    changes = list(_all_changes(utility))
    told = [_told(change, step) for change in changes]
    told = [row for row in told if row.before is not None or row.kind not in ("association", "correlation")]
    worst = _worst(changes) if step in ("flags", "worst") else []
    if step in ("worst", "tables", "analyses"):
        named = {(row.kind, row.table, row.weighted) for row in worst}
        told = [replace(row, level=AT_LEAST_ONE) for row in told if row.flagged]
        told = [row for row in told if (row.kind, row.table, row.weighted) not in named]
    if step == "analyses":
        told = [row for row in told if row.kind in ("coefficient", "cell")]
    by_name = {(row.kind, row.table, row.level, row.weighted): row for row in (*told, *worst)}
    rows = sorted(by_name.values(), key=_order)
    places, is_sized = 1 if step == "rounded changes" else 0, STEPS.index(step) < STEPS.index("flags")
    return replace(
        utility,
        shares=fixed,
        means=(),
        correlations=(),
        associations=(),
        coefficients=(),
        tables=(),
        distance=_distance(utility.distance, places) if places or not is_distance_told else _on_map(utility.distance),
        losses=(),
        coefficient_runs=tuple(with_rounded(row, _RUNS, 1) for row in utility.coefficient_runs) if places else (),
        analysis_runs=tuple(with_rounded(row, _RUNS, 1) for row in utility.analysis_runs) if is_sized else (),
        changes=tuple(rows),
        tallies=() if step == "analyses" else utility.tallies,
    )


_RUNS = ("mean", "least", "most")


def _worst(changes: Iterable[Change]) -> list[ChangeRow]:
    """The worst figures by their change in standard errors, each of another table, column or analysis, in wide classes.
    Associations and correlations sum up others."""
    chosen: dict[tuple[str, str], ChangeRow] = {}
    for row, _, errors in sorted(changes, key=lambda change: -abs(change[2] or 0.0)):
        if errors is not None and row.kind not in ("association", "correlation"):
            told = replace(row, n=None, before=None, errors=_class(errors, WIDE_CLASSES))
            chosen.setdefault((row.kind, row.table), told)
    return list(chosen.values())[:NAMED_WORST]


def _distance(distance: Distance, places: int) -> Distance:
    """Its figures to so many digits, and what the rounded distance says of the records moved; withheld where that is
    none."""
    return _with_moved(with_rounded(distance, ("hellinger", "hellinger_large", "moved"), places), places)


def _with_moved(distance: Distance, places: int) -> Distance:
    """What a distance with so many digits says of the records moved."""
    if distance.hellinger is None:
        return replace(distance, moved_low=None, moved_high=None)
    low, high = moved_between_rounded(distance.hellinger, half_unit(distance.hellinger, places), places)
    return replace(distance, moved_low=low, moved_high=high)


def _on_map(distance: Distance) -> Distance:
    """The Hellinger distance to the one digit that the map shows, and what that says of the records moved; all else is
    withheld."""
    rounded_to, withheld = rounded(distance.hellinger, 1), _distance(distance, 0)
    return withheld if rounded_to is None else _with_moved(replace(withheld, hellinger=rounded_to), 1)


_LOSSES: dict[str, ChangeKind] = {
    "percentage of one attribute": "percentage",
    "percentage of two attributes": "percentage",
    "mean": "mean",
    "coefficient": "coefficient",
}
"""Kinds of the worst losses, which are in the same words as the rows of that kind; cells stand in their tables."""
Change = tuple[ChangeRow, float | None, float | None]
"""A row without sizes, its relative change and its change in standard errors."""


def _row(kind: ChangeKind, table: str, level: str, n: int | None, before: float | None, flagged: bool,
         weighted: bool = False) -> ChangeRow:  # fmt: skip
    return ChangeRow(kind, table, level, weighted, n, before, None, None, flagged)


def _all_changes(utility: Utility) -> Iterable[Change]:
    """Everything that users compute and that has changed."""
    for share in utility.shares:
        if share.before != share.after:
            row = _row("percentage", share.table, share.level, share.n, share.before, share.flagged, share.weighted)
            yield row, share.relative, share.errors
    for mean in utility.means:
        if mean.before != mean.after:
            row = _row("mean", mean.column, mean.group, mean.n, mean.before, mean.flagged, mean.weighted)
            yield row, mean.relative, mean.errors
    kinds: tuple[tuple[ChangeKind, Sequence[PairRow]], ...] = (
        ("correlation", utility.correlations),
        ("association", utility.associations),
    )
    for kind, pairs in kinds:
        for pair in pairs:
            if pair.before != pair.after:
                row = _row(kind, f"{pair.first} × {pair.second}", pair.statistic, None, pair.before, pair.flagged)
                yield row, _relative(pair.before, pair.after), pair.errors
    for coefficient in utility.coefficients:
        if coefficient.before is not None and coefficient.before != coefficient.after:
            name = coefficient.name + (f" ({coefficient.lost})" if coefficient.lost else "")
            before = coefficient.before
            row = _row("coefficient", coefficient.analysis, name, None, before, coefficient.flagged)
            yield row, _relative(before, coefficient.after), coefficient.shift
    for loss in utility.losses:
        kind_of = _LOSSES.get(loss.kind)
        if kind_of is not None and loss.before != loss.after:
            what = loss.what + (f" ({loss.lost})" if loss.lost else "")
            row = _row(kind_of, loss.of, what, loss.n, loss.before, loss.flagged, loss.weighted)
            yield row, loss.relative, loss.errors
    for table in utility.tables:
        for cell in table.rows:
            if cell.before != cell.after:
                name = f"{table.name} ({_CROSS.join(table.attributes)})"
                row = _row("cell", name, ", ".join(cell.levels), None, float(cell.before), cell.flagged)
                yield row, _relative(cell.before, cell.after), cell.errors


def _relative(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else (after - before) / abs(before)


def _told(change: Change, step: Step) -> ChangeRow:
    """One change as it is told at a step."""
    row, relative, errors = change
    if STEPS.index(step) >= STEPS.index("flags"):
        return replace(row, n=None, before=None)
    if step == "rounded changes":
        sizes = (_near(relative, _PERCENT), _near_error(errors))
    else:
        sizes = (_class(relative, CLASSES), _class(errors, ERROR_CLASSES))
    if step == "classes without figures":
        of_itself = None if row.kind == "coefficient" else sizes[0]
        return replace(row, n=None, before=None, relative=of_itself, errors=sizes[1])
    n = None if row.n is None else count(row.n, 2)
    return replace(row, n=n, before=rounded(row.before, 2), relative=sizes[0], errors=sizes[1])


def _near(value: float | None, unit: float) -> Range | None:
    """To the next multiple of a unit."""
    if value is None:
        return None
    middle = round(abs(value) / unit) * unit
    return Range(round(max(0.0, middle - unit / 2), 12), round(middle + unit / 2, 12), True)


def _near_error(value: float | None) -> Range | None:
    """To a whole number of standard errors, from ten on to one digit."""
    unit = 1.0 if value is None or abs(value) < 10 else 10.0 ** np.floor(np.log10(abs(value)))
    return _near(value, float(unit))


def _class(value: float | None, ends: Sequence[float | None]) -> Range | None:
    """The class in which a size is."""
    if value is None:
        return None
    at = max(i for i, end in enumerate(ends) if end is not None and abs(value) >= end)
    return Range(float(ends[at] or 0.0), ends[at + 1])


def _order(row: ChangeRow) -> tuple[object, ...]:
    """The worst class first, then by name; after them what is in no class."""
    errors = -row.errors.low if row.errors else 1.0
    return (not row.flagged, errors, -row.relative.low if row.relative else 0.0, row.kind, row.table, row.level)
