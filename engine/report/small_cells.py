"""Records in small cells before and after: counts beside counts, shares beside shares of the same records.

Eq. 6 and a bound on it are shares of the unaltered records; counts of them alone fall by themselves where many records
are altered.  Fewer records in small cells are not everything either: more of them may be alone, and more guesses right.
All are in one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.report.words import NONE

if TYPE_CHECKING:
    from engine.report.findings import Findings

MATCHES = "right matches to be expected if somebody guesses a record for each person in a small combination"
"""What is counted as a right match, as the name of its row."""
Direction = Literal["fewer", "as many", "more", ""]
"""How the unaltered records in small cells of the release compare with those of the original (empty: not told)."""
DIRECTIONS: dict[Direction, str] = {
    "more": "More unaltered records stand in small cells than if nothing were done.",
    "as many": "As many unaltered records stand in small cells as if nothing were done.",
    "": "",
}
"""What is said where there are not fewer."""


@dataclass(frozen=True)
class SmallCellRow:
    """A count of ``records`` in small cells before and after, and as shares (0 to 1) of the records that it is about;
    None where there is no such share, or where a bundle of an earlier version withholds a figure."""

    records: str
    before: int
    after: float | None
    share_before: float | None
    share_after: float | None


def small_cell_rows(findings: Findings) -> list[SmallCellRow]:
    """All records, and the unaltered ones, of which there are as many as records before anything is altered; how many
    are alone; and how many guesses are right, which findings of an earlier version do not say."""
    exposed, n = findings.exposure, findings.design.n_records
    before, alone = exposed.small_before / n, exposed.ones_before / n
    of_all = [None if after is None else after / n for after in (exposed.small_after, exposed.ones_after)]
    rows = [
        SmallCellRow("all records", exposed.small_before, exposed.small_after, before, of_all[0]),
        SmallCellRow("unaltered records", exposed.small_before, exposed.unaltered_after, before, exposed.share_after),
        SmallCellRow("records alone in their combination", exposed.ones_before, exposed.ones_after, alone, of_all[1]),
    ]
    if exposed.matches_before is not None:
        rows.append(SmallCellRow(MATCHES, exposed.matches_before, exposed.matches_after, None, None))
    return rows


def share_words(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return NONE if share is None else f"{100 * share:.3g} %"


def bound_check_words(findings: Findings) -> str:
    """The bound beside what was found, in the bound's unit; empty where there is no such bound."""
    exposed = findings.exposure
    if exposed.bound is None or exposed.within_bound is None:
        return ""
    meets = f"The run to be released {'meets' if exposed.within_bound else 'does not meet'} the bound"
    bound = f"{100 * exposed.bound:.3g} %"
    if exposed.share_after is None:
        return f"{meets} of {bound}."
    share = share_words(exposed.share_after)
    return f"{meets}: {share} of its unaltered records stand in small cells, and the bound is {bound}."


def direction(findings: Findings) -> Direction:
    """The direction of the change of the count of unaltered records."""
    before, after = findings.exposure.small_before, findings.exposure.unaltered_after
    if after is None:
        return ""
    return "fewer" if after < before else "more" if after > before else "as many"


def is_none(findings: Findings) -> bool:
    """Whether exactly no unaltered record of the release stands in a small cell: a mean over several tables may be less
    than half a record."""
    return findings.exposure.unaltered_after == 0 and findings.design.tables == 1
