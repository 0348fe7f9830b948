"""What a run left out, and what would bring it back, in plain lines at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_PREFIX = "Skipped: "


def lines(reasons: Iterable[str]) -> list[str]:
    """One line for each reason, the commonest first: how many tests, what is missing, what brings it back."""
    counted = Counter(reason.removeprefix(_PREFIX) for reason in reasons)
    return [f"{number} test{'s' * (number > 1)}: {reason}" for reason, number in counted.most_common()]


def tell(reporter: pytest.TerminalReporter) -> None:
    """Write the lines of a run, if it left anything out."""
    reports = reporter.stats.get("skipped", [])
    if found := lines(str(report.longrepr[2]) for report in reports):
        reporter.section("left out, and what brings it back", sep="-")
        for line in found:
            reporter.write_line(line)
