"""Members read of every table of an exchanged attribute whether it changes."""

from __future__ import annotations

from dataclasses import replace

from engine.report.facts import Tally
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.parameters import ROLE_WORDS
from engine.report.rate_facts import ChangeRow
from engine.report.unchanged_words import unchanged_words
from tests.engine.report.conftest import Case


def told(case: Case, *changed: str, compared: int = 60) -> Findings:
    """Findings of a swap of A and D of which these tables change, within the tolerances."""
    design = case.findings.design
    rows = tuple(replace(a, role=ROLE_WORDS["S" if a.name in "AD" else "U"], analysed=True) for a in design.attributes)
    changes = tuple(ChangeRow("percentage", table, "x", False, None, None, None, None, False) for table in changed)
    tallies = (Tally("percentages of two attributes", compared, 32, 0, 28),)
    utility = replace(case.findings.utility, changes=changes, tallies=tallies, losses=(), shares=())
    rate = replace(case.findings.members_rate, policy="withheld", step="flags")
    return replace(case.findings, design=replace(design, attributes=rows), utility=utility, members_rate=rate)


def test_tables_of_an_exchanged_attribute_that_do_not_change_are_named(case: Case) -> None:
    findings = told(case, "A × B", "B × D", "C × D")
    assert unchanged_words(findings).startswith(
        "Those of A × C do not change, though one of the attributes was exchanged"
    )
    assert unchanged_words(findings) in html_text(memo(findings))
    every = told(case, "A × B", "A × C", "B × D", "C × D")
    assert unchanged_words(every).endswith("hold no exchanged attribute, or no other, and do not change.")


def test_where_only_the_largest_changes_are_looked_at_no_table_is_called_unchanged(case: Case) -> None:
    assert unchanged_words(told(case, "A × B", compared=201)).endswith("change less, or not at all.")
    other = told(case, "A × B")
    assert unchanged_words(replace(other, design=replace(other.design, swap=False))).endswith("or not at all.")
