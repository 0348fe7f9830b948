"""The board reads which exchanged attributes no declared use looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.plan import SpacePlan
from engine.report.decision_pages import pages
from tests.engine.report.conftest import Case, case_of, plan_of
from tests.engine.report.pages import text_of


def test_where_all_is_used_nothing_is_said(case: Case) -> None:
    assert case.findings.utility.unused == ()


@pytest.mark.slow
def test_an_exchanged_attribute_that_nobody_uses_is_named(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12)
    measures = ("small_cells", "hellinger[attributes=A+D]")
    plan = plan_of(
        keys=("A", "D"), analyse=("A", "B"), swap=("D",), analyses=(), tables=(), space=space, measures=measures
    )
    found = case_of(tmp_path, plan).findings
    assert found.utility.unused == ("D",)
    assert "No declared table or regression uses D" in text_of(pages(found))
