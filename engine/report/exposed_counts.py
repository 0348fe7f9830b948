"""Words on the count of exposed records of a release: whether it is rounded, and how it compares with the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.report.coarse_counts import PLACES
from engine.report.redaction import RECORDS, SPARSE, half_unit

if TYPE_CHECKING:
    from engine.report.findings import Findings


def is_rounded(findings: Findings) -> bool:
    """Whether counts of unaltered records are rounded, see :mod:`engine.report.exposed` and
    :mod:`engine.report.coarsening`."""
    if findings.members_rate.counts != "exact":
        return True
    counts = [findings.exposure.small_before, *(row.before or 0 for row in findings.measures if row.unit == RECORDS)]
    return max(counts) > SPARSE * findings.design.n_records


def count_digits(findings: Findings) -> int | None:
    """Significant digits of counts of unaltered records; None where they are exact, or withheld."""
    return PLACES[findings.members_rate.counts] or (2 if is_rounded(findings) else None)


FEW_MATCHES = 10
"""From so many on, right matches of guesses are whole numbers."""


def matches_follow(small: int, unaltered: int, ones: int, twos: int) -> bool:
    """Whether the right matches in small cells of a release follow from the records ``small`` there, those of them that
    are ``unaltered``, and the cells with one record and with two.  Otherwise an exact number would tell which of the
    small cells hold the unaltered records."""
    return unaltered in (0, small) or small in (ones, 2 * twos)


Direction = Literal["fewer", "as many", "about as many", "more", "withheld"]
"""How the unaltered records in small cells of the release compare with those of the original."""


def direction(findings: Findings) -> Direction:
    """The direction of the change, as far as the rounded count tells it."""
    before, after = findings.exposure.small_before, findings.exposure.unaltered_after
    if after is None:
        return "withheld"
    digits = count_digits(findings)
    if digits is None or not after:
        return "fewer" if after < before else "more" if after > before else "as many"
    room = half_unit(after, digits)
    return "fewer" if after + room < before else "more" if after - room > before else "about as many"


DIRECTIONS: dict[Direction, str] = {
    "more": "More unaltered records stand in small cells than if nothing were done.",
    "as many": "As many unaltered records stand in small cells as if nothing were done.",
    "about as many": "About as many unaltered records stand in small cells as if nothing were done; the rounded count "
    "does not tell more.",
    "withheld": "How many unaltered records stand in small cells of the release is withheld: it would tell how many "
    "records were altered.",
}
"""What is said where there are not clearly fewer."""


def is_none(findings: Findings) -> bool:
    """Whether exactly no unaltered record of the release stands in a small cell: rounding makes no count 0 that is not,
    but a mean over several tables may be less than half a record."""
    return findings.exposure.unaltered_after == 0 and findings.design.tables == 1


def about_so_many(findings: Findings) -> str:
    """What stands before a count of unaltered records in small cells: that it is rounded, where it is."""
    return "about " if is_rounded(findings) and not is_none(findings) else ""
