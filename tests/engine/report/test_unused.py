"""The board reads which exchanged attributes no declared use looks at."""

from __future__ import annotations

from tests.engine.report.conftest import Case


def test_where_all_is_used_nothing_is_said(case: Case) -> None:
    assert case.findings.utility.unused == ()
