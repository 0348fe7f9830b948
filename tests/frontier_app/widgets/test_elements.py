"""Elements of pages: errors and defects, and the tour."""

from __future__ import annotations

import errno
import io
import logging
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from engine.common.errors import EngineError
from frontier_app.session import actions
from frontier_app.session.navigation import PAGES
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements
from tests.frontier_app.conftest import APP
from tests.frontier_app.elements import press
from tests.frontier_app.pages.test_pages import app, to, words

SECRET = "record 17: Ada, 43, divorced"


def raises(error: Exception) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What Streamlit's log of failures says."""
    text = io.StringIO()
    handler, log = logging.StreamHandler(text), logging.getLogger(elements._LOG)
    log.addHandler(handler)
    yield text
    log.removeHandler(handler)


def test_a_page_that_fails_says_what_to_do_and_nothing_of_the_records(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
):
    made = app(swept())
    with monkeypatch.context() as broken:
        broken.setattr(actions, "the_map", raises(KeyError(SECRET)))
        made = to(made, "explore")
    assert not made.exception and "This page could not be shown" in words(made) and "stays recorded" in words(made)
    assert "KeyError at frontier_app/" in words(made) and SECRET not in words(made)
    assert "the page failed: KeyError at frontier_app/" in logged.getvalue() and SECRET not in logged.getvalue()
    press(made, "failed-again")
    assert (
        not made.exception
        and "could not be shown" not in words(made)
        and made.title[0].value.endswith("on the frontier")
    )


@pytest.mark.slow
def test_a_callback_that_fails_says_no_more(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
):
    made = app(swept(), "explore")
    monkeypatch.setattr("frontier_app.pages.explore.controls.state.look", raises(ValueError(SECRET)))
    made.number_input(key="slope").set_value(0.1).run()
    (shown,) = made.exception
    assert shown.message == elements.WORDS and SECRET not in str(shown.proto)
    said = logged.getvalue()
    assert "ValueError at frontier_app/pages/explore/controls.py" in said and SECRET not in said


def test_a_sentence_of_the_engine_stays_a_sentence(swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch):
    made = app(swept())
    monkeypatch.setattr(actions, "the_map", raises(EngineError("the study is being written")))
    made = to(made, "explore")
    assert "The study is being written" in words(made) and "could not be shown" not in words(made)


def test_a_full_disk_is_called_one_by_a_page_and_by_a_callback(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
):
    made = app(swept(), "explore")
    full = raises(OSError(errno.ENOSPC, SECRET))
    with monkeypatch.context() as broken:
        broken.setattr("frontier_app.pages.explore.controls.state.look", full)
        made.number_input(key="slope").set_value(0.1).run()
    assert not made.exception and any("disk is full" in error.value for error in made.error)
    monkeypatch.setattr("frontier_app.session.workspace.write_private", full)
    made = to(made.run(), "candidates")
    box = next(box for box in made.number_input if str(box.key).startswith("replicates-"))
    box.set_value(17).run()
    assert not made.exception and any("disk is full" in error.value for error in made.error)


def test_an_error_from_elsewhere_has_its_type_alone():
    assert elements.location_of(OSError(SECRET)) == "OSError"


def test_the_tour_says_what_is_done_on_each_page_in_the_order_of_the_work():
    made = press(AppTest.from_file(str(APP), default_timeout=300).run(), "tour")
    assert list(elements.STEPS) == [page.title for page in PAGES.values()]
    said = [m.value for m in made.markdown if m.value.startswith(tuple(f"**{n}. " for n in range(1, 11)))]
    assert said == [f"**{n}. {page}.** {step}" for n, (page, step) in enumerate(elements.STEPS.items(), 1)]
