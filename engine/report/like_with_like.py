"""Records in small cells before and after: counts beside counts, shares beside shares of the same records.

Eq. 6 is a share of unaltered records, and a bound is on that share.  Members read the number of unaltered records in
small cells.  Number and share together would tell how many records were altered, so members who may not know it read
between which limits the share lies: at least the number as a share of all records, which it would be if none were
altered, and at most the bound, where the run meets it.  That says no more than the number and the statement that the
bound is met, and it is in the unit of the bound.  A share of no records is 0 % whatever was altered.

Fewer records in small cells are not everything: more of them may be alone, and more guesses right.  Both are counted,
too, in the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.report.coarse_counts import rounded
from engine.report.exposed_counts import FEW_MATCHES, is_none, is_rounded, matches_follow
from engine.report.words import NONE

if TYPE_CHECKING:
    from engine.report.findings import Findings


MATCHES = "right matches to be expected if somebody guesses a record for each person in a small combination"
"""What is counted as a right match, as the name of its row."""


RANGE_WHY = "the exact share would tell how many records were altered"
"""Why members read between which limits a share lies."""


@dataclass(frozen=True)
class SmallCellRow:
    """A count of ``records`` in small cells before and after, and as shares (0 to 1) of the records that it is about.

    The share after lies from ``share_low`` to ``share_high``; both are equal where it is known exactly, and None where
    nothing limits it; a number after is None where it is withheld.  ``share_before`` is None of a count that is no
    share of records.
    """

    records: str
    before: int
    after: float | None
    share_before: float | None
    share_low: float | None
    share_high: float | None


def small_cell_rows(findings: Findings) -> list[SmallCellRow]:
    """All records, and the unaltered ones, of which there are as many as records before anything is altered; how many
    are alone; and how many guesses are right, which findings of an earlier version do not say."""
    exposed, n = findings.exposure, findings.design.n_records
    before = exposed.small_before / n
    is_counted = findings.members_rate.counts == "exact"
    share, alone = (
        None if after is None else after / n if is_counted else rounded(after / n, 2)
        for after in (exposed.small_after, exposed.ones_after)
    )
    low: float | None
    high: float | None
    if exposed.share_after is not None:
        low = high = exposed.share_after
    elif is_none(findings):
        low = high = 0.0
    else:
        is_exact = exposed.unaltered_after is not None and not is_rounded(findings)
        low = (exposed.unaltered_after or 0) / n if is_exact else None
        high = exposed.bound if exposed.within_bound else None
    rows = [
        SmallCellRow("all records", exposed.small_before, exposed.small_after, before, share, share),
        SmallCellRow("unaltered records", exposed.small_before, exposed.unaltered_after, before, low, high),
        SmallCellRow(
            "records alone in their combination",
            exposed.ones_before,
            exposed.ones_after,
            exposed.ones_before / n,
            alone,
            alone,
        ),
    ]
    if exposed.matches_before is not None and exposed.matches_after is not None:
        after = exposed.matches_after
        after = int(after) if float(after).is_integer() else after
        records = MATCHES + (", rounded" if _is_rounded_match(findings) else "")
        rows.append(SmallCellRow(records, exposed.matches_before, after, None, None, None))
    return rows


def _is_rounded_match(findings: Findings) -> bool:
    """Whether few right matches are told as a whole number although counts beside them are exact."""
    exposed = findings.exposure
    counts = (exposed.small_after, exposed.unaltered_after, exposed.ones_after, exposed.twos_after)
    told = [value for value in counts if value is not None]
    if len(told) < len(counts) or is_rounded(findings) or (exposed.matches_after or 0) >= FEW_MATCHES:
        return False
    return findings.design.tables > 1 or not matches_follow(*told)


def share_words(row: SmallCellRow) -> str:
    """The share after, exactly or by its limits; a dash of a count that is no share."""
    if row.share_before is None:
        return NONE
    low, high = (None if value is None else f"{100 * value:.3g} %" for value in (row.share_low, row.share_high))
    if low is None and high is None:
        return "not shown"
    if low is None:
        return f"at most {high}"
    if high is None:
        return f"at least {low}"
    return f"{low}" if low == high else f"{low} to {high}"


def bound_check_words(findings: Findings) -> str:
    """The bound beside what was found, in the bound's unit, with why a share is a range; empty where there is no such
    bound."""
    exposed = findings.exposure
    if exposed.bound is None or exposed.within_bound is None:
        return ""
    meets = f"The run to be released {'meets' if exposed.within_bound else 'does not meet'} the bound"
    row, bound = small_cell_rows(findings)[1], f"{100 * exposed.bound:.3g} %"
    if row.share_low is not None and row.share_low == row.share_high:
        return f"{meets}: {share_words(row)} of its unaltered records stand in small cells, and the bound is {bound}."
    return (
        f"{meets}: the program compared the exact share of its unaltered records in small cells with {bound}. The "
        f"table gives a range ({share_words(row)}), because {RANGE_WHY}."
    )
