"""Every page for everybody: structure by axe, in light and dark, and nothing to scroll sideways at 1280 pixels.

Contrast of text and marks is also checked by figures, in tests/frontier_app/charts/test_contrast.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from engine.cli.main import main
from tests.browser.steps import PAGES, PATIENCE, dashboard, every_page, open_at, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from frontier_app.session.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SERIOUS = {"serious", "critical"}
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@dataclass(frozen=True)
class Known:
    """A fault of Streamlit's or Plotly's own parts, which nothing here can change: rule, where, and why."""

    rule: str
    within: str
    why: str


KNOWN: tuple[Known, ...] = ()


def unhappy(page: Page) -> list[str]:
    """What axe finds serious or critical on the page as it is, except :data:`KNOWN`; one line for each element."""
    from axe_playwright_python.sync_playwright import Axe

    # What was loaded for the page before is still there, unless this one was loaded anew.
    axe = Axe("") if page.evaluate("() => 'axe' in window") else Axe()
    found: dict[str, Any] = axe.run(page, options={"resultTypes": ["violations"]}).response
    said = []
    for fault in found["violations"]:
        if fault["impact"] not in SERIOUS:
            continue
        for node in fault["nodes"]:
            where = " ".join(map(str, node["target"]))
            excused = [one for one in KNOWN if one.rule == fault["id"]]
            if not any(page.locator(where).first.evaluate("(e, s) => !!e.closest(s)", one.within) for one in excused):
                said.append(f"{fault['id']}: {where}: {node['html'][:160]}: {node['failureSummary'][:200]}")
    return said


def wide(page: Page) -> list[str]:
    """What makes the page wider than its window."""
    found: list[str] = page.evaluate(
        """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]'),
                  document.querySelector('[data-testid=stMainBlockContainer]')]
            .filter(e => e.scrollWidth > Math.min(e.clientWidth, innerWidth)).map(e => e.outerHTML.slice(0, 80))"""
    )
    return found


@pytest.fixture(params=_SCHEMES)
def scheme(request: pytest.FixtureRequest) -> Literal["light", "dark"]:
    shown: Literal["light", "dark"] = request.param
    return shown


@pytest.fixture
def themed(scheme: Literal["light", "dark"], window: Page) -> Page:
    window.set_viewport_size({"width": 1280, "height": 800})
    window.emulate_media(color_scheme=scheme)
    return window


def pale(page: Page) -> list[str]:
    """Icons of filled buttons that have another colour than the words beside them, which are readable."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid^=stBaseButton-primary]:not(:disabled)')].filter(e => {
            const [icon, words] = ['[data-testid=stIconMaterial]', 'p'].map(css => e.querySelector(css));
            return icon && words && getComputedStyle(icon).color !== getComputedStyle(words).color;
        }).map(e => `pale icon: ${e.innerText}`)"""
    )
    return found


def faults(page: Page, name: str, scheme: str) -> list[str]:
    """What is wrong with the page as it is in a scheme, each with the page's name."""
    page.wait_for_timeout(400)  # fades end before colours are judged
    settled(page)
    return [f"{name}, {scheme}: {said}" for said in (*unhappy(page), *wide(page), *pale(page))]


def test_every_page_with_nothing_open(themed: Page, address: str, scheme: str):
    themed.goto(address)
    themed.get_by_test_id("stHeading").first.wait_for()
    found = faults(themed, "data", scheme)
    for name, title in list(PAGES.items())[1:]:
        themed.get_by_test_id("stHeader").get_by_role("link", name=title, exact=True).click()
        themed.wait_for_function(f"() => location.pathname === '/{name}'")
        found += faults(themed, name, scheme)
    assert not found, "\n".join(found)


def test_every_page_with_a_study(themed: Page, address: str, scheme: str, decided: Workspace):
    found = []
    for name in every_page(themed, address, decided):
        if name == "explore":
            themed.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?.range")
        found += faults(themed, name, scheme)
        if name == "compare":
            themed.get_by_text("Associations", exact=True).click()
            found += faults(themed, "one candidate", scheme)
    assert not found, "\n".join(found)


def test_the_form_of_a_pin_is_readable(themed: Page, address: str, scheme: str, decided: Workspace):
    """What opens over the page lies outside of the page's own colours."""
    open_at(themed, address, decided, "explore")
    themed.get_by_role("button", name="Pin").first.click()
    themed.get_by_test_id("stPopoverBody").get_by_label("Name").wait_for()
    found = faults(themed, "pin", scheme)
    assert not found, "\n".join(found)


def test_a_map_keeps_up_with_the_theme_and_is_told_whole_pixels(themed: Page, address: str, decided: Workspace):
    """Nothing is drawn anew when the theme changes, so the figure's ink has to be the page's."""
    open_at(themed, address, decided, "explore")
    themed.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.width")
    of = "([query, name]) => getComputedStyle(document.querySelector(query))[name]"
    light, dark = "rgb(16, 21, 26)", "rgb(232, 234, 237)"
    for ink in (light, dark, light):
        themed.emulate_media(color_scheme="light" if ink == light else "dark")
        themed.wait_for_function(
            "ink => getComputedStyle(document.querySelector('.stApp')).color === ink", arg=ink, timeout=PATIENCE
        )
        assert {themed.evaluate(of, [f".js-plotly-plot {one}", "fill"]) for one in (".xtick text", ".xtitle")} == {ink}
    width = themed.evaluate("() => document.querySelector('.js-plotly-plot')._fullLayout.width")
    assert width == int(width)


def test_the_board_with_a_bundle_alone(
    browser: Browser, decided: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    study = str(decided.folder / "study-1.study")
    asked = ["export", study, "--data", "czech", "--out", str(tmp_path / "out"), "--tier", "board"]
    assert main(asked) == 0, capsys.readouterr().err
    (bundle,) = [path.parent for path in (tmp_path / "out").rglob("board.json")]
    found: list[str] = []
    with dashboard(tmp_path, tmp_path / "home", str(bundle)) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        for one in _SCHEMES:
            page.emulate_media(color_scheme=one)
            page.goto(address)
            page.get_by_role("heading", name="Largest changes").wait_for()
            found += faults(page, "board", one)
        page.close()
    assert not found, "\n".join(found)
