"""Liu, "Multiple and probabilistic swapping of categorical keys", table 1."""

from __future__ import annotations

import numpy as np
import pytest

from tests.papers import rows_maps


def test_the_regression_on_cells_is_least_squares():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 4, 60), rng.normal(size=60)
    design = np.column_stack([np.ones(60), *(x == k for k in (1, 2, 3))])
    beta, rest, _, _ = np.linalg.lstsq(design, y, rcond=None)
    ((found, variance),) = rows_maps.estimates(x[None], y)
    assert np.allclose(found, [*beta, rest[0] / 56])
    assert np.allclose(variance[:4], np.diagonal(np.linalg.inv(design.T @ design)) * rest[0] / 56)


@pytest.mark.slow
def test_table_1():
    """Biases of MaPS, and what each cutpoint adds to the one before it, agree within .9 standard errors; shifts against
    the printed column Raw do not, as if it were paired.  The rest only has to be there."""
    rows = rows_maps.rows(quick=False)
    assert len(rows) == 5 * 5 + 2 * 5 * 5 + 5 * 4 + 5 * 4
    assert [row for row in rows if row.required and not row.agrees] == []
    within, paired = (
        [row.errors_apart() or 0.0 for row in rows if kind in row.name and "MaPS" in row.name]
        for kind in ("bias", "shift against Raw")
    )
    within += [row.errors_apart() or 0.0 for row in rows if row.name.endswith("increment of the mean")]
    print(f"largest z of biases and increments {max(within):.2f}, of shifts against Raw {max(paired):.2f}")
    assert max(within) < 0.9 and max(paired) > 3
    assert min(row.errors_apart() or 0.0 for row in rows if "0.9 β" in row.name and "against Raw" in row.name) > 2.5
