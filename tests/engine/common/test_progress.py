"""Progress is a bar on a terminal, and ten lines in a file."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from engine.common import output as progress
from engine.common.output import say
from tests.engine.common.screens import Screen


@pytest.fixture
def errors(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error as a terminal."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=screen, stdout=screen, platform="linux"))
    return screen


def lines(errors: Screen) -> list[str]:
    """What stood in the line one after the other."""
    return errors.getvalue().split("\r\x1b[K")[1:]


def test_a_bar_grows_and_says_how_long_the_others_take(errors: Screen):
    tick = progress.Ticker()
    tick(0, 2000)
    tick.time_left("about 30 s left")
    tick(500, 2000)
    tick(2000, 2000)
    assert lines(errors) == [
        "[..............................]   0 %  0 of 2,000 runs",
        "[#######.......................]  25 %  500 of 2,000 runs, about 30 s left",
        "[##############################] 100 %  2,000 of 2,000 runs\n",
    ]


def test_a_message_takes_the_place_of_an_unfinished_bar(errors: Screen):
    progress.Ticker()(1, 10)
    progress.announce("the kernels are compiled")
    say("interrupted", file=errors)
    assert errors.getvalue().endswith("runs\r\x1b[Kthe kernels are compiled\ninterrupted\n")


def test_a_narrow_terminal_gets_the_words_alone(errors: Screen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    progress.Ticker()(1000, 2000)
    assert lines(errors) == ["1,000 of 2,000 runs"]


def test_a_file_gets_a_line_a_tenth(monkeypatch: pytest.MonkeyPatch):
    file = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=file))
    tick = progress.Ticker()
    for done in range(0, 101):
        tick(done, 100)
    assert len(file.getvalue().splitlines()) == 11
    assert "\r" not in file.getvalue() and "[" not in file.getvalue()
