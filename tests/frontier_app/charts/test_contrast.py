"""Contrast by figures, after WCAG 2.2: text at 4.5:1 or better on its ground, marks at 3:1, in both themes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from frontier_app.charts import style
from frontier_app.charts.style import COLOURS, INK, QUIET
from frontier_app.session.settings import CONTRAST_CSS
from tests.frontier_app.contrast import GROUNDS, INKS, contrast

ROOT = Path(__file__).resolve().parents[3]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
SIDES = {"light": 0, "dark": 1}
STYLED = sorted((ROOT / "frontier_app").rglob("*.py"))
_PAIR = re.compile(r"(?<!-)\bcolor: light-dark\((#[0-9A-Fa-f]{6}), (#[0-9A-Fa-f]{6})\)")


def blend(colour: str, ground: str, share: float) -> str:
    """A colour with some transparency as it looks on its ground."""
    mixed = (round(share * int(colour[i : i + 2], 16) + (1 - share) * int(ground[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02X}" for part in mixed)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("what", ["textColor", "linkColor", "primaryColor"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
def test_text_of_the_theme_is_readable_on_both_grounds(side: str, what: str, ground: str):
    assert contrast(THEME[side][what], THEME[side][ground]) >= 4.5


@pytest.mark.parametrize("side", SIDES)
def test_the_words_on_a_filled_button_are_readable(side: str):
    light, dark = re.findall(r"stBaseButton-primary.*?light-dark\((#\w+), (#\w+)\)", CONTRAST_CSS, re.DOTALL)[0]
    assert contrast((light, dark)[SIDES[side]], THEME[side]["primaryColor"]) >= 4.5


@pytest.mark.parametrize("side", SIDES)
def test_captions_and_the_chosen_of_several_buttons_are_readable(side: str):
    own = THEME[side]
    # Streamlit writes captions with the text's colour at 60 %.
    assert contrast(blend(own["textColor"], own["backgroundColor"], 0.6), own["backgroundColor"]) >= 4.5
    found = re.findall(r"segmented_controlActive.*?light-dark\((#\w+), (#\w+)\)", CONTRAST_CSS, re.DOTALL)
    chosen = found[0][SIDES[side]]
    for tint in (0.1, 0.2):  # at rest, and while it has the focus
        assert contrast(chosen, blend(own["primaryColor"], own["backgroundColor"], tint)) >= 4.5


def test_the_map_knows_the_grounds_and_the_ink_of_the_theme():
    assert tuple(THEME[side]["backgroundColor"].upper() for side in SIDES) == tuple(g.upper() for g in GROUNDS)
    assert tuple(THEME[side]["textColor"].upper() for side in SIDES) == tuple(ink.upper() for ink in INKS)
    assert INKS[0] == INK


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES)
def test_marks_of_the_map_stand_out_and_its_words_are_readable(side: int):
    for colour in (*COLOURS, QUIET):
        assert contrast(colour, GROUNDS[side]) >= 3.0, colour
    assert contrast(INKS[side], GROUNDS[side]) >= 7.0
    assert contrast(COLOURS[0] if not side else THEME["dark"]["primaryColor"], GROUNDS[side]) >= 3.0


@pytest.mark.parametrize(
    "path", [p for p in STYLED if _PAIR.search(p.read_text(encoding="utf-8"))], ids=lambda p: p.name
)
def test_colours_of_own_tables_are_readable_in_both_themes(path: Path):
    for light, dark in _PAIR.findall(path.read_text(encoding="utf-8")):
        if {light, dark} == {"#FFFFFF", "#10151A"}:
            continue  # words on a filled button, checked above
        assert contrast(light, GROUNDS[0]) >= 4.5, light
        assert contrast(dark, GROUNDS[1]) >= 4.5, dark


def test_marks_are_told_apart_without_colour():
    looks = [style.look_of(i) for i in range(len(COLOURS))]
    assert len({shape for _, shape in looks}) == len(looks)


def test_what_opens_over_the_page_has_the_scheme_of_the_page():
    """Streamlit gives its scheme to the page alone; without one, `light-dark` is light in a dark window."""
    assert ":root {color-scheme: light dark;}" in CONTRAST_CSS


def test_a_list_that_cannot_be_changed_is_not_written_like_a_filled_button():
    found = re.findall(r"\[data-tag\]:not\(:has\(button\)\) \{color: light-dark\((#\w+), (#\w+)\)", CONTRAST_CSS)
    assert [tuple(one) for one in found] == [INKS]
