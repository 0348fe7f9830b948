"""Plan: which candidates are tried, how often, what is measured, and how one will be chosen."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.candidates import predicted_failures, space_of
from engine.errors import EngineError
from engine.measures import MEASURES, MeasureCall, call
from engine.measures.distortion import SUMMARIES
from engine.microdata import Microdata
from engine.plan import DecisionPlan, Plan, edit_plan
from engine.space import Space, scenarios
from engine.spec import percent
from engine.sweep import estimate
from frontier_app import actions, parts, state, text

_FORESEEN = 5000  # scenarios up to which failures are foreseen at once
_LISTED = 200  # specs shown of a long list
PARAMETERS = {"n_rule": "small means fewer records than", "summary": "over the two-way tables, take the"}
HOW = {
    "sizes": "All swaps of a few attributes",
    "all": "All roles of all attributes",
    "listed": "A list I write",
}


def page() -> None:
    """Inputs on the left, what they amount to on the right."""
    now = state.get()
    base = now.base
    st.title("Plan the candidates", anchor=False)
    if now.raw is None or base is None or now.plan is None:
        parts.nothing("Open data first; the plan says what is tried on them.", "data", "Open data")
        return
    try:
        data = actions.coded()
    except EngineError as error:
        parts.complain(error)
        parts.go("data", "Back to the data")
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        plan, complaint = _inputs(base, f"{now.version}")
    if plan is not None:
        actions.set_plan(plan)
    with right, st.container(border=True):
        _amounts(plan, complaint, data)


def _inputs(base: Plan, tag: str) -> tuple[Plan | None, str | None]:
    """All inputs; returns the plan they say, or what is wrong with it."""
    asked: dict[str, object] = {}
    try:
        st.subheader("What is swapped", anchor=False)
        with st.popover("The four roles in plain words", icon=":material/help:"):
            for role, words in text.ROLE_WORDS.items():
                st.markdown(f"**{role}** – {words}.")
        asked |= _space(base, tag)
        st.subheader("How much, how often", anchor=False)
        left, right = st.columns(2)
        rates = left.text_input(
            "Swap rates, in percent of records",
            value=text.rates_to_percent(base.space.rates),
            key=f"rates-{tag}",
            help="The share of records that take part in swaps, both partners counted. 2 means 2 % (0.02), not 200 %.",
        )
        replicates = right.number_input(
            "Replicates of each",
            1,
            10_000,
            base.space.replicates,
            key=f"replicates-{tag}",
            help="Runs of the same candidate that differ only in chance; their spread says how sure a figure is."
            " A decision needs at least two.",
        )
        asked |= {"rates": text.rates_from_percent(rates), "replicates": int(replicates)}
        st.subheader("What is measured", anchor=False)
        measures = _measures(base, tag)
        asked["measures"] = measures
        st.subheader("How one is chosen", anchor=False)
        asked |= _decision(base, measures, tag)
        bound = asked.pop("bound")
        plan = edit_plan(base, **asked)  # type: ignore[arg-type]
        if bound == "none" and (plan.decision.max_risk or plan.decision.slope):
            plan = replace(plan, decision=replace(plan.decision, max_risk=None, slope=None))
        return plan, None
    except EngineError as error:
        return None, str(error)


def _space(base: Plan, tag: str) -> dict[str, object]:
    space = base.space
    names = list(base.names)
    how = st.segmented_control(
        "Candidates",
        list(HOW),
        default="all" if space.all_specs else "listed" if space.specs else "sizes",
        required=True,
        format_func=HOW.__getitem__,
        key=f"how-{tag}",
        label_visibility="collapsed",
    )
    asked: dict[str, object] = {}
    if how == "sizes":
        most = max(1, len(base.swap_candidates))
        sizes = st.multiselect(
            "Number of attributes swapped together",
            list(range(1, min(most, 12) + 1)),
            default=[s for s in (space.swap_sizes or (1, 2)) if s <= min(most, 12)],
            key=f"sizes-{tag}",
            help="1 and 2 try every single attribute and every pair; the others are unconstrained (U)",
        )
        asked["swap_sizes"] = sizes
    elif how == "listed":
        lines = st.text_area(
            "One candidate per line",
            value="\n".join(space.specs) or f"{names[0]}:S",
            key=f"listed-{tag}",
            height=120,
            help=f"NAME:ROLE for every attribute that is not U, for example {names[0]}:S {names[-1]}:F",
        )
        asked["specs"] = [line for line in lines.splitlines() if line.strip()]
    else:
        asked["all_specs"] = True
    left, right = st.columns(2)
    asked["fix"] = left.multiselect(
        "Partners always agree on (F)",
        names,
        default=list(space.fix),
        key=f"fix-{tag}",
        placeholder="none",
        help="such as a region: swaps then stay within it, and its tables with swapped attributes stay as they are",
    )
    asked["change"] = right.multiselect(
        "Partners always differ on (C)",
        names,
        default=list(space.change),
        key=f"change-{tag}",
        placeholder="none",
        help="such as a place: swaps then always cross it",
    )
    asked["rule"] = st.radio(
        "A true swap is",
        list(text.RULE_WORDS),
        index=list(text.RULE_WORDS).index(space.rule),
        format_func=text.RULE_WORDS.__getitem__,
        key=f"rule-{tag}",
    )
    return asked


def _measures(base: Plan, tag: str) -> list[str]:
    """Measures of risk and of utility with their meaning, and a line for variants with other parameters."""
    mine = [call(name) for name in base.measures]
    first: dict[str, MeasureCall] = {}
    for c in mine:
        first.setdefault(c.measure.name, c)
    chosen: list[str] = []
    for place, kind in zip(st.columns(2), ("risk", "utility"), strict=True):
        options = [name for name, measure in MEASURES.items() if measure.kind == kind]
        picked = place.multiselect(
            "Disclosure risk" if kind == "risk" else "Data utility",
            options,
            default=[name for name in options if name in first],
            format_func=lambda name: MEASURES[name].title,
            key=f"measures-{kind}-{tag}",
        )
        for name in picked:
            measure = MEASURES[name]
            place.markdown(f"**{measure.title}** – {text.DIRECTION[measure.better]}", help=text.measure_help(measure))
            place.caption(measure.meaning)
            chosen.append(str(_with_parameters(first.get(name, call(name)), place, tag)))
    further = [str(c) for c in mine if c is not first[c.measure.name]]
    line = st.text_input(
        "Variants of a measure",
        value=", ".join(further),
        key=f"measures-{tag}",
        placeholder="such as small_cells[n_rule=5] or hellinger[attributes=A+B]",
        help="The same measure again with other parameters or over other attributes",
    )
    # A comma may stand inside the brackets too.
    chosen += [str(call(name)) for name in re.split(r",(?![^\[]*\])", line) if name.strip()]
    return list(dict.fromkeys(chosen))


def _with_parameters(c: MeasureCall, place: DeltaGenerator, tag: str) -> MeasureCall:
    """The measure with the values of its parameters, asked for below it."""
    values = c.values
    for name, value in values.items():
        words, key = PARAMETERS.get(name, f"parameter {name}"), f"parameter-{c.measure.name}-{name}-{tag}"
        if isinstance(value, int):
            values[name] = int(place.number_input(words, value=value, step=1, key=key))
        elif name == "summary":
            values[name] = place.selectbox(words, SUMMARIES, index=SUMMARIES.index(value), key=key)
        else:
            values[name] = place.text_input(words, value=value, key=key).strip() or value
    if c.measure.check:
        c.measure.check(**values)
    return MeasureCall(c.measure, tuple(values.items()), c.attributes)


def _measure_label(name: str) -> str:
    try:
        return text.measure_name(call(name))
    except EngineError:
        return name


def _decision(base: Plan, measures: list[str], tag: str) -> dict[str, object]:
    decision = base.decision
    kinds: dict[str, list[str]] = {"risk": [], "utility": []}
    for name in measures:
        kinds[call(name).measure.kind].append(name)
    asked: dict[str, object] = {}
    for place, kind in zip(st.columns(2), ("risk", "utility"), strict=True):
        options = kinds[kind]
        if not options:
            place.warning(f"Choose a measure of {kind} above.")
            continue
        had = getattr(decision, kind)
        same = [i for i, name in enumerate(options) if had in (name, name.partition("[")[0])]
        picked = place.selectbox(
            f"Measure of {kind} that decides",
            options,
            index=same[0] if same else 0,
            format_func=_measure_label,
            key=f"decides-{kind}-{tag}-{'|'.join(options)}",
        )
        # The first one decides by itself: looking at a plan does not change it.
        if had is not None or picked != options[0]:
            asked[kind] = had if same and picked == options[same[0]] else picked
    words = {
        "none": "By hand, from the frontier",
        "bound": "Most useful under a bound on risk",
        "slope": "Best at a price of utility in risk",
    }
    how = st.radio(
        "Rule",
        list(words),
        index=1 if decision.max_risk is not None else 2 if decision.slope is not None else 0,
        format_func=words.__getitem__,
        key=f"rule-decides-{tag}",
        horizontal=True,
    )
    asked["bound"] = how
    if how == "bound":
        asked["max_risk"] = st.text_input(
            "Largest acceptable risk",
            value=decision.max_risk or "0.05",
            key=f"bound-{tag}",
            help="a share: 0.05 is 5 %",
        )
    elif how == "slope":
        asked["slope"] = st.text_input(
            "Additional risk accepted for one more unit of utility", value=decision.slope or "0.1", key=f"slope-{tag}"
        )
    first = st.checkbox(
        "Release the first run that was completed",
        value=decision.realisation == "first",
        key=f"first-{tag}",
        help="Which run is released is settled beforehand: picking the luckiest one is selection on noise.",
    )
    if first:
        asked["realisation"] = "first"
    else:
        fixed = int(decision.realisation) if decision.realisation != "first" else 1
        asked["realisation"] = str(st.number_input("Release replicate number", 1, 10_000, fixed, key=f"which-{tag}"))
    return asked


# -- what it amounts to ----------------------------------------------------------------------------------------------


def _amounts(plan: Plan | None, complaint: str | None, data: Microdata) -> None:
    st.subheader("What this amounts to", anchor=False)
    if plan is None:
        parts.complain(complaint or "")
        return
    now = state.get()
    depends = (replace(plan.space, rates=("0",), replicates=1), plan.swap, plan.data, plan.edits)
    try:
        with st.spinner("Counting…"):
            found = now.memo.get("space", depends, lambda: space_of(plan, data))
    except EngineError as error:
        parts.complain(error)
        return
    n_scenarios = len(found.specs) * len(plan.space.rates)
    total = n_scenarios * plan.space.replicates
    rates = ", ".join(percent(rate) for rate in plan.space.rates)
    first, second, third = st.columns(3)
    first.metric("Swaps to try", f"{len(found.specs):,}", help="distinct ways of assigning roles")
    second.metric("Scenarios", f"{n_scenarios:,}", help=f"each swap at {rates}")
    third.metric("Runs", f"{total:,}", help=f"{plan.space.replicates} replicates of every scenario")
    st.caption(
        f"{found.legal:,} legal, {found.feasible:,} feasible, {len(found.specs):,} distinct on these data; at {rates}."
    )
    _explained(found)
    _foreseen(plan, found, data, n_scenarios)
    timed = replace(plan, decision=DecisionPlan())
    seconds = now.memo.peek("estimate", timed)
    if seconds is None:
        if st.button("Estimate the time", icon=":material/timer:", help="tries a few runs; a few seconds"):
            with parts.spoken(), st.spinner("Trying a few runs…"):
                now.memo.get("estimate", timed, lambda: estimate(plan, data)[1])
                st.rerun()
    else:
        st.markdown(f":material/timer: about **{text.duration(seconds)}** on this machine")
    if plan.space.replicates < 2:
        st.warning("One replicate cannot say how sure a figure is; no decision is recorded on it.")
    parts.go("sweep", "Next: run the sweep")


def _explained(found: Space) -> None:
    """Why some specs are not run."""
    if found.merged:
        with st.popover(f"{text.plural(len(found.merged), 'swap')} merged", icon=":material/merge:"):
            st.markdown("These would release the same data as another one, so only the other one is run.")
            rows = [(str(a), str(b)) for a, b in found.merged[:_LISTED]]
            st.dataframe(pd.DataFrame(rows, columns=["not run", "the same as"]), hide_index=True)
            _more(len(found.merged))
    if found.impossible:
        with st.popover(f"{text.plural(len(found.impossible), 'swap')} impossible", icon=":material/block:"):
            st.markdown("No two of these records can be exchanged this way.")
            rows = [(str(a) or "nothing swapped", b) for a, b in found.impossible[:_LISTED]]
            st.dataframe(pd.DataFrame(rows, columns=["swap", "why"]), hide_index=True)
            _more(len(found.impossible))


def _more(n: int) -> None:
    if n > _LISTED:
        st.caption(f"The first {_LISTED} of {n:,}.")


def _foreseen(plan: Plan, found: Space, data: Microdata, n_scenarios: int) -> None:
    if n_scenarios > _FORESEEN:
        st.caption(f"Failures are foreseen for up to {_FORESEEN:,} scenarios only.")
        return
    now = state.get()
    specs = scenarios(found.specs, plan.space.rates, plan.space.rule)
    depends = (tuple(specs), plan.data, plan.edits)
    failing = now.memo.get("failing", depends, lambda: predicted_failures(specs, data.table))
    if failing:
        st.warning(
            f"{text.plural(len(failing), 'scenario')} will run out of feasible pairs before the rate is reached.",
            icon=":material/warning:",
        )
        with st.popover("Which, and why"):
            rows = [(str(spec), reason) for spec, reason in failing[:_LISTED]]
            st.dataframe(pd.DataFrame(rows, columns=["scenario", "why"]), hide_index=True)
            _more(len(failing))


page()
