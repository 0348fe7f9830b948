"""Rows of candidates and runs: which of them a rule picks, and risks as counts of records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.measures import call
from engine.release.scenarios import Results, RunStatus
from engine.release.spec import ReleaseSpec
from engine.report.candidate_table import _optimal
from engine.report.context import in_counts
from tests.small_tables import Small

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))


@pytest.mark.parametrize(
    ("max_risk", "slope", "rows"),
    [
        (None, None, set()),
        (0.05, None, set()),  # nothing meets it
        (0.25, None, {1}),
        (0.75, None, {2}),
        (0.75, 9.0, {2}),
        (None, 1.0, {1, 2}),  # 1/4 + 1/2 = 1/2 + 1/4
        (None, 9.0, {3}),
    ],
)
def test_a_rule_picks_the_most_useful_row_within_its_limit_or_those_of_the_least_sum(
    max_risk: float | None, slope: float | None, rows: set[int]
) -> None:
    risk, loss = np.array([np.nan, 0.25, 0.5, 1.0]), np.array([0.0, 0.5, 0.25, 0.125])
    assert set(_optimal(risk, loss, max_risk, slope)) == rows


@pytest.mark.parametrize(
    ("measures", "keys", "counts"),
    [
        (("hellinger", "small_cells"), "AB", [8.0, 14.0]),  # of 80 and of 70 unaltered records
        (("hellinger", "small_cells[attributes=B]"), "AB", [10.0, 20.0]),  # which no swap alters
        (("hellinger", "small_cells"), "C", [10.0, 20.0]),
        (("hellinger", "attack"), "AB", [0.1, 0.2]),
    ],
)
def test_a_share_of_the_unaltered_records_becomes_their_count_run_by_run(
    measures: tuple[str, ...], keys: str, counts: list[float]
) -> None:
    study: Any = SimpleNamespace(
        measures=tuple(map(call, measures)), about={"n_records": 100}, plan=SimpleNamespace(keys=tuple(keys))
    )
    scenarios = [SimpleNamespace(spec=ReleaseSpec(SMALL.spec("SUU"), "0.1"))]
    view: Any = SimpleNamespace(measures=study.measures, risk=1, scenarios=scenarios)
    ones, values = np.ones(2, np.int64), np.array([[0.3, 0.1], [0.4, 0.2]])
    results = Results(0 * ones, np.arange(2), RunStatus.OK * ones, np.array([20, 30]), values)
    assert in_counts(study, view, 0, results).tolist() == counts
    assert results.values is values and values[0, 1] == 0.1, "the results themselves stay shares"
