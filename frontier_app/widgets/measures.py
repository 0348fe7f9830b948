"""The choice of measures of risk and utility."""

from __future__ import annotations

import re
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.measures import MEASURES, MeasureCall, call
from engine.measures.distortion import SUMMARIES
from engine.plan import Plan
from engine.plan.analysis import ALL
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

PARAMETERS = {
    "n_rule": "small means fewer records than",
    "summary": "where there are several, take the",
    "s": "sensitive key cells have at most so many records",
    "rule": "le: s or fewer; lt: fewer than s",
    "k": "k",
    "analysis": "declared analysis",
    "target": "attribute that the intruder wants to know",
    "file": "file that the intruder has",
    "numeric": "numeric columns that are linked too",
}


RULES = ("le", "lt")


NEEDS = {
    "counts": ("from tables of counts – microseconds each", "tabulates; hardly adds to the time of a sweep"),
    "records": ("from the records – milliseconds and more", "works on every record; a sweep takes longer with it"),
}


def measures(base: Plan, tag: str, analyses: list[str], wrong: InputErrors) -> list[str]:
    """Measures of risk and of utility by what they need, with their meaning, and a line for variants."""
    mine = [call(name) for name in base.measures]
    first: dict[str, MeasureCall] = {}
    for c in mine:
        first.setdefault(c.measure.name, c)
    chosen: list[str] = []
    for place, kind in zip(st.columns(2), ("risk", "utility"), strict=True):
        place.markdown(markdown("**Disclosure risk**" if kind == "risk" else "**Data utility**"))
        for needs, (words, explained) in NEEDS.items():
            options = [
                name for name, m in MEASURES.items() if m.kind == kind and (m.needs == "counts") == (needs == "counts")
            ]
            picked = place.multiselect(
                f"{'Risk' if kind == 'risk' else 'Utility'} {words}",
                options,
                default=[name for name in options if name in first],
                format_func=lambda name: MEASURES[name].title,
                key=f"measures-{kind}-{needs}-{tag}",
                help=explained,
            )
            for name in picked:
                measure = MEASURES[name]
                place.markdown(
                    markdown("**{}** – {}", measure.title, text.DIRECTION[measure.better]),
                    help=f"{text.measure_help(measure)} Cost of one candidate: {measure.cost}.",
                )
                said = place.empty()
                had_call = first.get(name, call(name))
                with_values = partial(_with_parameters, had_call, place, tag, analyses)
                picked_call = wrong.attempt(with_values, had_call)
                said.caption(meaning(picked_call))
                chosen.append(str(picked_call))
    further = [str(c) for c in mine if c is not first[c.measure.name]]
    line = st.text_input(
        "Variants of a measure",
        value=", ".join(further),
        key=f"measures-{tag}",
        placeholder="such as small_cells[n_rule=5] or hellinger[attributes=A+B]",
        help="The same measure again with other parameters or over other attributes",
    )
    # A comma may stand inside the brackets too.
    variants = [name for name in re.split(r",(?![^\[]*\])", line) if name.strip()]
    chosen += wrong.attempt(lambda: [str(call(name)) for name in variants], [])
    # As the plan has them, in its order: looking at a plan does not change it.
    had = {str(call(name)): name for name in base.measures}
    order = list(had)
    chosen = sorted(dict.fromkeys(chosen), key=lambda name: order.index(name) if name in had else len(order))
    return [had.get(name, name) for name in chosen]


def meaning(picked: MeasureCall) -> str:
    """What a measure means, with the values of its parameters where it speaks of them."""
    words = picked.measure.meaning
    for name, value in picked.values.items():
        if "_" in name:
            words = words.replace(name, str(value))
    return words


def _with_parameters(c: MeasureCall, place: DeltaGenerator, tag: str, analyses: list[str]) -> MeasureCall:
    """The measure with the values of its parameters, asked for below it."""
    values = c.values
    for name, value in values.items():
        words, key = PARAMETERS.get(name, f"parameter {name}"), f"parameter-{c.measure.name}-{name}-{tag}"
        if isinstance(value, int):
            values[name] = int(place.number_input(words, value=value, step=1, key=key))
        elif name == "summary" and value in SUMMARIES:
            values[name] = place.selectbox(words, SUMMARIES, index=SUMMARIES.index(value), key=key)
        elif name == "rule" and value in RULES:
            values[name] = place.selectbox(words, RULES, index=RULES.index(str(value)), key=key)
        elif name == "analysis":
            options = list(dict.fromkeys((ALL, *analyses, str(value))))
            values[name] = place.selectbox(words, options, index=options.index(str(value)), key=key)
        else:
            values[name] = place.text_input(words, value=value, key=key).strip() or value
    if c.measure.check:
        c.measure.check(**values)
    return MeasureCall(c.measure, tuple(values.items()), c.attributes)
