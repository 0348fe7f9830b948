"""No condition looks into a sentence: what the program decides on is a value, and sentences are made from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sources

ROOT = Path(__file__).resolve().parents[1]
PROSE = re.compile(r"[A-Za-z][,:;.]? [A-Za-z]|[A-Za-z]{2,}[,:;.]? $|^ [A-Za-z]{2,}")
"""Text that people read: letters on both sides of a space, or a word with a space before or after it."""
_METHODS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "index", "split", "rsplit", "partition",
    "rpartition",
}  # fmt: skip
_PATTERNS = {"compile", "match", "fullmatch", "search", "split", "findall", "finditer"}
_WORDS_MADE = re.compile(r"(^|_)(words|text|sentence|said|complaint)$")
_ERRORS = {"error", "exception", "refused", "problem"}

_TEXTS = re.compile(r"(^|_)(texts?|titles?|meaning|words|sentences?|group|found|why|event)$")
"""Names of what holds words in findings, where a word or a name may be looked for as well as a sentence."""

ALLOWED = {
    "engine/common/untrusted.py": "msgspec says what is wrong in sentences alone",
    "engine/common/untrusted.py:_refusal": "msgspec says what is wrong in sentences alone",
    "engine/data/io/readers.py:csv_batches": "Arrow tells a record across two blocks from other faults in words",
    "engine/data/io/readers.py:_batches": "Arrow tells an empty file from other faults in words alone",
    "engine/decision/disclosure_text.py": "the analyst's own words are searched for rates",
    "engine/plan/entries.py": "the analyst writes the range that the public is told in words",
    "engine/report/sheet.py:figure_name": "a mean's table is named by its column and its group's attribute, a value",
    "engine/study/database.py:_sentence": "sqlite3 has no code for a text that it cannot decode",
    "engine/sweeps/cluster.py:_why_not": "Dask raises a plain TypeError where certificates are missing",
}
"""Where a sentence may be looked into, by file and function, and why: texts of other libraries, of people, of files."""


def _constants(root: Path) -> dict[str, str]:
    """Texts that modules name, by name: the literal parts of what is assigned at their top."""
    found = {}
    for path in _files(root):
        for node in sources.tree(path).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = _literal(node.value, {})
    return {name: text for name, text in found.items() if text}


def _files(root: Path) -> Iterator[Path]:
    for package in ("engine", "frontier_app"):
        yield from sorted((root / package).rglob("*.py"))


def _literal(node: ast.AST, named: dict[str, str]) -> str:
    """The literal text in an expression that is a text, a name of one, or several of them; empty for others."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part, named) or "\0" for part in node.values)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return "\n".join(_literal(part, named) for part in node.elts)
    if isinstance(node, ast.BinOp):
        return _literal(node.left, named) + _literal(node.right, named)
    return named.get(node.id, "") if isinstance(node, ast.Name) else ""


def _is_prose(node: ast.AST, named: dict[str, str]) -> bool:
    return any(PROSE.search(text) for text in _literal(node, named).split("\n"))


def _name(node: ast.AST) -> str:
    """The last name in a name, an attribute or a call of one."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_sentence(node: ast.AST, made: set[str]) -> bool:
    """Whether an expression is what a function that makes words gave, or the text of an error."""
    if isinstance(node, ast.Call) and _name(node.func) == "str" and node.args:
        return _name(node.args[0]) in _ERRORS
    if isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "strip"):
            return _is_sentence(node.func.value, made)
        return isinstance(node, ast.Call) and _name(node) != "read_text" and bool(_WORDS_MADE.search(_name(node)))
    return isinstance(node, ast.Name) and node.id in made


def _looks(function: ast.AST, named: dict[str, str]) -> Iterator[int]:
    """Lines of a function in which a condition looks into a sentence."""
    nodes = [*ast.walk(function)]
    made = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_sentence(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            text = isinstance(node.left, ast.Constant | ast.JoinedStr | ast.Name)
            one = not isinstance(node.comparators[0], ast.Tuple | ast.List | ast.Set | ast.Dict)
            if one and text and (_is_prose(node.left, named) or _is_sentence(node.comparators[0], made)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            method, of_re = node.func.attr, _name(node.func.value) == "re"
            if of_re and method in _PATTERNS:
                second = node.args[1] if len(node.args) > 1 else ast.Constant(None)
                if _is_prose(node.args[0], named) or _is_sentence(second, made):
                    yield node.lineno
            elif method in _METHODS and (_is_prose(node.args[0], named) or _is_sentence(node.func.value, made)):
                yield node.lineno


def _looks_at_texts(function: ast.AST) -> Iterator[int]:
    """Lines in which a condition looks for a word, or for another text, in a text that findings hold."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            where, what = node.comparators[0], node.left
            if isinstance(where, ast.Tuple | ast.List | ast.Set | ast.Dict):
                continue
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr not in _METHODS:
                continue
            where, what = node.func.value, node.args[0]
        else:
            continue
        if _TEXTS.search(_name(where)) and not _is_sign(what):
            yield node.lineno


def _is_sign(node: ast.AST) -> bool:
    """Whether a text is punctuation alone."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_sign, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and not re.search("[A-Za-z]{2}", node.value)


def looks(root: Path = ROOT) -> dict[str, list[int]]:
    """Where conditions look into sentences: lines by file and function."""
    named = _constants(root)
    found: dict[str, list[int]] = {}
    for path in _files(root):
        tree = sources.tree(path)
        inside: set[int] = set()
        for node in sources.nodes(path):
            if isinstance(node, ast.FunctionDef):
                inside |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                of_texts = _looks_at_texts(node) if path.parent == root / "engine" / "report" else ()
                if lines := sorted({*_looks(node, named), *of_texts}):
                    found[f"{path.relative_to(root).as_posix()}:{node.name}"] = lines
        if lines := sorted(set(_looks(tree, named)) - inside):
            found[path.relative_to(root).as_posix()] = lines
    return found


@pytest.mark.slow
def test_no_condition_looks_into_a_sentence() -> None:
    found = looks()
    assert not found.keys() - ALLOWED.keys(), {where: found[where] for where in found.keys() - ALLOWED.keys()}
    assert not ALLOWED.keys() - found.keys(), "these are allowed and do not look into a sentence any more"


@pytest.mark.parametrize(
    "line",
    [
        'text.startswith("the run to be released is partial")',
        'text.startswith(("The plan was changed", "A deviation"))',
        'line.removeprefix("warning: ")',
        '"above the limit" in text',
        '" of " not in rest',
        '"Did you mean" in did_you_mean(a, b)',
        '"records" in str(error)',
        "text.startswith(NOTHING)",
        'bound_words(a).endswith(".")',
        'standing_words(a).partition(": ")',
        're.search(r"an attack succeeded \\((.*)\\)", text)',
        "re.match(pattern, str(error))",
        'f"{name} is refused" in text',
    ],
)
def test_a_look_into_a_sentence_is_seen(line: str) -> None:
    assert [*_looks(ast.parse(line), {"NOTHING": "doing nothing is better"})] == [1]
    words = "words = caution_text(caution)\nif words.startswith(a):\n    pass"
    assert [*_looks(ast.parse(words), {})] == [2]


@pytest.mark.parametrize(
    "line",
    [
        'name.startswith("about.")',
        'text.split(",")',
        'state in ("not run", "run")',
        'kind == "a folder"',
        'entry.partition(".")',
        '"candidate" in detail',
        'path.read_text().split("\\n")',
        "column in table.columns",
    ],
)
def test_names_signs_and_keys_may_be_looked_for(line: str) -> None:
    assert [*_looks(ast.parse(line), {})] == []


@pytest.mark.parametrize(
    "line",
    [
        "text.startswith(tuple(CHANGE_TEXTS.values()))",
        "group.group.startswith(without)",
        "board_map.utility_title.startswith(spread.title)",
        "'tolerances' not in text",
        "title.endswith(ONE_DIGIT)",
        "row.meaning.endswith((A, B))",
    ],
)
def test_a_look_for_a_word_in_the_words_of_findings_is_seen(line: str) -> None:
    assert [*_looks_at_texts(ast.parse(line))] == [1]


@pytest.mark.parametrize(
    "line",
    ['text.endswith((".", "!"))', 'title.split(" × ")', "group.attribute in left_out", "kind in ('text', 'row')"],
)
def test_signs_and_fields_may_be_looked_for_in_findings(line: str) -> None:
    assert [*_looks_at_texts(ast.parse(line))] == []


def test_no_template_looks_into_a_sentence() -> None:
    tests = re.compile(r"\{%-?\s*(?:el)?if\b.*?%\}|\{\{(?:(?!\}\}).)*?\bif\b.*?\}\}", re.DOTALL)
    prose = r"""["'][^"']*[A-Za-z] [A-Za-z][^"']*["']\s+(?:not\s+)?in\b"""
    looked = re.compile(prose + r"|\.(?:startswith|endswith|find|split)\((?!\"\W\"\))")
    paths = sorted([*(ROOT / "engine/report/templates").glob("*.html"), ROOT / "engine/decision/catalogue.jinja"])
    assert paths
    for path in paths:
        for test in tests.findall(path.read_text(encoding="utf-8")):
            assert not looked.search(test), f"{path.name}: {test}"
