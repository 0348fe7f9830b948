"""One server for all journeys, and a browser window of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import PATIENCE, dashboard, injected, keeping_to_itself, workspace_with
from tests.browser.tour import SAME_KEY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from frontier_app.session.workspace import Workspace


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


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A window on the first page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    with keeping_to_itself(context, address):
        opened = context.new_page()
        opened.set_default_timeout(PATIENCE)
        opened.goto(address)
        yield opened
    context.close()


@pytest.fixture(scope="session")
def decided(home: Path) -> Workspace:
    """A finished study with pins and a recommendation, so that no page is empty."""
    from engine.decision.choice import choose
    from engine.study.map_reader import risk_utility_map
    from engine.study.pins import pin
    from engine.study.study import Study

    at = workspace_with(home, swap_sizes=[1, 2], replicates=12, max_risk="0.0022")
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        for place in view.frontier()[:2].tolist():
            pin(study, view.scenarios[place].label, f"pin {place}")
        choose(study, view, "the most useful within the bound", by="A. Analyst")
    return at
