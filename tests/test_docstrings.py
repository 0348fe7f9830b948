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
