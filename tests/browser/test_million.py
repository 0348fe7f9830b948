"""A study of a million candidates in a real browser: drawn as a density, narrowed by a box, chosen from the table.

The times are printed, with generous limits only: how fast a machine is, is no fault of the code. What the server alone
takes is in ``python -m benchmarks.dashboard``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.dashboard import large
from engine.study.study import Study
from tests.browser.steps import PATIENCE, at_home, id_at_hand, map_drawn, no_trouble, open_at, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from frontier_app.session.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MANY = 1_000_000
GENEROUS = 60.0
"""Seconds; the aim is 1.5 on two quiet cores."""


@pytest.fixture
def timed(window: Page) -> Callable[[str, Callable[[], None]], None]:
    """Run an interaction until the page is quiet, and print its time."""

    def run(what: str, act: Callable[[], None]) -> None:
        begin = time.perf_counter()
        act()
        window.wait_for_timeout(50)
        window.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        seconds = time.perf_counter() - begin
        print(f"10^6 candidates, {what}: {seconds:.2f} s", flush=True)
        no_trouble(window)
        assert seconds < GENEROUS, what

    return run


def a_large_study(at: Workspace) -> tuple[str, int]:
    """Put a study of many scenarios into a workspace; return its file's name and how many it holds."""
    path = large(at, MANY)
    with Study.open(path) as study:
        return path.name, len(study.scenarios)


def test_a_million_candidates(window: Page, address: str, home: Path, timed: Callable[[str, Callable[[], None]], None]):
    from playwright.sync_api import TimeoutError

    from frontier_app.session import workspace

    with at_home(home):
        at = workspace.create()
        begin = time.perf_counter()
        # In a process of its own, which gives its memory back.
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            name, made = other.submit(a_large_study, at).result()
        assert made == MANY
        at.note(data="czech", study=name)
    print(f"a study of 10^6 candidates made in {time.perf_counter() - begin:.1f} s")

    timed("open the map", lambda: open_at(window, address, at, "explore"))
    map_drawn(window)
    window.get_by_text(f"{MANY:,} scenarios").first.wait_for()
    drawn = window.evaluate("() => document.querySelector('.js-plotly-plot')._fullData.map(t => t.type)")
    assert "heatmap" in drawn

    # A box over the middle of the map lists what is inside; the table gives one of them.
    window.locator(".js-plotly-plot").hover()
    window.locator(".modebar-btn[data-title*='Box Select']").click()
    x, y, w, h = window.evaluate(
        """() => { const e = document.querySelector('.js-plotly-plot'), b = e.getBoundingClientRect(),
            s = e._fullLayout._size; return [b.left + s.l, b.top + s.t, s.w, s.h]; }"""
    )

    listed = window.get_by_text("candidates; the 1,000 with the least risk are listed")

    def box() -> None:
        for patience in (15_000, 15_000, PATIENCE):
            window.mouse.move(x + 0.3 * w, y + 0.4 * h)
            window.mouse.down()
            window.mouse.move(x + 0.6 * w, y + 0.9 * h, steps=8)
            window.wait_for_timeout(150)  # a hand is slower than Plotly's throttle; a busy machine may still miss it
            window.mouse.up()
            with suppress(TimeoutError):
                listed.wait_for(timeout=patience)
                return
        raise AssertionError("the box lists nothing")

    timed("draw a box", box)
    settled(window)
    grid = window.locator("[data-testid=stDataFrame] canvas").first
    grid.scroll_into_view_if_needed()
    grid.focus()

    def pick() -> None:
        window.keyboard.press("ArrowDown")
        window.keyboard.press("Shift+Space")
        window.get_by_role("button", name="Recommend this one").wait_for()

    timed("choose a row of the table", pick)
    settled(window)
    assert id_at_hand(window).startswith("x")

    def bound() -> None:
        window.get_by_text("Largest acceptable risk, α").click()
        window.get_by_text("is recommended: ").first.wait_for()

    timed("switch the bound on", bound)
    assert window.locator(".js-plotly-plot").count() == 1
