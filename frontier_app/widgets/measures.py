"""The choice of measures of risk and utility."""

from __future__ import annotations

import re
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.measures import MEASURES, MeasureCall, call
from engine.measures.distortion import SUMMARIES
from engine.plan import Plan
from engine.plan.entries import ALL
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

PARAMETERS = {
    "n_rule": "Small means fewer records than",
    "summary": "Of several figures, take the",
    "s": "Most records in a sensitive cell of the keys",
    "rule": "Sensitive: s records or fewer (le), or fewer than s (lt)",
    "k": "Fewest records that must share a combination (k)",
    "analysis": "Declared analysis",
    "target": "Attribute that the intruder wants to know",
    "file": "File that the intruder has",
    "numeric": "Numeric columns that are linked too",
    "size": "Number of keys that the intruder knows",
    "top": "Share of the records that are taken as most suspect",
    "least": "Fewest records of a group that is looked at",
    "l": "Fewest values of the target that a cell should show",
    "diversity": "How different values are counted",
    "by": "Apart for each level of",
    "weighted": "With the weights (1) or without (0)",
    "interactions": "With interactions of two columns (1) or without (0)",
    "leaf": "Fewest records in a leaf of the tree",
    "model": "Statistical model",
    "mode": "Model of the release: the original's (fixed) or fitted anew",
    "zero": "What a record counts that the model or the file does not know",
    "df": "Degrees of freedom of the intervals",
    "significant": "Significant coefficients alone (1) or all (0)",
    "denominator": "Divided by the sensitive cells or by all occupied ones",
    "fraction": "Share of the population in the file",
    "beta": "Most records of the file that still count as few",
    "unmatched": "What persons count whose keys no record has",
    "distance": "Distance between two values",
    "threshold": "How sure the intruder must be",
    "h": "Numbers agree within so many standard deviations",
    "block": "Columns on which compared records must agree",
}


RULES = ("le", "lt")


KINDS = ("risk", "utility")


NEEDS = {
    "counts": (
        "from tables of counts – microseconds to milliseconds each",
        "They tabulate; most hardly add to the time of a sweep, and each says its cost.",
    ),
    "records": (
        "from the records – milliseconds and more",
        "They work on every record, so a sweep takes longer.",
    ),
}


def measures(base: Plan, tag: str, analyses: list[str], wrong: InputErrors) -> list[str]:
    """Measures of risk and of utility by what they need, with their meaning, and a line for variants."""
    calls = [call(name) for name in base.measures]
    first = _first(calls)
    columns = st.columns(2)
    picked = {kind: _picked(column, kind, first, tag) for column, kind in zip(columns, KINDS, strict=True)}
    chosen: list[str] = []
    # open where a measure was picked just now whose parameters may have to be given
    is_new = any(name not in first and call(name).values for names in picked.values() for name in names)
    with st.expander(
        "What these measures mean, their parameters and variants", expanded=is_new, icon=":material/tune:"
    ):
        for place, column, kind in zip(st.columns(2), columns, KINDS, strict=True):
            for name in picked[kind]:
                measure, had_call = MEASURES[name], first.get(name, call(name))
                place.markdown(
                    markdown("**{}** – {}", measure.title, text.DIRECTION[measure.better]),
                    help=f"{text.measure_help(MeasureCall(measure))} Cost of one candidate: {measure.cost}.",
                )
                meaning_line = place.empty()
                with column:  # an error is seen while the fold is shut
                    picked_call = wrong.attempt(partial(_with_parameters, had_call, place, tag, analyses), had_call)
                meaning_line.caption(picked_call.meaning)
                chosen.append(str(picked_call))
        return _with_variants(base, chosen, calls, tag, wrong)


def _first(calls: list[MeasureCall]) -> dict[str, MeasureCall]:
    """The first call of every measure, by name."""
    first: dict[str, MeasureCall] = {}
    for measure_call in calls:
        first.setdefault(measure_call.measure.name, measure_call)
    return first


def _picked(column: DeltaGenerator, kind: str, first: dict[str, MeasureCall], tag: str) -> list[str]:
    """The names of the measures of one kind that are chosen, by what they need."""
    column.markdown(markdown("**Disclosure risk**" if kind == "risk" else "**Data utility**"))
    picked: list[str] = []
    for needs, (group, explained) in NEEDS.items():
        options = [
            name for name, m in MEASURES.items() if m.kind == kind and (m.needs == "counts") == (needs == "counts")
        ]
        picked += column.multiselect(
            f"{'Risk' if kind == 'risk' else 'Utility'} {group}",
            options,
            default=[name for name in options if name in first],
            format_func=lambda name: MEASURES[name].title,
            key=f"measures-{kind}-{needs}-{tag}",
            help=explained,
        )
    return picked


def _with_variants(base: Plan, chosen: list[str], calls: list[MeasureCall], tag: str, wrong: InputErrors) -> list[str]:
    """The chosen measures with the variants that are written out, as the plan has them and in its order: looking at a
    plan does not change it."""
    first = _first(calls)
    further = [str(measure_call) for measure_call in calls if measure_call is not first[measure_call.measure.name]]
    line = st.text_input(
        "Variants of a measure",
        value=", ".join(further),
        key=f"measures-{tag}",
        placeholder="such as small_cells[n_rule=5] or hellinger[attributes=A+B]",
        help="Write a measure again with other parameters or over other attributes.",
    )
    # A comma may stand inside the brackets too.
    variants = [name for name in re.split(r",(?![^\[]*\])", line) if name.strip()]
    written: list[str] = wrong.attempt(lambda: [str(call(name)) for name in variants], [])
    chosen = [*chosen, *written]
    written_as = {str(call(name)): name for name in base.measures}
    order = list(written_as)
    chosen = sorted(dict.fromkeys(chosen), key=lambda name: order.index(name) if name in written_as else len(order))
    return [written_as.get(name, name) for name in chosen]


def _with_parameters(measure_call: MeasureCall, column: DeltaGenerator, tag: str, analyses: list[str]) -> MeasureCall:
    """The measure with the values of its parameters, asked for below it."""
    values = measure_call.values
    for name, value in values.items():
        label, key = PARAMETERS.get(name, f"parameter {name}"), f"parameter-{measure_call.measure.name}-{name}-{tag}"
        if isinstance(value, int):
            values[name] = int(column.number_input(label, value=value, step=1, key=key))
        elif name == "summary" and value in SUMMARIES:
            values[name] = column.selectbox(label, SUMMARIES, index=SUMMARIES.index(value), key=key)
        elif name == "rule" and value in RULES:
            values[name] = column.selectbox(label, RULES, index=RULES.index(str(value)), key=key)
        elif name == "analysis":
            options = list(dict.fromkeys((ALL, *analyses, str(value))))
            values[name] = column.selectbox(label, options, index=options.index(str(value)), key=key)
        else:
            values[name] = column.text_input(label, value=value, key=key).strip() or value
    if measure_call.measure.check:
        measure_call.measure.check(**values)
    return MeasureCall(measure_call.measure, tuple(values.items()), measure_call.attributes)
