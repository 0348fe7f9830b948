"""Templates of HTML, which Jinja2 fills in; a value is text and never form.

An unknown name, a figure without a filter and a fault in a template are an :class:`EngineError` with the line.
"""

from __future__ import annotations

import html
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, Undefined, pass_eval_context
from markupsafe import Markup

from engine.common.errors import EngineError
from engine.common.wording import listed, plural, printable, upper_first
from engine.decision import statements
from engine.decision.statements import Statement
from engine.report import words


def html_of(template: Path, names: Mapping[str, Any]) -> str:
    """Return the page of HTML of a template."""
    try:
        return _environment(template.parent).get_template(template.name).render(names)
    except TemplateError as error:
        position = f"'{template.name}'"
        for frame in traceback.extract_tb(error.__traceback__):
            if Path(frame.filename).parent == template.parent:
                position = f"'{Path(frame.filename).name}', line {frame.lineno}"
        raise EngineError(f"the template {position} cannot be read: {error.message}") from error


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=pass_eval_context(lambda _, value: _value(value)),  # with a context constants come here too
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        **{each.__name__: each for each in (words.about, words.percent, words.one_in, listed, plural, upper_first)},
        "figure": words.figure,
        "sentences": statements.sentences,
        "joined": lambda parts, between: between.join(filter(None, parts)),
        "short": lambda value: f"{float(value):g}",  # as it was entered
        "whole": lambda value: f"{value:,.0f}",
    }
    return environment


def _value(value: Any) -> Markup:
    """What a template writes for a value: text, a statement, or a whole number; other figures need a filter."""
    if isinstance(value, Markup):  # what a macro wrote, whose values came here before
        return value
    if isinstance(value, Statement):
        value = statements.words(value)
    if isinstance(value, Undefined):
        str(value)  # raises, with the name
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TemplateError(f"{value!r} is neither text nor a whole number; give it a filter such as 'figure'")
    return Markup(html.escape(printable(value) if isinstance(value, str) else f"{value:,}"))
