"""The guided tour: begun on the first page, a step on every page of the work, ended anywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from frontier_app.session import workspace
from frontier_app.session.navigation import PAGES
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import has_button, press


def strips(made: AppTest) -> list[str]:
    return [m.value for m in made.markdown if m.value.startswith(":material/tour: **Step")]


def begun() -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not strips(made)
    return press(made, "tour-begin")


@pytest.mark.slow
def test_the_tour_goes_from_page_to_page_in_the_order_of_the_work():
    made = begun()
    assert not has_button(made, "tour-begin")
    for number, (page, words) in enumerate(elements.STEPS.items(), 1):
        (said,) = strips(made)
        assert said == f":material/tour: **Step {number} of {len(elements.STEPS)}: {page}.** {words}"
        assert not made.exception
        following = [b for b in made.button if b.label.startswith("On to ")]
        assert len(following) == (number < len(elements.STEPS))
        if following:
            # The test harness does not follow a switch of pages by itself.
            made = to_page(made, elements._NAMES[list(elements.STEPS)[number]])


def test_it_ends_where_one_has_had_enough_and_can_begin_again():
    made = to_page(begun(), "plan")
    assert strips(made)
    made = made.button(key="tour-end").click().run()
    assert not strips(made)
    made = to_page(made, "data")
    assert not strips(made) and has_button(made, "tour-begin")


def test_its_steps_are_the_pages_of_the_navigation():
    assert list(elements.STEPS) == [page.title for page in PAGES.values()]


@pytest.mark.slow
def test_a_launch_with_the_tour_says_on_the_map_what_is_seen_and_what_to_do(swept: Callable[..., Workspace]):
    token = workspace.new_token()
    workspace.begin(workspace.digest(token), swept().folder, tour=True)

    def on_the_map() -> AppTest:
        made = AppTest.from_file(str(APP), default_timeout=60)
        made.query_params["w"] = token
        return to_page(made.run(), "explore")

    made = on_the_map()
    (said,) = strips(made)
    assert elements.EXAMPLE in said and "Move α" in said and has_button(made, "tour-first")
    press(made, "tour-end")
    assert not strips(on_the_map()), "once ended it does not come back with the page"
