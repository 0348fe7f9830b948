"""The first run on a sample, from the first page to an exported release, with nothing fetched from elsewhere."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import tour
from tests.browser.steps import button, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_from_the_sample_to_a_public_release(page: Page, address: str, tmp_path: Path):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    seen: list[str] = []
    tour.walk(page, seen.append, export="Public")
    assert [name.partition("-")[0] for name in dict.fromkeys(seen)][-1] == "release"
    with page.expect_download() as download:
        button(page, "Download (zip)").click()
    archive = tmp_path / "public.zip"
    download.value.save_as(archive)
    with zipfile.ZipFile(archive) as whole:
        names = whole.namelist()
        text = whole.read(next(name for name in names if name.endswith("release.csv"))).decode()
    assert len(text.splitlines()) == 1 + 6366
    assert any(name.endswith("release.parquet") for name in names)

    # What was chosen survives a reload; nothing in the whole journey came from another host.
    page.reload()
    button(page, "Download (zip)").wait_for()
    settled(page)
    host = address.partition("://")[2].partition("/")[0]
    assert len(asked) > 20
    elsewhere = {url for url in asked if not url.startswith((f"http://{host}", "data:", "blob:"))}
    assert not elsewhere
