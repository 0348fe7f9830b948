"""From a risk bound to an approved recommendation, and pinned candidates side by side."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.decision.states import decision_status
from engine.study.study import Study, pins
from tests.browser.steps import (
    at_hand,
    button,
    click_frontier_point,
    id_at_hand,
    map_drawn,
    no_trouble,
    open_at,
    settled,
    submit,
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


def test_from_a_bound_to_an_approval(window: Page, address: str, home: Path):
    at = workspace_with(home, swap_sizes=[1, 2], replicates=12)
    open_at(window, address, at, "explore")
    window.get_by_text("Nothing is recommended yet").wait_for()
    window.get_by_text("Largest acceptable risk, α").click()
    settled(window)
    loose, where = recommended(window), ring(window)
    # Moved with the slider: fewer, so another candidate is the best; typed: the ring keeps to the bound.
    slider = window.get_by_role("slider").first
    slider.focus()
    for _ in range(3):
        slider.press("PageDown")
    settled(window)
    moved = window.get_by_label("Largest acceptable risk", exact=True).last
    bound = float(moved.input_value())
    assert ring(window)[1] <= bound + 1e-9
    typed = round(bound * 0.6, 5)
    moved.fill(f"{typed}")
    moved.press("Enter")
    settled(window)
    tight, here = recommended(window), ring(window)
    assert tight != loose and here[1] <= typed < where[1] and here[0] > where[0]

    visit(window, "recommend")
    window.get_by_text("The most useful release within a risk bound").click()
    settled(window)
    window.get_by_label("Who recommends it", exact=True).fill("A. Analyst")
    window.get_by_label("Reason, in words", exact=True).fill("the most useful within the bound")
    window.get_by_label("Reason, in words", exact=True).press("Control+Enter")
    settled(window)
    button(window, "Record the recommendation").click()
    window.get_by_text(re.compile(rf"The recommendation of .*\({tight}\) is recorded as a draft")).wait_for()
    assert button(window, "Submit to the board").is_disabled()  # not before fresh replicates
    window.get_by_label("Fresh runs of each, in all").fill("100")
    window.get_by_label("Fresh runs of each, in all").press("Enter")
    settled(window)
    button(window, "Run on fresh replicates").click()
    button(window, "Run more of them").wait_for()
    submit(window, "A. Analyst")
    window.get_by_label("Who approves", exact=True).fill("B. Board")
    window.get_by_label("Approval number", exact=True).fill("2026-14")
    window.get_by_label("Conditions, if any", exact=True).fill("no second release within the year")
    button(window, "Record the approval").click()
    window.get_by_text("Approved: now").wait_for()
    no_trouble(window)
    with Study.open(at.folder / "study-1.study") as study:
        status = decision_status(study)
    assert status.state == "approved" and status.number == "2026-14" and status.choice is not None
    assert status.choice.label == tight and status.conditions == "no second release within the year"


def test_the_candidate_at_hand_stays_when_its_letter_goes(window: Page, address: str, home: Path):
    open_at(window, address, workspace_with(home), "explore")
    window.get_by_text("Largest acceptable risk, α").click()
    settled(window)
    box = window.get_by_role("combobox", name="Candidate", exact=True)
    box.click()
    window.get_by_role("option").filter(has_text=re.compile("^B  ")).click()
    settled(window)
    label = id_at_hand(window)
    assert at_hand(window).startswith("B  ")
    use = window.get_by_role("combobox", name="Use", exact=True)
    use.click()
    window.get_by_role("option", name="Total variation distance").click()
    window.get_by_text("Nothing is recommended yet").wait_for()  # a bound belongs to the measures that it was set for
    settled(window)
    assert id_at_hand(window) == label and not at_hand(window).startswith("B  ")
    no_trouble(window)


def test_pinned_candidates_are_compared_side_by_side(window: Page, address: str, home: Path):
    at = workspace_with(home)
    open_at(window, address, at, "explore")
    click_frontier_point(window)
    first = id_at_hand(window)
    button(window, "Pin").first.click()
    window.get_by_label("Name", exact=True).fill("mine")
    button(window, "Pin it").click()
    button(window, "Pinned").wait_for()
    visit(window, "compare")
    window.get_by_role("combobox", name="Pin another candidate").click()
    window.get_by_role("option").last.click()
    window.wait_for_function("() => document.querySelectorAll('[class*=st-key-pin-in-]').length == 2")
    settled(window)
    window.get_by_label(f"Note on {first}", exact=True).fill("holds the totals")
    window.get_by_label(f"Note on {first}", exact=True).press("Enter")
    settled(window)
    table = window.locator(".sf-side").first
    said = table.inner_text()
    assert "mine" in said and "holds the totals" in said and "doing nothing" in said
    # Another reference: the pinned one is then what the others are compared with.
    window.get_by_role("combobox", name="Compared with").click()
    window.get_by_role("option", name="mine").click()
    settled(window)
    assert re.search(r"mine\s+reference", table.inner_text())
    assert re.search("clearly (better|worse)|within noise", table.inner_text())
    # Both are in the study, so they are there after leaving and coming back.
    visit(window, "glossary")
    visit(window, "compare")
    window.get_by_label(f"Name of {first}", exact=True).wait_for()
    with Study.open(at.folder / "study-1.study") as study:
        kept = pins(study)
    assert len(kept) == 2 and {(one.label, one.name, one.note) for one in kept if one.name} == {
        (first, "mine", "holds the totals")
    }
    no_trouble(window)
