"""Correlations are held against the tolerances by Fisher's z."""

from __future__ import annotations

import numpy as np
import pytest

from engine.report.facts import Tolerances
from engine.report.losses import Batch, Collection, fisher_error
from tests.engine.report.conftest import Case

TOLERANCES = Tolerances(0.1, 45, 1.96, 1.1)


@pytest.mark.parametrize(
    ("before", "after", "n", "errors", "flagged"),
    [
        (0.5, 0.3, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.3)), True),
        (0.5, 0.46, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.46)), False),
        (0.5, 0.44, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.44)), True),  # 12 % of its value
        (0.1, 0.05, 103, 10 * (np.arctanh(0.1) - np.arctanh(0.05)), False),  # within noise of 0
        (0.7, 0.7, 103, 0.0, False),
        (-0.2, 0.2, 19, 8 * np.arctanh(0.2), False),
    ],
)
def test_a_change_is_counted_in_standard_errors_of_fishers_z(
    before: float, after: float, n: int, errors: float, flagged: bool
) -> None:
    collection = Collection("correlation", "correlations", TOLERANCES)
    arrays = (np.array([value], float) for value in (n, n, before, after, fisher_error(before, after, n)))
    collection.add(Batch("x × y", [""], ["Pearson's r"], *arrays), True)
    assert [figure.errors for figure in collection.figures] == ([pytest.approx(errors)] if errors else [])
    assert collection.tally.flagged == flagged and collection.tally.eligible == 1


def test_three_records_give_no_standard_error() -> None:
    assert np.isnan(fisher_error(0.5, 0.3, 3))
    assert fisher_error(0.6, 0.6, 67) == pytest.approx((1 - 0.36) / 8)


def test_correlations_of_columns_that_stay_are_counted_and_not_judged(case: Case) -> None:
    (tally,) = (t for t in case.findings.utility.tallies if t.kind == "correlations")
    assert (tally.compared, tally.unchangeable, tally.eligible) == (1, 1, 0)
    assert not [figure for figure in case.findings.utility.figures if figure.kind == "correlation"]


def test_associations_that_change_most_stand_first(case: Case) -> None:
    changes = [abs(row.after - row.before) for row in case.findings.utility.associations]  # type: ignore[operator]
    assert changes == sorted(changes, reverse=True) and changes[0] > changes[-1] >= 0
