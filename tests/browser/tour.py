"""The whole job on a sample, from the file to the export, step by step: ``python -m tests.browser.tour`` takes the
pictures of ``docs/tour.md`` again.

The same walk is a test.  The study key is the same every time, so that a picture changes only where the dashboard did.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.steps import (
    KEY,
    PATIENCE,
    ROOT,
    button,
    dashboard,
    enter,
    injected,
    map_drawn,
    no_trouble,
    settled,
    submit,
    visit,
)
from tests.conftest import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = ROOT / "docs" / "tour"
WIDTH, HEIGHT = 1280, 800
TALLEST = 1500
"""Pixels of a page that a picture shows at most."""
ALPHA = "0.125"
# Put on the path of every process that the server starts: the first sweep of a workspace, started in its folder,
# finds this key.
SAME_KEY = f"""import sys
from pathlib import Path
study, key = Path("study-1.study"), Path("study-1.study.key")
started = sys.orig_argv[-3:] == ["-m", "engine", "-"] and Path("about.json").exists()
if started and not study.exists() and not key.exists():
    key.write_text("{KEY}")
    key.chmod(0o600)
"""


def walk(page: Page, picture: Callable[[str], None], export: str = "All") -> None:
    """Open the sample ``fair``, say what matters, sweep, explore, compare, recommend, let the board approve, export.

    ``picture`` is called with a name wherever there is something to be seen; ``export`` is for whom a bundle is
    written.
    """
    # File
    button(page, "Open fair").wait_for()
    picture("file-first")
    button(page, "Open fair").click()
    button(page, "Next: intruder and uses").wait_for()
    picture("file")
    # Intruder and uses: the bound is said before anything has been run.
    button(page, "Next: intruder and uses").click()
    page.get_by_text("The most useful release within a risk limit").click()
    settled(page)
    enter(page, "Largest acceptable risk (α), in share of unaltered records", ALPHA)
    page.get_by_text("Who asks: the cover of the memo").click()
    enter(page, "Survey", "Fair's survey of affairs")
    enter(page, "Contact", "the disclosure unit")
    no_trouble(page)
    picture("threat")
    # Plan and sweep
    button(page, "Next: plan the candidates").click()
    page.get_by_text("What this amounts to").wait_for()
    picture("candidates")
    button(page, "Start the sweep").click()
    page.get_by_role("heading", name="runs: done").wait_for()
    map_drawn(page)
    picture("sweep")
    # Explore: the plan's bound recommends.
    button(page, "Next: explore the map").click()
    page.get_by_role("heading", name="within the limit").wait_for()
    map_drawn(page)
    picture("explore")
    page.get_by_test_id("stMain").get_by_role("button", name="10 %", exact=True).click()
    settled(page)
    map_drawn(page)
    picture("explore-rates")
    # Compare
    visit(page, "compare")
    page.get_by_role("heading", name="than A").wait_for()
    settled(page)
    picture("compare")
    page.get_by_text("Associations", exact=True).click()
    settled(page)
    picture("compare-one")
    # Recommend: by the plan's own rule; then fresh replicates, and to the board.
    visit(page, "decide")
    page.get_by_text("The plan's own rule").click()
    settled(page)
    page.get_by_label("Who recommends it", exact=True).fill("A. Analyst")
    page.get_by_label("Reason, in words", exact=True).fill("The most useful release within the limit set beforehand.")
    page.get_by_label("Reason, in words", exact=True).press("Control+Enter")
    settled(page)
    picture("decide")
    button(page, "Record the recommendation").click()
    button(page, "Run on fresh replicates").click()
    button(page, "Run more of them").wait_for()
    submit(page, "A. Analyst")
    page.get_by_text("The board approves").wait_for()
    settled(page)
    picture("decide-submitted")
    # Board: what it sees; then its answer.
    page.get_by_text("As the board sees it", exact=True).click()
    settled(page)
    page.get_by_role("heading", name="Largest changes").wait_for()
    map_drawn(page)
    picture("board")
    page.get_by_test_id("stButtonGroup").get_by_text("Decide", exact=True).click()
    settled(page)
    page.get_by_label("Who approves", exact=True).fill("B. Board")
    page.get_by_label("Approval number", exact=True).fill("2026-14")
    button(page, "Record the approval").click()
    page.get_by_text("Approved: now").wait_for()
    settled(page)
    picture("decide-approved")
    # Export
    visit(page, "release")
    page.get_by_role("radiogroup", name="For whom").get_by_text(export, exact=True).click()
    settled(page)
    page.get_by_test_id("stMain").get_by_role("button", name="Write the bundle").click()
    page.get_by_text(re.compile("All bytes were searched|Nothing was written")).wait_for(timeout=3 * PATIENCE)
    no_trouble(page)
    settled(page)
    picture("release")
    no_trouble(page)


def taken(page: Page) -> bytes:
    """The page as a picture, from the top, down to its end or to :data:`TALLEST`; with few colours, so a small file."""
    from PIL import Image

    settled(page)
    page.mouse.move(2, 2)
    page.evaluate(
        "() => { document.activeElement.blur(); document.querySelector('[data-testid=stMain]').scrollTo(0, 0); }"
    )
    tall = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": WIDTH, "height": max(480, min(TALLEST, tall))})
    page.wait_for_timeout(700)  # plots follow the window
    shot = page.screenshot()
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> int:
    """Take every picture again."""
    from playwright.sync_api import sync_playwright

    chromium = find_chromium()
    if chromium is None:
        print("tour: no Chromium was found; name one in FRONTIER_CHROMIUM", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    made: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        with injected(folder, SAME_KEY), dashboard(folder, folder / "home") as address:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light").new_page()
            page.set_default_timeout(PATIENCE)
            begin = time.perf_counter()
            page.goto(address)
            button(page, "Open fair").wait_for()
            print(f"the first page was there {time.perf_counter() - begin:.1f} s after the health check", flush=True)

            def picture(name: str) -> None:
                made[name] = taken(page)
                print(f"{name}.png, {len(made[name]) // 1000} kB", flush=True)

            walk(page, picture)
            browser.close()
    for old in PICTURES.glob("*.png"):
        old.unlink()
    for name, content in made.items():
        (PICTURES / f"{name}.png").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
