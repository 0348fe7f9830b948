"""Last year's plan on this year's file, in a browser: few decisions, little time, and no dead end."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.browser.steps import button, no_trouble, settled, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from engine.data.microdata import RawColumn

pytestmark = [pytest.mark.browser, pytest.mark.slow]
GONE = ("owner", "hours5")  # one is carried, one belongs to the block of an attribute
NEW = {"heat_pump": ("Has a heat pump", 2), "remote": ("Days worked from home", 6), "pet": ("Kind of pet", 4)}
MOST_DECISIONS, MOST_SECONDS = 5, 180


def this_year(folder: Path) -> tuple[Path, Path]:
    """An SPSS file made from the survey's: two columns gone, three new, a level and a code for missing answers that are
    new; and the plan of the survey as it was."""
    import pyarrow as pa

    from engine.data.io import labelled_writers
    from engine.data.microdata import ColumnLabels, RawColumn
    from engine.plan import plan_to_toml, samples

    raw, plan = samples.load("survey")
    columns = {name: column for name, column in raw.columns.items() if name not in GONE}
    columns["marital3"] = _with_value(columns["marital3"], 4, "Registered partners", every=97)
    columns["educ4"] = _with_value(columns["educ4"], -7, "Not stated", every=53)
    rng = np.random.default_rng(1)
    for name, (label, n_values) in NEW.items():
        values = pa.array(range(1, n_values + 1))
        codes = rng.integers(0, n_values, raw.n_records).astype(np.int32)
        columns[name] = RawColumn(name, values, codes, ColumnLabels(label))
    written = {c.name: c.values.take(pa.array(c.codes, mask=c.codes < 0)) for c in columns.values()}
    labelled_writers.write_sav(folder / "this_year.sav", written, {c.name: c.about for c in columns.values()})
    (folder / "last_year.toml").write_text(plan_to_toml(plan), encoding="utf-8")
    return folder / "this_year.sav", folder / "last_year.toml"


def _with_value(column: RawColumn, value: int, label: str, every: int) -> RawColumn:
    """A column in which every so manieth record has a new labelled value."""
    import pyarrow as pa

    values = pa.array([*column.values.to_pylist(), value])
    codes = column.codes.copy()
    codes[::every] = len(values) - 1
    about = replace(column.about, values=(*column.about.values, (str(value), label)))
    return replace(column, values=values, codes=codes, about=about)


def test_last_years_plan_is_fitted_to_this_years_file(page: Page, tmp_path: Path) -> None:
    data, plan = this_year(tmp_path)
    page.locator("input[type=file]").first.set_input_files(data)
    button(page, "Next: threat and uses").wait_for()
    settled(page)
    begin = time.monotonic()
    button(page, "Plan file").click()
    page.locator("input[type=file]").first.set_input_files(plan)
    page.get_by_text("Does not fit (7)").wait_for()
    settled(page)
    onward = button(page, "Next: threat and uses")
    assert onward.is_disabled()
    for name in (*GONE, *NEW):
        page.get_by_text(f"Column '{name}'").wait_for()
    decisions = 0
    for answer, left in (
        ("Take all out of the plan", 5),
        ("Drop all", 2),
        ("It means missing", 1),
        ("Accept it as", 0),
    ):
        button(page, answer).first.click()
        page.get_by_text(f"Does not fit ({left})" if left else "What an intruder could single out").wait_for()
        settled(page)
        no_trouble(page)
        decisions += 1
    seconds = time.monotonic() - begin
    print(f"{decisions} decisions, {decisions + 2} actions, {seconds:.1f} s")
    assert decisions <= MOST_DECISIONS and seconds <= MOST_SECONDS
    assert page.get_by_text("Does not fit").count() == 0
    onward.click()
    page.get_by_role("heading", name="Threat and uses").wait_for()
    settled(page)
    no_trouble(page)


def test_no_page_ends_in_a_dead_end_before_the_plan_fits(page: Page, tmp_path: Path) -> None:
    data, plan = this_year(tmp_path)
    page.locator("input[type=file]").first.set_input_files(data)
    button(page, "Next: threat and uses").wait_for()
    settled(page)
    button(page, "Plan file").click()
    page.locator("input[type=file]").first.set_input_files(plan)
    page.get_by_text("Does not fit (7)").wait_for()
    settled(page)
    for name, back in (("threat", "Back to the data"), ("plan", "Back to the data"), ("sweep", "Settle it under File")):
        visit(page, name)
        button(page, back).click()
        page.get_by_text("Does not fit (7)").wait_for()
        settled(page)
