"""What the program reads and writes as text has an encoding that it names: a locale may have any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sources

ROOT = Path(__file__).resolve().parents[1]


def unnamed(source: str) -> Iterator[str]:
    """Calls that read or write text in the locale's encoding."""
    for node in sources.nodes_in(source):
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        method = isinstance(node.func, ast.Attribute)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = 0 if method and called == "open" else 1  # of the mode; that of a file in an archive stands second
        mode = words.get("mode", node.args[place] if len(node.args) > place else None)
        text = (
            (method and called in ("read_text", "write_text"))
            or ("text" in words and called in ("run", "Popen", "check_output"))
            or (called in ("open", "fdopen") and getattr(mode, "value", None) in ("r", "w", "a", "x", "r+", "w+"))
            or (called == "open" and not method and mode is None)
        )
        if text and "encoding" not in words:
            yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("folder", ["engine", "frontier_app", ".ci"])
def test_every_text_file_has_a_named_encoding(folder: str) -> None:
    found = {str(path): list(unnamed(path.read_text(encoding="utf-8"))) for path in (ROOT / folder).rglob("*.py")}
    assert found and {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "call", ["p.read_text()", "p.write_text('a')", "run(x, text=True)", "open(p)", "p.open('w')", "open(p, mode='r')"]
)
def test_one_without_is_found(call: str) -> None:
    assert list(unnamed(call)) == [f"line 1: {call}"]
    assert list(unnamed(f"{call[:-1]}, encoding='utf-8')".replace("(, ", "("))) == []
