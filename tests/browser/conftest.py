"""One server and one browser for all journeys, and a window of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import PATIENCE, dashboard, injected, keeping_to_itself, workspace_with
from tests.browser.tour import SAME_KEY
from tests.conftest import CHROMIUM_FLAGS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Playwright

    from frontier_app.session.workspace import Workspace

STORED = "cookies,file_systems,indexeddb,local_storage,service_workers,websql"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private folder of the server that all journeys share; every test makes a workspace of its own in it."""
    return tmp_path_factory.mktemp("elsewhere") / "home"


@pytest.fixture(scope="session")
def address(home: Path) -> Iterator[str]:
    """A dashboard with nothing open, at the address that its starter gets.

    The first sweep of each workspace has one and the same key, so that fresh runs never refute a choice by chance.
    """
    with injected(home.parent, SAME_KEY), dashboard(home.parent, home) as found:
        yield found


@pytest.fixture(scope="session")
def windows(
    chromium: str, playwright: Playwright, address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[BrowserContext, list[str]]]:
    """A Chromium with a profile on disk, and what its windows do that they must not.

    A profile on disk keeps compiled scripts, as an analyst's does: to compile them for every test took a third of what
    it takes to open a page; to compile it once for all tests, in a process that they share, saves a third again.
    """
    profile = tmp_path_factory.mktemp("profile")
    context = playwright.chromium.launch_persistent_context(
        profile,
        executable_path=chromium,
        args=[*CHROMIUM_FLAGS],
        viewport={"width": 1280, "height": 900},
        accept_downloads=True,
    )
    # One window stays at the server, so that its process, and what is compiled in it, outlives those of tests.
    context.pages[0].goto("/".join(address.split("/")[:3]) + "/_stcore/health")
    with keeping_to_itself(context, address) as strange:
        yield context, strange
    context.close()


@pytest.fixture(scope="session")
def decided(home: Path) -> Workspace:
    """A finished study with pins and a recommendation, so that no page is empty."""
    from engine.decision.choice import choose
    from engine.study.map_reader import risk_utility_map
    from engine.study.study import Study, pin

    at = workspace_with(home, swap_sizes=[1, 2], replicates=12, max_risk="0.0022")
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        for place in view.frontier()[:2].tolist():
            pin(study, view.scenarios[place].label, f"pin {place}")
        choose(study, view, "the most useful within the limit", by="A. Analyst")
    return at


@pytest.fixture
def window(windows: tuple[BrowserContext, list[str]], address: str) -> Iterator[Page]:
    """A window that shows nothing yet, in a browser that remembers nothing of the tests before but compiled scripts."""
    context, strange = windows
    lasting, opened = context.pages[0], context.new_page()  # a browser without a window would end
    opened.set_default_timeout(PATIENCE)
    yield opened
    for shown in context.pages[1:]:
        shown.close()
    everything = {"origin": "/".join(address.split("/")[:3]), "storageTypes": STORED}
    context.new_cdp_session(lasting).send("Storage.clearDataForOrigin", everything)
    context.clear_cookies()
    seen = strange.copy()
    strange.clear()
    assert not seen, seen


@pytest.fixture
def page(window: Page, address: str) -> Page:
    """A window on the first page; a test that goes elsewhere at once takes ``window``."""
    window.goto(address)
    return window
