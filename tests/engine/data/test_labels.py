"""What a file says about a column."""

from __future__ import annotations

import pytest

from engine.common.errors import EngineError
from engine.data.microdata import ColumnLabels
from engine.plan.entries import with_missing


def test_labels_are_checked() -> None:
    with pytest.raises(EngineError, match="the value '1' has two labels"):
        ColumnLabels("", (("1", "a"), ("1", "b")))
    with pytest.raises(EngineError, match="from 2 to 1; give the lower end first"):
        ColumnLabels(missing_ranges=((2, 1),))
    with pytest.raises(EngineError, match="measure is 'x'"):
        ColumnLabels(measure="x")
    about = ColumnLabels("", (("1", "One"),), ("x",), ((-9, -1),))
    assert about.missing_among(["x", "-9", "-9.5", "y", "nan"]) == ("x", "-9")
    assert (about.label_or_value("1"), about.label_or_value("2")) == ("One", "2")


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [(-99, -90, "-99 to -90"), (9_999_997, 9_999_999, "9999997 to 9999999"), (0.1, 98.25, "0.1 to 98.25")],
)
def test_a_range_is_written_with_all_its_digits_and_read_back(low: float, high: float, written: str) -> None:
    about = ColumnLabels(missing_ranges=((low, high),))
    assert about.written_ranges == [written]
    (column,) = with_missing((), "x", "-1", about)
    assert column.missing == (written, "-1") and column.of(ColumnLabels()).missing_ranges == ((low, high),)
