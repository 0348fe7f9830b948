"""What stands against releasing one run."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from engine.decision.release_check import ObstacleKind, obstacle_text, obstacles
from engine.measures import call
from engine.release.results import FAILED, OK, Results

NINE_TENTHS = Fraction(9, 10)
SMALL_CELLS = call("small_cells")


def check(risk, row=0, *, bound=0.02, probability=NINE_TENTHS, original=0.03, fresh=None, failed=()):
    """The kinds of obstacle against run ``row`` of runs with these risks."""
    status = np.array([FAILED if i in failed else OK for i in range(len(risk))])
    ones = np.ones(len(risk), np.int64)
    runs = Results(0 * ones, np.arange(1, len(risk) + 1), status, ones, np.array(risk, float)[:, None])
    view = SimpleNamespace(
        measures=(SMALL_CELLS,), risk=0, allow_partial=False, original_losses=np.array([original], float)
    )
    found = obstacles(
        view,
        runs,
        row,
        bound=bound,
        probability=probability,
        fresh=None if fresh is None else {"small_cells": {"mean": fresh, "se": 0.001}},
    )
    for obstacle in found:
        text = obstacle_text(obstacle)
        assert "nan" not in text
        assert "{" not in text
    return [obstacle.kind for obstacle in found]


def test_nothing_stands_against_a_run_within_the_bound_among_enough_such_runs():
    assert check([0.01] * 20, fresh=0.011) == []


def test_a_run_above_the_bound_is_not_released_however_low_the_mean():
    assert check([0.025, *[0.01] * 19]) == [ObstacleKind.RUN_ABOVE_BOUND]


def test_a_run_as_risky_as_the_original_is_not_released_even_without_a_bound():
    assert check([0.03] + [0.01] * 19, bound=None) == [ObstacleKind.RUN_NOT_SAFER]
    assert check([0.029] + [0.01] * 19, bound=None) == []


def test_nine_runs_support_no_choice_and_ten_do():
    assert check([0.01] * 9) == [ObstacleKind.TOO_FEW_RUNS]
    assert check([0.01] * 10) == []
    assert check([0.01] * 10, probability=None) == []
    assert check([0.01] * 9, probability=None) == [ObstacleKind.TOO_FEW_RUNS]
    assert check([0.01] * 12, failed=(9, 10, 11)) == [ObstacleKind.TOO_FEW_RUNS]


def test_a_bound_on_single_runs_is_not_met_by_a_mean():
    runs = [0.001] * 17 + [0.021] * 3  # a mean of .004
    assert check(runs) == [ObstacleKind.TOO_RARELY_WITHIN]
    assert check(runs, probability=None) == []
    assert check([0.001] * 18 + [0.021] * 2) == []


def test_a_mean_above_the_bound_where_the_bound_is_on_the_mean():
    assert check([0.019] + [0.03] * 19, probability=None) == [ObstacleKind.MEAN_ABOVE_BOUND]


def test_fresh_runs_that_do_not_confirm_the_figure_stop_the_submission():
    assert check([0.01] * 20, fresh=0.0201) == [ObstacleKind.FRESH_ABOVE_BOUND]


def test_a_run_without_a_figure_meets_no_limit():
    assert check([np.nan] * 20) == [
        ObstacleKind.RUN_WITHOUT_FIGURE,
        ObstacleKind.TOO_RARELY_WITHIN,
    ]


def test_data_without_a_figure_set_no_limit():
    assert check([0.01] * 20, original=np.nan) == []


@pytest.mark.parametrize("kind", list(ObstacleKind))
def test_every_kind_has_words(kind):
    from engine.decision.release_check import _TEXTS

    assert kind in _TEXTS
