"""The browser's console stays empty: nothing is asked for that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import PAGES, open_at, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_no_page_leaves_an_error_in_the_console(window: Page, address: str, home: Path):
    at = workspace_with(home, risk="small_cells", utility="hellinger", max_risk="0.0025")
    missed: list[str] = []
    window.on(
        "response", lambda answer: missed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
    )
    window.on("console", lambda said: missed.append(said.text) if said.type == "error" else None)
    for name in PAGES:
        open_at(window, address, at, name)
    assert not missed
