"""A box to pick a candidate from, or to type its id into."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from engine.common.errors import EngineError
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.study import Study, pins
from frontier_app.widgets import elements, recommendation
from frontier_app.wording import text

_LISTED = 300  # candidates of the frontier that the box lists; any other is typed


def candidate(
    study: Study,
    view: RiskUtilityMap,
    label: str,
    current: str | None,
    *,
    key: str,
    leave_out: Collection[str] = (),
    width: int = 720,
) -> str | None:
    """The label of the candidate picked; None while there is none, or where what was typed is no candidate.

    Pins stand first, then the frontier from safe to useful; every other candidate can be typed by its id.
    """
    named = {option.label: option.name for option in pins(study)}
    letters = {view.scenarios[index].label: letter for letter, index in recommendation.letters(study, view)}
    frontier = [view.scenarios[index].label for index in view.frontier()[:_LISTED].tolist()]
    options = [
        option
        for option in dict.fromkeys([*([current] if current else []), *named, *frontier])
        if option not in leave_out
    ]

    def words(label: str) -> str:
        try:
            scenario, _ = study.find(label)
        except EngineError:
            return label
        name = f" “{named[label]}”" if named.get(label) else ""
        letter = f"{letters[label]} · " if label in letters else ""
        return f"{letter}{text.swap_short(scenario.spec)}{name} ({label})"

    shown = {option: words(option) for option in options}
    picked = st.selectbox(
        label,
        options,
        index=options.index(current) if current in options else None,
        format_func=lambda option: shown.get(option, option),
        accept_new_options=True,
        placeholder="choose from the frontier, or type an id",
        key=key,
        width=width,
    )
    if not picked:
        return None
    lettered = {letter: option for option, letter in letters.items()}
    try:
        return study.find(lettered.get(picked.strip().upper(), typed_id(picked)))[0].label
    except EngineError as error:
        elements.show_error(error)
        return None


def typed_id(typed: str) -> str:
    """The id in what was typed, or in an option's words as they were before its letter changed."""
    return typed.strip().removesuffix(")").rpartition("(")[2].split("/")[0]
