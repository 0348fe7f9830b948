"""A box to pick a candidate from, or to type its id into."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from engine.common.errors import EngineError
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.pins import pins
from engine.study.study import Study
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
    named = {one.label: one.name for one in pins(study)}
    letters = {view.scenarios[place].label: letter for letter, place in recommendation.letters(study, view)}
    frontier = [view.scenarios[place].label for place in view.frontier()[:_LISTED].tolist()]
    options = [
        one for one in dict.fromkeys([*([current] if current else []), *named, *frontier]) if one not in leave_out
    ]

    def words(one: str) -> str:
        try:
            scenario, _ = study.find(one)
        except EngineError:
            return one
        name = f" “{named[one]}”" if named.get(one) else ""
        letter = f"{letters[one]} · " if one in letters else ""
        return f"{letter}{one}{name} · {text.swap_short(scenario.spec)}"

    shown = {one: words(one) for one in options}
    picked = st.selectbox(
        label,
        options,
        index=options.index(current) if current in options else None,
        format_func=lambda one: shown.get(one, one),
        accept_new_options=True,
        placeholder="choose from the frontier, or type an id",
        key=key,
        width=width,
    )
    if not picked:
        return None
    lettered = {letter: one for one, letter in letters.items()}
    try:
        return study.find(lettered.get(picked.strip().upper(), typed_id(picked)))[0].label
    except EngineError as error:
        elements.complain(error)
        return None


def typed_id(words: str) -> str:
    """The id in what was typed, or in an option's words as they were before its letter changed."""
    first, _, rest = words.strip().partition(" · ")
    told = rest if len(first) == 1 and rest else first
    return told.split(" ")[0].split("/")[0]
