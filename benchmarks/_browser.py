"""Times of interactions as a person sees them: in a real browser, from the last key or button to the last change of
the page."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._harness import environment
from tests.conftest import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from frontier_app.session.workspace import Workspace

TIMES = 3
"""How often everything is done; the median counts."""
_PATIENCE = 30_000  # milliseconds
_QUIET = 400  # milliseconds without a change after which the page is taken as done
# What a person did last and what changed last. Left out is what nobody sees: the header's running figure, notes for
# screen readers (a grid's are the children of its canvas), and the corner in which Plotly measures text.
_WATCH = """() => {
    window.seen = {act: 0, change: 0, ran: false};
    for (const kind of ['pointerdown', 'pointerup', 'keydown'])
        addEventListener(kind, () => { seen.act = performance.now(); seen.change = 0; seen.ran = false; }, true);
    const apart = node => (node.nodeType === 1 ? node : node.parentElement)?.closest(
        ['stHeader', 'stStatusWidget', 'stSpinner', 'stTooltipContent'].map(one => `[data-testid=${one}]`).join()
            + ', canvas, #js-plotly-tester');
    const told = one => /^(aria|data)-/.test(one.attributeName ?? '')
        || !document.querySelector('#root')?.contains(one.target);
    new MutationObserver(all => {
        const app = one => one.target.dataset?.testid === 'stApp';
        if (all.some(one => app(one) && one.target.dataset.testScriptState === 'running')) seen.ran = true;
        if (all.some(one => !app(one) && !apart(one.target) && !told(one))) seen.change = performance.now();
    }).observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
}"""
_DONE = """([quiet, rerun]) => (seen.ran || !rerun)
    && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && seen.change > 0 && performance.now() - Math.max(seen.change, seen.act) > quiet"""


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Address of a dashboard of its own with this private folder."""
    env = {**environment(), "FRONTIER_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "engine", "app", "--no-browser"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            if not found:
                raise SystemExit("the dashboard printed no address")
            yield found.group()
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def window() -> Iterator[Page]:
    """A browser window that keeps its own time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as made:
        browser = made.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(_PATIENCE)
        page.add_init_script(f"({_WATCH})()")
        yield page
        browser.close()


def settled(page: Page, *, rerun: bool = True) -> float:
    """Seconds from what was done last, or from where the page began to load, to its last change; ``rerun`` waits for
    the server's answer."""
    page.wait_for_function(_DONE, arg=[_QUIET, rerun], polling=50)
    if page.get_by_test_id("stException").count():
        raise SystemExit(f"the page shows an error: {page.get_by_test_id('stException').first.inner_text()}")
    return float(page.evaluate("() => (seen.change - seen.act) / 1000"))


def first_page(home: Path) -> float:
    """Seconds from the health check's answer to the first page, with a new server and a new window each time."""
    found = []
    for _ in range(TIMES):
        with window() as page, served(home) as address:  # the address is printed when the health check answers
            begin = time.perf_counter()
            page.goto(address)
            page.get_by_test_id("stHeading").first.wait_for()
            found.append(time.perf_counter() - begin)
    return median(found)


def pick(page: Page, label: str, option: str) -> None:
    """Choose from a list by typing the beginning of what is wanted."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.focus()
    box.press_sequentially(option)
    page.get_by_role("option", name=option).first.wait_for()
    box.press("Enter")


def _box(page: Page) -> None:
    """Draw a box over the middle of the map."""
    x, y, w, h = page.evaluate(
        """() => { const e = document.querySelector('.js-plotly-plot'), b = e.getBoundingClientRect(),
            s = e._fullLayout._size; return [b.left + s.l, b.top + s.t, s.w, s.h]; }"""
    )
    page.mouse.move(x + 0.3 * w, y + 0.4 * h)
    page.mouse.down()
    page.mouse.move(x + 0.6 * w, y + 0.9 * h, steps=8)
    page.wait_for_timeout(150)
    page.mouse.up()


def interactions(page: Page, many: bool) -> dict[str, Callable[[], object]]:
    """What a person does on the map's page, in turn, by name; each ends with a key or button that is waited for."""

    def typed() -> None:
        box = page.get_by_label("Limit", exact=False).first
        box.fill(f"{0.8 * float(box.input_value() or 1):.6f}")
        box.press("Enter")

    def views() -> None:
        page.get_by_test_id("stPopover").filter(has_text="Views").get_by_role("button").first.click()

    def drawn(name: str) -> None:
        pick(page, "Drawn", name)

    def armed() -> None:
        page.locator(".js-plotly-plot").hover()
        page.locator(".modebar-btn[data-title*='Box Select']").click()

    found: dict[str, Callable[[], object]] = {
        "type a limit": typed,
        "filter by rate": lambda: page.get_by_test_id("stMain").get_by_role("button", name="10 %", exact=True).click(),
        "~views": views,
        "zoom to the frontier": lambda: pick(page, "The axes reach", "the frontier only (zoom)"),
        "colour by attributes swapped": lambda: pick(page, "Colour and shape show", "Attributes swapped"),
        "zoom out again": lambda: pick(page, "The axes reach", "the candidates and the unprotected file"),
    }
    if many:
        found |= {"~arm": armed, "a range of the map": lambda: _box(page)}
    found |= {
        f"drawn: {name}": lambda name=name: drawn(name)  # type: ignore[misc]
        for name in (
            "Risk of single runs",
            "A panel for each rate",
            "Every run",
            "Several measures",
            "Means of the runs",
        )
    }
    return found | {
        "another measure of use": lambda: pick(page, "Use", "Total variation distance"),
        "back again": lambda: pick(page, "Use", "Hellinger distance"),
    }


def explored(page: Page, address: str, many: bool) -> dict[str, float]:
    """Seconds of opening the map's page, and of each interaction on it."""
    page.goto(address)
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?.range")
    drawn = float(page.evaluate("() => performance.now() / 1000"))
    found = {"open Explore": settled(page), "open Explore: the map drawn": drawn}
    for name, act in interactions(page, many).items():
        act()
        prepares = name.startswith("~")  # the next one, without asking the server
        seconds = settled(page, rerun=not prepares)
        if not prepares:
            found[name] = seconds
    return found


def visited(page: Page, names: dict[str, str]) -> dict[str, float]:
    """Seconds of going to each page, by its part of the address and its name in the navigation."""
    found = {}
    for key, title in names.items():
        page.get_by_test_id("stHeader").get_by_role("link", name=title, exact=True).click()
        found[f"page {key}"] = settled(page)
    return found


def seen(at: Workspace, pages: dict[str, str], many: bool) -> dict[str, float]:
    """Median seconds of each interaction with the study of a workspace, after a first round that starts the server."""
    rounds = []
    with served(at.folder.parents[1]) as address, window() as page:
        origin = "/".join(address.split("/")[:3])
        for _ in range(1 + TIMES):
            at.look_path.unlink(missing_ok=True)  # every round begins with the map as it is at first
            rounds.append(explored(page, f"{origin}/explore?w={at.token}", many) | visited(page, pages))
    first, *others = rounds
    cold = {f"{name}, the server new": first[name] for name in first if name.startswith("open Explore")}
    return cold | {name: median(one[name] for one in others) for name in first}
