"""What every test shares: a Chromium, if there is one, and hypothesis without chance."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("same-every-time", derandomize=True, deadline=None)
settings.load_profile("same-every-time")

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """Path of a Chromium: what FRONTIER_CHROMIUM names, else the first known name on PATH."""
    named = os.environ.get("FRONTIER_CHROMIUM")
    if named:
        return named if Path(named).is_file() else shutil.which(named)
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium; without one the test is skipped, or fails where FRONTIER_REQUIRE_BROWSER=1."""
    found = find_chromium()
    if found is None:
        reason = f"no Chromium: none of {', '.join(CHROMIUM_NAMES)} on PATH, and FRONTIER_CHROMIUM names none"
        if os.environ.get("FRONTIER_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """A headless Chromium for the whole run; tests open their own context or page in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A container's root user has no sandbox to run in and often a small /dev/shm.
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield running
        running.close()
