"""The whole way without a mouse: from the first page to a chosen candidate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from engine.plan import plan_from_toml
from tests.browser.steps import at_hand, map_drawn, no_trouble, open_at, settled, workspace_with

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_FOCUS = """() => { const e = document.activeElement; if (!e) return '';
    const own = ['BUTTON', 'A'].includes(e.tagName) ? e.innerText : '';
    return e.getAttribute('aria-label') || (e.labels && e.labels[0] && e.labels[0].innerText) || own || ''; }"""

_UNSEEN = """() => { const e = document.activeElement, style = x => getComputedStyle(x);
    const bar = e.closest('[data-testid=stElementToolbar]');
    const ringed = e.matches('canvas') ? e.closest('[data-testid=stDataFrame]') : bar ? e
        : e.matches('[type=radio], [type=checkbox]') ? e.closest('label') : null;
    const seen = !ringed || style(ringed).outlineStyle === 'solid' && parseFloat(style(ringed).outlineWidth) >= 2;
    const hidden = bar && style(bar).opacity !== '1';
    return seen && !hidden ? [] : [e.getAttribute('aria-label') || e.outerHTML.slice(0, 80)];
}"""
"""What has the focus and no ring, where Streamlit gives none; a table's buttons also while hidden."""


def tab_to(page: Page, words: str, most: int = 90, *, typed: bool = False) -> None:
    """Press Tab until what has the focus is called that; with ``typed`` something that takes text, not the help to
    it."""
    seen = []
    for _ in range(most):
        page.keyboard.press("Tab")
        name = str(page.evaluate(_FOCUS)).strip()
        takes_text = page.evaluate("() => ['INPUT', 'TEXTAREA'].includes(document.activeElement.tagName)")
        if words in name and (takes_text or not typed):
            return
        seen.append(name[:40])
    raise AssertionError(f"no way to {words!r} by the keyboard; met {seen}")


def press(page: Page, words: str) -> None:
    """Reach a button and press it."""
    tab_to(page, words)
    page.keyboard.press("Enter")
    settled(page)


def test_from_the_first_page_to_a_recommendation_by_keys_alone(page: Page):
    page.get_by_role("button", name="Open czech").wait_for()
    press(page, "Open czech")
    page.get_by_role("button", name="Next: intruder and uses").wait_for()
    settled(page)
    press(page, "Next: intruder and uses")
    press(page, "Next: plan the candidates")
    tab_to(page, "Swap rates, in percent of records", typed=True)
    page.keyboard.press("Control+A")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    settled(page)
    press(page, "Start the sweep")
    page.get_by_role("heading", name="runs: done").wait_for()
    settled(page)
    press(page, "Next: explore the map")
    page.get_by_text("No candidate selected").wait_for()
    map_drawn(page)

    # A candidate is chosen in the table, whose rows the arrows reach.
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for(state="attached")
    unseen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        page.wait_for_timeout(50)
        unseen += page.evaluate(_UNSEEN)
        if page.evaluate("() => document.activeElement.matches('[data-testid=stDataFrame] canvas')"):
            break
    else:
        raise AssertionError("the table cannot be reached")
    assert not unseen, "nobody sees where the keyboard is"
    grid = page.locator("[data-testid=stDataFrame] canvas").first
    grid.scroll_into_view_if_needed()  # what a browser does for a person who tabs on
    grid.focus()
    for _ in range(4):  # the first steps may lead to its head and to the row that is chosen already
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(250)
        page.keyboard.press("Shift+Space")
        page.wait_for_timeout(500)
        settled(page)
        if at_hand(page):
            break
    chosen = at_hand(page).replace("\xa0", " ")
    assert ", 5 %" in chosen

    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    press(page, "Recommend ")
    page.get_by_text("Recommend a release").wait_for()
    settled(page)
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, "Reason, in words", typed=True)
    page.keyboard.type("chosen by keys")
    tab_to(page, "Who recommends it", typed=True)
    page.keyboard.type("A. Analyst")
    page.keyboard.press("Enter")
    settled(page)
    page.evaluate("() => document.activeElement.blur()")
    press(page, "Record the recommendation")
    page.get_by_text(re.compile("The recommendation of .*5 %.* is recorded as a draft")).wait_for()
    no_trouble(page)


def test_a_table_of_the_users_takes_attributes_by_mouse_and_by_keys(window: Page, address: str, home: Path):
    at = workspace_with(home, swept=False)
    open_at(window, address, at, "threat")
    grid = window.locator("[class*=st-key-edits-tables] [data-testid=stDataFrame]")

    def crosses(row: int) -> None:
        """Open a cell of the second column; a click into the first one makes the row."""
        for share in (0.2, 0.7):
            box = grid.bounding_box()
            assert box is not None
            window.mouse.click(box["x"] + share * box["width"], box["y"] + 52 + 35 * row)
            window.wait_for_timeout(500)
            settled(window)
        window.keyboard.press("Enter")

    def option(name: str) -> Locator:
        return window.get_by_role("option", name=name, exact=True)

    crosses(0)
    option("B").click()
    window.keyboard.press("ArrowDown")
    option("D").click()
    window.keyboard.press("Enter")
    settled(window)
    crosses(1)
    for name in ("C", "A"):
        window.keyboard.type(name)
        option(name).wait_for()
        window.keyboard.press("Enter")
    window.keyboard.press("Enter")
    settled(window)
    no_trouble(window)
    tables = plan_from_toml(at.plan_path.read_text(encoding="utf-8")).tables
    assert [table.attributes for table in tables] == [("B", "D"), ("C", "A")]
