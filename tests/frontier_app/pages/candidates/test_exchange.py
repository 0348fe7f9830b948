"""Households and places on the pages File, Threat and Plan, in words of the field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from datasets import make_census
from engine.plan import MechanismPlan, Plan, plan_from_toml, plan_to_toml, samples
from engine.plan.entries import HOUSEHOLD_SWAP
from engine.plan.households import lacks_exchange, places_of
from engine.plan.samples import load, write
from engine.release.spec import RANDOM_SWAP
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import press
from tests.frontier_app.file_page import open_file, to_part


@pytest.fixture(scope="module", autouse=True)
def small_census() -> Iterator[None]:
    """The sample with a fifth of its persons, in the same places: no test here is about its figures."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(make_census.SIZES, "a fifth", make_census.SIZES["small"]._replace(persons=4_000))
        table = make_census.census("a fifth")
        patched.setitem(samples._SAMPLES, "census", (*samples._SAMPLES["census"][:-1], lambda: table))
        yield


PLACES = ("region", "district", "municipality")
ONE_OF_EACH = {"rate": ("0.05",), "k": ("3",), "must": ("all",), "lean": ("1",)}  # so that few scenarios are tried


def _opened() -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300).run()
    return made.button(key="open-census").click().run()


def _plan(made: AppTest) -> Plan:
    plan: Plan = made.session_state["frontier"].plan
    return plan


def _with(made: AppTest, kind: str, part: str) -> Any:
    (found,) = [one for one in made.get(kind) if part in str(one.key)]
    return found


def _with_grid(made: AppTest, **values: tuple[str, ...]) -> AppTest:
    """The page Candidates of the census with these values in place of the sample's."""
    plan = _plan(made)
    grid = dict(plan.mechanisms[0].grid) | values
    written = replace(plan, mechanisms=(MechanismPlan.of(HOUSEHOLD_SWAP, grid),))
    made.session_state["frontier"] = replace(made.session_state["frontier"], plan=written)
    return to_page(made, "candidates")


@pytest.mark.slow
def test_looking_at_the_pages_changes_nothing_in_the_plan() -> None:
    made = _opened()
    for page in ("threat", "candidates", "data"):
        made = to_page(made, page)
        assert not made.exception and not made.error
        assert _plan(made) == load("census")[1]


@pytest.mark.slow
def test_a_hand_written_grid_keeps_what_the_inputs_do_not_ask_for() -> None:
    made = _opened()
    plan = _plan(made)
    grid = dict(plan.mechanisms[0].grid) | {
        "hierarchy": ("region+district+municipality", "region+municipality"),
        "risk": ("sex", "age+sex"),
        "similar": ("hhsize+hhtype+tenure|hhsize+hhtype|hhsize+tenure|hhtype|hhsize",),
    }
    written = replace(plan, mechanisms=(MechanismPlan.of(HOUSEHOLD_SWAP, grid),))
    made.session_state["frontier"] = replace(made.session_state["frontier"], plan=written)
    made = to_page(made, "candidates")
    assert not made.exception and dict(_plan(made).mechanisms[0].grid) == dict(written.mechanisms[0].grid)


@pytest.mark.slow
def test_the_page_plan_asks_in_words_of_the_field_and_counts_at_once() -> None:
    made = to_page(_opened(), "candidates")
    labels = [one.label for one in (*made.text_input, *made.multiselect)]
    for label in ("Share of households that are swapped, in percent", "Places, from coarse to fine"):
        assert label in labels
    assert not [label for label in labels if any(name in label for name in ("(rate)", "(similar)", "(k)", "(lean)"))]
    _with(made, "text_input", "-rate").set_value("5").run()
    _with(made, "text_input", "-k").set_value("3").run()
    assert dict(_plan(made).mechanisms[0].grid)["rate"] == ("0.05",)
    scenarios = next(metric for metric in made.metric if metric.label == "Scenarios")
    assert scenarios.value == "8", "two ways to find partners, two for those at risk, two of drawing the others"


@pytest.mark.slow
def test_profiles_are_lists_from_strict_to_lax() -> None:
    made = _with_grid(_opened(), **ONE_OF_EACH)
    _with(made, "multiselect", "-0-similar-1").set_value(["hhsize", "tenure"]).run()
    _with(made, "multiselect", "-0-similar-2").set_value(["hhsize"]).run()
    assert dict(_plan(made).mechanisms[0].grid)["similar"][0] == "hhsize+hhtype+tenure|hhsize+tenure|hhsize"
    _with(made, "checkbox", "-0-similar-anyone").check().run()
    assert dict(_plan(made).mechanisms[0].grid)["similar"][0].endswith("|hhsize|")
    assert not made.exception and not made.error


def _census(folder: Path) -> AppTest:
    """A census opened on File, and the column that numbers its households picked."""
    write("census", folder / "census.csv")
    made = to_part(open_file(folder / "census.csv"), "households")
    return _with(made, "selectbox", "file-unit-").set_value("household").run()


@pytest.mark.slow
def test_a_file_is_asked_for_its_households_and_places(tmp_path: Path) -> None:
    made = _census(tmp_path)
    assert places_of(_plan(made)) == ()
    assert _with(made, "multiselect", "file-places-").value == list(PLACES), "what the records suggest is chosen"
    press(made, "file-use-households")
    assert not made.exception and not made.error
    assert _plan(made).data.unit == "household" and places_of(_plan(made)) == PLACES
    made = to_page(made, "candidates")
    assert not made.exception and not made.error


@pytest.mark.slow
def test_the_exchange_of_households_can_be_declined(tmp_path: Path) -> None:
    made = _census(tmp_path)
    assert any(button.key == "file-no-households" for button in made.button), "no answer is needed before"
    _with(made, "multiselect", "file-places-").set_value([]).run()
    press(made, "file-use-households")
    assert "Households (1)" in _with(made, "button_group", "file-part-").options
    press(made, "file-no-households")
    assert not made.exception and not made.error and places_of(_plan(made)) == ()
    assert "Households (0)" in _with(made, "button_group", "file-part-").options
    assert _with(made, "button_group", "file-part-").value != "households", "the page goes on"
    declined = _plan(made)
    assert [entry.name for entry in declined.mechanisms] == [RANDOM_SWAP], "the plan itself remembers the answer"
    assert plan_from_toml(plan_to_toml(declined)) == declined and not lacks_exchange(declined)
    made = to_page(to_page(made, "candidates"), "data")
    assert _plan(made) == declined
    press(made, "undo")
    assert lacks_exchange(_plan(made)) and "Households (1)" in _with(made, "button_group", "file-part-").options
    press(made, "undo")
    assert _plan(made).data.unit is None
    _with(made, "button_group", "file-part-").set_value("households").run()
    _with(made, "selectbox", "file-unit-").set_value("household").run()
    press(made, "file-no-households")
    assert _plan(made) == declined, "one click says both"


@pytest.mark.slow
def test_every_list_of_places_and_of_what_is_known_can_be_edited() -> None:
    hierarchies = ("region+district+municipality", "region+municipality")
    made = _with_grid(_opened(), **ONE_OF_EACH, hierarchy=hierarchies, risk=("sex", "age+sex"))
    _with(made, "multiselect", "-hierarchy-1").set_value(["district", "municipality"]).run()
    _with(made, "multiselect", "-risk-1").set_value(["age"]).run()
    _with(made, "multiselect", "-risk-2").set_value(["sex", "citizenship"]).run()
    grid = dict(_plan(made).mechanisms[0].grid)
    assert grid["hierarchy"] == ("region+district+municipality", "district+municipality")
    assert grid["risk"] == ("sex", "age", "sex+citizenship")
    _with(made, "multiselect", "-hierarchy-0").set_value([]).run()
    assert dict(_plan(made).mechanisms[0].grid)["hierarchy"] == ("district+municipality",), "an emptied list goes"
    assert not made.exception


@pytest.mark.slow
def test_what_a_plan_names_beside_the_usual_stays_and_levels_can_be_chosen() -> None:
    made = _with_grid(
        _opened(), levels=("2",), similar=("municipality+hhsize|hhsize",), risk=("region+sex",), must=("all", "within")
    )
    grid = dict(_plan(made).mechanisms[0].grid)
    assert (grid["similar"], grid["risk"]) == (("municipality+hhsize|hhsize",), ("region+sex",))
    _with(made, "text_input", "-levels").set_value("0, 2").run()
    assert dict(_plan(made).mechanisms[0].grid)["levels"] == ("0", "2")
    assert not made.exception


def test_a_profile_that_finds_no_donor_is_told_with_its_reason() -> None:
    made = _with_grid(_opened(), levels=("2",), similar=("hhsize+municipality|hhsize",), rate=("0.05",))
    told = [info.value for info in made.info if "finds no donor" in info.value]
    assert len(told) == 1 and "all live in one 'district', the finest level that counts" in told[0]


@pytest.mark.slow
def test_what_concerns_most_candidates_is_told_before_what_concerns_one() -> None:
    made = _with_grid(_opened(), levels=("2",), similar=("hhsize+municipality|hhsize", "hhsize"))
    (told,) = [info.value for info in made.info if "must be swapped" in info.value or "finds no donor" in info.value]
    assert "finds no donor" in told.splitlines()[0]
