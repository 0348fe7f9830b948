"""Files that cannot be read are refused in the engine's words, and what was open before is still there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import PATIENCE, button, dashboard, injected, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def refused(page: Page, path: Path) -> str:
    """Upload a file and return what is said against it."""
    page.locator("input[type=file]").first.set_input_files(path)
    alert = page.locator("[data-testid=stAlertContentError]").first
    alert.wait_for()
    settled(page)
    said = alert.inner_text()
    assert page.get_by_test_id("stException").count() == 0
    assert "Traceback" not in page.get_by_test_id("stMain").inner_text()
    return said


def test_files_that_cannot_be_read_are_refused_in_a_sentence(page: Page, tmp_path: Path):
    broken = tmp_path / "broken.sav"
    broken.write_bytes(b"$FL2@(#) SPSS DATA FILE" + bytes(range(256)) * 4)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b,c\n1,2,3\n4,5\n6,7,8,9\n", encoding="utf-8")
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    button(page, "Open czech").wait_for()
    for path, words in ((broken, "corrupt"), (ragged, "line 3|row"), (empty, "empty")):
        said = refused(page, path)
        assert re.search(words, said), said
        assert path.name in said or path.stem in said
        assert str(tmp_path) not in said
        # A sample can still be opened, and other files be tried.
        assert button(page, "Open czech").is_enabled()
        page.locator("[data-testid=stFileChipDeleteBtn]").first.click()
        settled(page)
    wrong = tmp_path / "letter.docx"
    wrong.write_bytes(b"PK\x03\x04")
    page.locator("input[type=file]").first.set_input_files(wrong)
    page.get_by_text(re.compile("not allowed", re.IGNORECASE)).first.wait_for()


def test_earlier_work_survives_a_bad_file(page: Page, address: str, tmp_path: Path):
    broken = tmp_path / "broken.sav"
    broken.write_bytes(b"no SPSS file")
    button(page, "Open czech").click()
    button(page, "Next: threat and uses").wait_for()
    settled(page)
    url = page.url
    # In another tab, with nothing open: a bad file there leaves this work as it is.
    other = page.context.new_page()
    other.set_default_timeout(PATIENCE)
    other.goto(address)
    refused(other, broken)
    other.close()
    page.goto(url)
    button(page, "Next: threat and uses").wait_for()
    assert page.get_by_role("heading", name="czech").is_visible()


def test_a_file_over_the_limit_is_refused(browser: Browser, tmp_path: Path):
    big = tmp_path / "big.csv"
    big.write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    home = tmp_path / "home"
    smaller = "from frontier_app.session import settings\nsettings.PRIVACY['server.maxUploadSize'] = 1\n"
    with injected(tmp_path, smaller), dashboard(tmp_path, home) as address:
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.locator("input[type=file]").first.set_input_files(big)
        page.get_by_text(re.compile("1.?0? ?MB or smaller|must be at most 1 MB")).first.wait_for()
        assert button(page, "Open czech").is_enabled()
        page.context.close()
    assert not [path for path in home.rglob("big*") if path.is_file()]
