"""The engine's sentences name no option or command; the command line adds them."""

from __future__ import annotations

import ast
import io
import json
import pickle
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from engine.cli.main import main
from engine.cli.options import OPTIONS, error_text
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.output import Message
from tests import sources

ROOT = Path(engine.__file__).parent
OPTION_OR_COMMAND = re.compile(
    r"(?<![\w-])--[a-z]|frontier (?:app|apply|choose|decide|export|plan|recheck|replay|show|sweep|verify)\b"
)
PAPERS = {"bundle/writers.py", "report/annex.py"}
"""They tell whoever replays a release the command for it."""


def _modules() -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    for path in sorted(ROOT.rglob("*.py")):
        if (name := path.relative_to(ROOT).as_posix()).partition("/")[0] != "cli":
            yield name, sources.nodes(path)


def _texts(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Line and text of constants that are no docstrings."""
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


@pytest.mark.slow
def test_no_sentence_of_the_engine_names_an_option_or_a_command() -> None:
    named = [
        f"{name}:{line}: {text}"
        for name, nodes in _modules()
        if name not in PAPERS
        for line, text in _texts(nodes)
        if OPTION_OR_COMMAND.search(text)
    ]
    assert not named


@pytest.mark.slow
def test_every_remedy_has_options_and_is_raised_with_the_values_that_they_hold() -> None:
    assert set(OPTIONS) == set(Remedy)
    raised: set[str] = set()
    for name, nodes in _modules():
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Remedy":
                raised.add(node.attr)
            for given in node.args if isinstance(node, ast.Call) else ():
                if (
                    isinstance(given, ast.Attribute)
                    and isinstance(given.value, ast.Name)
                    and given.value.id == "Remedy"
                ):
                    wanted = {
                        field for _, field, _, _ in string.Formatter().parse(OPTIONS[Remedy[given.attr]]) if field
                    }
                    assert wanted == {keyword.arg for keyword in node.keywords}, f"{name}:{node.lineno}"  # type: ignore[attr-defined]
    assert raised == {remedy.name for remedy in Remedy}


def test_the_command_line_adds_options_and_a_program_that_starts_it_gets_the_sentence_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["show", str(tmp_path / "no.study")]
    assert main(argv) == 2
    sentence = "frontier: study 'no.study' does not exist; make it by a sweep"
    assert capsys.readouterr().err == f"{sentence} (`frontier sweep DATA --study no.study`)\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(argv)))
    assert main(["-"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    message = Message(**json.loads(line))
    assert (message.kind, message.sentence, dict(message.values)) == ("error", sentence, {"study": "no.study"})
    assert message.remedy == Remedy.NEW_STUDY.name


def test_an_error_from_another_process_keeps_its_remedy() -> None:
    error = pickle.loads(pickle.dumps(UsageError("too long", Remedy.DROP, column="{x}")))
    assert error_text(error) == "too long (--drop {x})"
    assert error_text(EngineError("it is so")) == "it is so"
