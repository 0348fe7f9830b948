"""Two tabs on one workspace: the second writer is told, both changes are kept, and what both changed is asked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.plan import AboutPlan, Plan, plan_to_toml, read_plan
from engine.plan.differences import lock
from frontier_app.session import jobs
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import has_button, press


def _tab(at: Workspace | None, page: str) -> AppTest:
    """A tab on a workspace, or on a sample in a new one."""
    made = AppTest.from_file(str(APP), default_timeout=300)
    if at is not None:
        made.query_params["w"] = at.token
    made.run()
    if at is None:
        press(made, "open-czech")
    return to_page(made, page)


def _at(made: AppTest) -> Workspace:
    at: Workspace = made.session_state["frontier"].workspace
    return at


def _plan(made: AppTest) -> Plan:
    plan: Plan = made.session_state["frontier"].plan
    return plan


def _on_disk(made: AppTest) -> Plan:
    return read_plan(_at(made).plan_path)


def _enter(made: AppTest, key: str, value: object) -> AppTest:
    boxes = (*made.number_input, *made.text_input, *made.text_area)
    next(box for box in boxes if str(box.key).startswith(key)).set_value(value).run()
    assert not made.exception
    return made


def _told(made: AppTest) -> list[str]:
    return [info.value for info in made.info if "another tab" in info.value]


@pytest.fixture
def tabs() -> tuple[AppTest, AppTest]:
    one = _tab(None, "candidates")
    return one, _tab(_at(one), "candidates")


def test_the_second_writer_is_told_and_both_changes_are_kept(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    _enter(one, "replicates-", 7)
    _enter(two, "rates-", "3, 5")
    assert _on_disk(two).space.replicates == 7 and _on_disk(two).space.rates == ("0.03", "0.05")
    assert _plan(two) == _on_disk(two)
    assert len(_told(two)) == 1 and "Replicates: 7" in _told(two)[0]
    assert next(box.value for box in two.number_input if str(box.key).startswith("replicates-")) == 7
    to_page(one, "threat")
    assert _plan(one) == _on_disk(two) and "Swap rates: 3 % and 5 %" in _told(one)[0]
    assert not _told(one.run()) and not _told(two.run()), "it is told once"


def test_a_page_that_changes_nothing_itself_shows_what_the_other_tab_wrote(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    _enter(one, "replicates-", 7)
    two.run()
    assert _plan(two).space.replicates == 7 and _told(two) and _on_disk(two).space.replicates == 7


@pytest.mark.parametrize("mine", [False, True])
def test_an_open_question_outlives_its_tab(tabs: tuple[AppTest, AppTest], mine: bool):
    one, two = tabs
    _enter(one, "replicates-", 7)
    _enter(two, "replicates-", 9)
    _enter(one, "rates-", "3")
    again = _tab(_at(two), "threat")
    press(again, "dispute-mine-0" if mine else "dispute-theirs-0")
    assert _on_disk(again).space.replicates == (9 if mine else 7) and _on_disk(again).space.rates == ("0.03",)
    assert not any(has_button(tab.run(), "dispute-mine-0") for tab in (one, two, _tab(_at(two), "candidates")))


@pytest.mark.parametrize("mine", [False, True])
def test_what_both_changed_is_asked_and_nothing_is_written_for_it_before(tabs: tuple[AppTest, AppTest], mine: bool):
    one, two = tabs
    _enter(one, "replicates-", 7)
    _enter(two, "replicates-", 9)
    assert _on_disk(two).space.replicates == 7
    (question,) = [words.value for words in two.markdown if "Another tab changed" in words.value]
    assert "Replicates: 9 here, 7 in the plan now" in question
    press(two, "dispute-mine-0" if mine else "dispute-theirs-0")
    assert _on_disk(two).space.replicates == _plan(two).space.replicates == (9 if mine else 7)
    assert not has_button(two, "dispute-mine-0")
    one.run()
    assert _plan(one) == _on_disk(two) and not has_button(one, "dispute-mine-0")


def test_taking_back_takes_back_what_was_done_here_alone(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    _enter(two, "replicates-", 9)
    _enter(one, "rates-", "3")
    _at(one).note(declined=["another tab's answer"])
    _at(one).restore_codebook(b"another tab's codebook")
    to_page(two, "data")
    press(two, "undo")
    assert _at(two).about["declined"] == ["another tab's answer"] and _at(two).codebook
    assert _on_disk(two).space.rates == ("0.03",), "what the other tab did stays"
    assert _on_disk(two).space.replicates != 9


def test_an_approval_in_another_tab_is_not_departed_from_in_silence(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    locked = lock(_plan(one), "2026-1", "the board")
    _at(one).save_plan(plan_to_toml(locked))
    _enter(two, "rates-", "3")
    assert _on_disk(two) == locked and has_button(two, "dispute-mine-0")
    assert "2026-1" in _told(two)[0]


def test_what_is_approved_is_what_was_seen(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    two.text_input(key="lock-number").set_value("2026-1")
    two.text_input(key="lock-by").set_value("the board")
    _at(one).save_plan(plan_to_toml(replace(_plan(one), about=AboutPlan(survey="Census"))))
    press(two, "lock-plan")
    assert _on_disk(two).lock is None and _plan(two).about.survey == "Census" and _told(two)
    two.text_input(key="lock-number").set_value("2026-1")
    two.text_input(key="lock-by").set_value("the board")
    press(two, "lock-plan")
    assert _on_disk(two).lock is not None


def test_a_sweep_begins_with_the_plan_that_was_seen(monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []
    monkeypatch.setattr(jobs, "start", lambda *given, **more: started.append(given))
    two = _tab(None, "candidates")
    _at(two).save_plan(plan_to_toml(replace(_plan(two), space=replace(_plan(two).space, replicates=7))))
    press(two, "begin-new")
    assert not started and _told(two)
    press(two, "begin-new")
    assert len(started) == 1


@pytest.mark.slow
@pytest.mark.parametrize("page", ["candidates", "explore", "compare", "decide"])
def test_another_study_opened_in_another_tab_is_followed_with_its_plan(swept: Callable[..., Workspace], page: str):
    at, other = swept(), swept(rates=["0.05"])
    two = _tab(at, page)
    new = at.next_study()
    for path in other.folder.glob("*.study*"):
        shutil.copy(path, new.with_name(new.stem + "".join(path.suffixes)))
    press(_tab(at, "candidates"), f"study-{new.name}")
    two.run()
    assert not two.exception and _plan(two).space.rates == ("0.05",) and _told(two)


def test_what_is_no_plan_yet_is_not_taken_away_while_it_is_typed(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    next(box for box in two.text_input if str(box.key).startswith("rates-")).set_value("3, nothing").run()
    _enter(one, "replicates-", 7)
    two.run()
    (box,) = [box for box in two.text_input if str(box.key).startswith("rates-")]
    assert box.value == "3, nothing"
    box.set_value("3").run()
    assert _on_disk(two).space.replicates == 7 and _on_disk(two).space.rates == ("0.03",) and _told(two)


def test_a_workspace_that_was_deleted_in_another_tab_is_said_to_be(tabs: tuple[AppTest, AppTest]):
    one, two = tabs
    _at(one).delete()
    next(box for box in two.number_input if str(box.key).startswith("replicates-")).set_value(9).run()
    assert not two.exception and two.session_state["frontier"].workspace is None
    assert any("deleted" in info.value for info in two.info)


def test_a_plan_that_was_made_unreadable_is_left_and_complained_about(tabs: tuple[AppTest, AppTest]):
    _, two = tabs
    _at(two).save_plan("[space]\nrates = 1 1\n")
    next(box for box in two.number_input if str(box.key).startswith("replicates-")).set_value(9).run()
    assert not two.exception and any("changed by hand" in error.value for error in two.error)
    assert "1 1" in _at(two).plan_path.read_text()
