"""The page of the file: the first plan that is uploaded counts, and one action at a time is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import button, no_trouble, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NAMES = ("age", "sex", "region", *(f"q{i}" for i in range(12)))
_MARKS = {"keys": 801, "swapped": 898}  # where the marks lie in the table of columns, in points from its left


def _open(page: Page, folder: Path) -> None:
    rows = [",".join(str((i * (j + 3) + i // (j + 2)) % (3 + j % 3)) for j in range(len(NAMES))) for i in range(300)]
    path = folder / "answers.csv"
    path.write_text("\n".join([",".join(NAMES), *rows]) + "\n")
    page.locator("input[type=file]").first.set_input_files(path)
    button(page, "Next: threat and uses").wait_for()
    settled(page)


def _upload_plan(page: Page, path: Path) -> None:
    button(page, "Plan file").click()
    page.get_by_test_id("stPopoverBody").locator("input[type=file]").set_input_files(path)
    settled(page)
    page.keyboard.press("Escape")


def _done(page: Page, words: str) -> None:
    """Wait until the page says that this was the last action."""
    page.get_by_text(f"Done: {words}").wait_for()
    settled(page)


def _take_back(page: Page) -> None:
    button(page, "Take back").click()


def _toggle(page: Page, row: int, mark: str) -> None:
    """Click on a mark in the table of columns, which is a picture."""
    grid = page.get_by_test_id("stDataFrame").locator(".dvn-scroller")
    grid.click(position={"x": _MARKS[mark], "y": 52 + 35 * row})


def _chip(page: Page, label: str) -> str:
    return page.get_by_test_id("stButtonGroup").get_by_text(f"{label} (").inner_text()


def test_the_first_plan_uploaded_is_used_and_actions_are_taken_back_one_by_one(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path)
    plan = tmp_path / "plan.toml"
    attributes = "\n".join(f'[[attribute]]\nname = "{name}"\n' for name in NAMES[:4])
    carried = ", ".join(f'"{name}"' for name in NAMES[4:])
    plan.write_text(f"[data]\ncarry = [{carried}]\n\n{attributes}\n[space]\nrates = ['0.1']\n")
    _upload_plan(page, plan)
    _done(page, "another plan was loaded")
    page.get_by_text("Columns (15)").click()
    settled(page)
    assert _chip(page, "keys") == "keys (4)" and _chip(page, "carried") == "carried (11)"
    _toggle(page, 0, "keys")
    _done(page, "age is not known to an intruder")
    assert _chip(page, "keys") == "keys (3)", "the chips count what the table says now"
    _toggle(page, 1, "swapped")
    _done(page, "sex is not exchanged")
    assert _chip(page, "swapped") == "swapped (3)"
    _take_back(page)
    _done(page, "age is not known to an intruder")
    assert (_chip(page, "keys"), _chip(page, "swapped")) == ("keys (3)", "swapped (4)")
    _take_back(page)
    _done(page, "another plan was loaded")
    assert _chip(page, "keys") == "keys (4)"
    no_trouble(page)
