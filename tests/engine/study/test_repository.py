"""The study is a repository: SQL is spoken in its package alone, and what is stored is read as typed values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from engine.plan import SpacePlan
from engine.release.scenarios import Note, NoteKind, RunStatus
from engine.release.spec import ReleaseSpec
from engine.study.study import Study
from tests import sources
from tests.engine.small_studies import ROOT
from tests.small_tables import Small

OK, FAILED = RunStatus.OK, RunStatus.FAILED

STATEMENT = re.compile(
    r"\s*(select\b.*\bfrom\b|insert\s+(or\s+\w+\s+)?into\b|update\s+\w+\s+set\b|delete\s+from\b|pragma\s+\w"
    r"|(create|alter|drop)\s+(table|index)\b|begin\s+(immediate|exclusive)\b)",
    re.DOTALL,
)


def text_of(node: ast.AST) -> str:
    """The text of a literal, with a sign for each part of an f-string that is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "?" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def sql_in(source: str) -> Iterator[str]:
    """Everything in a module that speaks SQL: statements, SQLite's module, calls that run a statement."""
    nodes = sources.nodes_in(source)
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"import of {name}" for name in names if name.partition(".")[0] == "sqlite3")
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in docstrings:
            text = text_of(node)
            if STATEMENT.match(text) or STATEMENT.match(text.swapcase()):  # not "Select a ..."
                yield text
        elif isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript"):
            yield f"call of {node.attr}"


@pytest.mark.slow
@pytest.mark.parametrize("package", ["engine", "frontier_app"])
def test_sql_is_spoken_in_the_study_alone(package):
    assert len([*sql_in((ROOT / "engine" / "study" / "runs.py").read_text(encoding="utf-8"))]) > 10
    elsewhere: dict[str, list[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        if ROOT / "engine" / "study" not in path.parents and (sql := [*sql_in(path.read_text(encoding="utf-8"))]):
            elsewhere[path.relative_to(ROOT).as_posix()] = sql
    assert elsewhere == {}


SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
SPECS = [ReleaseSpec(SMALL.spec(roles), "0.1") for roles in ("SUU", "USU", "UUS")]


@pytest.fixture
def study():
    plan = SMALL.plan(space=SpacePlan(swap_sizes=(1,), rates=("0.1",), replicates=3))
    about = {"attributes": list(SMALL.names), "measures": ["small_cells", "hellinger"], "n_records": 2}
    with Study.create_in_memory(plan, about, {"small_cells": 0.5, "hellinger": 0.0}) as made:
        made.scenario_table.add(SPECS)
        yield made


def test_runs_are_counted_by_what_they_are(study):
    study.runs.add([(0, 1, OK, 2, 0.1, 0.1), (0, 2, FAILED, 2, 0.1, 0.1), (2, 1, OK, 2, 0.1, 0.1)])
    study.runs.add([(1, 10, OK, 2, 0.1, 0.1), (1, 11, OK, 2, 0.1, 0.1)], table="fresh")
    labels = study.scenarios.labels()
    assert study.runs.count() == 3 and study.runs.count("fresh") == 2
    assert study.runs.count(up_to=1) == 2 and study.runs.count(status=FAILED) == 1
    assert study.runs.count(labels=labels[:1]) == 2 and study.runs.count("fresh", labels=labels[1:], up_to=10) == 1
    assert study.runs.count(labels=[]) == 0 and study.choices.count() == 0


def test_notes_come_back_as_what_they_are(study):
    notes = [
        Note(0, 1, NoteKind.COUNT, 1, "3.5"),
        Note(0, 1, NoteKind.COUNT, 0, "2.0"),
        Note(0, 1, NoteKind.DIAGNOSTICS, None, "{}"),
        Note(0, 1, NoteKind.FIGURE, 0, "why"),
        Note(0, 2, NoteKind.FIGURE, 1, "because"),
    ]
    study.runs.add([(0, 1, OK, 2, None, 0.1), (0, 2, OK, 2, 0.1, None)], reversed(notes))
    assert study.notes.of(0) == notes and study.notes.of(1) == []
    assert study.notes.on(0, NoteKind.COUNT) == notes[1:2] and study.notes.on(1) == notes[4:]
    stored = study.database.rows("select measure from note order by replicate, measure")
    assert stored == [(-3,), (-2,), (-1,), (0,), (1,)], "the format of a study stays"


def test_a_study_without_sql_says_what_it_holds(study):
    study.scenario_table.reuse(scenarios := study.scenarios)
    assert study.scenarios is scenarios
    study.scenario_table.add([ReleaseSpec(SMALL.spec("SFU"), "0.1")])
    assert study.scenarios is not scenarios and len(study.scenarios) == 4
    study.scenario_table.reuse(scenarios)  # read before the study had grown
    assert len(study.scenarios) == 4


def test_statuses_are_stored_as_numbers(study):
    study.runs.add([(0, replicate, status, 2, 0.1, 0.1) for replicate, status in enumerate(RunStatus, 1)])
    assert study.database.rows("select status from realisation order by replicate") == [(0,), (1,), (2,), (3,)]
    assert [RunStatus(status).word for status in study.runs.results().status] == ["ok", "failed", "noop", "partial"]
