"""The server is on this machine only, speaks to nobody else, and keeps two people's work apart."""

from __future__ import annotations

import base64
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.dashboard import large
from tests.browser.steps import (
    PATIENCE,
    at_home,
    button,
    environment,
    map_drawn,
    open_at,
    settled,
    workspace_with,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def port_of(address: str) -> int:
    return int(address.partition("://")[2].partition("/")[0].partition(":")[2])


def test_two_browsers_never_see_each_others_data(browser: Browser, address: str, home: Path):
    origin = "/".join(address.split("/")[:3])
    mine, theirs = browser.new_context().new_page(), browser.new_context().new_page()
    for page in (mine, theirs):
        page.set_default_timeout(PATIENCE)
    open_at(mine, address, workspace_with(home), "explore")
    mine.get_by_role("heading", name=re.compile("candidates are")).wait_for()
    # The other one comes without the first one's address, at the same time and on the same pages.
    for name in ("explore", "release", "candidates", ""):
        theirs.goto(f"{origin}/{name}")
        theirs.get_by_test_id("stHeading").first.wait_for()
        settled(theirs)
        said = theirs.get_by_test_id("stMain").inner_text()
        assert "czech · " not in said and "candidates are" not in said and "study-1" not in said
        assert theirs.locator(".js-plotly-plot").count() == 0
    # A name that is nearly right opens nothing; and without the starter's address no file is opened by its path.
    theirs.goto(f"{origin}/explore?w={'A' * 22}")
    theirs.get_by_text("opens nothing any more").wait_for()
    theirs.goto(origin)
    button(theirs, "Open czech").wait_for()
    assert theirs.get_by_label("A file where it lies on this machine").count() == 0
    button(theirs, "Open fair").click()
    theirs.get_by_text("fair · ").first.wait_for()
    # What the second one opened is not the first one's.
    mine.reload()
    mine.get_by_role("heading", name=re.compile("candidates are")).wait_for()
    assert "fair" not in mine.get_by_test_id("stMain").inner_text()
    for page in (mine, theirs):
        page.context.close()


def test_figures_downloads_and_uploads_keep_to_this_server(window: Page, address: str, home: Path, tmp_path: Path):
    """A large cloud (WebGL) too; test_access.py goes through all pages."""
    at, crowded = workspace_with(home), workspace_with(home, swept=False)
    with at_home(home):
        crowded.note(study=large(crowded, 4_000).name)
    (tmp_path / "people.csv").write_text("age,sex\n" + "young,f\nold,m\n" * 20)
    for one, figures in (
        (at, ("Risk of single runs", "A panel for each rate", "Every run", "Several measures together")),
        (crowded, ("Several measures together", "Means of the runs")),
    ):
        open_at(window, address, one, "explore")
        for figure in figures:
            window.get_by_role("button", name="Views").click()
            window.get_by_role("combobox", name="Drawn").click()
            window.get_by_role("option", name=figure, exact=True).click()
            window.keyboard.press("Escape")
            settled(window)
        map_drawn(window)
    kinds = window.evaluate("() => document.querySelector('.js-plotly-plot')._fullData.map(one => one.type)")
    assert "scattergl" in kinds, kinds
    assert window.locator(".js-plotly-plot .no-webgl").count() == 0
    window.locator(".js-plotly-plot").hover()
    with window.expect_download() as picture:
        window.locator(".modebar-btn[data-title*='Download']").click()
    assert picture.value.path().stat().st_size > 10_000
    window.goto(address)
    window.locator("input[type=file]").first.set_input_files(tmp_path / "people.csv")
    window.get_by_text("people.csv · ").first.wait_for()
    settled(window)
    button(window, "Plan file").click()
    with window.expect_download() as plan:
        window.get_by_role("button", name="Save the plan").click()
    assert 'name = "age"' in plan.value.path().read_text()


def test_started_in_another_folder_the_server_is_on_this_machine_only(address: str):
    assert address.startswith("http://127.0.0.1:")
    port = port_of(address)
    listening = Path("/proc/net/tcp")
    if listening.exists():
        rows = [line.split() for line in listening.read_text().splitlines()[1:]]
        mine = {
            row[1].partition(":")[0] for row in rows if int(row[1].partition(":")[2], 16) == port and row[3] == "0A"
        }
        assert mine == {"0100007F"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=10) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("sent", ["evil.example", "127.0.0.1.evil.example"])
def test_a_foreign_host_gets_no_session(address: str, sent: str):
    port = port_of(address)

    def status(host: str) -> str:
        request = (
            f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: http://{host}:{port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
            "Sec-WebSocket-Protocol: streamlit\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(request.encode())
            return connection.recv(64).decode(errors="replace").split()[1]

    assert status("127.0.0.1") == "101"
    assert status(sent) in ("400", "403")


def test_an_occupied_port_is_refused_in_a_sentence(address: str, tmp_path: Path):
    command = [sys.executable, "-m", "engine", "app", "--port", str(port_of(address)), "--no-browser"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path / "home"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"frontier: port {port_of(address)} cannot be used")
