"""The ways out where nothing meets a bound: what each button does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.plan.differences import lock
from engine.study.decision_log import entries
from engine.study.ledger import change_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.session.workspace import Workspace
from tests.frontier_app.elements import has_button, press
from tests.frontier_app.pages.test_pages import app


def at_a_bound_of_nothing(at: Workspace) -> AppTest:
    """The page Decide with a bound that nothing meets."""
    made = app(at, "decide")
    made.radio(key="recommend-rule-0-none").set_value("bound").run()
    made.number_input(key="recommend-bound").set_value(0.0).run()
    assert any(str(one.value).startswith("No candidate meets the limit 0 (0 % of ") for one in made.warning)
    return made


@pytest.mark.slow
def test_the_least_bound_is_tried_on_the_page_of_recommendations_too(swept: Callable[..., Workspace]) -> None:
    at = swept()
    made = press(at_a_bound_of_nothing(at), "unmet-allow")
    assert not made.exception and not made.warning and not made.error
    bound = made.number_input(key="recommend-bound").value
    assert bound is not None
    with Study.open(at.folder / "study-1.study") as study:
        assert risk_utility_map(study).meets(bound).any()


def test_the_planned_bound_leads_to_the_same_ways_out(swept: Callable[..., Workspace]) -> None:
    made = app(swept(max_risk="0.00001"), "decide")
    made.radio(key="recommend-rule-0-none").set_value("plan").run()
    press(made, "unmet-allow")
    assert not made.exception and not made.warning
    assert made.radio(key="recommend-rule-0-none").value == "bound"


def test_a_larger_rate_goes_into_the_plan_where_the_sweep_adds_it(swept: Callable[..., Workspace]) -> None:
    made = at_a_bound_of_nothing(swept("fair", swap_sizes=[1], rates=["0.02", "0.1"], swap=["affair", "occ"]))
    before = made.session_state["frontier"].plan
    press(made, "unmet-rate")
    assert not made.exception
    plan = made.session_state["frontier"].plan
    assert plan.space.rates[:2] == before.space.rates and len(plan.space.rates) == 3
    assert has_button(made, "begin-more"), "the page Candidates, which adds it to the study"


def test_coarser_keys_lead_to_the_levels_of_the_key_with_most(swept: Callable[..., Workspace]) -> None:
    made = press(
        at_a_bound_of_nothing(swept("fair", swap_sizes=[1], rates=["0.02", "0.1"], swap=["affair", "occ"])),
        "unmet-keys",
    )
    assert not made.exception
    view = made.session_state["frontier"].file_view
    assert view.part == "levels" and view.column == "rate"
    assert any(str(box.key).startswith("recode-which") and box.value == "rate" for box in made.selectbox)


def test_the_least_bound_goes_into_the_plan_with_a_reason_that_the_log_keeps(swept: Callable[..., Workspace]) -> None:
    at = swept(max_risk="0.00001")
    made = app(at, "explore")
    assert [b.key for b in made.button if b.proto.type == "primary"] == ["unmet-plan"]
    made.text_input(key="unmet-why").set_value("nothing reaches it").run()
    made.text_input(key="unmet-by").set_value("Ada").run()
    press(made, "unmet-plan")
    assert not made.exception and not made.error and not has_button(made, "unmet-allow")
    with Study.open(at.folder / "study-1.study") as study:
        bound = study.plan.decision.max_risk
        assert bound is not None and risk_utility_map(study).meets(float(bound)).any()
        (changed,) = [entry for entry in entries(study) if entry.event == "changed"]
    assert changed.by == "Ada" and changed.detail["why"] == "nothing reaches it"
    assert made.session_state["frontier"].plan.decision.max_risk == bound


@pytest.mark.slow
def test_no_bound_of_an_approved_plan_is_changed_here(swept: Callable[..., Workspace]) -> None:
    at = swept(max_risk="0.00001")
    with Study.open(at.folder / "study-1.study") as study:
        change_plan(study, lock(study.plan, "2026-1", "the board"))
    made = app(at, "explore")
    assert has_button(made, "unmet-allow") and not has_button(made, "unmet-plan")
