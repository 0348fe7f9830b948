"""What no page says: an option of the command line, a change of minus nothing, an improvement by nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import frontier_app
from engine.mechanisms import mechanism, names
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card
from frontier_app.wording import mechanisms, text
from tests.frontier_app.pages.test_compare import difference
from tests.frontier_app.pages.test_next_step import blue, brought_to
from tests.frontier_app.pages.test_pages import PAGES, app
from tests.frontier_app.wording.test_mechanisms import spec

_ROOT = Path(frontier_app.__file__).parent
_OPTION = re.compile(r"(?<![\w-])--[a-z]")
_MINUS_NOTHING = re.compile(r"(?<!\w)[-−]0\.0+(?!\d)")
_NO_PROSE = ("plotly_chart", "arrow_data_frame", "imgs")


def shown(made: AppTest) -> str:
    """Every text on a page; figures and tables aside, whose numbers are formatted in the browser."""
    return "\n".join(
        str(element.proto)
        for element in made.main
        if hasattr(element, "proto") and element.type not in _NO_PROSE and "<style>" not in str(element.proto)
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_on_a_study_a_page_works_has_one_next_step_and_shows_no_option_and_no_change_of_minus_nothing(
    page: str, swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pydeck", None)  # maps of places are drawn without it, as in the demo
    at = swept(risk="small_cells", utility="hellinger", max_risk="0.0025")
    brought_to(at, "rerun")
    made = app(at, page)
    assert not made.exception and not [one for one in made.error if not one.value.startswith("**What stands against")]
    assert len(blue(made)) <= 1
    words = shown(made)
    assert len(words) > 200 and not _OPTION.search(words) and not _MINUS_NOTHING.search(words)


@pytest.mark.parametrize(
    ("after", "words"),
    [(0.9999, "−0.01 %"), (1.0004, "+0.04 %"), (0.5, "−50.0 %"), (1 - 1e-9, "±0 %"), (1.0, "±0 %"), (0.0, "−100.0 %")],
)
def test_a_small_change_is_neither_nothing_nor_minus_nothing(after: float, words: str):
    assert text.relative(after, 1.0) == words


def test_what_is_equal_as_shown_is_called_neither_safer_nor_riskier(swept: Callable[..., Workspace], monkeypatch):
    monkeypatch.setattr("frontier_app.charts.map_data.value_of", lambda view, k, loss: 0.5 + 1e-9 * loss)
    with Study.open(swept().folder / "study-1.study") as study:
        lines = candidate_card.difference(risk_utility_map(study), 0, 1).split("  \n")
    assert len(lines) == 2 and all(line.endswith(" 0.5: equal as shown") for line in lines)


@pytest.mark.parametrize("better", [1, -1, 0])
@pytest.mark.parametrize("clear", [True, False])
def test_no_mark_of_a_verdict_points_upwards_or_downwards(better: int, clear: bool):
    assert not set("↑↓▲▼") & set(candidate_card.verdict(difference(better=better, clear=clear))[1])


@pytest.mark.parametrize("name", names())
def test_a_mechanism_says_its_amount_in_a_whole_phrase(name: str):
    assert "nothing is counted" not in mechanism(name).rate


def test_the_settings_of_a_candidate_are_told_by_what_they_mean():
    some = spec("maps", D="5", w0="0.5")
    assert mechanisms.meant(some) == ["smallest weight of a partner: 0.5", "tables published together: 5"]
    words = text.spec_words(some, 100)
    assert "Smallest weight" not in words and "smallest weight of a partner" in words and "counts" not in words
