"""The day of an analyst with a survey of 300 columns, from the SPSS file to the SPSS file that is released."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from datasets.make_survey import Truth, survey
from tests.browser.analyst import Analyst
from tests.browser.steps import map_drawn

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MOST_DECISIONS, MOST_ACTIONS = 25, 50
KEYS = ("sex", "agegrp", "race4", "marital3", "educ4", "region")


def write_survey(path: Path) -> Truth:
    """The survey as an SPSS file; returns what hangs together in it."""
    from engine.data.io.labelled_writers import write_sav
    from tests.engine.data.io.labelled import arrays_of, labels_of

    table, truth = survey()
    write_sav(path, arrays_of(table), labels_of(table))
    return truth


def test_a_survey_of_300_columns_goes_from_upload_to_release(page: Page, tmp_path: Path) -> None:
    truth = write_survey(tmp_path / "survey.sav")
    analyst = Analyst(page)
    settle_file(analyst, tmp_path / "survey.sav")
    plan_and_sweep(analyst)
    decide(analyst)
    release(analyst, tmp_path / "public.zip")
    print(f"\n{analyst.report()}")
    assert analyst.decisions <= MOST_DECISIONS and analyst.actions <= MOST_ACTIONS
    with zipfile.ZipFile(tmp_path / "public.zip") as bundle:
        (name,) = [name for name in bundle.namelist() if name.endswith("release.sav")]
        (tmp_path / "release.sav").write_bytes(bundle.read(name))
    is_whole(tmp_path / "survey.sav", tmp_path / "release.sav", truth)


def settle_file(analyst: Analyst, path: Path) -> None:
    """Upload the file, say what an intruder knows, take what the records suggest, and live with the warnings."""
    page = analyst.page
    with analyst.step("upload"):
        analyst.upload(path)
        analyst.wait_for(page.get_by_role("button", name="Use these roles"))
    with analyst.step("roles"):
        analyst.pick("Known to an intruder", *KEYS)
        analyst.press("Use these roles")
        analyst.wait_for(page.get_by_role("heading", name="suggestions before the next step"))
    with analyst.step("suggestions"):
        analyst.press("Apply ", decides=True)
        analyst.press("Leave ", decides=True)  # persons are exchanged here, not whole households
        analyst.press("Next: intruder and uses")
        analyst.wait_for(page.get_by_role("heading", name="records in small cells"))


def plan_and_sweep(analyst: Analyst) -> None:
    """Declare the bound, and run the plan as it is proposed."""
    page = analyst.page
    with analyst.step("threat"):
        analyst.click(page.get_by_text("The most useful release within a risk limit"), decides=True)
        box = page.get_by_role("textbox", name="Largest acceptable risk")
        hint = str(box.get_attribute("placeholder"))  # half the risk of doing nothing, which no candidate reaches
        analyst.enter(box, hint.removeprefix("such as "))
        analyst.press("Next: plan the candidates")
        analyst.wait_for(page.get_by_role("heading", name="candidates to try"))
    with analyst.step("sweep"):
        analyst.press("Start the sweep")
        analyst.wait_for(page.get_by_role("heading", name="runs: done"))
        analyst.press("Next: explore the map")
        analyst.wait_for(page.get_by_role("heading", name="within the limit"))


def decide(analyst: Analyst) -> None:
    """Change the bound to the least that can be met, recommend what meets it, check it on fresh runs, and have it
    approved."""
    page = analyst.page
    with analyst.step("choice"):
        map_drawn(page)
        assert "No candidate meets the limit" in page.locator("[data-testid=stAlert]").first.inner_text()
        analyst.enter(page.get_by_label("Why more risk is acceptable"), "none reaches half", leave=False)
        analyst.enter(page.get_by_label("Your name"), "A. Analyst")
        analyst.press("Set the plan's limit to", decides=True)
        analyst.press("Recommend ", decides=True)
        analyst.wait_for(page.get_by_label("Reason, in words", exact=True))
        analyst.enter(page.get_by_label("Reason, in words", exact=True), "the most useful within the limit")
        analyst.press("Record the recommendation")
        analyst.wait_for(page.get_by_text("is recorded as a draft"))
    with analyst.step("fresh runs"):
        analyst.press("Run on fresh replicates")
        analyst.wait_for(page.get_by_role("button", name="Run more of them"))
    with analyst.step("submission"):
        analyst.press("Submit to the board", decides=True)
        analyst.wait_for(page.get_by_label("Who approves", exact=True))
    with analyst.step("approval"):
        analyst.enter(page.get_by_label("Who approves", exact=True), "B. Board")
        analyst.enter(page.get_by_label("Approval number", exact=True), "2026-14")
        analyst.press("Record the approval")
        analyst.wait_for(page.get_by_text("Approved: now"))


def release(analyst: Analyst, path: Path) -> None:
    """Write the public bundle in the format of the file that was read, and fetch it."""
    page = analyst.page
    with analyst.step("export"):
        analyst.click(page.locator("button[kind=primary]"))
        analyst.wait_for(page.get_by_text("SPSS (.sav)"))
        analyst.press("Write the bundle for: public")
        analyst.wait_for(page.get_by_text(re.compile("All bytes were searched|Nothing was written")))
        with page.expect_download() as download:
            analyst.press("Download (zip)")
        download.value.save_as(path)


def is_whole(original: Path, released: Path, truth: Truth) -> None:
    """Every recode of the release is one of the original, and labels and missing codes are the same."""
    import pyreadstat

    before, was = pyreadstat.read_sav(original, user_missing=True)
    after, now = pyreadstat.read_sav(released, user_missing=True)
    assert len(after) == len(before)
    left_out = {*truth.ids, truth.weights[0]}
    assert set(before.columns) - set(after.columns) <= left_out
    for name in after.columns:
        for told in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "variable_measure"):
            assert getattr(now, told).get(name) == getattr(was, told).get(name), (told, name)
        assert sorted(after[name]) == sorted(before[name]), name
    assert len(truth.recodes) >= 30
    for source, recode in truth.recodes:
        pairs = set(zip(before[source], before[recode], strict=True))
        assert set(zip(after[source], after[recode], strict=True)) <= pairs, (source, recode)
    changed = [name for name in after.columns if not after[name].equals(before[name])]
    assert changed
