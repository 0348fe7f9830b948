"""Steps that mend an error, and differences between plans, in words."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import frontier_app
from engine.cli.options import OPTIONS
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.output import Message
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan, edit_plan
from engine.plan.differences import entry_values, lock
from frontier_app.session.navigation import PAGES
from frontier_app.wording.plan_words import action_words, disputed_words, taken_words
from frontier_app.wording.text import STEPS, error_text, message_text
from tests import sources

ROOT = Path(frontier_app.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
UNNEEDED = {
    Remedy.APPROVED_CANDIDATE,  # the page exports the recommended candidate, and no other
    Remedy.EARLIER,  # the page names all studies of the workspace
    Remedy.FIRST_PLAN,  # the page keeps the plan itself
    Remedy.IN_MEMORY,  # pages keep records in memory
    Remedy.STREAM,  # and read none by streaming
    Remedy.NO_CLUSTER,  # no page sweeps on a cluster
}
TERMINAL = {"session/launch.py"}
"""Speaks to the terminal in which the dashboard is started."""


def _modules() -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), sources.nodes(path)


def _texts(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Line and text of constants that are no docstrings."""
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


def _is_argument(text: str) -> bool:
    """Whether a text is an argument for a started process, such as ``--out`` or the beginning of ``--by=NAME``."""
    return re.fullmatch(r"--[a-z-]+=?", text) is not None


def test_every_remedy_that_a_page_can_need_has_a_step_with_the_values_of_the_error() -> None:
    assert set(Remedy) - set(STEPS) == UNNEEDED
    for remedy, step in STEPS.items():
        fields = {field for _, field, _, _ in string.Formatter().parse(step) if field}
        assert fields <= {field for _, field, _, _ in string.Formatter().parse(OPTIONS[remedy]) if field}, remedy
        assert not OPTION.search(step) and "`" not in step and step.endswith("."), remedy


@pytest.mark.slow
def test_what_a_step_names_stands_on_the_pages() -> None:
    texts = [text for name, nodes in _modules() if name != "wording/text.py" for _, text in _texts(nodes)]
    titles = {page.title for page in PAGES.values()}
    for step in STEPS.values():
        for label in re.findall(r"“(.+?)”", step):
            assert any(text.removesuffix(" (").startswith(label) for text in texts), label
        for title in re.findall(r"(?:the|The) page ([A-Z]\w+)", step):
            assert title in titles, title


@pytest.mark.slow
def test_no_text_of_the_dashboard_names_an_option_of_the_command_line() -> None:
    named = [
        f"{name}:{line}: {text}"
        for name, nodes in _modules()
        if name not in TERMINAL
        for line, text in _texts(nodes)
        if OPTION.search(text) and not _is_argument(text)
    ]
    assert not named


def test_no_page_shows_an_error_without_its_step() -> None:
    """An error becomes a text in one place."""
    bare = []
    for name, nodes in _modules():
        for handler in (node for node in nodes if isinstance(node, ast.ExceptHandler) and node.name):
            if handler.type is None or "EngineError" not in ast.unparse(handler.type):
                continue
            for node in (node for node in ast.walk(handler) if isinstance(node, ast.expr)):
                printed = isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == handler.name
                called = isinstance(node, ast.Call) and ast.unparse(node) == f"str({handler.name})"
                if printed or called:
                    bare.append(f"{name}:{node.lineno}")
    assert not bare


def test_a_sentence_is_followed_by_its_step() -> None:
    error = UsageError("column 'x' has no values at all; leave it out", Remedy.DROP, column="{x}")
    assert error_text(error).startswith("column 'x' has no values at all; leave it out. On the page Data")
    assert error_text(error).endswith("{x}.")
    assert error_text(EngineError("it is so")) == "it is so"
    assert error_text(UsageError("use one worker", Remedy.NO_CLUSTER)) == "use one worker"


@pytest.mark.parametrize(("remedy", "steps"), [("RECHECK", True), ("", False), ("OF_A_LATER_VERSION", False)])
def test_the_error_of_a_started_process_has_its_step_too(remedy: str, steps: bool) -> None:
    shown = message_text(Message("error", "it has only the figures that led to its choice", remedy=remedy))
    assert ("Run on fresh replicates" in shown) == steps


COLUMNS = ("age", "sex", "work", "wt", "note")
PLAN = Plan(
    DataPlan((AttributePlan("age"), AttributePlan("sex"), AttributePlan("work")), carry=("wt", "note")),
    space=SpacePlan(swap_sizes=(1,), rates=("0.1",)),
)


def _data(**changes: object) -> Plan:
    return replace(PLAN, data=replace(PLAN.data, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (_data(carry=("note",), weight="wt"), "wt is the weight"),
        (_data(carry=(), drop=("wt", "note")), "2 columns are dropped"),
        (_data(carry=("note",), id="wt", drop=()), "wt is the id"),
        (
            _data(attributes=(AttributePlan("age", columns=("age", "note")), *PLAN.attributes[1:]), carry=("wt",)),
            "note is in the block age",
        ),
        (edit_plan(PLAN, keys=["age"]), "2 attributes are not known to an intruder"),
        (edit_plan(PLAN, swap=["age", "work"]), "sex is not exchanged"),
        (_data(attributes=(replace(PLAN.attributes[0], cut=(25,)), *PLAN.attributes[1:])), "levels of age changed"),
        (replace(PLAN, decision=DecisionPlan(max_risk="0.01")), "Largest acceptable risk (α): 0.01"),
        (PLAN, ""),
    ],
)
def test_an_action_is_said_in_few_words(new: Plan, words: str) -> None:
    assert action_words(PLAN, new, COLUMNS) == words


def test_many_changes_at_once_are_counted() -> None:
    space = replace(PLAN.space, rates=("0.2",), replicates=7, fix=("sex",))
    assert action_words(PLAN, replace(PLAN, space=space), COLUMNS).endswith("; and 1 more change")


def test_what_another_tab_changed_is_told_without_what_is_asked_about() -> None:
    new = replace(_data(attributes=(*PLAN.attributes, AttributePlan("note")), carry=("wt",)), keys=("age",))
    assert taken_words(PLAN, new, ("keys", "attribute.note")) == ["Keys: age", "attribute 'note' is new"]
    locked = lock(PLAN, "2026-1", "the board")
    assert taken_words(PLAN, locked, ("lock",)) == ["the plan has been approved as 2026-1 by the board and is locked"]


@pytest.mark.parametrize("name", entry_values(PLAN))
def test_every_entry_that_two_tabs_may_change_has_words_for_its_value(name: str) -> None:
    label, value = disputed_words(name, PLAN)
    assert label and value and "Plan(" not in value
