"""What the attack on a members' bundle makes of the number of runs that meet a bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.bundle.members_attack import Statement, attack_members_bundle, counts_within
from engine.frontier.chance import share_limits
from engine.report.findings import Findings
from engine.report.map_facts import CandidateRow
from tests.engine.bundle.members_case import swept


def limits(within: int, runs: int) -> tuple[float, float]:
    low, high = share_limits(np.array([within]), np.array([runs]))
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(
    ("mean", "error", "within", "runs", "largest"),
    [
        (1.91, 0.08, 342, 400, (3, 3)),  # with this mean 85 % of the runs count up to three, 70 % up to two
        (2.03, 0.155, 83, 100, (3, 3)),
    ],
)
def test_how_many_runs_meet_the_bound_tells_up_to_which_count_they_do(
    mean: float, error: float, within: int, runs: int, largest: tuple[int, int]
) -> None:
    least, beyond = counts_within(mean, error * runs**0.5, limits(within, runs), 0.002, 0.0)
    assert least == Statement(largest[0], 0.0, 0.002, True)
    assert beyond == Statement(largest[1] + 1, 0.0, 0.002, False)


def test_of_a_rare_event_only_the_least_count_is_told() -> None:
    assert list(counts_within(0.88, 1.1, limits(97, 100), 0.002, 0.0)) == [Statement(2.0, 0.0, 0.002, True)]


def test_an_average_that_was_rounded_tells_less() -> None:
    least, _ = counts_within(2.0, 2.0**0.5, limits(83, 100), 0.002, 0.5)
    assert least.records == 2


def test_a_share_that_no_count_explains_tells_nothing() -> None:
    assert not list(counts_within(4.0, 0.1, (0.3, 0.35), 0.002, 0.0))


def test_runs_of_other_candidates_with_as_many_altered_records_bound_the_share(tmp_path: Path) -> None:
    """With 342 of 400 runs within 0.2 %, and 1.91 exposed records on average, runs with three meet the bound, so that
    at least 1,500 of 1,841 records are unaltered."""
    board = swept(tmp_path).findings
    own = next(row for row in board.map.candidates if row.recommended)

    def high(**parts: object) -> float:
        row: CandidateRow = replace(own, letter="B", recommended=False, riskier_than_nothing=False, **parts)  # type: ignore[arg-type]
        quiet = replace(own, risk=None, within=None, within_bound=None)
        exposure = replace(board.exposure, unaltered_after=0, small_after=0, bound=None, new_after=None)
        bare: Findings = replace(
            board,
            design=replace(board.design, n_records=1841),
            exposure=exposure,
            recommendation=replace(board.recommendation, run=None),
            map=replace(board.map, candidates=(quiet, row), bound="at most 0.2 % of them", nothing_risk=None),
        )
        return attack_members_bundle(bare.to_json()).counts[1]

    told = {"risk": 1.91, "risk_se": 0.08, "within": 342, "runs": 400, "within_bound": False}
    assert high(**told) == pytest.approx(1 - 1500 / 1841)
    assert high(**{**told, "within": None}) == 1.0
