"""Words on the losses of users."""

from __future__ import annotations

from dataclasses import replace

from engine.report.loss_words import worst_losses
from engine.report.rate_facts import ChangeRow, Range
from tests.engine.report.conftest import Case


def test_a_change_that_is_beyond_by_its_value_says_so(case: Case) -> None:
    def words(*, flagged: bool, high: float) -> str:
        row = ChangeRow("percentage", "A × B", "x", False, None, None, None, Range(0, high), flagged)
        return worst_losses(replace(case.findings.utility, changes=(row,), losses=()))[0]

    assert words(flagged=True, high=2) == (
        "A × B, x: changes by less than 2 standard errors, but by more than 10 % of its value or 1.96 of these errors"
    )
    assert words(flagged=True, high=1.5).endswith("1.5 standard errors, but by more than 10 % of its value")
    assert words(flagged=False, high=2).endswith("less than 2 standard errors")
