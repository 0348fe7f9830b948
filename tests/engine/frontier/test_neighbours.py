"""The recommendation is A; the other letters go from safe to useful."""

from __future__ import annotations

import numpy as np
import pytest

from engine.frontier.neighbours import lettered
from engine.release.results import RunStatus
from engine.study.map_reader import risk_utility_map
from tests.engine.frontier.test_risk_utility_map import study_of

# A staircase 0 (safest) to 2 (most useful), and 3 dominated by 1.
ROWS = [
    (place, r, RunStatus.OK, 2, risk + 0.001 * r, loss, 0.0)
    for place, (risk, loss) in enumerate([(0.1, 0.5), (0.2, 0.3), (0.3, 0.1), (0.25, 0.4)])
    for r in (1, 2, 3)
]


@pytest.fixture
def view(tmp_path):
    with study_of(tmp_path, ROWS) as made:
        yield risk_utility_map(made)


@pytest.mark.parametrize(("place", "letters"), [(0, "ABC"), (1, "BAC"), (2, "BCA")])
def test_the_recommendation_is_a_in_its_place_along_the_frontier(view, place, letters):
    assert list(lettered(view, place).items()) == list(zip(letters, (0, 1, 2), strict=True))


def test_few_on_each_side(view):
    assert lettered(view, 0, 1) == {"A": 0, "B": 1}
    assert lettered(view, 2, 1) == {"B": 1, "A": 2}
    assert lettered(view, 1, 0) == {"A": 1}


def test_a_dominated_choice_stands_among_the_frontier(view):
    found = lettered(view, 3)
    assert found["A"] == 3
    assert sorted(found.values()) == [0, 1, 2, 3]
    order = list(found.values())
    assert order.index(0) < order.index(3) < order.index(2)
    assert np.all(np.diff([view.risk_loss[i] for i in order if i != 3]) > 0)
