"""Python source as trees, parsed and walked through once for all tests that look into it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


def tree(path: Path) -> ast.Module:
    """The module in a file; all tests get the same one, so none changes it."""
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    return module


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The module in a file and all nodes below it."""
    return nodes_in(path.read_text(encoding="utf-8"))


@cache
def nodes_in(source: str) -> tuple[ast.AST, ...]:
    """The module of some source and all nodes below it, as :func:`ast.walk` goes."""
    return tuple(ast.walk(ast.parse(source)))
