"""The swap of survey records on the page Candidates, in words of the field."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.plan import MechanismPlan, Plan
from engine.plan.households import SURVEY_SWAP
from tests.frontier_app.conftest import APP, to_page

OPTIONS = ("rate", "swap", "boundary", "linked", "stratum", "risk", "k", "size", "certain", "bias")


def _with(made: AppTest, kind: str, part: str) -> Any:
    (found,) = [one for one in made.get(kind) if part in str(one.key)]
    return found


def _entry(made: AppTest) -> MechanismPlan:
    plan: Plan = made.session_state["frontier"].plan
    (entry,) = [entry for entry in plan.mechanisms if entry.name == SURVEY_SWAP]
    return entry


@pytest.fixture
def made() -> AppTest:
    """The page Candidates of a sample for which the swap of survey records alone was chosen."""
    made = AppTest.from_file(str(APP), default_timeout=300).run()
    made = to_page(made.button(key="open-nces").click().run(), "candidates")
    _with(made, "checkbox", f"mechanism-{SURVEY_SWAP}-").check().run()
    _with(made, "checkbox", "mechanism-random_swap-").uncheck().run()
    assert not made.exception and not made.error
    return made


def _scenarios(made: AppTest) -> str:
    return next(str(metric.value) for metric in made.metric if metric.label == "Scenarios")


@pytest.mark.slow
def test_what_is_usual_is_chosen_already_and_no_option_is_named(made: AppTest) -> None:
    grid = dict(_entry(made).grid)
    assert grid["rate"] == ("0.01", "0.025", "0.05") and set(grid) <= {"rate", "swap", "boundary"}
    assert len(grid["swap"][0].split("+")) == 2
    assert _scenarios(made) == "3"
    labels = [one.label for one in (*made.text_input, *made.multiselect)]
    assert any(
        label.startswith("Share of records that are targets") and label.endswith("in percent") for label in labels
    )
    assert {"What partners exchange", "On what partners must agree"} <= {*labels}
    assert not [label for label in labels for option in OPTIONS if f"({option})" in label]


@pytest.mark.slow
def test_shares_are_typed_in_percent_and_choices_are_picked_in_words(made: AppTest) -> None:
    _with(made, "text_input", "-rate").set_value("2, 5").run()
    assert dict(_entry(made).grid)["rate"] == ("0.02", "0.05") and _scenarios(made) == "2"
    _with(made, "text_input", "-rate").set_value("60").run()
    assert [error.value for error in made.error if "0.5" in error.value]
    _with(made, "text_input", "-rate").set_value("5").run()
    _with(made, "text_input", "-certain").set_value("0, 2").run()
    size = _with(made, "multiselect", "-size")
    assert list(size.options) == ["all alike", "those at risk sooner", "those at risk much sooner"]
    size.set_value(["class", "square"]).run()
    grid = dict(_entry(made).grid)
    assert grid["certain"] == ("0", "2") and grid["size"] == ("class", "square")
    assert _scenarios(made) == "4"


@pytest.mark.slow
def test_partners_exchange_and_agree_on_lists_of_attributes(made: AppTest) -> None:
    names = made.session_state["frontier"].plan.names
    _with(made, "multiselect", "-swap-0").set_value([names[3]]).run()
    _with(made, "multiselect", "-boundary-0").set_value([names[0], names[1]]).run()
    _with(made, "multiselect", "-boundary-1").set_value([names[0]]).run()
    _with(made, "multiselect", "-linked").set_value([names[4]]).run()
    _with(made, "multiselect", "-stratum").set_value([names[0]]).run()
    assert not made.exception and not made.error
    grid = dict(_entry(made).grid)
    assert grid["boundary"] == (f"{names[0]}+{names[1]}", names[0]) and grid["swap"] == (names[3],)
    assert grid["linked"] == (names[4],) and grid["stratum"] == (names[0],)
    assert _scenarios(made) == "6"


def test_a_swap_of_nothing_is_refused_at_its_input(made: AppTest) -> None:
    _with(made, "multiselect", "-swap-0").set_value([]).run()
    assert [error.value for error in made.error if "needs the parameter 'swap'" in error.value]
