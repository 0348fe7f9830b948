"""The frontier of a study that is still being filled."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.frontier.choosing import hypervolume
from engine.measures import MEASURES as MEASURES_BY_NAME
from engine.release.scenarios import RunStatus
from engine.release.spec import MOST_REPLICATES
from engine.study.map_reader import _households, _near_frontier, live_frontier, risk_utility_map
from engine.study.map_reader import _loss as loss_of
from engine.study.study import Study
from tests.engine.frontier.test_risk_utility_map import ROWS, study_of

OK, FAILED = RunStatus.OK, RunStatus.FAILED

MEASURES = ("small_cells", "hellinger", "entropy_change")


@pytest.mark.parametrize("allow_partial", [False, True])
@pytest.mark.parametrize("utility", MEASURES[1:])
@pytest.mark.parametrize("rows", [0, 1, 4, 8, len(ROWS)])
def test_it_is_the_frontier_of_the_map_at_any_moment(tmp_path, rows, utility, allow_partial):
    """The entropy change is signed, so its losses are absolute values."""
    with study_of(tmp_path, ROWS[:rows]) as study:
        now = live_frontier(study, utility=utility, allow_partial=allow_partial)
        view = risk_utility_map(study, utility=utility, allow_partial=allow_partial)
    assert now.scenarios[now.undominated].tolist() == view.frontier().tolist()
    assert now.runs == sum(row[2] != FAILED or allow_partial for row in ROWS[:rows])
    both = np.column_stack([view.risk_loss, view.utility_loss])
    np.testing.assert_allclose(now.losses, both[now.scenarios])
    assert np.isnan(np.delete(both, now.scenarios, axis=0)).any(axis=1).all()
    assert now.volume == pytest.approx(hypervolume(now.losses, now.reference))


_TENTHS = st.integers(0, 3).map(lambda k: k / 10)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(_TENTHS, _TENTHS, st.sampled_from([OK, OK, OK, FAILED])), min_size=1, max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_level_candidates_are_on_the_frontier_here_where_they_are_on_the_map(runs):
    """Tenths in another order have sums that differ in the last bit, and so do two ways of adding them up."""
    rows = [
        (place, number, status, 2, risk, use, 0.1)
        for place, mine in enumerate(runs)
        for number, (risk, use, status) in enumerate(mine, 1)
    ]
    with TemporaryDirectory() as folder, study_of(Path(folder), rows) as study:
        for partial in (False, True):
            now = live_frontier(study, allow_partial=partial)
            view = risk_utility_map(study, allow_partial=partial)
            assert now.scenarios[now.undominated].tolist() == np.sort(view.frontier()).tolist()
            on = now.scenarios[now.undominated]
            assert now.losses[now.undominated].tolist() == view.summary.loss[on][:, [view.risk, view.utility]].tolist()


def test_the_same_runs_in_another_order_are_level(tmp_path):
    use = (0.1, 0.2, 0.3, 0.3)
    rows = [(place, r, OK, 2, 0.5, value, 0.0) for place in (0, 1) for r, value in enumerate(use[:: 1 - 2 * place], 1)]
    with study_of(tmp_path, rows) as study:
        now, view = live_frontier(study), risk_utility_map(study)
        assert now.undominated.tolist() == [True, True] and len(view.frontier()) == 2
        assert now.losses.tolist() == view.summary.loss[:2, [view.risk, view.utility]].tolist()


def test_more_runs_under_one_reference_are_ahead_or_level(tmp_path):
    with study_of(tmp_path, [(0, 1, OK, 2, 0.3, 0.5, 0.1)]) as study:
        first = live_frontier(study, reference=(1.0, 1.0))
        study.runs.add([(1, 1, OK, 2, 0.2, 0.6, 0.1), (2, 1, OK, 2, 0.1, 0.9, None)])
        second = live_frontier(study, reference=first.reference)
        assert first.volume == pytest.approx(0.7 * 0.5) and second.volume == pytest.approx(0.35 + 0.1 * 0.4 + 0.1 * 0.1)
        assert live_frontier(study).reference == (0.3, 0.9), "the worst so far"
        assert live_frontier(study, utility="entropy_change").scenarios.tolist() == [0, 1], "undefined in one run"


@pytest.mark.parametrize("reference", [(1.0,), (1.0, float("nan")), (1.0, 2.0, 3.0)])
def test_references_that_bound_nothing_are_refused(tmp_path, reference):
    with study_of(tmp_path, ROWS) as study, pytest.raises(UsageError) as got:
        live_frontier(study, reference=reference)
    assert "must be two finite losses" in str(got.value)


def test_every_direction_is_turned_as_measures_turn_it():
    turned = {}
    for one in MEASURES_BY_NAME.values():
        expression = loss_of(cast(Study, SimpleNamespace(measures=[SimpleNamespace(measure=one)])), 0).replace(
            "m0", "x"
        )
        query = f"select {expression} from (select -2.0 as x union all select 3.0)"
        with closing(sqlite3.connect(":memory:")) as db:
            turned[one.better] = [value for (value,) in db.execute(query)]
        assert turned[one.better] == one.loss(np.array([-2.0, 3.0])).tolist()
    assert set(turned) == {"lower", "higher", "zero"}


def test_the_area_is_a_share_of_the_rectangle_of_all_means(tmp_path):
    with study_of(tmp_path, [(0, 1, OK, 2, 0.4, 0.2, 0.0), (1, 1, OK, 2, 0.2, 0.4, 0.0)]) as study:
        assert live_frontier(study).area == 0.0, "two corners of the rectangle and nothing between them"
        study.runs.add([(2, 1, OK, 2, 0.25, 0.25, 0.0)])
        assert live_frontier(study).area == pytest.approx(0.15 * 0.15 / 0.2**2)
    (tmp_path / "empty").mkdir()
    with study_of(tmp_path / "empty", []) as study:
        assert live_frontier(study).area == 0.0


def test_what_may_be_on_the_frontier_is_what_nothing_beats_by_more_than_the_slack_on_both() -> None:
    rng = np.random.default_rng(5)
    for slack in np.array([[1.0, 0.5], [0.5, 1.0], [2.0, 1.0]]):
        losses = rng.integers(0, 9, (40, 2)).astype(float)
        beaten = np.array([(losses + slack <= own).all(axis=1).any() for own in losses])
        assert beaten.any() and _near_frontier(losses, slack).tolist() == (~beaten).tolist()


def test_households_are_a_mean_over_the_runs_that_counted_them() -> None:
    notes = [
        SimpleNamespace(scenario=scenario, replicate=replicate, text=json.dumps(text))
        for scenario, replicate, text in (
            (0, 1, {"households_swapped": 4}),
            (0, 2, {"households_swapped": 7}),
            (0, MOST_REPLICATES + 1, {"households_swapped": 90}),
            (1, 1, {}),
            (2, MOST_REPLICATES, {"households_swapped": 0}),
        )
    ]
    plan = SimpleNamespace(data=SimpleNamespace(unit="hid"))
    study: Any = SimpleNamespace(plan=plan, n_scenarios=3, notes=SimpleNamespace(on=lambda *_: notes))
    for table, means in (("realisation", [5.5, np.nan, 0.0]), ("fresh", [90.0, np.nan, np.nan])):
        found = _households(study, cast("Any", table), lambda _, compute: compute())
        np.testing.assert_array_equal(cast("np.ndarray", found), means)
    plan.data.unit = None
    assert _households(study, "fresh", lambda _, compute: compute()) is None
