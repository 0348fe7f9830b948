"""A range that is told to the public says roughly how much, and never as much as the rate."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engine.common.errors import UsageError
from engine.plan.entries import rate_range


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("between 1 and 5 percent", "1", "5"),
        ("from 0.5 to 1 %", "0.5", "1"),
        ("1% - 2%", "1", "2"),
        ("one to five per cent", "1", "5"),
        ("Between  0 and 10 percent", "0", "10"),
        ("below 5 percent", "0", "5"),
        ("at most 20 %", "0", "20"),
    ],
)
def test_a_wide_range_is_read(text: str, low: str, high: str) -> None:
    found = rate_range(text)
    assert (found.low, found.high) == (Decimal(low), Decimal(high))
    assert found.holds(found.low / 100) and found.holds(float(high) / 100)
    assert not found.holds(float(high) / 100 + 0.001) and not found.holds(float(low) / 100 - 0.001)


@pytest.mark.parametrize(
    "text",
    [
        "1.9 to 2.1 percent",
        "between 2 and 3 percent",
        "between 1.5 and 5 percent",
        "between 1 and 15 percent",
        "between 5 and 1 percent",
        "0 to 0 percent",
        "below 0 percent",
        "between 1 and 500 percent",
        "between 1 and 5 percent, mostly 2",
        "2 percent",
        "a few percent",
        "between 0.01 and 0.05",
    ],
)
def test_one_that_tells_the_rate_or_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"the range for the public is '{text}', must read like .* as the rate itself"):
        rate_range(text)
