"""Files, functions and lists of parameters stay small enough to be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests import sources

ROOT = Path(__file__).parent.parent
MOST_LINES_OF_FILE = 900
MOST_LINES_OF_FUNCTION = 90
MOST_PARAMETERS = 8
KERNELS = {
    ("engine/measures/exchange_kernels.py", "exchange_sums"),
    ("engine/mechanisms/donor_kernels.py", "swap_level"),
    ("engine/mechanisms/swap_kernels.py", "draw_pairs"),
    ("engine/mechanisms/swap_kernels.py", "find_runs"),
    ("engine/mechanisms/swap_kernels.py", "prepare_cells"),
    ("engine/mechanisms/swap_kernels.py", "draw_restricted"),
    ("engine/mechanisms/donor_kernels.py", "find_partners"),
    ("engine/mechanisms/donor_kernels.py", "nearest"),
    ("engine/release/exchanges.py", "arrive"),
    ("engine/release/exchanges.py", "exchange"),
    ("engine/release/exchanges.py", "leave"),
    ("engine/sweeps/batch_kernels.py", "run_groups"),
}
"""Compiled kernels: arrays come one by one, and a call in the innermost loop would cost."""


def _functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, lines and parameters of every function; its docstring, ``self`` and ``cls`` are not counted."""
    for node in sources.nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
            names = [argument.arg for argument in every if argument and argument.arg not in ("self", "cls")]
            lines = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) is not None else 0)
            yield node.name, lines, len(names)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _files() -> list[Path]:
    return sorted(path for package in ("engine", "frontier_app") for path in (ROOT / package).rglob("*.py"))


def test_files_are_short() -> None:
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in _files()}
    assert len(lines) > 250
    assert {name: n for name, n in lines.items() if n > MOST_LINES_OF_FILE} == {}


def test_functions_are_short_and_have_few_parameters() -> None:
    large = {
        (path.relative_to(ROOT).as_posix(), name): (lines, parameters)
        for path in _files()
        for name, lines, parameters in _functions(path)
        if lines > MOST_LINES_OF_FUNCTION or parameters > MOST_PARAMETERS
    }
    assert not set(large) - KERNELS, large
