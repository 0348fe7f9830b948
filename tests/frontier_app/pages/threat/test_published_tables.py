"""The Threat page: what published tables of the original undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.plan import ThreatPlan
from engine.study.study import Study
from frontier_app.session.workspace import Workspace
from frontier_app.wording import plan_words
from tests.frontier_app.pages.test_pages import words
from tests.frontier_app.pages.test_threat import _box, _plan, _sample, _study

pytestmark = pytest.mark.slow


def test_published_tables_are_said_plainly_and_the_analyst_says_whether_there_are_any() -> None:
    made = _sample()
    assert "Published tables of the original undo part of the protection" in words(made)
    box = _box(made, plan_words.PUBLISHED)
    assert box.value == "not known"
    box.set_value("yes").run()
    assert _plan(made).threat.published_tables == "yes" and not made.exception
    _box(made, "Harm of a disclosure").set_value("shame").run()
    assert _plan(made).threat == ThreatPlan(harm="shame", published_tables="yes")
    assert not any("two-way tables and the release finds" in text for text in words(made).splitlines())


@pytest.mark.parametrize("small", [True, False])
def test_with_a_study_the_figures_of_the_candidate_at_hand_stand_there(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    """Of a large file they are worked out on demand."""
    monkeypatch.setattr("frontier_app.widgets.small_cells.AT_ONCE", 100_000 if small else 0)
    at = swept()
    path = at.folder / "study-1.study"
    made = _study(at)
    assert "Select a candidate under Explore" in words(made)
    with Study.open(path) as study:
        label = study.scenarios[-1].label
        (altered,) = study.scenarios[-1].spec.attributes.names_having("S")
    made.session_state["frontier"] = replace(made.session_state["frontier"], selected=label)
    made.run()
    assert any(label in info.value for info in made.info) == small
    if not small:
        made.button(key="threat-detect").click().run()
    assert not made.exception and not made.error
    (told,) = (info.value for info in made.info if label in info.value)
    assert f"finds that {altered} was swapped" in told and "in truth 9.99 %" in told and "most suspect" in told
    made.run()
    assert any(label in info.value for info in made.info), "it is worked out once"
