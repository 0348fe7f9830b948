"""The mechanisms to try, and the grid of parameters of each."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.mechanisms import mechanism, names
from engine.plan import MechanismPlan, Plan
from engine.release.parameter import Parameter
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import mechanisms
from frontier_app.wording.markup import markdown


def choice(base: Plan, tag: str) -> list[str]:
    """Which mechanisms are tried beside, or instead of, the random swap."""
    st.subheader("How the data are protected", anchor=False)
    mine = [one.name for one in mechanisms.chosen(base)]
    offered = [*names(), *(name for name in mine if name not in names())]
    picked = []
    places = st.columns(2)
    for i, name in enumerate(offered):
        made = mechanism(name) if name in names() else None
        if places[i % 2].checkbox(
            made.title if made else name,
            name in mine,
            key=f"mechanism-{name}-{tag}",
            help=f"When {made.when}. Its amount counts {made.rate}." if made else "This program does not know it.",
        ):
            picked.append(name)
    with st.popover("When to use which", icon=":material/help:", width="content"):
        for made in map(mechanism, names()):
            st.markdown(markdown("**{}** ({}) – when {}.", made.title, made.name, made.when))
            st.caption(f"Its amount counts {made.rate}. Source: {made.source}.")
    return picked


def grids(base: Plan, picked: list[str], tag: str, wrong: InputErrors) -> list[MechanismPlan]:
    """The grid of every chosen mechanism; those of the plan stay in their order."""
    before = [one for one in mechanisms.chosen(base) if one.name in picked]
    known = {one.name for one in before}
    entries = []
    for i, (name, one) in enumerate(
        [*((one.name, one) for one in before), *((name, None) for name in picked if name not in known)]
    ):
        made = mechanism(name)
        if made.by_roles:
            entries.append(one or MechanismPlan(name))
            continue
        words = markdown("**{}**{}", made.title, _grid_words(one))
        with st.expander(words, expanded=one is None, icon=":material/tune:"):
            st.caption(
                f"When {made.when}. Its amount counts {made.rate}."
                + (" Several tables can be published together." if made.many_tables else "")
                + " Several values of a parameter, separated by commas, are all tried in every combination."
            )
            had = dict(one.grid) if one else {}
            given = {}
            for at, parameter in enumerate(made.parameters):
                if at % 2 == 0:
                    places = st.columns(2)
                given[parameter.name] = _parameter(
                    mechanisms.label(parameter),
                    parameter,
                    had.get(parameter.name),
                    places[at % 2],
                    f"{name}-{i}-{parameter.name}-{tag}",
                )
            entries.append(wrong.attempt(partial(mechanisms.grid_of, made, given, one), one or MechanismPlan(name)))
    return entries


def _grid_words(one: MechanismPlan | None) -> str:
    """What is set of a mechanism, in few words."""
    if one is None or not one.grid:
        return " – as usual"
    return " – " + ", ".join(f"{name} {' or '.join(values)}" for name, values in one.grid)


def _parameter(
    label: str, one: Parameter, had: tuple[str, ...] | None, place: DeltaGenerator, key: str
) -> tuple[str, ...]:
    """The values of one parameter."""
    usual = () if not one.default else (one.default,)
    start = had if had is not None else usual
    words = f"{one.meaning[:1].upper()}{one.meaning[1:]}. Legal: {mechanisms.legal(one)}."
    if one.kind in ("choice", "truth"):
        options = list(dict.fromkeys((*(one.choices or ("yes", "no")), *start)))
        picked = place.multiselect(label, options, default=list(start), key=f"par-{key}", help=words)
        place.caption(one.meaning)
        return tuple(picked)
    ask = place.text_area if one.kind == "text" and len(start) > 1 else place.text_input
    typed = ask(
        label,
        value=mechanisms.values_text(one, start),
        key=f"par-{key}",
        help=words,
        placeholder=one.default or "as usual",
    )
    place.caption(f"{one.meaning} – {mechanisms.legal(one)}")
    return mechanisms.values_from(one, typed)
