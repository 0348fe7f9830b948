"""The page docs/api.md, made from docstrings; ``python -m tests.api_page`` (``make api``) writes it."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import engine

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """\
# The engine from Python

This page is made from docstrings by `make api`. [scripting.ipynb](scripting.ipynb) shows the same at work.

```python
import engine as sf
```

Below, `Data` is a DataFrame, the path of a file or the name of a sample; `PlanSource` is a `Plan`, the path of a
`plan.toml` or its text; `SweepOptions` are the further arguments that `sf.sweep` lists; `View` are `risk`, `utility`,
`objectives` and `allow_partial`, which `sf.Sweep` describes.
"""
GROUPS = {
    "Sweep": ("sweep", "open_study", "Sweep", "Candidate"),
    "Data and releases made elsewhere": ("load", "list_samples", "risk_utility"),
    "Measures and mechanisms": (
        "list_measures",
        "list_mechanisms",
        "register_measure",
        "register_mechanism",
        "Measure",
        "Mechanism",
    ),
    "Plan": ("Plan",),
    "Errors and warnings": (
        "EngineError",
        "UsageError",
        "DisclosureWarning",
        "SweepInterruptedWarning",
        "UndefinedFigureWarning",
    ),
}


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(engine, name)) for name in names]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def _entry(name: str, thing: Any) -> str:
    if not inspect.isclass(thing):
        return f"### `sf.{name}`\n\n{_signature(name, thing)}\n{markdown(inspect.getdoc(thing) or '')}\n"
    made = thing.__name__ not in ("Sweep", "Candidate") and not issubclass(thing, Exception)
    lines = [f"### `sf.{name}`\n", _signature(name, thing) if made else "", markdown(inspect.getdoc(thing) or ""), ""]
    if made or issubclass(thing, Exception):
        return "\n".join(filter(None, lines)) + "\n"
    for member, value in vars(thing).items():
        if member.startswith("_") or not (isinstance(value, property) or inspect.isfunction(value)):
            continue
        title = f"#### `{name}.{member}`\n"
        body = markdown(inspect.getdoc(value) or "")
        lines += [title, body if isinstance(value, property) else f"{_signature(member, value)}\n{body}", ""]
    return "\n".join(lines)


def _signature(name: str, thing: Any) -> str:
    """A call with its parameters, as in the code: the same in every version of Python."""
    parameters, star = [], False
    whole = inspect.signature(thing)
    answer = "" if inspect.isclass(thing) else f" -> {whole.return_annotation}"
    for one in whole.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        text = f"**{one.name}" if one.kind is one.VAR_KEYWORD else one.name
        if one.annotation is not one.empty:
            text += f": {one.annotation}"
        if one.default is not one.empty:
            text += " = ..." if "factory" in repr(one.default) else f" = {_default(one.default)}"
        parameters.append(text)
    line = f"{name}({', '.join(parameters)}){answer}"
    if len(line) > 110:
        line = f"{name}(\n" + "".join(f"    {text},\n" for text in parameters) + f"){answer}"
    return f"```python\n{line}\n```\n"


def _default(value: object) -> str:
    return value.__name__ if inspect.isfunction(value) else repr(value)


def markdown(docstring: str) -> str:
    """A docstring as Markdown: literals and references as code, indented examples as blocks."""
    text = re.sub(r":\w+:`(?:~[\w.]+\.)?(.+?)`", r"`\1`", docstring).replace("``", "`")
    text = re.sub(r"([Ee]xample)::\n\n((?:(?:    .*)?\n?)+)", _block, text)
    return text.rstrip() + "\n"


def _block(found: re.Match[str]) -> str:
    return f"{found[1]}:\n\n```python\n{textwrap.dedent(found[2]).strip()}\n```\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
