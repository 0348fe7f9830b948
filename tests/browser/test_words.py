"""Words on each page: 250 at most on its first screen, 700 with everything unfolded; figures and tables aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import PAGES, every_page, settled, workspace_with

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIRST_SCREEN, UNFOLDED = 250, 700
_COUNT = """inside => {
  const main = document.querySelector('[data-testid=stMain]'), range = document.createRange();
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest('svg, style, script, [data-testid=stIconMaterial]')) continue;
    if (!node.parentElement.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})) continue;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width || !box.height || (inside && box.top >= window.innerHeight)) continue;
    words += node.textContent.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length;
  }
  return words;
}"""

_UNFOLD = """() => {
  for (const fold of document.querySelectorAll('[data-testid=stExpander] summary'))
    if (!fold.parentElement.open) fold.click();
}"""


@pytest.mark.parametrize("sample", ["czech", "census"])
def test_no_page_has_more_words_than_are_read(sample: str, page: Page, address: str, home: Path) -> None:
    found = {}
    page.set_viewport_size({"width": 1280, "height": 800})
    for name in every_page(page, address, workspace_with(home, sample, replicates=2)):
        first = page.evaluate(_COUNT, True)
        page.evaluate(_UNFOLD)
        settled(page)
        found[name] = first, page.evaluate(_COUNT, False)
    print(found)
    assert set(found) == set(PAGES)
    assert {name: counts for name, counts in found.items() if counts[0] > FIRST_SCREEN or counts[1] > UNFOLDED} == {}
