"""Pages on a file with many columns: what they say, and that they list nothing whose number is enough."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.release.spec import AttributeSpec
from frontier_app.session.navigation import script
from tests.frontier_app.conftest import APP, launched
from tests.frontier_app.elements import press
from tests.frontier_app.pages.candidates.test_page import words_of

WIDE = 210  # attributes, of which there are more swaps of one or two than are listed


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A file of many attributes, one of which has a single category."""
    chance = random.Random(5)
    lines = [",".join(f"c{i}" for i in range(WIDE))]
    for _ in range(40):
        lines.append(",".join("x" if i == 7 else chance.choice("abc") for i in range(WIDE)))
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _opened(path: Path) -> AppTest:
    """The page of the file, with every column one that may be swapped."""
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = launched(None)
    made.run().text_input(key="open-path-text").set_value(str(path))
    return press(made, "open-path")


@pytest.fixture
def made_specs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roles of every swap that is made from now on."""
    found: list[str] = []
    check = AttributeSpec.__post_init__

    def counting(self: AttributeSpec) -> None:
        found.append(self.roles)
        check(self)

    monkeypatch.setattr(AttributeSpec, "__post_init__", counting)
    return found


def test_a_wide_plan_is_counted_and_not_listed(
    wide: Path, made_specs: list[str], offered: dict[str, Callable[[], bytes]]
) -> None:
    made = _opened(wide).switch_page(script("candidates")).run()
    assert not made.exception
    assert 0 < len(made_specs) < 1500, "an even part is looked at, for the time"
    assert made.session_state["frontier"].plan.space.swap_sizes == (1, 2)
    figures = {m.label: m.value for m in made.metric}
    assert figures == {"Swaps to try": "21,945", "Scenarios": "65,835", "Runs": "1,316,700"}
    said = [part.value for part in made.caption]
    assert any(
        words.startswith("Of 22,155 swaps that you ask for, 210 can never work on these data; the other 21,945 are")
        for words in said
    )
    assert any("one category in these data" in part.value for part in made.markdown)
    assert ["c7"] in [list(table.value.get("attribute", ())) for table in made.dataframe]
    assert any("from a probe" in part.value for part in made.markdown)
    document = words_of(offered["plan-document"]())
    assert "22,155 legal, 22,155 feasible, 21,945 distinct" in document and "Candidates65,835" in document
