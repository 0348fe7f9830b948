"""Plan: which candidates are tried, how often, what is measured, and how one will be chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.candidates import predicted_failures, scenarios_of, space_of
from engine.errors import EngineError
from engine.evaluator import question
from engine.measures import MEASURES, MeasureCall, call
from engine.measures.distortion import SUMMARIES
from engine.mechanisms import mechanism
from engine.mechanisms.base import Parameter
from engine.microdata import Microdata
from engine.plan import DecisionPlan, MechanismPlan, Plan, edit_plan
from engine.plan.analysis import ALL, FAMILIES
from engine.space import Space, scenarios
from engine.spec import RANDOM_SWAP, ReleaseSpec, percent
from engine.sweep import estimate
from frontier_app import actions, mechanisms, parts, rules, state, text

T = TypeVar("T")
_FORESEEN = 5000  # scenarios up to which failures are foreseen at once
_LISTED = 200  # specs shown of a long list
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
        plan, complaint = _inputs(base, f"{now.version}", data)
    if plan is not None:
        actions.set_plan(plan)
    with right, st.container(border=True):
        _amounts(plan, complaint, data)


class _Complaints(list[str]):
    """What is wrong with single inputs.  The others are drawn all the same: one left out would forget its value."""

    def attempt(self, make: Callable[[], T], otherwise: T) -> T:
        """What ``make`` makes; where it cannot, its complaint is kept."""
        try:
            return make()
        except EngineError as error:
            self.append(str(error))
            parts.complain(error)
            return otherwise


def _inputs(base: Plan, tag: str, data: Microdata) -> tuple[Plan | None, str | None]:
    """All inputs; returns the plan they say, or what is wrong with it."""
    asked: dict[str, object] = {}
    wrong = _Complaints()
    try:
        picked = _mechanism_choice(base, tag)
        swaps = RANDOM_SWAP in picked
        if swaps:
            st.subheader("What is swapped at random", anchor=False)
            with st.popover("The four roles in plain words", icon=":material/help:"):
                for role, words in text.ROLE_WORDS.items():
                    st.markdown(f"**{role}** – {words}.")
            asked |= _space(base, tag)
        entries = _mechanisms(base, picked, tag, wrong)
        st.subheader("How much, how often" if swaps else "How often", anchor=False)
        left, right = st.columns(2)
        if swaps:
            rates = left.text_input(
                "Swap rates, in percent of records",
                value=text.rates_to_percent(base.space.rates),
                key=f"rates-{tag}",
                help="The share of records that take part in random swaps, both partners counted. 2 means 2 % (0.02),"
                " not 200 %. Other mechanisms have parameters of their own for their amount.",
            )
            asked["rates"] = wrong.attempt(lambda: _rates(base, rates), base.space.rates)
        replicates = (right if swaps else left).number_input(
            "Replicates of each",
            1,
            10_000,
            base.space.replicates,
            key=f"replicates-{tag}",
            help="Runs of the same candidate that differ only in chance; their spread says how sure a figure is."
            " A decision needs at least two.",
        )
        asked["replicates"] = int(replicates)
        declared = _declared(base, tag, data, wrong)
        st.subheader("What is measured", anchor=False)
        measures = _measures(base, tag, [a.name for a in declared.analyses], wrong)
        asked["measures"] = measures
        st.subheader("How one is chosen", anchor=False)
        asked |= _decision(base, measures, tag)
        bound = asked.pop("bound")
        if wrong:
            return None, wrong[0]
        plan = edit_plan(declared, **asked)  # type: ignore[arg-type]
        plan = replace(plan, mechanisms=mechanisms.merged(base, entries))
        if bound == "none" and (plan.decision.max_risk or plan.decision.slope):
            plan = replace(plan, decision=replace(plan.decision, max_risk=None, slope=None))
        return plan, None
    except EngineError as error:
        return None, wrong[0] if wrong else str(error)


def _rates(base: Plan, typed: str) -> tuple[str, ...]:
    """The rates that were typed, legal ones."""
    rates = text.rates_from_percent(typed)
    replace(base.space, rates=rates)
    return rates


# -- mechanisms ------------------------------------------------------------------------------------------------------


def _mechanism_choice(base: Plan, tag: str) -> list[str]:
    """Which mechanisms are tried beside, or instead of, the random swap."""
    st.subheader("How the data are protected", anchor=False)
    mine = [one.name for one in mechanisms.chosen(base)]
    names = [*mechanisms.all_names(), *(name for name in mine if name not in mechanisms.all_names())]
    picked = []
    places = st.columns(2)
    for i, name in enumerate(names):
        made = None if name == RANDOM_SWAP or name not in mechanisms.all_names() else mechanism(name)
        when, amount = (made.when, made.rate) if made else (mechanisms.RANDOM_WHEN, mechanisms.RANDOM_AMOUNT)
        if places[i % 2].checkbox(
            mechanisms.title(name) if name in mechanisms.all_names() else name,
            name in mine,
            key=f"mechanism-{name}-{tag}",
            help=f"When {when}. Its amount counts {amount}.",
        ):
            picked.append(name)
    with st.popover("When to use which", icon=":material/help:", width="content"):
        for name in mechanisms.all_names():
            made = None if name == RANDOM_SWAP else mechanism(name)
            when, amount, source = (
                (made.when, made.rate, made.source)
                if made
                else (
                    mechanisms.RANDOM_WHEN,
                    mechanisms.RANDOM_AMOUNT,
                    "Gomatam, Karr and Sanil (2005), Data swapping as a decision problem",
                )
            )
            st.markdown(f"**{mechanisms.title(name)}** (`{name}`) – when {when}.")
            st.caption(f"Its amount counts {amount}. Source: {source}.")
    return picked


def _mechanisms(base: Plan, picked: list[str], tag: str, wrong: _Complaints) -> list[MechanismPlan]:
    """The grid of every chosen mechanism; those of the plan stay in their order."""
    before = [one for one in mechanisms.chosen(base) if one.name in picked]
    known = {one.name for one in before}
    entries = []
    for i, (name, one) in enumerate(
        [*((one.name, one) for one in before), *((name, None) for name in picked if name not in known)]
    ):
        if name == RANDOM_SWAP:
            entries.append(one or MechanismPlan(RANDOM_SWAP))
            continue
        made = mechanism(name)
        with st.expander(f"**{made.title}**{_grid_words(one)}", expanded=one is None, icon=":material/tune:"):
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
                    parameter, had.get(parameter.name), places[at % 2], f"{name}-{i}-{parameter.name}-{tag}"
                )
            entries.append(wrong.attempt(partial(mechanisms.grid_of, made, given, one), one or MechanismPlan(name)))
    return entries


def _grid_words(one: MechanismPlan | None) -> str:
    """What is set of a mechanism, in few words."""
    if one is None or not one.grid:
        return " – as usual"
    return " – " + ", ".join(f"{name} {' or '.join(values)}" for name, values in one.grid)


def _parameter(one: Parameter, had: tuple[str, ...] | None, place: DeltaGenerator, key: str) -> tuple[str, ...]:
    """The values of one parameter."""
    usual = () if not one.default else (one.default,)
    start = had if had is not None else usual
    words = f"{one.meaning[:1].upper()}{one.meaning[1:]}. Legal: {mechanisms.legal(one)}."
    if one.kind in ("choice", "truth"):
        options = list(dict.fromkeys((*(one.choices or ("yes", "no")), *start)))
        picked = place.multiselect(one.name, options, default=list(start), key=f"par-{key}", help=words)
        place.caption(one.meaning)
        return tuple(picked)
    ask = place.text_area if one.kind == "text" and len(start) > 1 else place.text_input
    typed = ask(
        one.name,
        value=mechanisms.values_text(one, start),
        key=f"par-{key}",
        help=words,
        placeholder=one.default or "as usual",
    )
    place.caption(f"{one.meaning} – {mechanisms.legal(one)}")
    return mechanisms.values_from(one, typed)


# -- edit rules, analyses, numeric columns -----------------------------------------------------------------------------


def _declared(base: Plan, tag: str, data: Microdata, wrong: _Complaints) -> Plan:
    """The plan with what a person declares about the data: numbers, analyses, forbidden combinations."""
    st.subheader("What users need, and what must not be", anchor=False)
    stays = rules.numbers_from(base, data.raw.names)
    numeric = st.multiselect(
        "Columns used as numbers",
        list(dict.fromkeys((*stays, *base.data.numeric))),
        default=list(base.data.numeric),
        key=f"numeric-{tag}",
        placeholder="those that the analyses use",
        help="Raw columns with numbers that stay in a release, such as an income: for measures of means and"
        " correlations, and for mechanisms that model numbers.",
    )
    with st.expander(
        f"Analyses that users will run ({len(base.analyses)} in the plan)",
        expanded=bool(base.analyses),
        icon=":material/functions:",
    ):
        st.caption(
            "Regressions that are repeated on every release. A formula reads `income ~ Age + Sex`: attributes are"
            " categories, other columns are numbers, and `Age_raw` is the number behind a cut attribute."
        )
        before = rules.analysis_rows(base)
        column = st.column_config
        edited = st.data_editor(
            before,
            key=f"analyses-{tag}",
            num_rows="dynamic",
            hide_index=True,
            width="stretch",
            column_config={
                "name": column.TextColumn("Name", width=90),
                "formula": column.TextColumn("Formula", width=220),
                "family": column.SelectboxColumn("Family", options=list(FAMILIES), default=FAMILIES[0], width=80),
                "by": column.MultiselectColumn(
                    "Separately by", options=list(base.names), accept_new_options=False, width=120
                ),
                "weighted": column.CheckboxColumn("Weighted", default=False, width=70),
            },
            alt="Declared analyses: name, formula, family, strata and whether they use the weight",
        )
        analyses = wrong.attempt(partial(rules.analyses_of, edited), base.analyses)
    with st.expander(
        f"Combinations that must not occur ({len(base.edits)} in the plan)",
        expanded=bool(base.edits),
        icon=":material/rule:",
    ):
        st.caption("A record breaks a rule when, for every attribute named in it, its level is one of those picked.")
        known = rules.picks(data.domain, base)
        edited = st.data_editor(
            rules.edit_rows(base),
            key=f"edits-{tag}",
            num_rows="dynamic",
            hide_index=True,
            width="stretch",
            column_config={
                "name": column.TextColumn("Rule", width=140),
                "forbid": column.MultiselectColumn(
                    "Forbidden together", options=list(known), accept_new_options=False, width=420
                ),
            },
            alt="Edit rules: name and the levels that must not occur together",
        )
        edits = wrong.attempt(partial(rules.edits_of, edited, known), base.edits)
    data_plan = wrong.attempt(lambda: replace(base.data, numeric=tuple(numeric)), base.data)
    return wrong.attempt(lambda: replace(base, data=data_plan, analyses=analyses, edits=edits), base)


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


def _measures(base: Plan, tag: str, analyses: list[str], wrong: _Complaints) -> list[str]:
    """Measures of risk and of utility by what they need, with their meaning, and a line for variants."""
    mine = [call(name) for name in base.measures]
    first: dict[str, MeasureCall] = {}
    for c in mine:
        first.setdefault(c.measure.name, c)
    chosen: list[str] = []
    for place, kind in zip(st.columns(2), ("risk", "utility"), strict=True):
        place.markdown("**Disclosure risk**" if kind == "risk" else "**Data utility**")
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
                    f"**{measure.title}** – {text.DIRECTION[measure.better]}",
                    help=f"{text.measure_help(measure)} Cost of one candidate: {measure.cost}.",
                )
                place.caption(measure.meaning)
                had_call = first.get(name, call(name))
                with_values = partial(_with_parameters, had_call, place, tag, analyses)
                chosen.append(str(wrong.attempt(with_values, had_call)))
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
    try:
        with st.spinner("Counting…"):
            found, others = _counted(plan, data)
    except EngineError as error:
        parts.complain(error)
        return
    rates = ", ".join(percent(rate) for rate in plan.space.rates)
    n_swaps = len(found.specs) * len(plan.space.rates) if found else 0
    n_scenarios = n_swaps + len(others)
    total = n_scenarios * plan.space.replicates
    first, second, third = st.columns(3)
    if found:
        first.metric("Swaps to try", f"{len(found.specs):,}", help="distinct ways of assigning roles")
    second.metric(
        "Scenarios", f"{n_scenarios:,}", help=f"each swap at {rates}" if found else "every combination of parameters"
    )
    third.metric("Runs", f"{total:,}", help=f"{plan.space.replicates} replicates of every scenario")
    if found:
        st.caption(
            f"{found.legal:,} legal, {found.feasible:,} feasible, {len(found.specs):,} distinct on these data; at"
            f" {rates}."
        )
    if others:
        rows = ["| mechanism | scenarios | runs |", "|:--|--:|--:|"]
        for name, n in ({RANDOM_SWAP: n_swaps} if found else {}).items():
            rows.append(f"| {mechanisms.title(name)} | {n:,} | {n * plan.space.replicates:,} |")
        for name, n in mechanisms.counts(others).items():
            rows.append(f"| {mechanisms.title(name)} | {n:,} | {n * plan.space.replicates:,} |")
        st.markdown("\n".join(rows))
    if found:
        _explained(found)
        _foreseen(plan, found, data, n_swaps)
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


def _counted(plan: Plan, data: Microdata) -> tuple[Space | None, list[ReleaseSpec]]:
    """The space of the random swap, if it is tried, and the scenarios of all other mechanisms."""
    now = state.get()
    asks = (plan.data, plan.keys, plan.analyse, plan.analyses, plan.edits, plan.measures, plan.mechanisms)
    now.memo.get("question", asks, lambda: question(plan, data) and None)
    found = None
    if plan.swaps_at_random:
        space = (replace(plan.space, rates=("0",), replicates=1), plan.swap, plan.data, plan.edits)
        found = now.memo.get("space", space, lambda: space_of(plan, data))
    declared = tuple(one for one in plan.mechanisms if one.name != RANDOM_SWAP or one.grid)
    if not declared:
        return found, []
    depends = (declared, plan.data, plan.keys, plan.analyses)
    others = now.memo.get("others", depends, lambda: scenarios_of(replace(plan, mechanisms=declared), data)[0])
    return found, others


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
