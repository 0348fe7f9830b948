"""The page of the file: opening data, a codebook, looking around, leaving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.common.os_support import user_folder
from engine.plan import plan_to_toml
from engine.plan import samples as sources
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched, to_page
from tests.frontier_app.elements import press
from tests.frontier_app.file_page import (
    click,
    open_file,
    people,
    plan_of,
    start,
    to_part,
    words_of,
    workspace_of,
)
from tests.streamed_sources import records, write_source


@pytest.mark.slow
def test_a_path_is_opened_and_stands_in_no_address(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    assert not made.exception and not made.error
    assert "people.csv · 240 records" in words_of(made)
    assert (
        workspace_of(made).about["data"] == str(tmp_path / "people.csv")
        and not (workspace_of(made).folder / "data").exists()
    )
    assert str(tmp_path) not in str(dict(made.query_params)) and str(tmp_path) not in plan_to_toml(plan_of(made))
    again = AppTest.from_file(str(APP), default_timeout=300)
    again.query_params["w"] = workspace_of(made).token
    assert "people.csv · 240 records" in words_of(again.run())
    assert again.session_state["frontier"].owner


@pytest.mark.slow
def test_a_file_with_a_name_that_no_format_holds_is_opened_under_a_clean_one_by_a_click(tmp_path: Path) -> None:
    path = people(tmp_path)
    path.write_text(path.read_text().replace("age,", "a\u202ege,", 1), encoding="utf-8")
    made = open_file(path)
    assert "'age'" in made.error[0].value
    click(made, "Open it with clean names")
    assert not made.exception and not made.error
    assert made.session_state["frontier"].raw.names[1] == "age" and "age" in plan_of(made).names
    again = AppTest.from_file(str(APP), default_timeout=300)
    again.query_params["w"] = workspace_of(made).token
    assert "people.csv · 240 records" in words_of(again.run()) and "--clean-names" in workspace_of(made).reading


@pytest.mark.slow
def test_a_small_folder_of_parts_is_opened_as_a_file(tmp_path: Path) -> None:
    folder = write_source(tmp_path, "parquet folder", records(100).drop_columns(["note"]), [10])
    made = open_file(folder)
    assert not made.exception and not made.error
    assert "people · 100 records" in words_of(made)


def test_without_the_owners_address_no_path_is_read(tmp_path: Path) -> None:
    path = people(tmp_path)
    made = start(owner=False)
    assert not any(box.key == "open-path-text" for box in made.text_input)
    assert "the address that *frontier app* printed" in words_of(made)
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import loading\nfrom frontier_app.widgets import elements\n"
        f"with elements.errors_shown():\n    loading.open_path({str(path)!r})\n"
    )
    forced = AppTest.from_string(script).run()
    assert "only at the address" in forced.error[0].value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "No path is given"),
        ("people.csv", "does not begin at the top"),
        ("{}/none.csv", "does not exist"),
        ("{}/nothing", "holds no"),
        ("{}/parts", "'parts' is larger than a page can hold in memory; the command frontier sweep makes its study"),
        ("{}/large.csv", "'large.csv' is larger than a page can hold in memory"),
        ("{}/odd.doc", "supported are"),
        ("{}/empty.sav", "is empty"),
        ("{}/broken.sav", "no readable .sav file"),
    ],
)
def test_what_cannot_be_opened_is_said_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, said: str
) -> None:
    monkeypatch.setattr(sources, "MOST_VALUES", 1000)
    (tmp_path / "nothing").mkdir()
    write_source(tmp_path, "csv folder", records(100), [10]).rename(tmp_path / "parts")
    write_source(tmp_path, "csv", records(100), []).rename(tmp_path / "large.csv")
    for name, content in (("odd.doc", b"x"), ("empty.sav", b""), ("broken.sav", b"$FL2" + b"\0" * 400)):
        (tmp_path / name).write_bytes(content)
    made = start()
    made.text_input(key="open-path-text").set_value(typed.format(tmp_path))
    click(made, "Open this file")
    assert not made.exception
    assert said in made.error[0].value and str(tmp_path) not in made.error[0].value
    assert not list(user_folder().glob("workspaces/*"))
    assert any(b.label == "Open fair" for b in made.button)


@pytest.mark.slow
def test_what_is_on_the_page_belongs_to_its_present_inputs(tmp_path: Path) -> None:
    """A file given to an input of a version that the next run no longer draws would be lost."""
    made = open_file(people(tmp_path))
    for part in ("columns", "levels", "roles"):
        version = made.session_state["frontier"].version
        assert any(box.key == f"sure-{version}" for box in made.checkbox), f"before {part}"
        to_part(made, part)


@pytest.mark.slow
def test_looking_at_pages_is_no_action(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    for page in ("threat", "candidates", "data"):
        to_page(made, page)
    for part in ("columns", "levels", "roles"):
        to_part(made, part)
    assert made.session_state["frontier"].actions == ()


@pytest.mark.slow
def test_a_codebook_gives_labels_and_roles_and_is_kept(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import actions, loading, state, workspace\n"
        "from frontier_app.widgets import elements\n"
        f"if state.get().raw is None:\n    loading.open_workspace(workspace.find({workspace_of(made).token!r}))\n"
        "with elements.errors_shown():\n    actions.use_codebook('book.csv', state.input_value('book'))\n"
    )
    runs = AppTest.from_string(script)
    runs.session_state["book"] = b"name,label,role\nsex,Sex of person,key swap\nnosuch,x,\n"
    runs.run()
    assert "nosuch" in runs.error[0].value and not workspace_of(made).codebook_path.exists()
    runs.session_state["book"] = b"name,label,role\nsex,Sex of person,key swap\nage*,Age,key\n"
    runs.run()
    assert not runs.error and not runs.exception
    assert runs.session_state["frontier"].actions[0].done == "the codebook was applied"
    assert plan_of(runs).keys == ("age", "agegrp", "sex") and plan_of(runs).swap == ("sex",)
    again = AppTest.from_file(str(APP), default_timeout=300)
    again.query_params["w"] = workspace_of(made).token
    again.run()
    assert again.session_state["frontier"].raw.columns["sex"].about.label == "Sex of person"
    assert plan_of(again) == plan_of(runs)


def test_a_codebook_is_taken_back_with_its_labels(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import actions, loading, state, workspace\n"
        f"if state.get().raw is None:\n    loading.open_workspace(workspace.find({workspace_of(made).token!r}))\n"
        "else:\n    actions.take_back()\n"
        "if not state.input_value('given'):\n"
        "    for words in ('Sex of person', 'Other words'):\n"
        "        actions.use_codebook('book.csv', f'name,label\\nsex,{words}\\n'.encode())\n"
        "    state.set_input('given', True)\n"
    )
    runs = AppTest.from_string(script).run()
    for label in ("Sex of person", ""):
        runs.run()
        assert not runs.exception
        assert runs.session_state["frontier"].raw.columns["sex"].about.label == label
        assert workspace_of(made).codebook_path.exists() == bool(label)


@pytest.mark.slow
def test_leaving_forgets_the_work_at_hand_and_keeps_whose_session_it_is(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, selected="A", picks=3)
    made = click(made, "Open other data")
    left = made.session_state["frontier"]
    assert left.workspace is left.raw is left.plan is left.selected is None
    assert left.file_view.column is None and left.owner and left.picks == 3
    assert left.version > now.version


def test_a_study_takes_the_data_that_it_was_made_on_and_no_other(
    swept: Callable[..., Workspace], tmp_path: Path
) -> None:
    at = swept()
    at.note(data=None)
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = launched(at)
    made.run()
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    made.text_input(key="open-path-text").set_value(str(other))
    press(made, "open-path")
    assert any("was made on other data" in error.value for error in made.error) and at.about["data"] is None
    press(made, "add-sample")
    assert not made.exception and not made.error and at.about["data"] == "czech"
    assert "czech · 1,841 records" in words_of(made)


def test_a_study_is_opened_from_the_first_page(swept: Callable[..., Workspace]) -> None:
    path = swept().folder / "study-1.study"
    made = start()
    made.text_input(key="open-study-text").set_value(str(path))
    press(made, "open-study")
    assert not made.exception and not made.error and workspace_of(made).study == path
    assert "czech · 1,841 records" in words_of(made)
    made = start()
    made.text_input(key="open-study-text").set_value(str(path.parent / "none.study"))
    press(made, "open-study")
    assert "none.study" in made.error[0].value and made.session_state["frontier"].workspace is None
    assert not any(box.key == "open-study-text" for box in start(owner=False).text_input)
