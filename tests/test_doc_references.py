"""Files, modules, functions, commands and targets that the documents name exist."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from benchmarks.__main__ import INTRODUCTION, TITLE, sections
from tests import sources

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if path.name != "CHANGELOG.md")
ROOTS = ("engine", "frontier_app", "tests", "benchmarks", "datasets", "docs", ".ci", ".streamlit")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@cache
def names_in(path: Path) -> dict[str, set[str]]:
    """Names that a module binds, each with the members of a class."""
    bound: dict[str, set[str]] = {}
    for node in sources.nodes(path):
        if isinstance(node, ast.ClassDef):
            members = [*node.body, *(inner for part in node.body for inner in ast.iter_child_nodes(part))]
            bound[node.name] = {name for part in members for name in _bound_by(part)}
        else:
            bound.update((name, set()) for name in _bound_by(node))
    return bound


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return []


def dotted_exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one, or a member of a class in one."""
    at, parts = ROOT, name.split(".")
    while parts and (at / parts[0]).is_dir():
        at /= parts.pop(0)
    if parts and (at / f"{parts[0]}.py").is_file():
        module = at / f"{parts.pop(0)}.py"
    else:
        module = at / "__init__.py"
    if not parts:
        return at.is_dir()
    bound = names_in(module) if module.is_file() else {}
    return parts[0] in bound and (len(parts) == 1 or (len(parts) == 2 and parts[1] in bound[parts[0]]))


def wrong(code: str) -> bool:
    """Whether a piece of code in a text names a file, module, command or target that does not exist."""
    if re.fullmatch(r"(engine|frontier_app|tests|benchmarks)(\.\w+)+", code):
        return not (dotted_exists(code) or (ROOT / code).exists())
    if re.fullmatch(r"[\w.*/-]+", code) and ("/" in code or code.endswith(".py")):
        first = code.partition("/")[0]
        if first in ROOTS or code.endswith(".py"):
            return not any(ROOT.glob(code.rstrip("/")))
    if match := re.fullmatch(r"make ([a-z-]+).*", code):
        return f"\n{match[1]}:" not in (ROOT / "Makefile").read_text(encoding="utf-8")
    if match := re.fullmatch(r"python -m ([\w.]+).*", code):
        return not dotted_exists(match[1])
    return False


@pytest.mark.parametrize(
    "code",
    [
        *(
            "engine.nothing",
            "engine.measures.small_cells.large_cells",
            "engine.study.runs.Runs.forget",
            "engine/sweep.py",
        ),
        *("sweep.py", "make haste", "python -m tests.nothing", "tests/papers/lines_*.py"),
    ],
)
def test_a_name_of_nothing_is_seen(code: str) -> None:
    assert wrong(code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_code_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not [code for code in CODE.findall(text) if wrong(code)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_every_target_of_make_is_explained() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()) - {"help"}  # type: ignore[index]
    assert targets == set(re.findall(r'echo "make ([a-z]+)', text))


def test_the_page_on_performance_is_that_of_the_benchmarks() -> None:
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    there = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    assert text.startswith(TITLE) and INTRODUCTION in text
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)) == there
    assert all(text.count(section) == 1 for section in sections(text).values()) and set(sections(text)) == there


def test_the_versions_of_python_are_said_alike() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11" and "Python 3.11" in (ROOT / "README.md").read_text(encoding="utf-8")
