"""The page of the file finds every column, says why one is offered no role, and takes all suggestions in one pass."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from datasets.make_survey import survey
from frontier_app.session import loading
from tests.frontier_app.conftest import APP, launched
from tests.frontier_app.file_page import answer, asked, to_part


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A file of 300 columns on its first page: every column that could be one is a key."""
    table, _ = survey(1500)
    monkeypatch.setattr(loading, "open_source", lambda path, **_: (table, None))
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = launched(None)
    made.run().text_input(key="open-path-text").set_value("/data/survey.sav")
    return next(b for b in made.button if b.label == "Open this file").click().run()


def _find(made: AppTest, typed: str) -> AppTest:
    return made.text_input(key="role-find").set_value(typed).run()


def _words(made: AppTest) -> str:
    return "\n".join(str(part.value) for kind in (made.markdown, made.caption) for part in kind)


def _list(made: AppTest, role: str) -> list[str]:
    return next(box for box in made.multiselect if str(box.key).startswith(f"role-{role}-")).value


def test_any_column_is_found_and_added_to_a_role_or_says_why_not(opened: AppTest) -> None:
    made = _find(opened, "widowed")
    assert "**marital**" in _words(made) and "idowed" in _words(made)
    made.button(key="found-keys-marital").click().run()
    made.button(key="found-swap-marital").click().run()
    assert not made.exception and _list(made, "keys") == _list(made, "swap") == ["marital"]
    made.button(key="use-roles").click().run()
    assert made.session_state["frontier"].plan.keys == ("marital",)


@pytest.mark.slow
def test_a_column_of_a_block_takes_the_place_of_the_blocks_name(
    opened: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer(to_part(opened, "columns"), monkeypatch)
    switch = next(group for group in made.button_group if str(group.key).startswith("file-part"))
    made = _find(switch.set_value("roles").run(), "occ")
    made.button(key="found-keys-occ").click().run()
    made = _find(made, "employed")
    made.button(key="found-swap-employed").click().run()
    assert _list(made, "keys") == _list(made, "swap") == ["employed"]
    made.button(key="use-roles").click().run()
    (part,) = made.session_state["frontier"].plan.attributes
    assert (part.name, part.view) == ("employed", ("employed",)) and "occ" in part.columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "why", "button", "part"),
    [
        ("income", "cut into levels first", "cut-income", "levels"),
        ("caseid", "it is the id", "see-caseid", "columns"),
        ("no such words", "No column has this", None, None),
    ],
)
def test_a_column_that_is_not_offered_leads_to_where_that_is_mended(
    opened: AppTest, typed: str, why: str, button: str | None, part: str | None
) -> None:
    made = _find(opened, typed)
    assert why in _words(made)
    if button is not None:
        made.button(key=button).click().run()
        assert not made.exception and made.session_state["frontier"].file_view.part == part


@pytest.mark.slow
def test_one_pass_applies_all_that_is_certain_and_is_taken_back_as_one(
    opened: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = to_part(opened, "columns")
    before = made.session_state["frontier"].plan
    made = answer(made, monkeypatch)
    assert not made.exception and not made.error
    assert "one block" not in {row[2] for row in asked(made).values()}
    made.button(key="undo").click().run()
    assert made.session_state["frontier"].plan == before
