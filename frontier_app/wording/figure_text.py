"""Text in figures: plain unless it is declared plotly's own markup.

Plotly reads ``<b>``, ``<a href>`` and entities in nearly every text.  Every figure goes through :func:`plainly`, which
escapes what :func:`drawn` did not make.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from string import Formatter
from typing import TYPE_CHECKING, Any

from engine.common.wording import printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_OF_TRACES = ("name", "text", "hovertext", "customdata", "x", "y")


class Drawn(str):
    """Plotly's markup, made by :func:`drawn`."""

    __slots__ = ()


class _Filled(Formatter):
    """Fills in values, escaped."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return _shown(value if isinstance(value, Drawn) and not format_spec else format(value, format_spec))


def drawn(template: str, *values: object) -> Drawn:
    """Markup from a template that the program holds, with values filled in, escaped unless they are markup too."""
    return Drawn(_Filled().vformat(template, values, {}))


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
