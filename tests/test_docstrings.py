"""Descriptions of modules, classes and functions begin with a verb or a noun phrase, never with a loose clause."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import sources

ROOT = Path(__file__).parents[1]
MODULES = [
    path.relative_to(ROOT).as_posix()
    for package in ("engine", "frontier_app")
    for path in sorted((ROOT / package).rglob("*.py"))
    if path.stat().st_size
]
CLAUSE = re.compile(
    r"(What|Who|Whose|Whoever|Whatever|Whether|Which|How|Where|Wherever|When|Why|That|If|Nothing|Nobody|Everybody)\b"
)
LONGEST = 160


def first_sentence(path: Path) -> str:
    """The docstring's first paragraph, on one line."""
    text = ast.get_docstring(sources.tree(path)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def faults(sentence: str) -> list[str]:
    """What is wrong with a first sentence."""
    found = [] if sentence.endswith(".") else ["has no full stop"]
    if CLAUSE.match(sentence):
        found.append("begins with a clause without a subject")
    if not 8 <= len(sentence) <= LONGEST:
        found.append(f"has {len(sentence)} characters, not 8 to {LONGEST}")
    if re.search(r"[a-z)]\. +[A-Z`]", sentence):
        found.append("is more than one sentence")
    return found


@pytest.mark.parametrize(
    "sentence", ["", "What is too short to be searched.", "Whether it is.", "Two sentences. They say too much.", "Noun"]
)
def test_a_bad_first_sentence_is_seen(sentence: str) -> None:
    assert faults(sentence)


def test_every_module_begins_with_one_plain_sentence() -> None:
    assert len(MODULES) > 200
    wrong = {path: found for path in MODULES if (found := faults(first_sentence(ROOT / path)))}
    assert not wrong


UNEDITED = ("engine/report/", "engine/bundle/members")
"""Files whose functions are still described by clauses."""


def loose_clauses(source: str) -> list[str]:
    """The classes and functions of a module that are described by a clause without a subject."""
    described = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in sources.nodes_in(source) if isinstance(node, described))
    return [node.name for node in nodes if CLAUSE.match(ast.get_docstring(node) or "")]


def test_a_description_without_a_subject_is_seen() -> None:
    source = 'class A:\n    """What it is."""\n    def f(self):\n        """Whether it is so."""\n'
    assert loose_clauses(source) == ["A", "f"]
    assert loose_clauses(source.replace("What it is", "A thing").replace("Whether", "Return whether")) == []


def test_no_class_or_function_is_described_by_a_loose_clause() -> None:
    edited = [path for path in MODULES if not path.startswith(UNEDITED)]
    assert len(edited) > 200
    loose = {path: found for path in edited if (found := loose_clauses((ROOT / path).read_text(encoding="utf-8")))}
    assert not loose
