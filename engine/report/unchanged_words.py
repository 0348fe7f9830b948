"""Words on tables of a release that do not change, where members read of the others that they do."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from engine.common.wording import listed
from engine.report.parameters import ROLE_WORDS
from engine.report.shares import MOST

if TYPE_CHECKING:
    from engine.report.findings import Findings

_TWO_WAY = "percentages of two attributes"


def unchanged_words(findings: Findings) -> str:
    """Which tables of two attributes hold an exchanged one and do not change all the same, and what holds of tables
    that are not named; of findings that tell of every figure whether it changed."""
    utility = findings.utility
    compared = next((tally.compared for tally in utility.tallies if tally.kind == _TWO_WAY), None)
    if not findings.design.swap or compared is None or compared > MOST:  # more than are looked at one by one
        return "Those of tables that are not named here change less, or not at all."
    changed = {row.table for row in utility.changes}
    rows = [row for row in findings.design.attributes if row.analysed]
    still = [
        f"{first.name} × {second.name}"
        for first, second in combinations(rows, 2)
        if [first.role, second.role].count(ROLE_WORDS["S"]) == 1 and f"{first.name} × {second.name}" not in changed
    ]
    if not still:
        return "Those of tables that are not named here hold no exchanged attribute, or no other, and do not change."
    return (
        f"Those of {listed(still)} do not change, though one of the attributes was exchanged: what went out of each "
        "cell came back. Those of tables that are not named here do not change either."
    )
