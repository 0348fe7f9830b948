"""One person's whole way through the dashboard, in a real browser: from an uploaded file to a checked release."""

from __future__ import annotations

import base64
import csv
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.browser, pytest.mark.slow]
_PATIENCE = 60_000


@contextmanager
def dashboard(cwd: Path, home: Path, *arguments: str) -> Iterator[str]:
    """The address of a running `frontier app`, started in ``cwd``."""
    env = {**os.environ, "FRONTIER_HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "engine", "app", *arguments, "--no-browser"]
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found, "no address was printed"
            yield found.group()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("elsewhere")
    with dashboard(folder, folder / "home") as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(_PATIENCE)
    opened.goto(address)
    yield opened
    context.close()


def write_people(path: Path) -> list[tuple[str, ...]]:
    """A small file with a text, a number to be cut, a column to carry, and nothing missing."""
    rows: list[tuple[str, ...]] = []
    for i in range(600):
        sex = ("f", "m")[i * 7 % 11 % 2]
        region = ("north", "south", "east", "west")[i * i % 13 % 4]
        work = ("office", "field", "none")[(i // 5 + i * 3) % 7 % 3]
        age = str(18 + (i * 37 + i // 9) % 60)
        rows.append((sex, region, work, age, f"note {i % 4}"))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("sex", "region", "work", "age", "note"), *rows])
    return rows


def settled(page: Page) -> None:
    """Wait until the page's script has run."""
    page.wait_for_timeout(300)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def click_frontier_point(page: Page) -> None:
    """Click on the first filled point of the map that carries a candidate."""
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?.range")
    settled(page)
    place = page.evaluate(
        """() => {
            const plot = document.querySelector('.js-plotly-plot');
            const trace = plot._fullData.find(t => t.customdata && !t.marker.symbol.endsWith('-open'));
            const box = plot.getBoundingClientRect(), x = plot._fullLayout.xaxis, y = plot._fullLayout.yaxis;
            return [box.left + x._offset + x.d2p(trace.x[0]), box.top + y._offset + y.d2p(trace.y[0])];
        }"""
    )
    page.mouse.move(place[0] - 3, place[1] - 3)
    page.mouse.move(*place)
    page.wait_for_timeout(300)
    page.mouse.click(*place)


def test_from_a_file_to_its_release(page: Page, tmp_path: Path):
    people = tmp_path / "people.csv"
    original = write_people(people)
    page.locator("input[type=file]").first.set_input_files(people)
    page.get_by_text("What becomes of each column").wait_for()
    assert "people" not in page.url and re.search(r"w=[\w-]{22}", page.url)

    # The plan: one swap size, two rates, few replicates.
    page.get_by_role("button", name="Next: plan the candidates").click()
    rates = page.get_by_label("Swap rates, in percent of records", exact=True)
    rates.fill("5, 20")
    rates.press("Enter")
    settled(page)
    replicates = page.get_by_label("Replicates of each", exact=True)
    replicates.fill("4")
    replicates.press("Enter")
    settled(page)
    page.get_by_text("What this amounts to").wait_for()

    page.get_by_role("button", name="Next: run the sweep").click()
    page.get_by_role("button", name="Start the sweep").click()
    page.wait_for_timeout(500)
    page.reload()  # a sweep is found again
    page.get_by_text("Finished:").wait_for()

    page.get_by_role("button", name="Next: explore the map").click()
    click_frontier_point(page)
    page.get_by_role("button", name="Choose this one").click()

    page.get_by_label("Reason (kept with the decision)", exact=True).fill("least harm among the safe ones")
    page.get_by_label("Reason (kept with the decision)", exact=True).press("Control+Enter")
    page.get_by_role("button", name="Record the choice").click()
    page.get_by_text("The choice is recorded").wait_for()
    page.get_by_text("Every attribute's own distribution is exactly as it was").wait_for()
    page.get_by_role("button", name="Make the release").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the release (zip)").click()
    archive = tmp_path / "release.zip"
    download.value.save_as(archive)

    with zipfile.ZipFile(archive) as whole:
        assert sorted(whole.namelist()) == ["release.csv", "release.parquet"]
        text = whole.read("release.csv").decode()
    released = list(csv.reader(text.splitlines()))
    assert released[0] == ["sex", "region", "work", "age", "note"]
    rows = [tuple(row) for row in released[1:]]
    assert len(rows) == len(original)
    for j in range(5):
        assert Counter(row[j] for row in rows) == Counter(row[j] for row in original)
    assert Counter(rows) != Counter(original)

    with page.expect_download() as download:
        page.get_by_role("button", name="Download the internal manifest").click()
    assert b"derived_key" in Path(download.value.path()).read_bytes()


def test_keyboard_path_selects_from_the_table(page: Page):
    page.get_by_role("button", name="Open czech").click()
    page.get_by_role("button", name="Next: plan the candidates").click()
    rates = page.get_by_label("Swap rates, in percent of records", exact=True)
    rates.fill("5")
    rates.press("Enter")
    settled(page)
    page.get_by_role("button", name="Next: run the sweep").click()
    page.get_by_role("button", name="Start the sweep").click()
    page.get_by_text("Finished:").wait_for()
    page.get_by_role("button", name="Next: explore the map").click()
    page.get_by_text("No candidate selected").wait_for()
    settled(page)
    grid = page.locator("[data-testid=stDataFrame] canvas").first
    grid.scroll_into_view_if_needed()
    grid.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    page.get_by_role("button", name="Choose this one").wait_for()
    # And from the list, once one is selected.
    first = page.get_by_role("combobox", name="Candidate").input_value()
    page.get_by_role("combobox", name="Candidate").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    settled(page)
    assert page.get_by_role("combobox", name="Candidate").input_value() != first


def test_no_page_scrolls_sideways_at_1280(page: Page):
    page.get_by_role("button", name="Open fair").click()
    page.get_by_text("What becomes of each column").wait_for()
    for name in ("Plan", "Sweep", "Explore", "Release", "Glossary", "Data"):
        page.get_by_role("link", name=name).first.click()
        settled(page)
        wide, shown = page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); return [m.scrollWidth, m.clientWidth]; }"
        )
        assert wide <= shown, name


def test_nothing_is_fetched_from_elsewhere(browser: Browser, address: str):
    context = browser.new_context()
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    opened.get_by_role("button", name="Open czech").click(timeout=_PATIENCE)
    opened.get_by_text("What becomes of each column").wait_for(timeout=_PATIENCE)
    for name in ("Plan", "Sweep", "Explore", "Release", "Glossary"):
        opened.get_by_role("link", name=name).first.click()
        settled(opened)
    opened.wait_for_timeout(500)
    context.close()
    host = address.partition("://")[2].partition("/")[0]
    elsewhere = {url for url in asked if not url.startswith((f"http://{host}", "data:", "blob:"))}
    assert not elsewhere


def test_started_in_another_folder_the_server_is_on_this_machine_only(address: str):
    host, _, port = address.partition("://")[2].partition("/")[0].partition(":")
    assert host == "127.0.0.1"
    listening = Path("/proc/net/tcp")
    if listening.exists():
        rows = [line.split() for line in listening.read_text().splitlines()[1:]]
        mine = {
            row[1].partition(":")[0]
            for row in rows
            if int(row[1].partition(":")[2], 16) == int(port) and row[3] == "0A"
        }
        assert mine == {"0100007F"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=10) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("sent", ["evil.example", "127.0.0.1.evil.example"])
def test_a_foreign_host_gets_no_session(address: str, sent: str):
    port = int(address.partition("://")[2].partition("/")[0].partition(":")[2])

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
    port = address.partition("://")[2].partition("/")[0].partition(":")[2]
    env = {**os.environ, "FRONTIER_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "engine", "app", "--port", port, "--no-browser"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"frontier: port {port} cannot be used")
