"""What a terminal can do decides what is printed on it; a file or a pipe never gets codes, nor lines cut to a width."""

from __future__ import annotations

import io

import pytest

from engine.common import output
from engine.common import output as terminal
from tests.engine.common.screens import Screen


def test_a_line_of_a_terminal_may_take_all_columns_but_one(screen: Screen):
    assert terminal.width_of(screen) == 59
    assert terminal.width_of(io.StringIO()) is None


def test_text_on_a_terminal_is_coloured_and_in_a_file_it_is_not(screen: Screen):
    output.say("on the frontier", file=screen, colour="green")
    assert screen.getvalue() == "\x1b[32mon the frontier\x1b[0m\n"
    file = io.StringIO()
    output.say("on the frontier", file=file, colour="green")
    assert file.getvalue() == "on the frontier\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_nothing_is_coloured_where_nobody_wants_it(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, name: str, value: str
):
    monkeypatch.setenv(name, value)
    output.say("on the frontier", file=screen, colour="green")
    assert screen.getvalue() == "on the frontier\n"


def test_names_in_colour_steer_nothing(screen: Screen):
    output.say("\x1b[2J", file=screen, colour="yellow")
    assert screen.getvalue() == "\x1b[33m\\u001b[2J\x1b[0m\n"


def test_a_console_that_knows_no_codes_gets_none(screen: Screen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminal.sys, "platform", "win32")  # type: ignore[attr-defined]
    assert terminal.obeys_codes(screen)
    monkeypatch.setattr(terminal, "_console_obeys", lambda stream: False)
    assert not terminal.obeys_codes(screen) and not terminal.shows_colours(screen)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("ä", 1)])
def test_a_text_takes_the_columns_that_a_terminal_gives_it(text: str, width: int):
    assert terminal.text_width(text) == width
    assert terminal.padded(text, 6) == text + " " * (6 - width)
    assert terminal.padded(text, 6, right=True) == " " * (6 - width) + text


def test_what_does_not_fit_ends_in_dots():
    assert terminal.shortened("education", 9) == "education"
    assert terminal.shortened("education", 8) == "educa..."
    assert terminal.shortened("漢字漢字漢字", 8) == "漢字..."
