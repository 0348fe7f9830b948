"""What is said of combinations that a release has made, and of what the counts stand for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from engine.report.exposed_words import harm_words, new_words
from engine.report.facts import EDITS, Check
from engine.report.html_file import html_text
from engine.report.memo import memo
from tests.engine.report.conftest import Case
from tests.engine.report.recount import codes


def test_records_with_a_new_combination_are_counted_record_by_record(case: Case) -> None:
    old, new = (Counter(map(tuple, table.tolist())) for table in codes(case))
    assert case.findings.exposure.new_after == sum(count for cell, count in new.items() if cell not in old) > 0


@pytest.mark.parametrize(("new", "words"), [(0, "Every record"), (1, "1 record of the release has"), (4, "4 records")])
def test_new_combinations_are_told_with_whether_anybody_looked(case: Case, new: int, words: str) -> None:
    exposed = replace(case.findings.exposure, new_after=new, cells_before=20, cells_after=21)
    findings = replace(case.findings, exposure=exposed)
    unchecked = replace(findings, checks=(Check(EDITS, "None are declared.", None),))
    assert new_words(findings).startswith(words) and new_words(unchecked).startswith(words)
    assert ("Section 7 tells" in new_words(findings)) == bool(new)
    assert ("Nobody looked whether it is possible" in new_words(unchecked)) == bool(new)
    assert new_words(unchecked) in html_text(memo(unchecked))
    withheld = replace(findings, exposure=replace(exposed, new_after=None))
    assert new_words(withheld) == ""


def test_the_memo_says_which_measure_stands_for_the_harm(case: Case) -> None:
    words = harm_words(case.findings)
    assert words.startswith("unaltered records in small cells: ") and "Not measured: what is learnt without" in words
    facts = case.findings.recognised
    assert facts is not None
    declared = replace(case.findings, recognised=replace(facts, sensitive=("A",)))
    assert "what is learnt" not in harm_words(declared)
    assert "What stands for this harm" in html_text(memo(case.findings))
