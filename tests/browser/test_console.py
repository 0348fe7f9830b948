"""The browser's console stays empty: nothing is asked for that is not there, or told ahead that is not needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from frontier_app.session import server
from frontier_app.session.server import files
from tests.browser.steps import PAGES, open_at, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_SCRIPTS = """() => performance.getEntriesByType('resource').map(entry => new URL(entry.name).pathname)
    .filter(path => path.endsWith('.js'))"""


def test_no_page_leaves_an_error_in_the_console(window: Page, address: str, home: Path):
    at = workspace_with(home, risk="small_cells", utility="hellinger", max_risk="0.0025")
    missed: list[str] = []
    window.on(
        "response", lambda answer: missed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
    )
    window.on("console", lambda said: missed.append(said.text) if said.type in ("error", "warning") else None)
    for name in PAGES:
        open_at(window, address, at, name)
        if name in server.COMPONENTS:
            told = re.findall(r'(?:src|href)="\.?(/static/js/[^"]+)"', server.html(name))
            untold = set(window.evaluate(_SCRIPTS)) - set(told)
            assert told and [one for one in untold if files()[one].stat().st_size >= server.LARGE] == []
    assert not missed
