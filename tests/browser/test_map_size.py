"""The map fills the window: measured in a browser, with a candidate at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import button, map_drawn, open_at, visit, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from frontier_app.session.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_BOX = """(css) => { const r = document.querySelector(css).getBoundingClientRect();
    return {width: r.width, height: r.height, bottom: r.bottom}; }"""

_CUT_OFF = """() => [...document.querySelectorAll('[data-testid=stMetricLabel] *, [data-testid=stButton] button *')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden')
    .map(e => e.innerText)"""


@pytest.mark.parametrize("width, height", [(1280, 800), (1920, 1080)])
def test_map_card_headline_navigation_and_popovers_fit_in_the_window(
    window: Page, address: str, home: Path, width: int, height: int
):
    at = workspace_with(home, risk="small_cells", utility="hellinger", max_risk="0.0025")
    window.set_viewport_size({"width": width, "height": height})
    open_at(window, address, at, "explore")
    window.get_by_text("recommended").first.wait_for()
    map_drawn(window)
    chart = window.evaluate(_BOX, ".js-plotly-plot")
    figures = window.evaluate(_BOX, ".st-key-card table tbody tr:last-child")
    card = window.evaluate(_BOX, ".st-key-card")
    assert chart["bottom"] <= height and figures["bottom"] <= height and card["bottom"] <= height
    assert chart["width"] >= width / 2
    if height >= 1080:
        assert chart["height"] >= 0.6 * height
    headline = window.evaluate(_BOX, "[data-testid=stMain] h1")
    assert headline["height"] < 40, "the title has two lines"
    lefts = window.evaluate(
        """() => ["[data-testid=stTopNavLink] span", "[data-testid=stMain] h1"].map(
            css => document.querySelector(css).getBoundingClientRect().left)"""
    )
    assert abs(lefts[0] - lefts[1]) < 3, f"navigation and page begin at {lefts}"
    button(window, "Views").click()
    window.get_by_text("Knee and slopes").click()
    window.get_by_text("the frontier's knee").first.wait_for()
    assert window.evaluate(_BOX, "[data-testid=stPopoverBody]")["bottom"] <= height
    if height >= 1080:
        window.keyboard.press("Escape")
        visit(window, "candidates")
        map_drawn(window)
        assert window.evaluate(_BOX, ".js-plotly-plot")["bottom"] <= height, "the grid of results is in sight"


def test_in_a_narrow_window_the_card_stands_below_the_map_and_no_words_are_cut_off(
    window: Page, address: str, home: Path, decided: Workspace
):
    at = workspace_with(home, risk="small_cells", utility="hellinger", max_risk="0.0025")
    window.set_viewport_size({"width": 800, "height": 800})
    open_at(window, address, at, "explore")
    window.get_by_text("recommended").first.wait_for()
    map_drawn(window)
    chart, card = window.evaluate(_BOX, ".js-plotly-plot"), window.evaluate(_BOX, ".st-key-card")
    assert card["bottom"] - card["height"] >= chart["bottom"] and min(chart["width"], card["width"]) > 650
    more = window.get_by_test_id("stPopover").get_by_text("Views", exact=True).bounding_box()
    assert more is not None and more["height"] < 60, "the words of the button stand below each other"
    open_at(window, address, decided, "decide")
    window.get_by_text("As the board sees it", exact=True).click()
    map_drawn(window)
    assert window.get_by_text("Largest changes").count() and window.evaluate(_CUT_OFF) == []
    open_at(window, address, decided, "decide")
    assert button(window, "Run on fresh replicates").count() == 1 and window.evaluate(_CUT_OFF) == []


def test_what_is_folded_stays_open_while_it_is_worked_in(window: Page, address: str, home: Path) -> None:
    open_at(window, address, workspace_with(home, "czech", swept=False), "threat")
    window.get_by_text("Who asks: the cover of the memo").click()
    box = window.get_by_label("Survey", exact=True)
    box.fill("Car workers")
    box.press("Enter")
    window.wait_for_timeout(300)
    assert box.is_visible() and window.get_by_label("Vintage", exact=True).is_visible()
