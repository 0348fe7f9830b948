"""From a risk bound to an approved recommendation, and pinned candidates side by side."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.decision.states import decision_status
from engine.study.pins import pins
from engine.study.study import Study
from tests.browser.steps import (
    at_hand,
    button,
    click_frontier_point,
    id_at_hand,
    map_drawn,
    no_trouble,
    open_at,
    settled,
    visit,
    workspace_with,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def recommended(page: Page) -> str:
    """The candidate that the page says is recommended."""
    said = page.get_by_text(re.compile(r"is recommended: ")).first.inner_text()
    found = re.search(r"\((x\w+)\) is recommended", said)
    assert found, said
    return found.group(1)


def ring(page: Page) -> list[float]:
    """Where the map has the ring of the recommendation, in the measures' own units."""
    map_drawn(page)
    place: list[float] = page.evaluate(
        """() => { const t = document.querySelector('.js-plotly-plot')._fullData.find(
            t => t.mode == 'markers' && t.marker.size === 24 && t.x.length == 1); return [t.x[0], t.y[0]]; }"""
    )
    return place


def test_from_a_bound_to_an_approval(page: Page, address: str, home: Path):
    at = workspace_with(home, swap_sizes=[1, 2], replicates=12)
    open_at(page, address, at, "explore")
    page.get_by_text("Nothing is recommended yet").wait_for()
    page.get_by_text("Largest acceptable risk, α").click()
    settled(page)
    loose, where = recommended(page), ring(page)
    # Moved with the slider: fewer, so another candidate is the best; typed: the ring keeps to the bound.
    slider = page.get_by_role("slider").first
    slider.focus()
    for _ in range(3):
        slider.press("PageDown")
    settled(page)
    moved = page.get_by_label("Largest acceptable risk", exact=True).last
    bound = float(moved.input_value())
    assert ring(page)[1] <= bound + 1e-9
    typed = round(bound * 0.6, 5)
    moved.fill(f"{typed}")
    moved.press("Enter")
    settled(page)
    tight, here = recommended(page), ring(page)
    assert tight != loose and here[1] <= typed < where[1] and here[0] > where[0]

    visit(page, "recommend")
    page.get_by_text("The most useful release within a risk bound").click()
    settled(page)
    page.get_by_label("Who recommends it", exact=True).fill("A. Analyst")
    page.get_by_label("Reason, in words", exact=True).fill("the most useful within the bound")
    page.get_by_label("Reason, in words", exact=True).press("Control+Enter")
    settled(page)
    button(page, "Record the recommendation").click()
    page.get_by_text(re.compile(rf"The recommendation of .*\({tight}\) is recorded as a draft")).wait_for()
    assert button(page, "Submit to the board").is_disabled()  # not before fresh replicates
    page.get_by_label("Fresh runs of each, in all").fill("20")
    page.get_by_label("Fresh runs of each, in all").press("Enter")
    settled(page)
    button(page, "Run on fresh replicates").click()
    button(page, "Run more of them").wait_for()
    settled(page)
    page.get_by_label("Who submits it to the board", exact=True).fill("A. Analyst")
    button(page, "Submit to the board").click()
    page.get_by_label("Who approves", exact=True).fill("B. Board")
    page.get_by_label("Approval number", exact=True).fill("2026-14")
    page.get_by_label("Conditions, if any", exact=True).fill("no second release within the year")
    button(page, "Record the approval").click()
    page.get_by_text("Approved: now").wait_for()
    no_trouble(page)
    with Study.open(at.folder / "study-1.study") as study:
        status = decision_status(study)
    assert status.state == "approved" and status.number == "2026-14" and status.choice is not None
    assert status.choice.label == tight and status.conditions == "no second release within the year"


def test_the_candidate_at_hand_stays_when_its_letter_goes(page: Page, address: str, home: Path):
    open_at(page, address, workspace_with(home), "explore")
    page.get_by_text("Largest acceptable risk, α").click()
    settled(page)
    box = page.get_by_role("combobox", name="Candidate", exact=True)
    box.click()
    page.get_by_role("option").filter(has_text=re.compile("^B  ")).click()
    settled(page)
    label = id_at_hand(page)
    assert at_hand(page).startswith("B  ")
    use = page.get_by_role("combobox", name="Use", exact=True)
    use.click()
    page.get_by_role("option", name="Total variation distance").click()
    page.get_by_text("Nothing is recommended yet").wait_for()  # a bound belongs to the measures that it was set for
    settled(page)
    assert id_at_hand(page) == label and not at_hand(page).startswith("B  ")
    no_trouble(page)


def test_pinned_candidates_are_compared_side_by_side(page: Page, address: str, home: Path):
    at = workspace_with(home)
    open_at(page, address, at, "explore")
    click_frontier_point(page)
    first = id_at_hand(page)
    button(page, "Pin").first.click()
    page.get_by_label("Name", exact=True).fill("mine")
    button(page, "Pin it").click()
    button(page, "Pinned").wait_for()
    visit(page, "compare")
    page.get_by_role("combobox", name="Pin another candidate").click()
    page.get_by_role("option").last.click()
    page.wait_for_function("() => document.querySelectorAll('[class*=st-key-pin-in-]').length == 2")
    settled(page)
    page.get_by_label(f"Note on {first}", exact=True).fill("holds the totals")
    page.get_by_label(f"Note on {first}", exact=True).press("Enter")
    settled(page)
    table = page.locator(".sf-side").first
    said = table.inner_text()
    assert "mine" in said and "holds the totals" in said and "doing nothing" in said
    # Another reference: the pinned one is then what the others are compared with.
    page.get_by_role("combobox", name="Compared with").click()
    page.get_by_role("option", name="mine").click()
    settled(page)
    assert re.search(r"mine\s+reference", table.inner_text())
    assert re.search("clearly (better|worse)|within noise", table.inner_text())
    # Both are in the study, so they are there after leaving and coming back.
    visit(page, "glossary")
    visit(page, "compare")
    page.get_by_label(f"Name of {first}", exact=True).wait_for()
    with Study.open(at.folder / "study-1.study") as study:
        kept = pins(study)
    assert len(kept) == 2 and {(one.label, one.name, one.note) for one in kept if one.name} == {
        (first, "mine", "holds the totals")
    }
    no_trouble(page)
