"""Differences against a reference: sign, direction, and noise against SciPy's Welch test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.decision.comparison import differences, starting_points
from engine.release.scenarios import RunStatus
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.engine.frontier.test_risk_utility_map import ORIGINAL, ROWS, study_of


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with study_of(tmp_path, ROWS) as opened:
        yield opened


def test_against_doing_nothing(study):
    view = risk_utility_map(study)
    risk, hellinger, entropy = differences(view, 0)
    assert (risk.value, risk.reference) == (pytest.approx(0.12), ORIGINAL["small_cells"])
    assert risk.absolute == pytest.approx(-0.18)
    assert (risk.better, risk.clear) == (1, True)
    assert (hellinger.better, hellinger.absolute) == (-1, pytest.approx(0.5))
    assert entropy.value == pytest.approx(0.1), "of a signed change the size counts"
    assert differences(view, 2)[0].better == -1, "swapping may raise a risk"


def test_against_another(study):
    view = risk_utility_map(study)
    risk, hellinger, _ = differences(view, 0, 1)
    assert risk.reference == pytest.approx(0.22) and risk.absolute == pytest.approx(-0.1) and risk.better == 1
    assert hellinger.absolute == pytest.approx(0.3)
    assert hellinger.better == -1
    assert not hellinger.clear, "three runs that agree prove little"
    back = differences(view, 1, 0)[0]
    assert back.absolute == -risk.absolute and back.better == -1 and back.clear == risk.clear
    for difference in differences(view, 1, 1):
        assert (difference.absolute, difference.better, difference.clear) == (0, 0, False)


@pytest.mark.parametrize(("runs", "clear"), [(5, False), (9, False), (10, True)])
def test_equal_runs_prove_a_difference_from_ten_on(tmp_path: Path, runs: int, clear: bool):
    rows = [(s, r, RunStatus.OK, 2, 0.1 + 0.1 * s, 0.5, 0.0) for s in (0, 1) for r in range(1, runs + 1)]
    with study_of(tmp_path, rows) as study:
        assert differences(risk_utility_map(study), 0, 1)[0].clear is clear


def test_of_some_columns_fewer_comparisons_are_made_at_once(tmp_path):
    from scipy.stats import ttest_ind

    first, second = np.linspace(0.0, 0.09, 12), np.linspace(0.0, 0.09, 12) + 0.027
    assert 0.05 / 3 < ttest_ind(first, second, equal_var=False).pvalue < 0.8 * 0.05
    rows = [(s, r + 1, RunStatus.OK, 2, v, 0.1, 0.0) for s, of in ((0, first), (1, second)) for r, v in enumerate(of)]
    with study_of(tmp_path, rows) as study:
        view = risk_utility_map(study)
        (alone,) = differences(view, 0, 1, columns=[view.risk])
        assert alone.clear and not differences(view, 0, 1)[view.risk].clear
        assert len(differences(view, 0, 1, columns=[view.utility, view.risk])) == 2


def test_a_scenario_without_a_run_is_unknown(study):
    view = risk_utility_map(study)
    for difference in differences(view, 3, 0):
        assert (
            np.isnan(difference.value)
            and np.isnan(difference.absolute)
            and difference.better == 0
            and not difference.clear
        )


@pytest.mark.parametrize("gap", np.linspace(0.0, 0.08, 9).tolist())
@pytest.mark.parametrize("together", [1, 4])
def test_noise_is_welchs(tmp_path, gap, together):
    from scipy.stats import ttest_1samp, ttest_ind

    rng = np.random.default_rng(5)
    first, second = rng.normal(0.2, 0.02, 8), rng.normal(0.2 + gap, 0.05, 6)
    rows = [(0, r + 1, RunStatus.OK, 2, v, 0.1, 0.0) for r, v in enumerate(first)]
    rows += [(1, r + 1, RunStatus.OK, 2, v, 0.1, 0.0) for r, v in enumerate(second)]
    with study_of(tmp_path, rows) as study:
        view = risk_utility_map(study)
        difference = differences(view, 0, 1, together=together)[0]
        level = 0.05 / (3 * together)
        test = ttest_ind(first, second, equal_var=False)
        # degrees of freedom are rounded down, which asks for a little more
        assert not difference.clear or test.pvalue < level
        assert difference.clear or test.pvalue > 0.7 * level
        alone = differences(view, 1, together=together)[0]
        assert alone.clear == (ttest_1samp(second, ORIGINAL["small_cells"]).pvalue < level)


@pytest.mark.parametrize(("together", "clear"), [({}, True), ({"together": 1}, True), ({"together": 2}, False)])
def test_one_comparison_is_shared_by_the_measures_alone(tmp_path, together: dict[str, Any], clear: bool):
    """A p-value between .05 / 6 and .05 / 3, of three measures."""
    from scipy.stats import ttest_ind

    first, second = np.linspace(0.0, 0.09, 12), np.linspace(0.0, 0.09, 12) + 0.0335
    assert 0.05 / 6 < ttest_ind(first, second, equal_var=False).pvalue < 0.8 * 0.05 / 3
    rows = [(s, r + 1, RunStatus.OK, 2, v, 0.1, 0.0) for s, of in ((0, first), (1, second)) for r, v in enumerate(of)]
    with study_of(tmp_path, rows) as study:
        assert differences(risk_utility_map(study), 0, 1, **together)[0].clear is clear


def test_higher_is_better(tmp_path):
    from engine.plan import SpacePlan
    from engine.release.spec import ReleaseSpec
    from tests.engine.frontier.test_risk_utility_map import SMALL

    plan = SMALL.plan(
        space=SpacePlan(specs=("A:S", "B:S"), rates=("0.1",), replicates=6), measures=("small_cells", "ci_overlap")
    )
    about = {"attributes": list(SMALL.names), "measures": ["small_cells", "ci_overlap"], "n_records": 2}
    with Study.create(tmp_path / "s", plan, about, {"small_cells": 0.3, "ci_overlap": 1.0}) as study:
        study.scenario_table.add([ReleaseSpec(SMALL.spec(roles), "0.1") for roles in ("SUU", "USU")])
        study.runs.add([(p, r, RunStatus.OK, 2, 0.1, 0.8 + 0.1 * p + 0.001 * r) for p in (0, 1) for r in range(1, 7)])
        difference = differences(risk_utility_map(study), 0, 1)[1]
        assert difference.value == pytest.approx(0.8035) and difference.absolute == pytest.approx(-0.1)
        assert (difference.better, difference.clear) == (-1, True)


def test_where_to_begin(study):
    view = risk_utility_map(study)
    assert starting_points(view)[0] == 0 and starting_points(view)[-1] == 1
