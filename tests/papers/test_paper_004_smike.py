"""Little and Liu (2003), "Selective multiple imputation of keys", tables 2 and 3; the same study as in their comparison
with swapping and PRAM."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.papers import rows_smike
from tests.shared import shared_file
from tests.twins import smike as twin


def test_the_printed_probabilities():
    assert rows_smike.PI_100.sum() == pytest.approx(99.95)
    assert np.linalg.det(rows_smike.SIGMA) == pytest.approx(0.3996)
    with shared_file("data", "smike_pi84.csv").open(encoding="utf-8") as file:
        assert [float(row["pi100"]) for row in csv.DictReader(file)] == rows_smike.PI_100.tolist()


def test_risks_are_the_twins():
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = np.unique(rng.choice(9, 25, p=np.arange(1, 10) / 45), return_inverse=True)[1]
        stays = rng.random((4, 25)) < 0.7
        shown = np.where(stays, x, rng.integers(0, x.max() + 1, (4, 25)))
        assert rows_smike.r1(x, shown, 3) == pytest.approx(twin.r1(x.tolist(), shown.tolist(), 3))
        assert rows_smike.r2(x, shown, 3) == pytest.approx(twin.r2(x.tolist(), shown.tolist(), 3))


@pytest.mark.slow
def test_table_3():
    """Protection of SMIKe with global selection; rows of grade C only have to be there."""
    rows = [*rows_smike.rows(quick=False), *rows_smike.study_rows(quick=False)]
    assert len(rows) == 4 * 16 + 8 + 2
    assert [row for row in rows if row.required and not row.agrees] == []
