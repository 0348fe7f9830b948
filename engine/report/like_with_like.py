"""Records in small cells before and after: counts beside counts, shares beside shares of the same records.

Eq. 6 is a share of unaltered records, and a bound is on that share.  Members read the number of unaltered records in
small cells.  Number and share together would tell how many records were altered, so members who may not know it read
between which limits the share lies: at least the number as a share of all records, which it would be if none were
altered, and at most the bound, where the run meets it.  That says no more than the number and the statement that the
bound is met, and it is in the unit of the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.report.answers import is_rounded

if TYPE_CHECKING:
    from engine.report.findings import Findings


@dataclass(frozen=True)
class SmallCellRow:
    """Records in small cells among ``records``: how many before and after, and as shares of just these (0 to 1).

    The share after lies from ``share_low`` to ``share_high``; both are equal where it is known exactly, and None where
    nothing limits it.
    """

    records: Literal["all records", "unaltered records"]
    before: int
    after: int
    share_before: float
    share_low: float | None
    share_high: float | None


def small_cell_rows(findings: Findings) -> list[SmallCellRow]:
    """All records, and the unaltered ones, of which there are as many as records before anything is altered."""
    exposed, n = findings.exposure, findings.design.n_records
    before = exposed.small_before / n
    share = exposed.small_after / n
    low: float | None
    high: float | None
    if exposed.share_after is not None:
        low = high = exposed.share_after
    else:
        low = None if is_rounded(findings) else exposed.unaltered_after / n
        high = exposed.bound if exposed.within_bound else None
    return [
        SmallCellRow("all records", exposed.small_before, exposed.small_after, before, share, share),
        SmallCellRow("unaltered records", exposed.small_before, exposed.unaltered_after, before, low, high),
    ]


def share_words(row: SmallCellRow) -> str:
    """The share after, exactly or by its limits."""
    low, high = (None if value is None else f"{100 * value:.3g} %" for value in (row.share_low, row.share_high))
    if low is None and high is None:
        return "not shown"
    if low is None:
        return f"at most {high}"
    if high is None:
        return f"at least {low}"
    return f"{low}" if low == high else f"{low} to {high}"


def bound_check_words(findings: Findings) -> str:
    """The bound beside what was found, in the bound's unit; empty where there is no such bound."""
    exposed = findings.exposure
    if exposed.bound is None or exposed.within_bound is None:
        return ""
    verb = "meets" if exposed.within_bound else "does not meet"
    row = small_cell_rows(findings)[1]
    return (
        f"The run to be released {verb} the bound: of its unaltered records {share_words(row)} stand in small cells, "
        f"and the bound is {100 * exposed.bound:.3g} %."
    )
