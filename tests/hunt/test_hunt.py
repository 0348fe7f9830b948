"""The quick part of the hunt, and that what it looks at can fail."""

from __future__ import annotations

import io
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hunt import kills
from tests.hunt.__main__ import table
from tests.hunt.browser import Kept, Walk
from tests.hunt.bundles import zeros_in_archive
from tests.hunt.case import Outcome
from tests.hunt.fork import End
from tests.hunt.test_runner import python

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WHOLE = "<div data-testid=stApp data-test-script-state=notRunning>File {}</div>"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="without forks it takes long; `python -m tests.hunt` tries it all")
def test_bad_inputs_end_in_a_sentence(tmp_path: Path):
    ran = python("-m", "tests.hunt", "--quick", "--keep", str(tmp_path / "failed"), seconds=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_table_counts_every_verdict():
    words = table([Outcome("plans", "a", "refused"), Outcome("plans", "b", "hang"), Outcome("csv", "c", "hang")])
    lines = [line.split() for line in words.splitlines()]
    assert [line[:2] for line in lines[1:]] == [["plans", "2"], ["csv", "1"], ["all", "3"]]
    assert lines[-1].count("2") == 1 and lines[-1].count("1") == 1


def test_less_than_before_is_lost(tmp_path: Path):
    study, plan = tmp_path / "study-1.study", tmp_path / "plan.toml"
    with closing(sqlite3.connect(study)) as db:
        db.execute("create table realisation (m0 real)")
        db.executemany("insert into realisation values (?)", [(0.1,), (0.2,)])
        db.commit()
    plan.write_text("[space]\n")
    kept = Kept(tmp_path)
    assert kept.lost() == ""
    with closing(sqlite3.connect(study)) as db:
        db.execute("delete from realisation where m0 = 0.1")
        db.commit()
    assert "study-1.study" in kept.lost()
    plan.write_text("")
    assert "plan.toml" in kept.lost()
    study.write_bytes(b"SQLite format 3\x00")
    assert "study-1.study" in kept.lost()


def test_an_archive_of_zeros_unpacks_to_them():
    with zipfile.ZipFile(io.BytesIO(zeros_in_archive("a/b.xml", 3))) as archive:
        assert archive.namelist() == ["[Content_Types].xml", "a/b.xml"] and archive.testzip() is None
        assert archive.read("a/b.xml") == bytes(3 << 20)


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (End(-9, "", "", 1.0, False), "accepted"),
        (End(0, "", "", 1.0, False), "accepted"),
        (End(-9, "", "", 1.0, True), "left"),
        (End(1, "", "Traceback (most recent call last)", 1.0, False), "traceback"),
        (End(1, "", "frontier: another sweep is writing 's.study'", 1.0, False), "wrong"),
    ],
)
def test_what_a_kill_may_leave(end: End, verdict: str):
    assert kills.told(end)[0] == verdict


@pytest.mark.browser
@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (WHOLE.format("all is well"), None),
        (WHOLE.format("Traceback (most recent call last)"), "traceback"),
        (WHOLE.format("Something in the program has failed. Your file is untouched"), "traceback"),
        (WHOLE.format("<b data-testid=stException>KeyError</b>"), "traceback"),
        (WHOLE.format("<script>console.error('no')</script>"), "wrong"),
        (WHOLE.format("<img src='http://127.0.0.1:9/x.png'>"), "wrong"),
        (WHOLE.replace("notRunning", "running").format(""), "hang"),
    ],
)
def test_what_a_page_may_show(browser: Browser, tmp_path: Path, monkeypatch, content: str, verdict: str | None):
    monkeypatch.setattr("tests.hunt.browser.PATIENCE", 3.0)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    (tmp_path / "server.log").write_text("")
    context = browser.new_context()
    walk = Walk(0, 1, context, "http://127.0.0.1:1/", tmp_path, [])
    walk.page.set_content(content)
    trouble = walk.trouble()
    assert (trouble and trouble[0]) == verdict
    context.close()
