"""The page on the Python face is what the docstrings say, and says of each name what a caller needs."""

from __future__ import annotations

import inspect
import re

import pytest

import engine
from tests.api_page import GROUPS, PAGE, markdown, page

FUNCTIONS = [name for names in GROUPS.values() for name in names if inspect.isfunction(getattr(engine, name))]


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/api.md is stale; run `make api`"


def test_every_name_is_on_it_once() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(set(engine.__all__) - {"__version__"})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shows_an_example(name: str) -> None:
    assert re.search("Example::", inspect.getdoc(getattr(engine, name)) or "")


def test_every_argument_of_a_sweep_is_described() -> None:
    from engine.scripting.arguments import SweepOptions

    described = inspect.getdoc(engine.sweep) or ""
    named = [*inspect.signature(engine.sweep).parameters, *SweepOptions.__annotations__]
    assert [name for name in named if name != "options" and f"``{name}``" not in described] == []


def test_references_and_examples_become_markdown() -> None:
    assert markdown("See :func:`f` and ``g``.\n\nExample::\n\n    f(1)\n\n    g\n\nEnd.") == (
        "See `f` and `g`.\n\nExample:\n\n```python\nf(1)\n\ng\n```\nEnd.\n"
    )
