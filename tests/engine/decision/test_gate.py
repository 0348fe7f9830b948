"""What stands against releasing one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from engine.decision.gate import _near_limit, obstacles, released_run
from engine.decision.statements import of_severity
from engine.release.scenarios import Results, RunStatus
from engine.study.map_reader import risk_utility_map
from tests.engine.frontier.test_risk_utility_map import ORIGINAL, rows_of, study_of

NINE_TENTHS = Fraction(9, 10)

Check = Callable[..., list[str]]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """The kinds of obstacle against a run of some risks, on the map of a study."""
    with study_of(tmp_path_factory.mktemp("check"), []) as study:
        view = risk_utility_map(study)

    def kinds(
        risk: Sequence[float],
        *,
        bound: float | None = 0.02,
        probability: Fraction | None = NINE_TENTHS,
        original: float = 0.03,
        fresh: Sequence[float] | None = None,
        failed: Sequence[int] = (),
    ) -> list[str]:
        return _kinds(
            replace(view, original=np.array([original, 0, 0])),
            _runs(risk, failed),
            bound=bound,
            probability=probability,
            fresh=None if fresh is None else _runs(fresh, ()),
        )

    return kinds


def _runs(risk: Sequence[float], failed: Sequence[int]) -> Results:
    status = np.array([RunStatus.FAILED if i in failed else RunStatus.OK for i in range(len(risk))])
    ones = np.ones(len(risk), np.int64)
    values = np.zeros((len(risk), len(ORIGINAL)))
    values[:, 0] = risk
    return Results(0 * ones, np.arange(1, len(risk) + 1), status, ones, values)


def _kinds(view, runs: Results, **against) -> list[str]:
    """The kinds of obstacle against the first of some runs, with the figure that each is of."""
    found = obstacles(view, runs, 0, **against)
    assert of_severity(found, "obstacle") == found
    of = {True: "fresh", False: ""}
    return [f"{one.kind} {one.values.get('of') or of[bool(one.values.get('fresh'))]}".strip() for one in found]


def test_nothing_stands_against_a_run_within_the_bound_among_enough_such_runs(check):
    assert check([0.01] * 20, fresh=[0.011] * 100) == []


def test_a_run_above_the_bound_is_not_released_however_low_the_mean(check):
    assert check([0.025, *[0.01] * 19]) == ["over_limit run"]


def test_a_run_as_risky_as_the_original_is_not_released_even_without_a_bound(check):
    assert check([0.03] + [0.01] * 19, bound=None) == ["not_safer run"]
    assert check([0.029] + [0.01] * 19, bound=None) == []


def test_a_safe_run_of_a_candidate_that_is_riskier_on_average_than_doing_nothing_is_luck(check):
    assert check([0.029] + [0.031] * 19, bound=None) == ["not_safer mean"]
    assert check([0.029] + [0.030] * 19, bound=None) == []


def test_nine_runs_support_no_choice_and_ten_do(check):
    assert check([0.01] * 9) == ["too_few_runs"]
    assert check([0.01] * 10) == []
    assert check([0.01] * 10, probability=None) == []
    assert check([0.01] * 9, probability=None) == ["too_few_runs"]
    assert check([0.01] * 12, failed=(9, 10, 11)) == ["too_few_runs"]


def test_a_bound_on_single_runs_is_not_met_by_a_mean(check):
    runs = [0.001] * 17 + [0.021] * 3  # a mean of .004
    assert check(runs) == ["rarely_within"]
    assert check(runs, probability=None) == []
    assert check([0.001] * 18 + [0.021] * 2) == []


def test_a_mean_above_the_bound_where_the_bound_is_on_the_mean(check):
    assert check([0.019] + [0.03] * 19, probability=None) == ["over_limit mean"]


def test_fresh_runs_that_do_not_confirm_the_figure_stop_the_submission(check):
    both = ["over_limit fresh", "rarely_within fresh"]
    assert check([0.01] * 20, fresh=[0.0201] * 5) == both
    assert check([0.01] * 20, probability=None, fresh=[0.0201] * 5) == ["over_limit fresh"]


def test_fresh_runs_that_clearly_refute_the_plans_probability_stop_the_submission_though_their_mean_does_not(check):
    """Of 50 fresh runs 40 meet it, so 66 to 90.0 % of all do, and of 41 at most 91 %."""
    few, more = ([0.01] * within + [0.025] * (50 - within) for within in (40, 41))
    assert check([0.01] * 20, fresh=few) == ["rarely_within fresh"]
    assert check([0.01] * 20, fresh=more) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=few, probability=None) == []


def test_fresh_runs_that_cannot_tell_stop_the_submission(check):
    """Of 100 fresh runs 96 meet it, so 90.1 to 98.9 % of all do, and of 95 at least 88.7 %."""
    within = {n: [0.01] * n + [0.025] * (100 - n) for n in (95, 96)}
    assert check([0.01] * 20, fresh=[0.01] * 2) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=[0.01] * 99) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=within[95]) == ["share_unsettled"]
    assert check([0.01] * 20, fresh=within[96]) == []
    assert check([0.01] * 20, fresh=[0.01] * 2, probability=None) == []


@pytest.mark.parametrize("within", range(101))
def test_no_count_of_fresh_runs_that_leaves_ninety_percent_open_is_submitted_without_a_word(check, within):
    """The count of an exact binomial test at 2.5 % on either side, reckoned with whole numbers."""
    chance = [comb(100, k) * 9**k / 10**100 for k in range(101)]
    tells = sum(chance[within:]) <= 0.025 or sum(chance[: within + 1]) <= 0.025
    found = check([0.01] * 20, fresh=[0.01] * within + [0.0200001] * (100 - within))
    assert ("share_unsettled" not in found) == tells


def test_a_run_without_a_figure_meets_no_limit(check):
    assert check([np.nan] * 20) == [
        "no_figure run",
        "rarely_within",
    ]


def test_data_without_a_figure_set_no_limit(check):
    assert check([0.01] * 20, original=np.nan) == []


def test_where_nothing_is_at_risk_a_run_without_risk_is_as_good(check):
    assert check([0.0] * 12, original=0.0) == []
    assert check([0.001, *[0.0] * 11], original=0.0) == ["not_safer run", "not_safer mean"]


def test_the_place_of_a_run_among_its_siblings(tmp_path):
    with study_of(tmp_path, []) as study:
        view = risk_utility_map(study)
    runs = _runs([0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.04, 0.02, 0.02, 0.02, 0.9], failed=[10])
    run = released_run(view, runs, 2, bound=0.02, probability=NINE_TENTHS)
    assert (run.place, run.of, run.value, run.quantile) == (3, 10, 0.02, 0.03)
    assert run.mean == pytest.approx(0.022)
    assert run.share is not None and (run.share.within, run.share.runs) == (7, 10)
    alone = released_run(view, runs, 0, bound=None, probability=None)
    assert (alone.place, alone.quantile, alone.share) == (8, None, None)


@pytest.mark.parametrize(
    ("runs", "steps", "cautions"),
    [(12, -0.1, []), (12, 0.0, [True]), (12, 1.9, [True]), (12, 2.1, []), (1, 9.0, [False])],
)
def test_a_mean_is_within_the_limit_for_certain_from_two_standard_errors_on(
    tmp_path, runs: int, steps: float, cautions: list[bool]
) -> None:
    """One run has no known standard error, so that no limit is met for certain."""
    with study_of(tmp_path, rows_of(runs)) as study:
        view = risk_utility_map(study)
        mean, se = float(view.risk_loss[0]), np.std([0.01, 0.02, 0.03] * 4, ddof=1) / np.sqrt(12)
        found = _near_limit(view, 0, mean + steps * float(se) + 1e-12)
    assert [one.values["noise_known"] for one in found] == cautions
    assert all(one.kind == "near_limit" and one.values["value"] == mean for one in found)
