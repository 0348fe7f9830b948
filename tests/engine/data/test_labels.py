"""What a file says about a column."""

from __future__ import annotations

import pytest

from engine.common.errors import EngineError
from engine.data.labels import ColumnLabels


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
