"""The generated parts of docs/architecture.md; ``python -m tests.architecture`` (``make architecture``) writes them.

Packages come from the contracts of import-linter in pyproject.toml, sentences from the first lines of docstrings.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tests import sources

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"


def layers(root: str) -> list[str]:
    """Packages and modules of ``root`` in the order in which they may be imported, the ground first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract["layers"][0].startswith(f"{root}."):
            return list(reversed(contract["layers"]))
    raise LookupError(f"no contract of layers for {root}")


def module_path(name: str) -> Path:
    """The file of a module or package."""
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(sources.tree(path)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def markdown(sentence: str) -> str:
    """A sentence of a docstring as Markdown: its literals and references as code."""
    return re.sub(r":\w+:`(.+?)`", r"`\1`", sentence).replace("``", "`").replace("|", r"\|")


def packages(root: str) -> str:
    """A table of packages, each with its sentence."""
    rows = [f"| `{name.partition('.')[2]}` | {markdown(first_sentence(module_path(name)))} |" for name in layers(root)]
    return "\n".join(["| package | holds |", "| --- | --- |", *rows])


def entries() -> str:
    """The imports of the dashboard that the contracts allow the engine."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    allowed = [
        line.split(" -> ")
        for contract in contracts
        if contract["type"] == "forbidden" and "frontier_app" in contract["forbidden_modules"]
        for line in contract.get("ignore_imports", [])
    ]
    return "\n".join(f"* `{one}` imports `{other}`" for one, other in sorted(allowed))


def modules() -> str:
    """Every module of every package with its sentence."""
    lines = []
    for package in layers("engine") + layers("frontier_app"):
        folder = module_path(package).parent
        if not (folder / "__init__.py").exists() or folder.name == "frontier_app":
            continue
        lines += [f"### {folder.relative_to(ROOT).as_posix()}", ""]
        for path in sorted(folder.rglob("*.py")):
            if path.name != "__init__.py":
                name = path.relative_to(folder).with_suffix("").as_posix()
                lines.append(f"* `{name}`: {markdown(first_sentence(path))}")
        lines.append("")
    return "\n".join(lines).rstrip()


def rewritten(text: str) -> str:
    """The page with its generated parts made anew."""
    parts = {"engine": packages("engine"), "frontier_app": packages("frontier_app"), "entries": entries()}
    parts["modules"] = modules()
    for name, part in parts.items():
        mark = re.compile(rf"(<!-- made: {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        if len(mark.findall(text)) != 1:
            raise LookupError(f"{PAGE.name} has no part {name}, or more than one")
        text = mark.sub(lambda match, part=part: f"{match[1]}{part}{match[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    """Write the generated parts into the page."""
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
