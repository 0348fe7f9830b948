"""The map fills the window: measured in a browser, with a candidate at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import map_drawn, open_at, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_BOX = """(css) => { const r = document.querySelector(css).getBoundingClientRect();
    return {width: r.width, height: r.height, bottom: r.bottom}; }"""


@pytest.mark.parametrize("width, height", [(1280, 800), (1920, 1080)])
def test_map_and_card_stand_in_the_window(page: Page, address: str, home: Path, width: int, height: int):
    at = workspace_with(home, risk="small_cells", utility="hellinger", max_risk="0.0025")
    page.set_viewport_size({"width": width, "height": height})
    open_at(page, address, at, "explore")
    page.get_by_text("is recommended").first.wait_for()
    map_drawn(page)
    chart = page.evaluate(_BOX, ".js-plotly-plot")
    figures = page.evaluate(_BOX, ".st-key-card table tbody tr:nth-child(2)")  # those of the map; others may follow
    assert chart["bottom"] <= height and figures["bottom"] <= height
    assert chart["width"] >= width / 2
    if height >= 1080:
        assert chart["height"] >= 0.6 * height
    legends = page.evaluate("() => document.querySelector('.js-plotly-plot')._fullLayout.legend._height")
    top = page.evaluate("() => document.querySelector('.js-plotly-plot')._fullLayout.margin.t")
    assert legends + 34 <= top, "the legend would lie under the buttons of the figure"
