"""Text for the page: plain unless it is declared Markdown.

Streamlit reads almost every text as Markdown, and names, levels, labels and reasons come from files and from people:
one called ``![x](http://…)`` would make the browser fetch.  After :func:`prepare` a text is shown as it is written,
whatever it holds; only what :func:`markdown` makes is Markdown, and that escapes what it fills in.

Text in figures: plain unless it is declared plotly's own markup.

Plotly reads ``<b>``, ``<a href>`` and entities in nearly every text.  Every figure goes through :func:`plainly`, which
escapes what :func:`drawn` did not make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from html import escape
from inspect import Signature, signature
from string import Formatter
from threading import Lock
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.wording import may_be_formula, printable

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_OF_TRACES = ("name", "text", "hovertext", "customdata", "x", "y")


class Drawn(str):
    """Plotly's markup, made by :func:`drawn`."""

    __slots__ = ()


class _FilledText(Formatter):
    """Fills in values, escaped."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return _shown(value if isinstance(value, Drawn) and not format_spec else format(value, format_spec))


def drawn(template: str, *values: object) -> Drawn:
    """Markup from a template that the program holds, with values filled in, escaped unless they are markup too."""
    return Drawn(_FilledText().vformat(template, values, {}))


def stacked(lines: Iterable[str]) -> Drawn:
    """Lines under each other; those that are not markup are escaped."""
    return Drawn("<br>".join(_shown(line) for line in lines))


def plainly(figure: Figure) -> Figure:
    """The figure with every name, label, title and note escaped that is no markup of the program's own.

    Templates (``hovertemplate``, ``texttemplate``) are the program's own and hold no names.
    """
    for trace in figure.data:
        for field in _OF_TRACES:
            if field in trace and _has_text(trace[field]):
                trace[field] = _escaped(trace[field])
    layout = figure.layout
    for annotation in layout.annotations:
        annotation.text = _escaped(annotation.text)
    layout.legend.title.text = _escaped(layout.legend.title.text)
    figure.for_each_xaxis(_axis)
    figure.for_each_yaxis(_axis)
    return figure


def _axis(axis: Any) -> None:
    axis.title.text = _escaped(axis.title.text)
    if axis.ticktext is not None:
        axis.ticktext = _escaped(axis.ticktext)


def _has_text(values: Any) -> bool:
    return isinstance(values, str) or (
        values is not None and getattr(values, "dtype", None) in (None, object) and any(_texts(values))
    )


def _texts(values: Any) -> Iterable[bool]:
    return (isinstance(value, str) or _nested(value) for value in values)


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "tolist")


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return _shown(value)
    if _nested(value):
        return [_escaped(item) for item in value]
    return value


def _shown(text: str) -> Drawn:
    return text if isinstance(text, Drawn) else Drawn(escape(printable(text), quote=False))


TEXTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("markdown", "caption", "title", "header", "subheader"), ("body", "help")),
    **dict.fromkeys(("error", "warning", "info", "success"), ("body", "title")),
    **dict.fromkeys(("button", "download_button", "form_submit_button", "popover"), ("label", "help")),
    **dict.fromkeys(("text_input", "text_area", "number_input", "file_uploader"), ("label", "help")),
    **dict.fromkeys(("checkbox", "toggle", "selectbox", "multiselect"), ("label", "help")),
    **dict.fromkeys(("pills", "segmented_control", "select_slider"), ("label", "help", "format_func")),
    "radio": ("label", "help", "captions", "format_func"),
    "metric": ("label", "value", "delta", "delta_description", "help"),
    "expander": ("label",),
    "status": ("label",),
    "tabs": ("tabs",),
    "progress": ("text",),
    "spinner": ("text",),
    "dataframe": ("column_config", "data"),
    "data_editor": ("column_config",),
}
"""Of every element that the pages use, the parameters that Streamlit renders as Markdown.  Names of options of a
selectbox or a multiselect, placeholders, values, file names and cells it shows as they are."""

_JOINER = "\u2060"  # has no width; parts what is looked for after escapes were read
_PARTED = re.compile(
    r":(?=[\w+-]+:|material/|//)|(?<=[-.\w+])@(?=[-\w])|(?<![a-z0-9])www(?=\.)"
    r"|(?<!\S)(?:<(?=->(?!\S))|[-<>~](?=[->=](?!\S)))",
    re.ASCII | re.IGNORECASE,
)
_SIGNS = re.compile(r"[\\`*\[\]<$~|]|&(?=[#\w])|:(?=[A-Za-z:])|(?<![^\W_])_+|_+(?![^\W_])")
_LINE = re.compile(r"^(\s*\d{0,9})(?=[.)](?:\s|$)|[-+](?:\s|$)|-[-\s]*$|=+\s*$|#{1,6}(?:\s|$)|>|:-)(?!$)")
_BLANK = re.compile(r"[ \t\r\n\f\v\x85\u2028\u2029]+")


class Markdown(str):
    """Markdown, made by :func:`markdown`; what is added to it is escaped unless it is Markdown too."""

    __slots__ = ()

    def __add__(self, other: str) -> Markdown:
        return Markdown(str.__add__(self, shown(other)))

    def __radd__(self, other: str) -> Markdown:
        return Markdown(str.__add__(shown(other), self))


class _Filled(Formatter):
    """Fills in values, escaped."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return shown(value if isinstance(value, Markdown) and not format_spec else format(value, format_spec))


def plain(text: str) -> str:
    """Markdown that shows ``text`` as it is, on one line: no sign of it formats, links, embeds or becomes another one.

    Streamlit looks for addresses, emoji, icons and arrows after escapes were read; an invisible joiner parts those.
    """
    line = _PARTED.sub(lambda match: match[0] + _JOINER, printable(_BLANK.sub(" ", text)))
    line = _SIGNS.sub(lambda match: "".join(f"\\{sign}" for sign in match[0]), line)
    return _LINE.sub(r"\1\\", line)


def shown(text: object) -> Markdown:
    """Markdown as it is, anything else escaped."""
    return text if isinstance(text, Markdown) else Markdown(plain(str(text)))


def markdown(template: str, *values: object, **named: object) -> Markdown:
    """Markdown from a template that the program holds, with values filled in as :meth:`str.format` does, escaped unless
    they are Markdown themselves."""
    return Markdown(_Filled().vformat(template, values, named))


def joined(between: str, parts: Iterable[str]) -> Markdown:
    """Parts with Markdown between them; those that are not Markdown are escaped."""
    return Markdown(between.join(shown(part) for part in parts))


def bullets(lines: Iterable[str]) -> Markdown:
    """A list with a mark before each line."""
    return joined("\n", (markdown("* {}", line) for line in lines))


def table(head: Iterable[str], align: str, rows: Iterable[Iterable[str]]) -> Markdown:
    """A table; ``align`` has ``l`` or ``r`` for every column, since a browser shows no table where one is missing."""
    names = list(head)
    rule = "".join("|:--" if sign == "l" else "|--:" for _, sign in zip(names, align, strict=True)) + "|"
    return joined("\n", [_row(names), Markdown(rule), *map(_row, rows)])


def _row(cells: Iterable[str]) -> Markdown:
    return markdown("| {} |", joined(" | ", cells))


# -- every text of the page goes through here ------------------------------------------------------------------------

_LOCK = Lock()


def prepare() -> None:
    """Let Streamlit's elements show texts as they are written, unless they are :class:`Markdown`."""
    with _LOCK:
        if hasattr(DeltaGenerator.markdown, "shows_plain"):
            return
        for name in TEXTS:
            if hasattr(DeltaGenerator, name):
                setattr(DeltaGenerator, name, _plainly(name, getattr(DeltaGenerator, name)))
                setattr(st, name, getattr(st._main, name))
            else:
                setattr(st, name, _plainly(name, getattr(st, name)))


def _plainly(name: str, element: Callable[..., Any]) -> Callable[..., Any]:
    """An element whose texts are plain unless they are Markdown."""
    declared = signature(element)

    @wraps(element)
    def made(*args: Any, **kwargs: Any) -> Any:
        bound = declared.bind(*args, **kwargs)
        for parameter in TEXTS[name]:
            _escape(bound.arguments, declared, parameter)
        return element(*bound.args, **bound.kwargs)

    made.shows_plain = True  # type: ignore[attr-defined]
    return made


def _escape(arguments: dict[str, Any], declared: Signature, parameter: str) -> None:
    value = arguments.get(parameter)
    if parameter == "format_func":
        option_text = value or declared.parameters[parameter].default or str
        arguments[parameter] = lambda option: str(shown(option_text(option)))
    elif parameter == "column_config":
        if value is not None:
            arguments[parameter] = {name: _column(config) for name, config in value.items()}
    elif parameter == "data":
        arguments[parameter] = cells(value)
    elif isinstance(value, str):
        arguments[parameter] = str(shown(value))
    elif parameter in ("tabs", "captions") and value is not None:
        arguments[parameter] = [str(shown(text)) for text in value]


def cells(data: Any) -> pd.DataFrame:
    """A table whose texts no spreadsheet program computes after the reader downloads it: an invisible joiner before
    what may be a formula."""
    import pandas as pd

    def cell(value: Any) -> Any:
        if isinstance(value, list):
            return [cell(item) for item in value]
        return _JOINER + value if isinstance(value, str) and may_be_formula(value) else value

    frame = pd.DataFrame(data).copy()
    for name in frame.columns:
        if frame[name].dtype == object or isinstance(frame[name].dtype, pd.StringDtype):
            frame[name] = frame[name].map(cell)
    return frame


def _column(config: Any) -> Any:
    """A column's settings with its help plain: Streamlit reads that as Markdown, and the label as it is."""
    if isinstance(config, Mapping) and isinstance(config.get("help"), str):
        return {**config, "help": str(shown(config["help"]))}
    return config
