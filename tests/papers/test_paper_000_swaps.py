"""Liu, "Multiple and probabilistic swapping of categorical keys", table 2: what swapping does to a regression."""

from __future__ import annotations

import pytest

from tests.papers import rows_key_swaps


@pytest.mark.slow
def test_table_2():
    """Biases after DDS and RDS, mean squared errors and coverages after DDS."""
    rows = rows_key_swaps.rows_000(quick=False)
    assert len(rows) == 30
    assert [row for row in rows if row.required and not row.agrees] == []
