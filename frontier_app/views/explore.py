"""Explore: the risk–utility map of a study, and the candidate at hand."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.decision import RiskUtilityMap
from engine.errors import EngineError
from engine.mechanisms import mechanism
from engine.spec import RANDOM_SWAP, ReleaseSpec
from engine.study import Study
from frontier_app import actions, cards, drawing, jobs, mechanisms, parts, state, text
from frontier_app.charts import MANY

SPANS = {
    "original": "the candidates and the original data",
    "zero": "down to no risk at all",
    "frontier": "the frontier only (zoom)",
}
_FINALISTS = 10  # of the frontier, proposed for fresh replicates
_PICKED = 2000  # scenarios up to which all are in the list
_STEPS = 400  # positions of the bound's slider


def page() -> None:
    """The map, the candidate at hand, and the table of candidates."""
    path = actions.own_study()
    if path is None:
        st.title("Explore the map", anchor=False)
        if state.get().raw is None:
            parts.nothing(
                "There is no study yet. Open data, settle a plan and run the sweep; the map then shows the risk and the"
                " utility of every candidate.",
                "data",
                "Open data",
            )
        else:
            parts.nothing(
                "This plan has not been swept yet. The sweep draws and measures every candidate.",
                "sweep",
                "Run the sweep",
            )
        return
    look = state.get().look
    try:
        with Study.open(path) as study:
            calls, total = study.measures, study.progress
        view = actions.the_map(look.risk, look.utility, look.partial)
    except EngineError as error:
        st.title("Explore the map", anchor=False)
        parts.complain(error)
        if look != state.Look() and st.button("Show the map as planned"):
            state.put(look=state.Look())
            st.rerun()
        return
    assert view is not None
    st.title("Explore the map", anchor=False)
    frontier = view.frontier()
    st.caption(
        f"{actions.source_words()} – {text.plural(len(view.scenarios), 'scenario')},"
        f" {text.plural(len(view.results), 'run')}, {len(frontier)} on the frontier."
    )
    _unfinished(total.done, total.total)
    if not len(view.results):
        parts.nothing("No run has been completed yet.", "sweep", "See the sweep")
        return
    _controls(view, list(calls))
    left, right = st.columns([13, 9], gap="medium")
    with left:
        optimum = _map(view)
        _why_not(view)
    with right, st.container(border=True, height="stretch"):
        _card(view, optimum)
    _table(view)
    _finalists(view)


def _unfinished(done: int, total: int) -> None:
    at = state.get().workspace
    if at is None or done >= total:
        return
    busy = jobs.status(at).busy
    st.info(
        f"{'The sweep is still running' if busy else 'The sweep is not finished'}: {done:,} of {total:,} runs."
        " Figures and frontier may change.",
        icon=":material/hourglass_top:" if busy else ":material/pause_circle:",
    )


# -- how it is looked at ---------------------------------------------------------------------------------------------


def _controls(view: RiskUtilityMap, calls: list[Any]) -> None:
    """Measures, colour and options, in one row."""
    look = state.get().look
    first, second, third, fourth = st.columns([3, 3, 3, 2], vertical_alignment="bottom")
    for place, kind, chosen in ((first, "risk", view.risk), (second, "utility", view.utility)):
        options = [str(call) for call in calls if call.measure.kind == kind]
        names = {str(call): text.measure_name(call) for call in calls}
        now = str(view.measures[chosen])
        picked = place.selectbox(
            "Risk (upwards)" if kind == "risk" else "Utility (to the right)",
            options,
            index=options.index(now),
            format_func=names.__getitem__,
            key=f"look-{kind}",
            help=text.measure_help(view.measures[chosen].measure),
        )
        if picked != now:
            state.look(**{kind: picked})
            st.rerun()
    ways = drawing.colourings(view)
    colour = third.selectbox(
        "Colour shows" if drawing.forms(view)[1] else "Colour and shape show",
        list(ways),
        index=list(ways).index(look.colour) if look.colour in ways else 0,
        format_func=ways.__getitem__,
        key="look-colour",
    )
    with fourth.popover("Options", icon=":material/tune:", width="stretch"):
        span = st.radio(
            "The axes reach",
            list(SPANS),
            index=list(SPANS).index(look.span),
            format_func=SPANS.__getitem__,
            key="look-span",
        )
        errors = st.toggle(
            "Error bars (± 1 standard error)", look.errors, key="look-errors", help="of the means over replicates"
        )
        facets = st.toggle("One panel per swap rate", look.facets, key="look-facets")
        runs = st.toggle(
            "Every run instead of means",
            look.runs,
            key="look-runs",
            help="A run is one realisation. Scenarios are compared by means: the luckiest run is luck.",
        )
        allow = st.toggle(
            "Count failed runs too",
            look.partial,
            key="look-partial",
            help="Runs that ended before the rate was reached, for want of feasible pairs",
        )
    changes = {"colour": colour, "span": span, "errors": errors, "facets": facets, "runs": runs, "partial": allow}
    if any(getattr(look, name) != value for name, value in changes.items()):
        state.look(**changes)
        st.rerun()


def _bound(view: RiskUtilityMap) -> int | None:
    """The risk bound, moved or typed in the measure's own units; returns the most useful scenario within it."""
    look = state.get().look
    sign = drawing.sign(view, view.risk)
    known = sign * np.append(view.risk_loss[~np.isnan(view.risk_loss)], view.original_losses[view.risk])
    known = known[np.isfinite(known)]
    if not len(known):
        return None
    low, high = min(0.0, float(known.min())), max(0.0, float(known.max()))
    step = 10.0 ** math.floor(math.log10((high - low or 1.0) / _STEPS))
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    digits = max(0, -math.floor(math.log10(step)))
    words = "Largest acceptable risk" if sign > 0 else "Smallest acceptable protection"
    left, middle, right = st.columns([2, 4, 2], vertical_alignment="center")
    on = left.toggle("Risk bound", look.bound is not None, key="bound-on", help=f"{words.lower()} (α)")
    if not on:
        if look.bound is not None:
            state.look(bound=None)
            st.rerun()
        middle.caption("Set a bound on risk to see the most useful candidate within it.")
        return None
    if look.bound is None:
        planned = _planned_bound(view)
        start = sign * (planned if planned is not None else float(view.original_losses[view.risk]))
        state.look(bound=sign * round(math.floor(start / step + 1e-6) * step, digits))
        st.rerun()
    assert look.bound is not None
    value = min(max(sign * look.bound, low), high)

    def moved(key: str, other: str) -> None:
        new = float(state.input_value(key))
        state.set_input(other, min(max(new, low), high))
        state.look(bound=sign * new)

    keys = (f"bound-slider-{view.risk}", f"bound-number-{view.risk}")
    for key in keys:
        held = state.input_value(key)
        if held is None or not low <= held <= high:
            state.set_input(key, value)
    shown = f"%.{digits}f"
    middle.slider(
        words,
        low,
        high,
        step=step,
        format=shown,
        key=keys[0],
        on_change=moved,
        args=keys,
        label_visibility="collapsed",
    )
    right.number_input(
        words,
        low,
        high,
        step=step,
        format=shown,
        key=keys[1],
        on_change=moved,
        args=keys[::-1],
        label_visibility="collapsed",
    )
    try:
        return view.under_bound(look.bound)
    except EngineError as error:
        st.warning(str(error)[:1].upper() + str(error)[1:], icon=":material/warning:")
        return None


def _planned_bound(view: RiskUtilityMap) -> float | None:
    path = actions.own_study()
    if path is None:
        return None
    with Study.open(path) as study:
        planned = study.plan.decision.max_risk
    return float(planned) if planned is not None else None


# -- the map ---------------------------------------------------------------------------------------------------------


def _map(view: RiskUtilityMap) -> int | None:
    """The map; a click selects.  Returns the most useful scenario under the bound."""
    chart = st.container()
    optimum = _bound(view)
    now = state.get()
    key = (id(view), now.look)
    if key != now.map_key:
        now = state.put(map_key=key, shown=now.selected)
    places = {scenario.label: scenario.place for scenario in view.scenarios}
    drawn = drawing.figure(view, now.look, places.get(now.shown or ""), optimum)

    def clicked() -> None:
        event = state.input_value("map") or {}
        points = event.get("selection", {}).get("points", [])
        found = [p["customdata"] for p in points if p.get("customdata") is not None]
        if found:
            place = int(found[0][0] if isinstance(found[0], list) else found[0])
            state.put(selected=view.scenarios[place].label, picks=state.get().picks + 1)

    chart.plotly_chart(
        drawn,
        key="map",
        on_select=clicked,
        selection_mode="points",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]},
        alt=f"Risk–utility map: {len(view.scenarios)} scenarios, {len(view.frontier())} on the frontier. "
        "The table below lists them and selects them too.",
    )
    joint = drawing.joint_measure(view)
    if joint is not None and joint != view.risk and any(mechanisms.tables_of(s.spec) > 1 for s in view.scenarios):
        chart.caption(
            "D = tables published together. The risk drawn here judges one table at a time; R2,"
            f" *{text.measure_name(view.measures[joint]).lower()}*, judges all of them: choose it to compare"
            " releases of several tables."
        )
    if now.look.runs and len(view.results) > MANY:
        chart.caption("So many runs are drawn as a density: darker where there are more. The frontier stays points.")
    return optimum


# -- the candidate at hand -------------------------------------------------------------------------------------------


def _select(label: str) -> None:
    state.put(selected=label, shown=label, picks=state.get().picks + 1)


def _card(view: RiskUtilityMap, optimum: int | None) -> None:
    """The candidate at hand, in words and figures."""
    places = {scenario.label: scenario.place for scenario in view.scenarios}
    now = state.get()
    _picker(view, now.selected if now.selected in places else None)
    if now.selected not in places:
        _invitation(view, optimum)
        return
    place = places[now.selected]
    scenario, summary = view.scenarios[place], view.summary
    st.markdown(cards.badges(view, place, optimum))
    n = actions.n_records()
    st.markdown(text.spec_words(scenario.spec, n))
    runs, failed = int(summary.counted[place]), int(summary.failed[place])
    if runs:
        st.markdown(cards.figures(view, place))
    else:
        st.warning(
            "Every run failed: no feasible pair was left before the rate was reached.", icon=":material/warning:"
        )
    st.markdown(cards.sureness(view, place, runs, failed))
    if words := cards.joint_words(view, place):
        st.markdown(words)
    _said(view, place)
    if optimum is not None and optimum != place:
        other = view.scenarios[optimum].label
        st.button(f"Show {other}, the most useful under the bound", key="to-optimum", on_click=partial(_select, other))
    if st.button("Choose this one…", type="primary", icon=":material/inventory_2:", disabled=runs == 0):
        st.switch_page("views/release.py")


def _picker(view: RiskUtilityMap, selected: str | None) -> None:
    """The candidate at hand in a list: a way to choose it without a pointer."""
    on = view.frontier().tolist()
    others = np.flatnonzero(~view.dominance.undominated).tolist() if len(view.scenarios) <= _PICKED else []
    scenarios = {view.scenarios[i].label: view.scenarios[i] for i in (*on, *others)}
    if selected is not None:
        scenarios.setdefault(selected, next(s for s in view.scenarios if s.label == selected))

    def words(label: str) -> str:
        return f"{label} – {text.swap_short(scenarios[label].spec)}"

    def picked() -> None:
        label = state.input_value("candidate")
        if label:
            _select(label)

    if state.input_value("candidate") != selected:
        state.set_input("candidate", selected)
    st.selectbox(
        "Candidate",
        list(scenarios),
        index=None,
        format_func=words,
        key="candidate",
        on_change=picked,
        placeholder="Choose one, the frontier first",
    )


def _invitation(view: RiskUtilityMap, optimum: int | None) -> None:
    st.markdown("**No candidate selected**")
    st.markdown(
        "Click on a point of the map, or on a row of the table below it.\n\n"
        "**Filled** points are the frontier: no other candidate is, on average, both safer and more useful. **Hollow**"
        " ones are dominated, some of them only within the spread between runs (uncertain). The triangle is the data"
        " as they are."
    )
    riskier = int(view.riskier_than_original.sum())
    if riskier:
        st.markdown(
            f"**{riskier} of {text.plural(len(view.scenarios), 'scenario')}** "
            + ("is" if riskier == 1 else "are")
            + " on average *riskier than doing nothing*, which is also the most useful: swapping can leave more"
            " unaltered records alone in small cells."
        )
    knee = view.knee()
    if knee is not None:
        label = view.scenarios[knee].label
        st.button(
            f"Show {label}, the frontier's bend",
            on_click=partial(_select, label),
            key="to-knee",
            help="the candidate farthest below the line between the frontier's ends; an aid to look at, not a rule",
        )
    if optimum is not None:
        label = view.scenarios[optimum].label
        st.button(f"Show {label}, the most useful under the bound", on_click=partial(_select, label), key="to-optimum")


def _why_not(view: RiskUtilityMap) -> None:
    """What dominates the candidate at hand and by how much; the next safer and the next more useful of the frontier."""
    places = {scenario.label: scenario.place for scenario in view.scenarios}
    selected = state.get().selected
    place = places.get(selected or "")
    if place is None or np.isnan(view.risk_loss[place]) or np.isnan(view.utility_loss[place]):
        return
    better = [int(i) for i in view.dominators(place) if view.dominance.undominated[i]]
    better.sort(key=lambda i: (view.utility_loss[i], view.risk_loss[i]))
    if better:
        st.markdown(f"**Why not {selected}?** No worse on either measure, and better on one:")
        for column, i in zip(st.columns(3), better[:3], strict=False):
            with column:
                _other(view, place, i, "dominator", "")
        if len(better) > 3:
            st.caption(f"and {len(better) - 3} more of the frontier")
    beside = {words: i for words, i in cards.neighbours(view, place).items() if i not in better[:3]}
    if beside:
        st.markdown("**Next on the frontier:**" if better else f"**Beside {selected} on the frontier:**")
    for column, (words, i) in zip(st.columns(2), beside.items(), strict=False):
        with column:
            _other(view, place, i, "next", f"{words}: ")


def _other(view: RiskUtilityMap, place: int, other: int, kind: str, words: str) -> None:
    scenario = view.scenarios[other]
    st.button(
        f"{words}{scenario.label} – {text.swap_short(scenario.spec)}",
        key=f"{kind}-{scenario.label}",
        on_click=partial(_select, scenario.label),
    )
    st.caption(cards.difference(view, place, other))


def _said(view: RiskUtilityMap, place: int) -> None:
    """What measures and mechanism had to say about the runs, and the candidate's settings."""
    notes = actions.notes(place)
    warnings, counted = mechanisms.diagnostics(notes)
    for warning in warnings[:3]:
        st.warning(warning[:1].upper() + warning[1:], icon=":material/warning:")
    told = mechanisms.said(notes)
    for k, lines in told.items():
        if k < len(view.measures) and k in (view.risk, view.utility):
            st.caption(f"{view.measures[k].measure.title}: {'; '.join(lines)}")
    spec = view.scenarios[place].spec
    if spec.mechanism == RANDOM_SWAP and not told:
        return
    with st.popover("Settings, and what its runs said", icon=":material/notes:", width="stretch"):
        if spec.mechanism != RANDOM_SWAP:
            st.markdown(f"When to use it: {mechanism(spec.mechanism).when}.")
            rows = mechanisms.parameter_rows(spec)
            st.markdown(
                "\n".join(["| parameter | value |", "|:--|--:|", *(f"| `{n}` – {m} | {v} |" for n, v, m in rows)])
            )
        if counted:
            st.markdown("**Counted in its runs** (means)")
            st.markdown("\n".join(["| | |", "|:--|--:|", *(f"| {name} | {value} |" for name, value in counted)]))
        for k, lines in told.items():
            if k < len(view.measures):
                st.markdown(f"**{text.measure_name(view.measures[k])}**: {'; '.join(lines)}")


# -- the table -------------------------------------------------------------------------------------------------------


def _table(view: RiskUtilityMap) -> None:
    """The candidates as a table; selecting a row selects the candidate."""
    now = state.get()
    st.subheader("Candidates", anchor=False)
    which = st.segmented_control(
        "Rows",
        ("frontier", "all"),
        default="frontier" if now.look.only_frontier else "all",
        required=True,
        format_func={"frontier": "On the frontier", "all": "All"}.__getitem__,
        key="table-rows",
        label_visibility="collapsed",
    )
    only = which == "frontier"
    if only != now.look.only_frontier:
        # Not a matter of the figure, so its key moves along and nothing is redrawn.
        now = state.look(only_frontier=only)
        now = state.put(map_key=(id(view), now.look))
    places = view.frontier() if only else np.lexsort((view.utility_loss, view.risk_loss))
    places = np.asarray(places)
    labels = [view.scenarios[i].label for i in places.tolist()]
    if now.selected in {s.label for s in view.scenarios} and now.selected not in labels:
        st.caption(f"{now.selected} is dominated; show all candidates to find it here.")

    def picked() -> None:
        rows = (state.input_value(key) or {}).get("selection", {}).get("rows", [])
        if rows and rows[0] < len(labels):
            state.put(selected=labels[rows[0]], shown=labels[rows[0]])

    key = f"table-{which}-{now.picks}-{view.risk}-{view.utility}-{len(labels)}"
    st.dataframe(
        _rows(view, places),
        key=key,
        hide_index=True,
        on_select=picked,
        selection_mode="single-row",
        selection_default={"selection": {"rows": [labels.index(now.selected)]}} if now.selected in labels else None,
        height=min(38 + 35 * max(1, len(labels)), 420),
        width="stretch",
        column_config=_columns(view),
        alt="Candidates with risk, utility and standing; a selected row is shown in the card above",
    )


# -- finalists on fresh replicates -----------------------------------------------------------------------------------


def _finalists(view: RiskUtilityMap) -> None:
    """Run the best again on replicates that had no part in finding them; figures before and after side by side."""
    now = state.get()
    at = now.workspace
    st.subheader("Finalists on fresh replicates", anchor=False)
    st.caption(
        "Whoever looks best among many candidates was partly lucky. Fresh replicates, which had no part in finding"
        " them, say what is left; the sweep's own figures stay as they are."
    )
    if now.raw is None or at is None:
        st.caption("This needs the data of the study.")
        return
    busy, words = jobs.recheck(at)
    if busy:

        @st.fragment(run_every=1.0)
        def watch() -> None:
            if not jobs.recheck(at)[0]:
                st.rerun()
            st.markdown(":material/hourglass_top: Running the finalists again… You may leave this page.")

        watch()
    else:
        if words:
            parts.complain(f"the finalists could not be run again: {words}")
        labels = [view.scenarios[i].label for i in view.frontier().tolist()]
        start = labels[:_FINALISTS]
        if now.selected and now.selected not in start:
            start = [now.selected, *start[: _FINALISTS - 1]]
        left, middle, right = st.columns([5, 2, 3], vertical_alignment="bottom")
        chosen = left.multiselect(
            "Finalists",
            list(dict.fromkeys((*start, *labels))),
            default=start,
            key=f"finalists-{view.risk}-{view.utility}",
        )
        replicates = middle.number_input("Fresh replicates of each", 2, 10_000, 20, key="finalists-replicates")
        sweeping = jobs.status(at).busy
        if right.button(
            "Re-evaluate the finalists",
            icon=":material/replay:",
            disabled=not chosen or sweeping,
            help="wait for the sweep first" if sweeping else "as a process of its own, like a sweep",
        ):
            with parts.spoken():
                risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
                jobs.start_recheck(at, chosen, int(replicates), risk, utility)
                st.rerun()
    try:
        again = actions.fresh_map(view)
    except EngineError as error:
        parts.complain(error)
        return
    if again is not None:
        st.markdown(cards.before_and_after(view, again))


def _rows(view: RiskUtilityMap, places: np.ndarray) -> pd.DataFrame:
    summary = view.summary
    some = [view.scenarios[i] for i in places.tolist()]
    several = {"mechanism": [s.spec.mechanism for s in some]} if drawing.forms(view)[1] else {}
    return pd.DataFrame(
        {
            "id": [s.label for s in some],
            **several,
            "swap": [_swaps(s.spec) for s in some],
            **({"rate": [100 * float(s.spec.rate or "nan") for s in some]} if any(s.spec.rate for s in some) else {}),
            "risk": drawing.sign(view, view.risk) * view.risk_loss[places],
            "risk_se": summary.loss_se[places, view.risk],
            "loss": drawing.sign(view, view.utility) * view.utility_loss[places],
            "loss_se": summary.loss_se[places, view.utility],
            "standing": [
                ("⚠ " if view.riskier_than_original[i] else "") + drawing.standing(view, i) for i in places.tolist()
            ],
            "share": 100 * view.dominance.share[places],
            "changed": summary.changed[places],
            "failed": summary.failed[places],
        }
    )


def _swaps(spec: ReleaseSpec) -> str:
    return text.spec_short(spec.attributes) if spec.mechanism == RANDOM_SWAP else mechanisms.settings(spec)


def _columns(view: RiskUtilityMap) -> dict[str, Any]:
    column = st.column_config
    risk, utility = (text.measure_name(view.measures[k]) for k in (view.risk, view.utility))
    good = [text.DIRECTION[view.measures[k].measure.better] for k in (view.risk, view.utility)]
    return {
        "id": column.TextColumn("Id", width=65),
        "mechanism": column.TextColumn("Mechanism", width=100),
        "swap": column.TextColumn("Swaps or settings" if drawing.forms(view)[1] else "Swaps", width=190),
        "rate": column.NumberColumn("Rate", format="%.4g %%", width=60),
        "risk": column.NumberColumn(risk, format="%.5f", width=125, help=good[0]),
        "risk_se": column.NumberColumn("± SE", format="%.5f", width=75),
        "loss": column.NumberColumn(utility, format="%.5f", width=145, help=good[1]),
        "loss_se": column.NumberColumn("± SE", format="%.5f", width=75),
        "standing": column.TextColumn("Standing", help="⚠ riskier than doing nothing, on average", width=165),
        "share": column.NumberColumn("Undominated", format="%.0f %%", help="share of runs on the frontier", width=105),
        "changed": column.NumberColumn("Changed", format="localized", help="mean number of records in swaps", width=75),
        "failed": column.NumberColumn("Failed", help="runs that ended before the rate was reached", width=65),
    }


page()
