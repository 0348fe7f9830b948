"""Letters belong to the study's recommendation: no click, measure or rule tried gives them to another candidate."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.decision.choice import choose
from engine.decision.states import decide
from engine.frontier.risk_utility_map import lettered
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.session.state import Look
from frontier_app.session.workspace import Workspace
from frontier_app.widgets.recommendation import letters_of, rule
from frontier_app.wording import text
from tests.frontier_app.elements import leads_to, press
from tests.frontier_app.pages.test_pages import app, select, to, words


@pytest.fixture
def at(swept: Callable[..., Workspace]) -> Workspace:
    return swept(max_risk="0.2")


def study_of(at: Workspace) -> Study:
    return Study.open(at.folder / "study-1.study")


def by_label(made: AppTest) -> dict[str, str]:
    """Letters in the table of candidates, by label."""
    frame = made.dataframe[0].value
    letters = frame["letter"] if "letter" in frame else [""] * len(frame)
    return {label: letter for label, letter in zip(frame["id"], letters, strict=True) if letter}


def wanted(at: Workspace) -> dict[str, str]:
    """Letters as the memo has them, by label: of what is recorded, else of what the plan's rule picks."""
    with study_of(at) as study:
        view = risk_utility_map(study)
        place = study.find(study.choices.all()[-1].label)[0].index if study.choices.all() else view.under_bound(0.2)
        return {view.scenarios[i].label: letter for letter, i in lettered(view, place).items()}


def recommend(at: Workspace) -> str:
    """Record another candidate than the plan's rule picks."""
    with study_of(at) as study:
        view = risk_utility_map(study)
        place = next(i for i in view.frontier().tolist() if i != view.under_bound(0.2))
        choose(study, view, "safe enough", candidate=view.scenarios[place].label, by="Ada")
        return view.scenarios[place].label


@pytest.mark.slow
def test_a_click_gives_no_letter_to_another_candidate(at: Workspace):
    made = app(at, "explore")
    found = by_label(made)
    assert found == wanted(at) and set("AB") <= set(found.values())
    for label in [one for one, letter in found.items() if letter != "A"][:2]:
        select(made, label)
        assert made.session_state["frontier"].selected == label and by_label(made) == found
        assert f"#### {found[label]} · " in words(made)


def test_the_recorded_one_is_a_on_every_page_whatever_is_tried(at: Workspace):
    label = recommend(at)
    made = app(at, "explore")
    found = by_label(made)
    assert found == wanted(at) and found[label] == "A" and "#### A · " in words(made)
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, look=replace(now.look, rule="bound", bound=0.2))
    made.run()
    assert by_label(made) == found and "tried here, not the plan's" in words(made)
    made.selectbox(key="look-utility").select(made.selectbox(key="look-utility").options[1]).run()
    assert not made.exception and by_label(made) == found
    made = app(at, "decide")
    assert re.search(rf"\*\*A · .*\*\* \({label}\), run", words(made))
    made = app(at, "compare")
    assert any(re.fullmatch(rf"A · .*\({label}\)", option) for option in made.selectbox(key="pin-add-0").options)


@pytest.mark.slow
def test_from_the_map_the_form_is_open_for_another_one_only(at: Workspace):
    label = recommend(at)
    made = app(at, "explore")
    assert leads_to(made, "decide")
    assert not app(at, "decide").expander[0].proto.expanded
    other = next(one for one in by_label(made) if one != label)
    select(made, other)
    press(made, "recommend-this")
    made = to(made, "decide")
    assert made.expander[0].proto.expanded and f"({other})" in words(made)


def test_what_the_plans_bound_picks_is_recommended_by_the_plans_rule(at: Workspace):
    made = press(app(at, "explore"), "recommend-this")
    assert to(made, "decide").radio(key="recommend-rule-0-none").value == "plan"


@pytest.mark.slow
def test_what_a_bound_tried_on_the_map_picks_is_recommended_by_that_bound(swept: Callable[..., Workspace]):
    made = press(app(swept(max_risk="0.00001"), "explore"), "unmet-allow")
    press(made, "recommend-this")
    bound = made.session_state["frontier"].look.bound
    made = to(made, "decide")
    assert made.radio(key="recommend-rule-0-none").value == "bound"
    assert made.number_input(key="recommend-bound").value == bound and not made.exception


@pytest.mark.slow
def test_in_the_form_letters_are_those_of_the_present_recommendation(at: Workspace):
    found = wanted(at)
    other = next(label for label, letter in found.items() if letter == "B")
    made = app(at, "explore")
    select(made, other)
    press(made, "recommend-this")
    made = to(made, "decide")
    assert any(radio.value == "hand" for radio in made.radio)
    assert re.search(rf"#### B · .*\({other}\)", words(made))
    assert "once this one is recorded, it is A" in words(made)
    with study_of(at) as study:
        view = risk_utility_map(study)
        rest = [view.scenarios[i].label for i in lettered(view, study.find(other)[0].index).values()]
        names = {
            label: found.get(label, text.swap_short(study.find(label)[0].spec)) for label in rest if label != other
        }
    asked = [box.label for box in made.text_input if box.label.startswith("Why not")]
    assert asked == [f"Why not {name}?" for name in names.values()]


@pytest.mark.slow
def test_a_rule_that_is_tried_gives_the_letters_of_all_pages(swept: Callable[..., Workspace]):
    made = app(swept(), "explore")
    next(box for box in made.number_input if box.label.startswith("Limit")).set_value(0.2).run()
    found = by_label(made)
    assert "A" in found.values()
    first = next(label for label, letter in found.items() if letter == "A")
    made = to(made, "compare")
    assert any(re.fullmatch(rf"A · .*\({first}\)", option) for option in made.selectbox(key="pin-add-0").options)
    made = to(made, "decide")
    assert re.search(rf"#### A · .*\({first}\)", words(made)) and "Letters are those of" not in words(made)


@pytest.mark.slow
def test_without_rule_or_recommendation_there_are_no_letters(swept: Callable[..., Workspace]):
    at = swept()
    assert by_label(app(at, "explore")) == {}
    recommend(at)
    with study_of(at) as study:
        decide(study, "withheld", "Board", why="too much is exposed")
        view = risk_utility_map(study)
        assert letters_of(study, view) == () and rule(study, view, Look()).index is None
        tried = rule(study, view, Look(rule="bound", bound=0.2))
        assert dict(tried.letters) == lettered(view, view.under_bound(0.2)) and tried.letter_of(tried.index) == "A"


def test_once_nothing_is_released_the_plans_rule_recommends_nothing(at: Workspace):
    assert "recommended" in words(app(at, "explore"))
    with study_of(at) as study:
        decide(study, "withheld", "Board", why="too much is exposed")
        view = risk_utility_map(study)
        for look in (Look(), Look(rule="none")):
            found = rule(study, view, look)
            assert found.index is None and found.letters == () and "decided to release nothing" in found.trouble
        tried = rule(study, view, Look(rule="bound", bound=0.2))
        assert tried.index == view.under_bound(0.2) and tried.letter_of(tried.index) == "A" and not tried.trouble
    made = app(at, "explore")
    assert any(one.value.startswith("It was decided to release nothing") for one in made.warning)
    assert "star: recommended" not in words(made) and by_label(made) == {}
