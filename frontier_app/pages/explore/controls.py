"""The controls of the map: risk, use and limit in a row, and how it is drawn under Views."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from frontier_app.charts import map_data
from frontier_app.pages.explore.card import select
from frontier_app.session import state
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import markup, text

SPANS = {
    "original": "the candidates and the unprotected file",
    "zero": "down to no risk at all",
    "frontier": "the frontier only (zoom)",
}
_DRAWN = {
    "map": "Means of the runs",
    "quantile": "Risk of single runs",
    "rates": "A panel for each rate",
    "runs": "Every run",
    "measures": "Several measures together",
}


def controls(view: RiskUtilityMap, calls: Sequence[MeasureCall], now: Rule, planned: float | None) -> None:
    """Three controls in a row, and the rest in one fold."""
    risk, use, limit, views = st.columns([28, 30, 26, 16], vertical_alignment="bottom")
    for place, kind, chosen in ((risk, "risk", view.risk), (use, "utility", view.utility)):
        options = [str(call) for call in calls if call.measure.kind == kind]
        names = {str(call): text.measure_name(call) for call in calls}
        picked = place.selectbox(
            "Risk" if kind == "risk" else "Use",
            options,
            index=options.index(str(view.measures[chosen])),
            format_func=names.__getitem__,
            key=f"look-{kind}",
            help=text.measure_help(view.measures[chosen]),
        )
        if picked != str(view.measures[chosen]):
            # A limit or a slope belongs to the measures it was set for.
            state.look(**{kind: picked}, rule="plan", bound=None, slope=None, box=None)
            st.rerun()
    with limit:
        _limit(view, now, planned)
    with views, st.popover("Views", width="stretch"):
        _views(view, now)


def _limit(view: RiskUtilityMap, now: Rule, planned: float | None) -> None:
    """The largest acceptable risk, typed in the measure's own units, a share in percent; empty: there is none."""
    sign, scale = map_data.sign(view, view.risk), 100 if map_data.is_share(view, view.risk) else 1
    known = np.append(view.risk_loss, view.original_losses[view.risk])
    known = known[np.isfinite(known)] * scale
    step = 10.0 ** math.floor(math.log10((float(np.ptp(known)) if len(known) else 0) or 1.0))
    value = None if now.bound is None else round(sign * now.bound * scale, 10)
    key = f"limit-{view.risk}"

    def typed() -> None:
        given = state.input_value(key)
        bound = None if given is None else sign * float(f"{float(given) / scale:.12g}")
        rule = "none" if bound is None else "plan" if bound == planned else "bound"
        state.look(rule=rule, bound=bound if rule == "bound" else None, slope=None)

    if state.input_value(key) != value:
        state.set_input(key, value)
    name = "Largest acceptable risk" if sign > 0 else "Smallest acceptable protection"
    single = view.single_runs
    how_often = "on average" if single is None else f"in {float(100 * single.probability):g} % of its runs or more"
    st.number_input(
        f"Limit{', %' if scale == 100 else ''}",
        value=None,
        step=step / 10,
        format="%.6g",
        key=key,
        on_change=typed,
        placeholder="none",
        help=f"{name}, α: the most useful candidate with no more risk than this {how_often} is recommended.",
    )


def _views(view: RiskUtilityMap, now: Rule) -> None:
    """How the map is drawn, and a straight trade-off in place of the limit."""
    look = state.get().look
    shown = "map" if look.drawn == "labelled" else look.drawn
    drawn = st.selectbox(
        "Drawn", list(_DRAWN), list(_DRAWN).index(shown), format_func=_DRAWN.__getitem__, key="look-drawn"
    )
    names = st.toggle(
        "Names beside points",
        look.drawn == "labelled",
        key="look-names",
        disabled=drawn != "map",
        help="What each candidate swaps and how much, where there is room.",
    )
    errors = st.toggle("Error bars", look.errors, key="look-errors", help="± 1 standard error of the frontier's means")
    distortion = st.toggle(
        "Distortion to the right",
        look.distortion,
        key="look-distortion",
        help="As Gomatam, Karr and Sanil (2005) draw it: the frontier is in the south-west.",
    )
    partial = st.toggle(
        "Count failed runs too",
        look.partial,
        key="look-partial",
        help="A run fails when it finds no feasible pair any more before it reaches the rate.",
    )
    ways = map_data.colourings(view)
    colour = st.selectbox(
        "Colour and shape show",
        list(ways),
        list(ways).index(look.colour) if look.colour in ways else 0,
        format_func=ways.__getitem__,
        key="look-colour",
    )
    spans = list(SPANS)
    span = st.selectbox("The axes reach", spans, spans.index(look.span), format_func=SPANS.__getitem__, key="look-span")
    _slope(view, now)
    drawn = "labelled" if names and drawn == "map" else drawn
    changes = {
        "drawn": drawn,
        "colour": colour,
        "span": span,
        "distortion": distortion,
        "errors": errors,
        "partial": partial,
    }
    if any(getattr(look, name) != value for name, value in changes.items()):
        state.look(**changes)
        st.rerun()


def _slope(view: RiskUtilityMap, now: Rule) -> None:
    """A straight trade-off between risk and utility, with who wins for which."""
    intervals, knee = state.get().memo.get("aids", id(view), lambda: (view.slope_intervals(), view.knee()))

    def typed() -> None:
        slope = state.input_value("slope")
        state.look(rule="none" if slope is None else "slope", slope=slope, bound=None)

    if state.input_value("slope") != now.slope:
        state.set_input("slope", now.slope)
    st.number_input(
        "Risk that a unit of use is worth",
        0.0,
        value=None,
        step=None,
        format="%.4g",
        key="slope",
        on_change=typed,
        placeholder="a straight trade-off in place of the limit",
        help="The slope a of DR = a·DU + c. Only corners of the frontier can win; a limit on risk can pick any"
        " candidate of the frontier.",
    )
    if not intervals:
        return
    rows = []
    for index, low, high in intervals[:12]:
        until = "and above" if high == math.inf else f"to {text.figure(high, 3)}"
        rows.append((view.scenarios[index].label, f"{text.figure(low, 3)} {until}"))
    with st.expander("Knee and slopes", icon=":material/line_axis:"):
        if knee is not None:
            label = view.scenarios[knee].label
            st.button(
                f"Show {label}, the frontier's knee",
                on_click=select,
                args=(label,),
                key="to-knee",
                help="Farthest from the line between the frontier's ends: an aid and no rule.",
            )
        st.markdown(markup.table(("wins", "for slopes"), "lr", rows))
        if len(intervals) > 12:
            st.caption(f"The frontier has {len(intervals) - 12} more corners.")
