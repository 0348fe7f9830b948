"""Commands print in every locale and on every terminal; progress is a bar there and ten lines in a file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.common import output
from engine.common.output import Message, read_messages, report_json, report_words, say


class Screen(io.StringIO):
    """Keeps what is printed on it, codes and all."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal that obeys codes, with 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(output, "_console_obeys", lambda stream: True)
    return Screen()


def test_a_line_of_a_terminal_may_take_all_columns_but_one(screen: Screen):
    assert output.width_of(screen) == 59
    assert output.width_of(io.StringIO()) is None


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
    monkeypatch.setattr(output.sys, "platform", "win32")  # type: ignore[attr-defined]
    assert output.obeys_codes(screen)
    monkeypatch.setattr(output, "_console_obeys", lambda stream: False)
    assert not output.obeys_codes(screen) and not output.shows_colours(screen)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("ä", 1)])
def test_a_text_takes_the_columns_that_a_terminal_gives_it(text: str, width: int):
    assert output.text_width(text) == width
    assert output.padded(text, 6) == text + " " * (6 - width)
    assert output.padded(text, 6, right=True) == " " * (6 - width) + text


def test_what_does_not_fit_ends_in_dots():
    assert output.shortened("education", 9) == "education"
    assert output.shortened("education", 8) == "educa..."
    assert output.shortened("漢字漢字漢字", 8) == "漢字..."


ROOT = Path(__file__).resolve().parents[3]


def printed(tmp_path: Path, encoding: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "engine", *words]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_sign_that_cannot_be_shown_is_escaped(tmp_path: Path, encoding: str) -> None:
    done = printed(tmp_path, f"{encoding}:strict", "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert ("risk–utility" if encoding == "cp1252" else r"risk\u2013utility") in done.stdout.decode(encoding)


@pytest.mark.slow
def test_a_plan_is_printed_as_the_file_it_will_be(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("größe,b\n" + "≤1,x\n2,y\n" * 20, encoding="utf-8")
    done = printed(tmp_path, "latin-1:strict", "plan", "init", "people.csv", "--out", "-")
    assert done.returncode == 0, done.stderr
    assert b"\r" not in done.stdout
    text = done.stdout.decode("utf-8")
    assert "größe" in text and "≤1" in text and tomllib.loads(text)


@pytest.fixture
def errors(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error as a output."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(output, "sys", SimpleNamespace(stderr=screen, stdout=screen, platform="linux"))
    return screen


def lines(errors: Screen) -> list[str]:
    """What stood in the line one after the other."""
    return errors.getvalue().split("\r\x1b[K")[1:]


def test_a_bar_grows_and_says_how_long_the_others_take(errors: Screen):
    tick = output.Ticker()
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
    output.Ticker()(1, 10)
    output.announce("the kernels are compiled")
    say("interrupted", file=errors)
    assert errors.getvalue().endswith("runs\r\x1b[Kthe kernels are compiled\ninterrupted\n")


def test_a_narrow_terminal_gets_the_words_alone(errors: Screen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    output.Ticker()(1000, 2000)
    assert lines(errors) == ["1,000 of 2,000 runs"]


def test_a_file_gets_a_line_a_tenth(monkeypatch: pytest.MonkeyPatch):
    file = io.StringIO()
    monkeypatch.setattr(output, "sys", SimpleNamespace(stderr=file))
    tick = output.Ticker()
    for done in range(0, 101):
        tick(done, 100)
    assert len(file.getvalue().splitlines()) == 11
    assert "\r" not in file.getvalue() and "[" not in file.getvalue()


def test_a_person_reads_sentences_and_a_program_the_same_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [
        Message("step", "attacking"),
        Message("note", "größe\nof \u001b"),
        Message("warning", "two"),
        Message("error", "refused", {"attack": "keys"}),
        Message("error", "not there", {"study": "a.study"}, "NEW_STUDY"),
    ]
    for message in messages:
        report_words(message)
    sentences = capsys.readouterr().err.splitlines()
    assert sentences[0] == "attacking" and sentences[-3:] == [
        "warning: two",
        "frontier: refused",
        "frontier: not there",
    ]
    for message in messages:
        report_json(message)
    log = tmp_path / "a.log"
    log.write_text("12 of 20 runs\n" + capsys.readouterr().err + 'Traceback\n[1]\n{"kind": "step"}\n{"kind": ', "utf-8")
    assert read_messages(log) == messages
    log.write_text(json.dumps({"kind": "note", "text": "of an earlier version", "values": {}}), "utf-8")
    assert read_messages(log) == [Message("note", "of an earlier version")]
    assert read_messages(tmp_path / "none") == []


@pytest.mark.slow
def test_a_defect_of_a_started_process_is_told_as_one(tmp_path: Path) -> None:
    code = (
        "import sys, runpy, engine.cli.main as cli\n"
        "cli.check_texts = lambda texts: 1 / 0\n"
        "sys.argv = ['engine', '-']\n"
        "runpy.run_module('engine', run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=json.dumps(["version"]), capture_output=True, text=True)
    (tmp_path / "a.log").write_text(done.stderr)
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert read_messages(tmp_path / "a.log") == [Message("fault", "ZeroDivisionError")]
