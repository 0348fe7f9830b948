"""The controls of the map: risk, utility, risk limit and mechanism; all others folded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.decision.statements import percent
from engine.frontier.risk_utility_map import RiskUtilityMap, middle
from engine.measures import MeasureCall
from frontier_app.charts import map_data
from frontier_app.pages.explore.card import select
from frontier_app.session import state
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import markup, mechanisms, text

SPANS = {
    "original": "the candidates and the original data",
    "zero": "down to no risk at all",
    "frontier": "the frontier only (zoom)",
}
_STEPS = 400  # positions of the bound's slider
_SLOPES = 60  # positions of the slope's slider


def controls(view: RiskUtilityMap, calls: Sequence[MeasureCall], now: Rule, planned: float | None) -> None:
    """Four controls in a row above the map, and the rest in one fold."""
    several = bool(map_data.forms(view)[1])
    risk, use, bound, *mechanism, more = st.columns([20, 20, 34, *([20] if several else []), 10])
    _measures(view, calls, (risk, use))
    with bound:
        _bound(view, now, planned)
    if several:
        with mechanism[0]:
            _mechanism(view)
    with (
        more.container(vertical_alignment="bottom", height="stretch"),
        st.popover("More", icon=":material/tune:", width="stretch"),
    ):
        if not several:
            st.caption(f"Mechanism: {mechanisms.title(view.scenarios[0].spec.mechanism)}")
        _slope(view, now)
        _more(view)


def _measures(view: RiskUtilityMap, calls: Sequence[MeasureCall], places: Sequence[DeltaGenerator]) -> None:
    for place, kind, chosen in zip(places, ("risk", "utility"), (view.risk, view.utility), strict=True):
        options = [str(call) for call in calls if call.measure.kind == kind]
        names = {str(call): text.measure_name(call) for call in calls}
        now = str(view.measures[chosen])
        picked = place.selectbox(
            "Risk" if kind == "risk" else "Use",
            options,
            index=options.index(now),
            format_func=names.__getitem__,
            key=f"look-{kind}",
            help=text.measure_help(view.measures[chosen]),
        )
        if picked != now:
            # A bound or a slope belongs to the measures it was set for.
            state.look(**{kind: picked}, rule="plan", bound=None, slope=None, box=None, rows="frontier")
            for key in ("bound-on", "slope-on"):
                state.drop_input(key)
            st.rerun()


def _known_risk(view: RiskUtilityMap, bound: float | None) -> tuple[float, float, float]:
    """From where to where candidates, doing nothing and the bound reach, in the measure's own units, and a step."""
    sign = map_data.sign(view, view.risk)
    known = sign * np.append(view.risk_loss[np.isfinite(view.risk_loss)], view.original_losses[view.risk])
    known = known[np.isfinite(known)]
    if bound is not None or not len(known):
        known = np.append(known, sign * (bound or 0.0))
    low, high = float(known.min()), float(known.max())
    step = 10.0 ** math.floor(math.log10((high - low or 1.0) / _STEPS))
    low, high = min(low, math.floor(low / step) * step), max(high, math.ceil(high / step) * step)
    return low, max(high, low + step), step  # a slider needs two ends, also where all risks are the same


def _bound(view: RiskUtilityMap, now: Rule, planned: float | None) -> None:
    """The largest acceptable risk, moved or typed in the measure's own units."""
    sign = map_data.sign(view, view.risk)
    low, high, step = _known_risk(view, now.bound)
    digits = max(0, -math.floor(math.log10(step)))
    label = "Largest acceptable risk" if sign > 0 else "Smallest acceptable protection"

    def switched() -> None:
        if not state.input_value("bound-on"):
            state.look(rule="none", bound=None)
            return
        # without a planned one from the middle of the frontier: the risk of doing nothing would ask for nothing
        loss = planned if planned is not None else middle(view)
        start = sign * (loss if loss is not None else float(view.original_losses[view.risk]))
        rounded = math.floor if (planned is not None or sign < 0) else math.ceil
        state.look(rule="bound", bound=sign * round(rounded(start / step + 1e-6) * step, digits), slope=None)
        state.set_input("slope-on", False)

    single = view.single_runs
    how_often = "on average" if single is None else f"in at least {percent(single.probability)} of its single runs"
    on = now.bound is not None
    if state.input_value("bound-on") != on:
        state.set_input("bound-on", on)
    st.toggle(
        f"{label}, α",
        key="bound-on",
        on_change=switched,
        help=f"The most useful candidate with no more risk than this {how_often} is recommended.",
    )
    if now.bound is None:
        return
    value = sign * now.bound
    keys = (f"bound-slider-{view.risk}", f"bound-number-{view.risk}")

    def moved(key: str) -> None:
        state.look(bound=sign * float(state.input_value(key)), rule="bound")

    for key in keys:
        if state.input_value(key) != value:
            state.set_input(key, value)
    shown = f"%.{digits + len(str(int(max(-low, high))))}g"  # exact to a step, without noughts at the end
    # Typed, any bound can be asked for; the slider reaches as far as the candidates do.
    sliding, typing = st.columns([3, 2], vertical_alignment="center")
    for widget, key, ends, words in (
        (sliding.slider, keys[0], (low, high), "α = "),
        (typing.number_input, keys[1], (min(0.0, low), max(0.0, high) * 10), ""),
    ):
        widget(
            label,
            *ends,
            step=step,
            format=words + shown,
            key=key,
            on_change=moved,
            args=(key,),
            label_visibility="collapsed",
        )


def _mechanism(view: RiskUtilityMap) -> None:
    _, names = map_data.forms(view)
    look = state.get().look
    options: list[str | None] = [None, *names]
    picked = st.selectbox(
        "Mechanism",
        options,
        index=options.index(look.mechanism) if look.mechanism in options else 0,
        format_func=lambda name: mechanisms.title(name) if name else "All mechanisms",
        key="look-mechanism",
        help="Show the candidates of one mechanism. Those that are hidden still count: the frontier is that of all.",
    )
    if picked != look.mechanism:
        state.look(mechanism=picked)
        st.rerun()


def _slope(view: RiskUtilityMap, now: Rule) -> None:
    """A straight trade-off between risk and utility, moved or typed, with who wins for which."""
    aids = state.get().memo.get("aids", id(view), lambda: (view.slope_intervals(), view.knee()))
    intervals, knee = aids
    edges = [high for _, _, high in intervals[:-1] if 0 < high < math.inf]

    def switched() -> None:
        if state.input_value("slope-on"):
            state.look(rule="slope", slope=float(f"{geometric_mean(edges):.3g}"), bound=None)
            state.set_input("bound-on", False)
        else:
            state.look(rule="none", slope=None)

    on = now.slope is not None
    if state.input_value("slope-on") != on:
        state.set_input("slope-on", on)
    st.toggle(
        "Straight trade-off",
        key="slope-on",
        on_change=switched,
        disabled=not edges,
        help="How much risk one unit of utility is worth: the slope a of DR = a·DU + c. Only corners of the frontier"
        " can win; a limit on risk can pick any candidate of the frontier.",
    )
    if now.slope is not None and edges:
        _slope_inputs(now.slope, min(edges) / 3, max(edges) * 3)
    if not intervals:
        return
    rows = []
    for index, low, high in intervals[:12]:
        until = "and above" if high == math.inf else f"to {text.figure(high, 3)}"
        rows.append((view.scenarios[index].label, f"{text.figure(low, 3)} {until}"))
    with st.expander("Knee and slopes", icon=":material/line_axis:"):
        if knee is not None:
            label = view.scenarios[knee].label
            st.button(f"Show {label}, the frontier's knee", on_click=select, args=(label,), key="to-knee")
            st.caption(
                "The knee is the candidate farthest from the line between the frontier's ends: an aid and no rule."
            )
        st.markdown(markup.table(("wins", "for slopes"), "lr", rows))
        if len(intervals) > 12:
            st.caption(f"The frontier has {len(intervals) - 12} more corners.")


def _slope_inputs(slope: float, low: float, high: float) -> None:
    values = [float(f"{v:.3g}") for v in np.geomspace(low, high, _SLOPES).tolist()]

    def typed() -> None:
        new = float(state.input_value("slope-number"))
        state.look(rule="slope", slope=new)
        state.set_input("slope-slider", min(values, key=lambda v: abs(math.log(v / new)) if new > 0 else v))

    def moved() -> None:
        new = float(state.input_value("slope-slider"))
        state.look(rule="slope", slope=new)
        state.set_input("slope-number", new)

    if state.input_value("slope-slider") not in values:
        state.set_input("slope-slider", min(values, key=lambda v: abs(v - slope)))
    if state.input_value("slope-number") is None:
        state.set_input("slope-number", slope)
    label = "Risk per unit of utility"
    st.select_slider(label, values, key="slope-slider", on_change=moved, label_visibility="collapsed")
    st.number_input(
        label, 0.0, None, step=None, format="%.4g", key="slope-number", on_change=typed, label_visibility="collapsed"
    )


def _more(view: RiskUtilityMap) -> None:
    look = state.get().look
    ways = map_data.colourings(view)
    colour = st.selectbox(
        "Colour shows" if map_data.forms(view)[1] else "Colour and shape show",
        list(ways),
        index=list(ways).index(look.colour) if look.colour in ways else 0,
        format_func=ways.__getitem__,
        key="look-colour",
    )
    span = st.selectbox(
        "The axes reach",
        list(SPANS),
        index=list(SPANS).index(look.span),
        format_func=SPANS.__getitem__,
        key="look-span",
    )
    distortion = st.toggle(
        "Distortion to the right",
        look.distortion,
        key="look-distortion",
        help="As Gomatam, Karr and Sanil (2005) draw it: the frontier is in the south-west.",
    )
    errors = st.toggle(
        "Error bars", look.errors, key="look-errors", help="± 1 standard error of the frontier's means over replicates"
    )
    allow = st.toggle(
        "Count failed runs too",
        look.partial,
        key="look-partial",
        help="A run fails when it finds no feasible pair any more before it reaches the rate.",
    )
    changes = {"colour": colour, "span": span, "distortion": distortion, "errors": errors, "partial": allow}
    if any(getattr(look, name) != value for name, value in changes.items()):
        state.look(**changes)
        st.rerun()
