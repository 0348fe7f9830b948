"""A person's own file: uploaded, proposed, swept, chosen and exported, with its labels."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import (
    button,
    click_frontier_point,
    map_drawn,
    no_trouble,
    plan_few,
    run_sweep,
    settled,
    visit,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LABELS = {
    "sex": {1.0: "female", 2.0: "male"},
    "region": {1.0: "north", 2.0: "south", 3.0: "east", 4.0: "west"},
    "work": {1.0: "office", 2.0: "field", 3.0: "none", 9.0: "refused"},
}
TITLES: dict[str, str | None] = {
    "sex": "Sex of respondent",
    "region": "Region of residence",
    "work": "Kind of work",
    "age": "Age group",
}


def people() -> list[tuple[str, str, str, str]]:
    """Sex, region, work and age group of 600 people."""
    return [
        (
            ("f", "m")[i * 7 % 11 % 2],
            ("north", "south", "east", "west")[i * i % 13 % 4],
            ("office", "field", "none")[(i // 5 + i * 3) % 7 % 3],
            str(20 + (i * 37 + i // 9) % 60 // 10 * 10),
        )
        for i in range(600)
    ]


def write_csv(path: Path) -> list[tuple[str, ...]]:
    """The people with a column to carry."""
    rows: list[tuple[str, ...]] = [(*row, f"note {i % 4}") for i, row in enumerate(people())]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("sex", "region", "work", "age", "note"), *rows])
    return rows


def write_spss(path: Path) -> None:
    """The people with value labels, titles and a code for a refused answer that is declared missing."""
    import pandas as pd
    import pyreadstat

    codes = {
        name: {word[0] if name == "sex" else word: code for code, word in labels.items()}
        for name, labels in LABELS.items()
    }
    frame = pd.DataFrame(
        [
            (codes["sex"][sex], codes["region"][region], 9.0 if i % 97 == 0 else codes["work"][work], float(age))
            for i, (sex, region, work, age) in enumerate(people())
        ],
        columns=["sex", "region", "work", "age"],
    )
    pyreadstat.write_sav(
        frame, path, column_labels=TITLES, variable_value_labels=LABELS, missing_ranges={"work": [9.0]}
    )


def choose(page: Page) -> None:
    """From a finished sweep to a recorded recommendation of the candidate clicked on the map."""
    button(page, "Next: explore the map").click()
    click_frontier_point(page)
    button(page, "Recommend this one").click()
    page.get_by_label("Who recommends it", exact=True).fill("A. Analyst")
    page.get_by_label("Reason, in words", exact=True).fill("least harm among the safe ones")
    page.get_by_label("Reason, in words", exact=True).press("Control+Enter")
    settled(page)
    button(page, "Record the recommendation").click()
    page.get_by_text("is recorded as a draft").wait_for()


def export(page: Page, folder: Path) -> zipfile.ZipFile:
    """The analyst's bundle, downloaded."""
    visit(page, "release")
    button(page, "Write the bundle for: analyst").click()
    page.get_by_text(re.compile("All bytes were searched|Nothing was written")).wait_for()
    no_trouble(page)
    with page.expect_download() as download:
        button(page, "Download (zip)").click()
    download.value.save_as(folder / "analyst.zip")
    return zipfile.ZipFile(folder / "analyst.zip")


def member(whole: zipfile.ZipFile, name: str) -> bytes:
    """The one file of the archive of that name."""
    (found,) = [one for one in whole.namelist() if one.rpartition("/")[2] == name]
    return whole.read(found)


def test_from_a_file_to_its_release(page: Page, tmp_path: Path):
    path = tmp_path / "people.csv"
    original = write_csv(path)
    page.locator("input[type=file]").first.set_input_files(path)
    button(page, "Next: threat and uses").wait_for()
    assert "people" not in page.url and re.search(r"w=[\w-]{22}", page.url)
    visit(page, "plan")
    plan_few(page, "5, 20", 10)
    page.get_by_text("What this amounts to").wait_for()
    button(page, "Next: run the sweep").click()
    button(page, "Start the sweep").click()
    page.wait_for_timeout(500)
    page.reload()  # a sweep is found again
    page.get_by_text("Finished:").wait_for()
    map_drawn(page)
    choose(page)
    with export(page, tmp_path) as whole:
        released = list(csv.reader(io.StringIO(member(whole, "release.csv").decode())))
        assert any("manifest" in name for name in whole.namelist())
    assert released[0] == ["sex", "region", "work", "age", "note"]
    rows = [tuple(row) for row in released[1:]]
    assert len(rows) == len(original)
    for j in range(5):
        assert Counter(row[j] for row in rows) == Counter(row[j] for row in original)
    assert Counter(rows) != Counter(original)


def test_an_spss_file_comes_back_with_its_labels(page: Page, tmp_path: Path):
    import pyreadstat

    path = tmp_path / "survey.sav"
    write_spss(path)
    page.locator("input[type=file]").first.set_input_files(path)
    button(page, "Next: threat and uses").wait_for()
    settled(page)
    visit(page, "plan")
    plan_few(page, "10", 10)
    visit(page, "sweep")
    run_sweep(page)
    choose(page)
    visit(page, "release")
    page.get_by_text("SPSS (.sav)").wait_for()  # the format of the file that was read is proposed
    with export(page, tmp_path) as whole:
        (tmp_path / "release.sav").write_bytes(member(whole, "release.sav"))
    before, was = pyreadstat.read_sav(path, user_missing=True)
    after, now = pyreadstat.read_sav(tmp_path / "release.sav", user_missing=True)
    assert list(after.columns) == list(before.columns) and len(after) == len(before)
    assert now.variable_value_labels == was.variable_value_labels == LABELS
    assert now.column_names_to_labels == was.column_names_to_labels == TITLES
    assert now.missing_ranges == was.missing_ranges
    for name in before.columns:
        assert Counter(after[name]) == Counter(before[name])
    assert Counter(map(tuple, after.to_numpy())) != Counter(map(tuple, before.to_numpy()))
