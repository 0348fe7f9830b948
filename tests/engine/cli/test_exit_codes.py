"""Exit codes of all commands: 2 for a wrong request, 1 for what stands in the way."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cli.main import build_parser, main
from engine.cli.options import Parser
from engine.common.errors import EngineError
from engine.study.keys import read_key


def leaves(parser: Parser | None = None, *words: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Every command with its words."""
    parser = parser or build_parser()
    parser.complete()
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not any(group.required for group in groups) and words:
        yield words, parser
    for group in groups:
        for name, inner in group.choices.items():
            yield from leaves(inner, *words, name)


COMMANDS = dict(leaves())


def code_of(*words: str) -> int:
    try:
        return main(list(words))
    except SystemExit as left:  # of the parser
        return int(left.code or 0)


def asked_for(parser: argparse.ArgumentParser, named: str) -> list[str]:
    """A command line that gives each thing that is asked for, as a name of nothing."""
    words = []
    for action in parser._actions:
        value = next(iter(action.choices)) if action.choices and not action.nargs else named
        if action.required and action.option_strings:
            words += [action.option_strings[-1], str(value)]
        elif not action.option_strings and not isinstance(action, argparse._SubParsersAction):
            words.append(str(value))
    for group in parser._mutually_exclusive_groups:
        if group.required:
            words += [group._group_actions[0].option_strings[-1], named]
    return words


def test_every_command_that_reads_records_can_read_clean_names() -> None:
    reading = {words for words, parser in COMMANDS.items() if any(a.dest == "data" for a in parser._actions)}
    able = {words for words, parser in COMMANDS.items() if any(a.dest == "clean_names" for a in parser._actions)}
    assert reading - able == {("app",)}  # the page Data offers it by a button


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_wrong_option_is_wrong_usage(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    assert code_of(*words, *asked_for(COMMANDS[words], "1"), "--no-such-option") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: frontier {' '.join(words)} ") and "--no-such-option" in said


@pytest.mark.parametrize("words", [w for w in COMMANDS if asked_for(COMMANDS[w], "")], ids=" ".join)
def test_a_name_of_nothing_is_wrong_usage(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert code_of(*words, *asked_for(COMMANDS[words], "nothing")) == 2
    assert "nothing" in capsys.readouterr().err and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_usage_lines_name_what_they_take(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "10000")
    usage = COMMANDS[words].format_usage().strip()
    assert usage.startswith(f"usage: frontier {' '.join(words)} ") and not re.search(r"  |\{\}|None", usage)


@pytest.mark.parametrize("named", ["nothing.csv", "folder", "table.csv", "other.txt"])
@pytest.mark.parametrize(
    "words",
    [
        ("status", "{}"),
        ("cancel", "{}"),
        ("show", "{}"),
        ("choose", "{}", "--why", "so"),
        ("decide", "{}"),
        ("memo", "{}", "--out", "memo.html"),
        ("recheck", "{}", "--data", "czech"),
        ("measure", "{}", "--data", "czech", "--measures", "hellinger"),
        ("export", "{}", "--data", "czech", "--out", "bundle"),
        ("verify", "{}"),
        ("replay", "{}", "--data", "czech"),
        ("apply", "{}", "--data", "table.csv", "--id", "a"),
        ("diff", "{}", "{}"),
    ],
    ids=lambda words: words[0],
)
def test_a_path_of_nothing_is_wrong_usage_and_a_thing_of_another_kind_stands_in_the_way(
    words: tuple[str, ...],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.txt").write_text("neither a study nor a bundle\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    nothing = named == "nothing.csv"
    assert code_of(*(word.format(named) for word in words)) == (2 if nothing else 1)
    assert ("does not exist" in capsys.readouterr().err) == nothing


@pytest.mark.parametrize("command", [("plan", "init"), ("space",), ("sweep", "--study", "a.study")], ids=lambda c: c[0])
@pytest.mark.parametrize(("data", "code"), [("nothing.csv", 2), ("folder", 1), ("other.txt", 1), ("key=1", 1)])
def test_data_that_are_not_there_are_wrong_usage_and_other_things_stand_in_the_way(
    command: tuple[str, ...], data: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "key=1").mkdir()
    (tmp_path / "key=1" / "notes.txt").write_text("no data\n")
    (tmp_path / "other.txt").write_text("no data\n")
    assert code_of(*command, data) == code


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "check", "{}", "--data", "czech"),
        ("plan", "document", "{}", "--out", "d.html"),
        ("plan", "lock", "{}", "--number", "1", "--by", "A"),
        ("space", "czech", "--plan", "{}"),
        ("sweep", "czech", "--study", "a.study", "--plan", "{}"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
@pytest.mark.parametrize(("named", "code"), [("nothing.toml", 2), ("folder", 1), ("study.toml", 1)])
def test_a_plan_that_is_not_there_is_wrong_usage_and_a_thing_of_another_kind_stands_in_the_way(
    words: tuple[str, ...], named: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "study.toml").write_bytes(b"SQLite format 3\0\xff\xfe")
    assert code_of(*(word.format(named) for word in words)) == code


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "init", "czech", "--out", "no/p.toml"),
        ("plan", "propose", "czech", "--accept", "all", "--out", "no/p.toml"),
        ("plan", "document", "p.toml", "--out", "no/p.html"),
        ("datasets", "write", "czech", "--to", "no/czech.csv"),
        ("sweep", "czech", "--study", "no/a.study"),
        ("sweep", "czech", "--study", "a.study", "--key-file", "no/a.key"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_folder_of_nothing_to_write_to_is_wrong_usage(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert code_of("plan", "init", "czech", "--out", "p.toml") == 0
    assert code_of(*words) == 2
    assert "folder" in capsys.readouterr().err and [*tmp_path.iterdir()] == [tmp_path / "p.toml"]


@pytest.mark.parametrize(("key", "code"), [("nothing", 2), ("folder", 1), ("text", 1)])
def test_a_key_that_is_not_there_is_wrong_usage_and_a_file_without_one_stands_in_the_way(
    key: str, code: int, tmp_path: Path
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no key\n")
    with pytest.raises(EngineError) as caught:
        read_key(tmp_path / key)
    assert caught.value.exit_code == code


@pytest.mark.parametrize(
    "options",
    [
        ("--max-risk", "2"),
        ("--rates", "1.5"),
        ("--swap-sizes", "0"),
        ("--swap-sizes", "99"),
        ("--replicates", "0"),
        ("--search", "--budget", "0"),
        ("--adaptive", "--screen", "1"),
        ("--measures", "small_cells[n_rule=0]"),
        ("--mechanism", "nope"),
        ("--mechanism", "rds", "--param", "s=0"),
        ("--mechanism", "rds", "--param", "rate=1.5"),
        ("--mechanism", "rds", "--param", "nope=1"),
        ("--mechanism", "cgs", "--param", "n_swap=5", "--param", "rate=0.1"),
        ("--mechanism", "survey_swap", "--param", "rate=0.1"),
        ("--mechanism", "survey_swap", "--param", "rate=0.9", "--param", "swap=A"),
        ("--spec", "A:Q"),
        ("--keys", "nope"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("command", [("plan", "init"), ("space",), ("sweep", "--study", "a.study")], ids=lambda c: c[0])
def test_an_option_out_of_range_is_refused_by_every_command_that_makes_a_plan(
    command: tuple[str, ...], options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert code_of(*command, "czech", *options) == 2
    assert not [*tmp_path.iterdir()]
