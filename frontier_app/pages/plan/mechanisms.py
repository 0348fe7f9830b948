"""The mechanisms to try, and the grid of parameters of each."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.data.microdata import Microdata
from engine.mechanisms import mechanism, names
from engine.plan import MechanismPlan, Plan
from engine.plan.entries import HOUSEHOLD_SWAP
from engine.plan.households import SURVEY_SWAP
from engine.release.parameter import Parameter
from engine.release.spec import RANDOM_SWAP
from frontier_app.pages.plan import exchange, survey
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import mechanisms
from frontier_app.wording.markup import markdown

_IN_WORDS = {HOUSEHOLD_SWAP: exchange.inputs, SURVEY_SWAP: survey.inputs}
"""Mechanisms that ask in words of the field, not by their parameters."""


def choice(base: Plan, tag: str) -> list[str]:
    """Ask which mechanisms are tried beside, or instead of, the random swap."""
    st.subheader("1. How the data are protected", anchor=False)
    names_chosen = [entry.name for entry in mechanisms.chosen(base)]
    offered = [*names(), *(name for name in names_chosen if name not in names())]
    usual = [name for name in offered if name in names_chosen or name == RANDOM_SWAP]
    places = dict.fromkeys(usual, st.container())
    others = [name for name in offered if name not in usual]
    with st.expander(f"Other methods ({len(others)})", icon=":material/add:"):
        columns = st.columns(2)
        places |= {name: columns[i % 2] for i, name in enumerate(others)}
        with st.popover("When to use which", icon=":material/help:", width="content"):
            for chosen in map(mechanism, names()):
                st.markdown(markdown("**{}** ({}) – use it when {}.", chosen.title, chosen.name, chosen.when))
                st.caption(f"Its amount: {chosen.rate}. Source: {chosen.source}.")
    return [name for name in offered if _is_picked(name, name in names_chosen, places[name], tag)]


def _is_picked(name: str, before: bool, place: DeltaGenerator, tag: str) -> bool:
    chosen = mechanism(name) if name in names() else None
    return place.checkbox(
        chosen.title if chosen else name,
        before,
        key=f"mechanism-{name}-{tag}",
        help=f"Use it when {chosen.when}. Its amount: {chosen.rate}." if chosen else "This program does not know it.",
    )


def grids(base: Plan, data: Microdata, picked: list[str], tag: str, wrong: InputErrors) -> list[MechanismPlan]:
    """The grid of every chosen mechanism; those of the plan stay in their order."""
    before = [entry for entry in mechanisms.chosen(base) if entry.name in picked]
    known = {entry.name for entry in before}
    entries = []
    for i, (name, entry) in enumerate(
        [*((entry.name, entry) for entry in before), *((name, None) for name in picked if name not in known)]
    ):
        chosen = mechanism(name)
        asks = _IN_WORDS.get(name)
        title = markdown("**{}**{}", chosen.title, "" if asks else _grid_words(entry))
        with st.expander(title, expanded=entry is None or asks is not None, icon=":material/tune:"):
            st.caption(
                f"Use it when {chosen.when}. Its amount: {chosen.rate}."
                + (" Several tables can be published together." if chosen.many_tables else "")
                + (" Several values are" if asks else " Several values of a parameter, separated by commas, are")
                + " all tried in every combination."
            )
            if asks:
                entries.append(asks(base, entry, data, f"{name}-{i}-{tag}", wrong))
                continue
            values_before = dict(entry.grid) if entry else {}
            values = {}
            for at, parameter in enumerate(chosen.parameters):
                if at % 2 == 0:
                    columns = st.columns(2)
                values[parameter.name] = _parameter(
                    mechanisms.label(parameter),
                    parameter,
                    values_before.get(parameter.name),
                    columns[at % 2],
                    f"{name}-{i}-{parameter.name}-{tag}",
                )
            entries.append(
                wrong.attempt(partial(mechanisms.grid_of, chosen, values, entry), entry or MechanismPlan(name))
            )
    return entries


def _grid_words(entry: MechanismPlan | None) -> str:
    """The settings of a mechanism, in few words."""
    if entry is None or not entry.grid:
        return " – as usual"
    return " – " + ", ".join(f"{name} {' or '.join(values)}" for name, values in entry.grid)


def _parameter(
    label: str, parameter: Parameter, before: tuple[str, ...] | None, column: DeltaGenerator, key: str
) -> tuple[str, ...]:
    """The values of one parameter."""
    usual = () if not parameter.default else (parameter.default,)
    start = before if before is not None else usual
    tip = f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]}. Legal: {mechanisms.legal(parameter)}."
    if parameter.kind in ("choice", "truth"):
        options = list(dict.fromkeys((*(parameter.choices or ("yes", "no")), *start)))
        picked = column.multiselect(label, options, default=list(start), key=f"par-{key}", help=tip)
        column.caption(parameter.meaning)
        return tuple(picked)
    field = column.text_area if parameter.kind == "text" and len(start) > 1 else column.text_input
    typed = field(
        label,
        value=mechanisms.values_text(parameter, start),
        key=f"par-{key}",
        help=tip,
        placeholder=parameter.default or "as usual",
    )
    column.caption(f"{parameter.meaning} – {mechanisms.legal(parameter)}")
    return mechanisms.values_from(parameter, typed)
