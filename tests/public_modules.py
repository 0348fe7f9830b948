"""Which modules of a package other packages import: what its ``__all__`` must list, no more and no less."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests import sources

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("engine", "frontier_app", "benchmarks", "datasets")


def packages() -> list[str]:
    """Every package below the two roots that lists modules, dotted."""
    return sorted(
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in ("engine", "frontier_app")
        for path in (ROOT / top).glob("*/__init__.py")
    )


def listed(package: str) -> list[str] | None:
    """The ``__all__`` of a package as it is written, or None."""
    tree = sources.tree(ROOT / package.replace(".", "/") / "__init__.py")
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if [getattr(target, "id", "") for target in targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return None


def offers_names(package: str) -> bool:
    """Whether a package imports names for others itself; otherwise it is a folder of modules."""
    tree = sources.tree(ROOT / package.replace(".", "/") / "__init__.py")
    return any(isinstance(node, ast.ImportFrom) and node.module != "__future__" for node in tree.body)


@cache
def imported() -> dict[str, set[str]]:
    """The modules and packages right below each package that code outside of it imports."""
    users: dict[str, set[str]] = defaultdict(set)
    known = set(packages())
    for path in [path for top in SOURCES for path in (ROOT / top).rglob("*.py")]:
        here = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in sources.nodes(path):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            for name in [f"{node.module}.{alias.name}" for alias in node.names]:
                package, parts = ".".join(name.split(".")[:2]), name.split(".")
                if package in known and len(parts) > 2 and not f"{here}.".startswith(f"{package}."):
                    below = ROOT / package.replace(".", "/") / parts[2]
                    if below.with_suffix(".py").exists() or (below / "__init__.py").exists():
                        users[package].add(parts[2])
    return users
