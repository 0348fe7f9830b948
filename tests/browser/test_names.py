"""In a real browser: hostile names on every page fetch nothing and become no picture, link, formula or colour."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import at_home, environment, every_page, open_at, workspace_with
from tests.frontier_app import hostile_names
from tests.frontier_app.finished_studies import FinishedStudies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LIVE = """() => {
  const main = document.querySelector('[data-testid=stApp]');
  const inside = '[data-testid=stMarkdownContainer]';
  const of = (selector) => [...main.querySelectorAll(selector)].map((one) => one.outerHTML.slice(0, 200));
  return [
    ...of(`${inside} :is(img, a:not([href^="#"]), iframe, video, audio, .katex, em, del, sub, h6)`),
    ...of('[data-testid=stPlotlyChart] a, .sf-side :is(img, a)'),
    ...of('[class*=stMarkdownColored]').filter((one) => one.includes('>r<')),
    ...of(`${inside} code`).filter((one) => one.includes('>code<')),
    ...of(`${inside} strong`).filter((one) => one.includes('>strong<')),
    ...of('[role=img]').filter((one) => /skull|smile|emoji/.test(one)),
  ].filter((one) => !/^<em>riskier than doing nothing|^<em>outcome/.test(one));
}"""


def test_names_fetch_nothing_and_stay_text(
    window: Page, address: str, home: Path, tmp_path_factory: pytest.TempPathFactory
):
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    window.context.on("request", note)
    with at_home(home):
        at = hostile_names.swept(tmp_path_factory.mktemp("hostile"), FinishedStudies(tmp_path_factory), 1)
    for name in every_page(window, address, at):
        said = window.get_by_test_id("stMain").inner_text()
        assert "evil.example" in said or name in ("data", "candidates", "release", "explore"), name
        assert window.evaluate(LIVE) == [], name
    window.context.remove_listener("request", note)
    assert asked and not [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]


SCRIPT = """
import json, streamlit as st
from pathlib import Path
from frontier_app.wording import markup
markup.prepare()
for i, text in enumerate(json.loads(Path("texts.json").read_text())):
    with st.container(key=f"text-{i}"):
        st.markdown(text)
        st.caption(markup.markdown("{}", text))
        st.checkbox(text, key=i)
st.header("done")
"""


def test_every_sign_is_shown_as_it_is(browser: Browser, tmp_path: Path):
    """What Streamlit makes of escaped texts is, letter by letter, what was written."""
    signs = hostile_names.SIGNS
    texts = [*signs, *(f"x{sign}y" for sign in signs), *(f"({sign})" for sign in signs)]
    texts += [name for seed in range(12) for name in hostile_names.names(3 + seed % 5, seed)]
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    (tmp_path / "page.py").write_text(SCRIPT)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    quiet = ["--server.headless=true", "--browser.gatherUsageStats=false", f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", "page.py", "--server.address=127.0.0.1", *quiet]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL) as server:
        page = browser.new_page()
        try:
            for _ in range(200):
                with socket.socket() as trying:
                    if trying.connect_ex(("127.0.0.1", port)) == 0:
                        break
                page.wait_for_timeout(100)
            page.goto(f"http://127.0.0.1:{port}")
            page.get_by_role("heading", name="done").wait_for()
            page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')")
            for i, text in enumerate(texts):
                parts = page.locator(f".st-key-text-{i} p").all_inner_texts()
                wanted = " ".join(text.split())
                assert [" ".join(part.replace("\u2060", "").split()) for part in parts] == [wanted] * 3
        finally:
            page.close()
            server.terminate()


def test_a_table_to_edit_has_no_download_whose_cells_may_be_formulas(window: Page, address: str, home: Path):
    open_at(window, address, workspace_with(home, swept=False))
    window.get_by_test_id("stDataFrame").first.hover()
    search = window.locator('[data-testid=stElementToolbarButton] [aria-label^="Search"]').first
    search.wait_for()
    assert not window.locator('[aria-label^="Download as CSV"]').first.is_visible()
