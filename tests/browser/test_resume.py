"""A sweep outlives its page and its server: cancelled, resumed, and found again after the server was killed."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.study.study import Study
from tests.browser.steps import PATIENCE, button, open_at, served, settled, workspace_with

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def window(browser: Browser) -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    return page


def progressed(page: Page) -> None:
    """Wait until some runs are said to be done."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=stProgress]')]"
        ".some(e => /^[1-9][\\d,]* of/.test(e.innerText))"
    )


def test_a_sweep_is_cancelled_killed_and_resumed_without_loss(browser: Browser, tmp_path: Path):
    home = tmp_path / "home"
    # so many that on a busy machine too somebody can stop it before its end
    at = workspace_with(
        home, "fair", swept=False, swap_sizes=[1, 2], rates=["0.01", "0.05", "0.1", "0.2"], replicates=4000
    )
    study = at.folder / "study-1.study"
    with served(tmp_path, home) as (address, server):
        page = window(browser)
        open_at(page, address, at, "candidates")
        button(page, "Start the sweep").click()
        progressed(page)
        button(page, "Stop").click()
        page.get_by_text("Stopped at").wait_for()
        with Study.open(study) as held:
            stopped = held.progress
        assert 0 < stopped.done < stopped.total and stopped.state == "cancelled"
        button(page, "Resume the sweep").click()
        progressed(page)
        os.killpg(server.pid, signal.SIGKILL)  # the launcher and the server; the sweep is in a group of its own
        server.wait(20)
        page.context.close()
    with served(tmp_path, home) as (address, _):
        page = window(browser)
        open_at(page, address, at, "candidates")
        heading = page.get_by_role("heading", name="runs: done")
        heading.or_(button(page, "Stop")).first.wait_for()  # it went on without the server
        heading.wait_for(timeout=3 * PATIENCE)
        settled(page)
        page.context.close()
    with Study.open(study) as held:
        done = held.progress
    assert done.state == "finished" and done.done == done.total == stopped.total
    with sqlite3.connect(study) as db:
        rows, distinct = db.execute(
            "SELECT count(*), count(DISTINCT scenario * 100000 + replicate) FROM realisation"
        ).fetchone()
    db.close()
    assert rows == distinct == done.total
