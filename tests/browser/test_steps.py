"""Threat and Plan of a wide file are short enough to be seen as a whole, at the sizes of common screens."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.browser.steps import no_trouble, open_at, settled, visit, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_SIZES = ((1280, 800), (1920, 1080))
_MOST = {"threat": 1450, "plan": 1350}  # pixels at 1280 with the fold on households; each had more than 2,600
_CHIPS_CUT_OFF = """() => [...document.querySelectorAll('[data-testid=stButtonGroup] > div')]
    .filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)"""
_HEIGHT = "() => document.querySelector('[data-testid=stMain]').scrollHeight"


def test_the_steps_of_a_wide_file_are_short(window: Page, address: str, home: Path) -> None:
    at = workspace_with(home, "survey", swept=False)
    for name, most in _MOST.items():
        open_at(window, address, at, name)
        for scheme, (width, height) in product(_SCHEMES, _SIZES):
            window.emulate_media(color_scheme=scheme)
            window.set_viewport_size({"width": width, "height": height})
            settled(window)
            no_trouble(window)
            assert window.evaluate(_HEIGHT) <= most, (name, scheme, width)
    window.set_viewport_size({"width": 1280, "height": 800})
    visit(window, "data")
    window.get_by_text("Columns (300)").click()
    window.get_by_text("analysed (").wait_for()
    assert window.evaluate(_CHIPS_CUT_OFF) == [], "a chip reaches out of its row"


def test_what_is_folded_stays_open_while_it_is_worked_in(window: Page, address: str, home: Path) -> None:
    open_at(window, address, workspace_with(home, "czech", swept=False), "threat")
    window.get_by_text("Who asks: the cover of the memo").click()
    box = window.get_by_label("Survey", exact=True)
    box.fill("Car workers")
    box.press("Enter")
    window.wait_for_timeout(300)
    assert box.is_visible() and window.get_by_label("Vintage", exact=True).is_visible()
