"""Statements: each kind has one macro with exactly its values, somebody who makes it, and words; stored ones return."""

from __future__ import annotations

import ast
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from engine.common.errors import EngineError
from engine.decision.statements import (
    CATALOGUE,
    KINDS,
    Statement,
    Value,
    figure,
    from_stored,
    number,
    of,
    of_severity,
    percent,
    statement,
    words,
)
from tests import sources

ROOT = Path(__file__).resolve().parents[3]
SAMPLES: dict[str, dict[str, Value]] = {
    "limit_set_late": {"origin": "chosen"},
    "uneven_group": {"group": "Age: 80 or more"},
}
"""Values that some kinds need; others get numbers, and texts by name."""
TEXTS = {"why", "measure", "share_of", "state", "group", "text", "origin", "of"}


def sample(kind: str) -> Statement:
    """A statement of a kind with made-up values."""
    values: dict[str, Value] = {name: name if name in TEXTS else 0.25 for name in KINDS[kind].values}
    wholes = {"within", "runs", "needed", "changed", "done", "total", "place", "as_safe", "n"} & set(values)
    values |= dict.fromkeys(wholes, 3) | ({"of": 9 if kind == "run_place" else "run"} if "of" in values else {})
    return statement(kind, **{**values, **SAMPLES.get(kind, {})})


def made() -> set[str]:
    """Kinds that some code makes: texts of the program where a kind is named outside its declaration."""
    found = set()
    for package in ("engine", "frontier_app"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name != "statements.py":
                tree = sources.tree(path)
                found |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)} & set(KINDS)
    return found | {"recorded"}  # made of a stored text


def macros() -> dict[str, tuple[str, ...]]:
    parsed = Environment().parse(CATALOGUE.read_text())
    return {m.name: tuple(arg.name for arg in m.args) for m in parsed.find_all(nodes.Macro) if m.name[0] != "_"}


def test_each_kind_has_one_macro_with_exactly_its_values_in_the_same_order() -> None:
    assert list(macros().items()) == [(name, kind.values) for name, kind in KINDS.items()]
    names = re.findall(r"macro (\w+)\(", CATALOGUE.read_text())
    assert len(names) == len(set(names))


def test_each_kind_is_made_by_some_code() -> None:
    assert set(KINDS) - made() == set()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_words_that_are_sentences(kind: str) -> None:
    text = words(sample(kind))
    assert text[0] == text[0].upper() and text.endswith((".", "!", "?")) and "\n" not in text and "  " not in text
    assert from_stored(json.loads(json.dumps(sample(kind).stored()))) == sample(kind)


@pytest.mark.parametrize(
    ("kind", "values"), [("near", {}), ("off_plan", {"why": "x"}), ("too_few_runs", {"runs": 3, "needed": 5})]
)
def test_a_statement_with_other_values_than_its_kind_declares_is_refused(kind: str, values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="statement"):
        statement(kind, **values)
    with pytest.raises(EngineError, match="newer version"):
        from_stored({"kind": kind, "values": values})


def test_words_that_an_earlier_version_stored_are_shown_as_they_stand() -> None:
    old = from_stored("it is not the one that the plan's rule picks", "caution")
    assert (old.kind, old.severity) == ("recorded", "caution")
    assert words(old) == "It is not the one that the plan's rule picks."
    with pytest.raises(EngineError, match="neither a text nor a kind"):
        from_stored(3)


def test_text_in_a_statement_cannot_steer_a_terminal() -> None:
    assert words(statement("recorded", text="a\x1b[2Jb")) == "A\\u001b[2Jb."


def test_a_figure_without_a_filter_is_a_fault_of_the_catalogue() -> None:
    with pytest.raises(TypeError, match="filter"):
        words(statement("sweep_unfinished", state="running", done=0.5, total=3))


def test_numbers_keep_the_digits_that_tell_two_apart() -> None:
    assert number(0.123456) == "0.123" and number(1026.0) == "1,026" and number(0) == "0" and number(-0.5) == "−0.5"
    assert number(0.1234, 0.12341) == "0.1234" and number(0.12341, 0.1234) == "0.12341"
    assert number(1e-9, 0.0) == "0.000000001"
    assert figure(0.02500001, "records", 0.025) == "2.500001 % of records" and figure(12.0) == "12"
    assert percent(Fraction(9, 10)) == "90 %" and percent(0.9964) == "99.6 %"
    assert of(274, 20_000, "records") == "274 of 20,000 records (1.4 %)" and of(0, 0) == "0 of 0"


def test_statements_are_told_apart_by_severity() -> None:
    found = [statement("off_plan"), statement("changes_nothing")]
    assert of_severity(found, "obstacle") == [found[1]] and of_severity(found, "caution") == [found[0]]
