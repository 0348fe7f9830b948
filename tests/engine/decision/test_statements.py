"""Statements: each kind has one macro with exactly its values, somebody who makes it, and words; stored ones return."""

from __future__ import annotations

import ast
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, nodes

from engine.common.errors import EngineError
from engine.decision.statements import (
    CATALOGUE,
    KINDS,
    Statement,
    Value,
    catalogue,
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
SUSPECTS: dict[str, Value] = {
    "found": "serious",
    "knowledge": "tables",
    "of": "records",
    "certain_of": "records",
    "certain": 3,
}
SAMPLES: dict[str, dict[str, Value]] = {
    "limit_set_late": {"origin": "chosen"},
    "recommended": {"rule": "limit", "origin": "fixed"},
    "uneven_group": {"group": "Age: 80 or more"},
    "considered": {"letter": "A"},
    "chosen": {"letter": "A"},
    "better_on_both": {"letter": "A"},
    "limit_set": {"origin": "fixed"},
    "tables_published": {"published": "no"},
    "stand_out": {"before": 3, "after": 1},
    "tolerance": {"planned": False},
    "data": {"attributes": 3},
    "checked": {"name": "Edit rules", "found": "None."},
    "check_failed": {"name": "Edit rules", "bars": False},
    "discarded": {"small": 9, "small_left": 8, "unaltered": 5, "unaltered_left": 3},
    "own_wording": {"text": "Ask us."},
    "measured": {"title": "Linkage"},
    "definition": {"of": "Frontier"},
    "no_figure": {"of": "run"},
    "over_limit": {"of": "run"},
    "over_edit_limit": {"of": "runs", "records": 34.0, "at_most": 20, "share": 0.9},
    "over_edit_limits": {"rules": ("under 15", "homes"), "within": 7, "runs": 20, "asked": 0.9},
    "not_safer": {"of": "run"},
    "rare_suspected": {"of": "records"},
    "remade": {"figures": 4},
    "attack": {**SUSPECTS, "certain_by": "tables"},
    "recognised": {**SUSPECTS, "certain_by": "several"},
    "values_guessed": {"found": "none", "attributes": "sex", "certain": 0},
    "limit_unmet": {"limit": "3 %", "least": "4 %", "candidate": "x1", "original": ""},
    "frontier_end": {"end": "safest", "candidate": "swaps B"},
    "undefined_risk": {"title": "Linkage"},
    "measured_risk": {"title": "Linkage", "before": "3 records", "after": "1 record"},
    "edits_broken": {"before": 3, "after": 9},
    "row_order": {"found": "random"},
    "partners": {"found": "all"},
    "one_way_tables": {"changed": ("one",)},
    "not_to_change": {"attribute": "Age"},
    "recode_broken": {"decider": "Age"},
}
"""Values that some kinds need; others get some by name."""
FIGURES = {
    *("value", "limit", "original", "low", "high", "asked", "candidate", "times", "errors", "change", "share", "mean"),
    *("instead", "before", "after", "quantile", "right", "guessed", "most", "matches", "matches_left"),
}
LISTS = {
    *("names", "entries", "keys", "columns", "attributes", "noise", "parts", "untrue", "include", "limits", "changes"),
    *("differences", "reasons", "departures", "undeclared", "unchecked"),
    *("kept", "renumbered", "counts", "beside", "rates", "risks", "meanings", "neighbours"),
}
WHOLES = {
    *("within", "runs", "needed", "changed", "done", "total", "place", "as_safe", "n", "of", "files", "records"),
    *("cells", "households", "areas", "fewest", "flagged", "eligible", "min_n", "groups", "over", "on"),
    *("equal", "studies", "choices", "checked", "others", "finalists", "candidates", "figures", "new", "persons"),
    *("cases", "beyond", "coefficients", "carried", "pairs", "more", "named", "altered", "small", "frontier"),
}
FLAGS = {
    *("fresh", "utility_only", "noise_known", "recorded", "swap", "is_share", "most_useful", "clear", "certain"),
    *("later", "several", "new_ids", "key_fixed", "again", "deviation", "afterwards", "despite", "reverses"),
    *("whole", "undone", "undoes", "reaches"),
}


def sample(kind: str) -> Statement:
    """A statement of a kind with made-up values."""
    values: dict[str, Value] = {}
    for name in KINDS[kind].values:
        values[name] = f"some {name}"
        for names, value in ((FIGURES, 0.25), (LISTS, ("one", "two")), (WHOLES, 9), (FLAGS, True)):
            if name in names and (kind, name) not in TEXTS:
                values[name] = value
    return statement(kind, **{**values, **SAMPLES.get(kind, {})})


TEXTS = {
    ("edits_broken", "before"),
    ("data", "attributes"),
    ("tried", "change"),
    ("departs", "change"),
    ("recommended", "limit"),
}


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
    assert "\n" not in text and "  " not in text
    assert KINDS[kind].group == "cell" or (text[0] == text[0].upper() and text.endswith((".", "!", "?")))
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
    assert of(274, 20_000, "record") == "274 of 20,000 records (1.4 %)" and of(0, 0) == "0 of 0"


def test_statements_are_told_apart_by_severity() -> None:
    found = [statement("off_plan"), statement("changes_nothing")]
    assert of_severity(found, "obstacle") == [found[1]] and of_severity(found, "caution") == [found[0]]


def test_a_value_that_a_macro_lacks_is_an_error_and_no_word() -> None:
    with pytest.raises(UndefinedError, match="place"):
        catalogue(CATALOGUE.name).run_place()  # type: ignore[union-attr]
