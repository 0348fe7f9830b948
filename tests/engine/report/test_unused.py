"""The board reads which exchanged attributes no declared use looks at."""

from __future__ import annotations

from pathlib import Path

from engine.plan import SpacePlan
from engine.report.answers import ten_questions
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.questions import BoardQuestion
from tests.engine.report.conftest import Case, case_of, plan_of


def test_an_exchanged_attribute_that_nobody_uses_is_named(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12)
    measures = ("small_cells", "hellinger[attributes=A+D]")
    plan = plan_of(
        keys=("A", "D"), analyse=("A", "B"), swap=("D",), analyses=(), tables=(), space=space, measures=measures
    )
    found = case_of(tmp_path, plan).findings
    assert found.utility.unused == ("D",)
    (losses,) = (answer for answer in ten_questions(found) if answer.question is BoardQuestion.LOSSES)
    assert any("No declared table or regression uses D" in line for line in losses.lines)
    assert "No declared table or regression uses D" in html_text(memo(found))


def test_where_all_is_used_nothing_is_said(case: Case) -> None:
    assert case.findings.utility.unused == ()
