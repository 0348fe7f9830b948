"""Inputs of a mechanism's parameters in words of the field: shares, choices and lists of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import text

_NEEDED = ("hierarchy", "swap")
Grid = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class GridInputs:
    """Inputs of one mechanism of a plan: the grid ``before`` them, the ``key`` that sets them apart from those of
    others, and the ``values`` that they say, by parameter."""

    before: Grid
    key: str
    wrong: InputErrors
    values: Grid = field(default_factory=dict)

    def shares(self, column: DeltaGenerator, name: str, label: str, tip: str) -> None:
        """Ask for shares, typed in percent."""
        before = self.before.get(name, ())
        shown = text.rates_to_percent(before) if before else ""
        typed = column.text_input(label, value=shown, key=self._key(name), help=tip)
        self.values[name] = self.wrong.attempt(lambda: text.rates_from_percent(typed), before)

    def picked(
        self, column: DeltaGenerator, name: str, label: str, words: dict[str, str], usual: str, tip: str | None = None
    ) -> None:
        """Ask for one value or several; each is tried, and ``usual`` is picked where the plan says nothing."""
        before = self.before.get(name, (usual,))
        options = list(dict.fromkeys((*words, *before)))
        chosen = column.pills(
            label,
            options,
            selection_mode="multi",
            default=list(before),
            format_func=lambda value: words.get(value, value),
            key=self._key(name),
            help=tip,
        )
        self.values[name] = tuple(value for value in options if value in chosen)

    def attribute_lists(
        self, column: DeltaGenerator, name: str, label: str, options: Sequence[str], placeholder: str | None = None
    ) -> None:
        """Ask for lists of attributes, each a value of the grid, and for another one beside those that there are.  Of
        what the mechanism cannot do without, an empty list beside others is none."""
        before, key = self.before.get(name, ()), self._key(name)
        lists = [
            _listed(column, label if not at else "or", options, value, f"{key}-{at}", placeholder)
            for at, value in enumerate(before or ("",))
        ]
        if any(lists):
            with column.popover("Try another list too", icon=":material/add:"):
                lists.append(_listed(st.container(), "or", options, "", f"{key}-{len(lists)}", placeholder))
            lists = [value for at, value in enumerate(lists) if value or at < len(before)]
        if name in _NEEDED and any(lists):
            lists = list(filter(None, lists))
        self.values[name] = tuple(dict.fromkeys(lists))

    def names(self, *parameters: str) -> set[str]:
        """The attributes that these parameters name so far."""
        return {name for parameter in parameters for value in self.values[parameter] for name in value.split("+")}

    def _key(self, name: str) -> str:
        return f"par-{self.key}-{name}"


def _listed(
    column: DeltaGenerator, label: str, options: Sequence[str], before: str, key: str, placeholder: str | None
) -> str:
    start = [name for name in before.split("+") if name in options]
    chosen = column.multiselect(label, options, default=start, key=key, placeholder=placeholder, filter_mode="contains")
    return "+".join(chosen)
