"""A census of persons in households, in a browser: from its file to an approved export with whole households."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.plan.samples import write
from tests.browser.steps import PATIENCE, button, click_frontier_point, enter, no_trouble, run_sweep, settled, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PLACES = ("region", "district", "municipality")
LEFT_OUT = ("age", "education", "work", "tenure", "origin")  # fewer columns, so that the attacks take less
Rows = list[dict[str, str]]


def read(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


def small_census(folder: Path) -> tuple[Path, Rows]:
    """The sample with fewer columns, as a file of its own."""
    write("census", folder / "whole.csv")
    rows = read((folder / "whole.csv").read_text(encoding="utf-8"))
    names = [name for name in rows[0] if name not in LEFT_OUT]
    with (folder / "census.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return folder / "census.csv", rows


def households(rows: Rows) -> dict[str, Rows]:
    members: dict[str, Rows] = {}
    for row in rows:
        members.setdefault(row["household"], []).append(row)
    return members


def recommend(page: Page) -> None:
    """From the map to an approved recommendation."""
    button(page, "Next: explore the map").click()
    click_frontier_point(page)
    button(page, "Recommend this one").click()
    page.get_by_label("Who recommends it", exact=True).fill("A. Analyst")
    page.get_by_label("Reason, in words", exact=True).fill("households stay whole")
    page.get_by_label("Reason, in words", exact=True).press("Control+Enter")
    settled(page)
    button(page, "Record the recommendation").click()
    page.get_by_text("is recorded as a draft").wait_for()
    page.get_by_label("Fresh runs of each, in all").fill("10")
    page.get_by_label("Fresh runs of each, in all").press("Enter")
    settled(page)
    button(page, "Run on fresh replicates").click()
    button(page, "Run more of them").wait_for(timeout=3 * PATIENCE)
    page.get_by_label("Who submits it to the board", exact=True).fill("A. Analyst")
    button(page, "Submit to the board").click()
    page.get_by_label("Who approves", exact=True).fill("B. Board")
    page.get_by_label("Approval number", exact=True).fill("2026-31")
    button(page, "Record the approval").click()
    page.get_by_text("Approved: now").wait_for()


def public_release(page: Page, folder: Path) -> Rows:
    """The rows of the public file, downloaded."""
    visit(page, "release")
    page.get_by_text("Public", exact=True).last.click()
    settled(page)
    page.get_by_test_id("stMain").get_by_role("button", name="Write the bundle").click()
    page.get_by_text(re.compile("All bytes were searched|Nothing was written")).wait_for(timeout=3 * PATIENCE)
    no_trouble(page)
    with page.expect_download() as download:
        button(page, "Download (zip)").click()
    download.value.save_as(folder / "public.zip")
    with zipfile.ZipFile(folder / "public.zip") as whole:
        return read(whole.read(next(n for n in whole.namelist() if n.endswith("release.csv"))).decode())


def test_a_census_goes_from_its_file_to_an_approved_export(page: Page, tmp_path: Path) -> None:
    path, original = small_census(tmp_path)
    page.locator("input[type=file]").first.set_input_files(path)
    button(page, "Next: threat and uses").wait_for()
    settled(page)
    # File: the column that numbers households is suggested; then the page asks for the places and proposes them.
    page.get_by_text(re.compile("'household' numbers households")).wait_for()
    button(page, "Accept").first.click()
    page.get_by_text("Done: 1 number of households accepted.").wait_for()
    settled(page)
    page.get_by_test_id("stButtonGroup").get_by_text("Households (1)", exact=True).click()
    button(page, "Exchange whole households between these places").click()
    settled(page)
    no_trouble(page)
    visit(page, "threat")
    page.get_by_text("Households and places (household; region > district > municipality)").wait_for()
    page.get_by_text("new numbers of households", exact=False).first.click()
    settled(page)
    visit(page, "plan")
    enter(page, "Households that exchange their place, in percent", "5")
    enter(page, "Replicates of each", "10")
    page.get_by_text("What this amounts to").wait_for()
    assert page.get_by_text("Random swap of attributes").is_visible()
    visit(page, "sweep")
    run_sweep(page)
    recommend(page)
    visit(page, "compare")
    page.get_by_text("One candidate, before and after").click()
    settled(page)
    page.get_by_test_id("stButtonGroup").get_by_text("Places", exact=True).click()
    page.get_by_text("the areas with the largest change come first").wait_for()
    no_trouble(page)

    released = public_release(page, tmp_path)
    before, after = households(original), households(released)
    assert len(released) == len(original) and len(before) == len(after)
    assert not set(before) & set(after), "households have new numbers"
    for members in after.values():
        assert len({tuple(row[name] for name in PLACES) for row in members}) == 1
        assert {row["hhsize"] for row in members} == {str(len(members))}
    for name in PLACES:
        assert Counter(row[name] for row in released) == Counter(row[name] for row in original)
        assert Counter(m[0][name] for m in after.values()) == Counter(m[0][name] for m in before.values())
    within = [name for name in released[0] if name not in ("household", *PLACES)]

    def alike(of: dict[str, Rows]) -> Counter[tuple[tuple[str, ...], ...]]:
        return Counter(tuple(sorted(tuple(row[n] for n in within) for row in members)) for members in of.values())

    assert alike(before) == alike(after), "everything without geography is as it was"
    rows = [tuple(row[name] for name in (*PLACES, *within)) for row in released]
    assert Counter(rows) != Counter(tuple(row[name] for name in (*PLACES, *within)) for row in original)
