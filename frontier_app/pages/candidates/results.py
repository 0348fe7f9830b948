"""The results of a sweep as a grid of what was varied, what decides them, and a rate between two to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import prod

import numpy as np
import streamlit as st

from engine.decision.bounds import figure_words
from engine.decision.statements import Statement, statement, words
from engine.frontier.factors import Between, Decided, between, decided, factors, grid, role_counts
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import Plan, edit_plan
from engine.release.spec import RANDOM_SWAP, percent
from engine.report.parameters import bound_is_on
from engine.study.study import Study
from frontier_app.charts import map_data
from frontier_app.charts.factor_grid import FEW, factor_grid, role_grid
from frontier_app.session import state
from frontier_app.widgets import elements, recommendation
from frontier_app.wording import mechanisms, text
from frontier_app.wording.candidates import Words
from frontier_app.wording.markup import markdown, stacked

_MOST, _MOST_CELLS = 200, 2_000  # candidates of a grid, and its cells where combinations are missing
_ROLES = {"S": "swapped (S)", "F": "equal (F)", "C": "different (C)", "U": "free (U)"}


def results(study: Study, view: RiskUtilityMap, plan: Plan | None, add: Callable[[Plan, str], None] | None) -> None:
    """The grid of one mechanism's candidates; ``add`` puts a further rate into the plan (None: it cannot be)."""
    codes, names = view.scenarios.coded("mechanism")
    chosen = names[0]
    if len(names) > 1:
        titles = {name: mechanisms.short(name) for name in names}
        chosen = elements.switch("Mechanism", titles, chosen, "grid-mechanism")
    where = np.flatnonzero(codes == names.index(chosen))
    bound = recommendation.rule(study, view, state.get().look).bound
    within = None if bound is None else view.meets(bound)[where]
    known = ~np.isnan(view.bounded_risk[where])
    if len(where) > _MOST:
        _many(study, view, where, within, known, by_role=chosen == RANDOM_SWAP)
        return
    specs = [view.scenarios[i].spec for i in where.tolist()]
    found = factors(specs)
    if not found or prod(len(factor.values) for factor in found) > _MOST_CELLS:
        st.caption(f"{text.plural(len(where), 'candidate')}: Explore lists {'it' if len(where) == 1 else 'them'}.")
        return
    risk, call = view.risk_loss[where], view.measures[view.risk]
    unit = f", % of {call.measure.share_of}" if call.measure.share_of else ""
    st.markdown(markdown("**{}{}**, mean of the runs", text.measure_name(call), unit))
    told = Words(specs, found)
    letters = {index: letter for letter, index in recommendation.letters_of(study, view)}
    if bound is not None and within is not None:
        limit = figure_words(call, map_data.value_of(view, view.risk, bound))
        open_ones = "" if known.all() else " Grey has too few runs to tell."
        st.caption(
            f"Blue meets the limit of {limit}, the darker the safer; orange does not.{open_ones} Here"
            f" {bound_is_on(study.plan.decision)}."
        )
        if (deciding := decided(found, within, known)) is not None:
            st.markdown(markdown("{}", words(_deciding(told, deciding))))
        if (crossing := between(found, within, known)) is not None:
            _offer(chosen, crossing, plan, add)
    laid = grid(found, risk)
    cells = [_cell(view, i, letters.get(i, ""), low=len(laid.cells) > FEW) for i in where.tolist()]
    hover = [map_data.words(view, i) for i in where.tolist()]
    elements.chart(
        factor_grid(laid, risk, within, known, cells, hover, told.value),
        "factor-grid",
        f"Risk of {text.plural(len(where), 'candidate')} by {text.listed(list(map(told.title, found)))}",
    )


def _cell(view: RiskUtilityMap, index: int, letter: str, *, low: bool) -> str:
    """A candidate's letter and its risk in a few digits, in percent where it is a share; in one line where rows are
    ``low``."""
    risk = map_data.value_of(view, view.risk, float(view.risk_loss[index]))
    if np.isnan(risk):
        return letter or "–"
    figure = text.figure(100 * risk if view.measures[view.risk].measure.share_of else risk, 3)
    parts = [f"★ {letter}" if letter == "A" else letter, figure] if letter else [figure]
    return "  ".join(parts) if low else stacked(parts)


def _many(
    study: Study,
    view: RiskUtilityMap,
    where: np.ndarray,
    within: np.ndarray | None,
    known: np.ndarray,
    *,
    by_role: bool,
) -> None:
    """How many of very many candidates meet the limit by what they do with each attribute."""
    counted = text.plural(len(where), "candidate")
    if not by_role:
        st.caption(f"{counted}: Explore lists them.")
        return
    if within is None:
        st.caption(f"{counted}: set a limit to see which swaps meet it.")
        return
    st.markdown(markdown("**Candidates within the limit**, by what is done with each attribute"))
    unknown = "" if known.all() else f" {int((~known).sum()):,} have too few runs to tell and are not counted."
    st.caption(f"The darker, the larger the share; {bound_is_on(study.plan.decision)}.{unknown}")
    codes, roles = view.scenarios.coded("roles")
    names = view.scenarios[0].spec.attributes.names
    counts = role_counts(names, roles, codes[where][known], within[known])
    elements.chart(
        role_grid(counts, _ROLES), "factor-grid", "Candidates within the limit by attribute and by what is done with it"
    )


def _deciding(told: Words, found: Decided) -> Statement:
    return statement(
        "deciding",
        factor=told.title(found.factor),
        setting=told.value(found.factor, found.value),
        n=found.n,
        others=found.others,
        within=found.others_within,
    )


def _offer(name: str, crossing: Between, plan: Plan | None, add: Callable[[Plan, str], None] | None) -> None:
    """Say between which rates the limit lies, with a button that adds one between them to the plan."""
    told = statement(
        "crossing", rate_over=percent(crossing.over), rate_within=percent(crossing.within), cases=crossing.cases
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(markdown("{}", words(told)))
        grown = None if plan is None else with_rate(plan, name, crossing)
        label = f"Try {percent(crossing.rate)}"
        if grown and add and st.button(label, key="try-rate", icon=":material/add:"):
            add(grown, f"{percent(crossing.rate)} is tried too")
            st.rerun()


def with_rate(plan: Plan, name: str, crossing: Between) -> Plan | None:
    """The plan with one more rate of a mechanism, between two that it names; None where it does not name both, or
    has that rate already."""
    both, rate = {crossing.over, crossing.within}, crossing.rate
    if name == RANDOM_SWAP:
        if not (plan.swaps_at_random and both <= set(plan.space.rates)) or rate in plan.space.rates:
            return None
        return edit_plan(plan, rates=sorted((*plan.space.rates, rate), key=Decimal))
    entries = []
    for entry in plan.mechanisms:
        values = dict(entry.grid).get(crossing.factor.name, ())
        if entry.name == name and both <= set(values) and rate not in values:
            more = tuple(sorted((*values, rate), key=Decimal))
            entry = replace(entry, grid=tuple((k, more if k == crossing.factor.name else v) for k, v in entry.grid))
        entries.append(entry)
    return None if tuple(entries) == plan.mechanisms else replace(plan, mechanisms=tuple(entries))
