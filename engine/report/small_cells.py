"""Records in small cells before and after: counts beside counts, shares beside shares of the same records.

Eq. 6 and a bound on it are shares of the unaltered records; counts of them alone fall by themselves where many records
are altered.  Fewer records in small cells are not everything either: more of them may be alone, and more guesses right.
All are in one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.report.findings import Findings


def is_none(findings: Findings) -> bool:
    """Whether exactly no unaltered record of the release stands in a small cell: a mean over several tables may be less
    than half a record."""
    return findings.exposure.unaltered_after == 0 and findings.design.tables == 1
