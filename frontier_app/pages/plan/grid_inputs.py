"""Inputs of a mechanism's parameters in words of the field: shares, choices and lists of attributes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

Grid = dict[str, tuple[str, ...]]


def shares(
    column: DeltaGenerator, label: str, before: Sequence[str], key: str, wrong: InputErrors, tip: str
) -> tuple[str, ...]:
    """Shares, typed in percent."""
    typed = column.text_input(
        label, value=text.rates_to_percent(tuple(before)) if before else "", key=f"par-{key}-rate", help=tip
    )
    return wrong.attempt(lambda: text.rates_from_percent(typed), tuple(before))


def picked(
    column: DeltaGenerator, label: str, words: dict[str, str], before: Sequence[str], key: str, tip: str | None = None
) -> tuple[str, ...]:
    """One value or several; each is tried."""
    options = list(dict.fromkeys((*words, *before)))
    chosen = column.pills(
        label,
        options,
        selection_mode="multi",
        default=list(before),
        format_func=lambda value: words.get(value, value),
        key=key,
        help=tip,
    )
    return tuple(value for value in options if value in chosen)


def attributes(
    column: DeltaGenerator,
    label: str,
    options: Sequence[str],
    before: Sequence[str],
    key: str,
    placeholder: str | None = None,
) -> tuple[str, ...]:
    """Attributes in the order of their choice, as the first value of a grid; what a plan tries besides stays."""
    chosen = _listed(column, label, options, before[0] if before else "", key, placeholder)
    if before[1:]:
        column.caption(markdown("The plan also tries {}.", text.listed(before[1:])))
    return tuple(dict.fromkeys((chosen, *before[1:])))


def attribute_lists(
    column: DeltaGenerator,
    label: str,
    options: Sequence[str],
    before: Sequence[str],
    key: str,
    placeholder: str | None = None,
) -> tuple[str, ...]:
    """Lists of attributes, each a value of the grid; another one is asked for beside those that there are."""
    lists = [
        _listed(column, label if not at else "or", options, value, f"{key}-{at}", placeholder)
        for at, value in enumerate(before or ("",))
    ]
    if any(lists):
        with column.popover("Try another list too", icon=":material/add:"):
            lists.append(_listed(st.container(), "or", options, "", f"{key}-{len(lists)}", placeholder))
        lists = [value for at, value in enumerate(lists) if value or at < len(before)]
    return tuple(dict.fromkeys(lists))


def _listed(
    column: DeltaGenerator, label: str, options: Sequence[str], before: str, key: str, placeholder: str | None
) -> str:
    start = [name for name in before.split("+") if name in options]
    chosen = column.multiselect(label, options, default=start, key=key, placeholder=placeholder, filter_mode="contains")
    return "+".join(chosen)
