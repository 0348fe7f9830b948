"""Threat and uses: the threat, the uses and the rule of choice, settled before results are seen."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.common.errors import EngineError
from engine.measures.planned import with_uses_measured
from engine.plan import Plan
from frontier_app.pages.threat import cover, intruder, public, rule, uses
from frontier_app.session import actions, state
from frontier_app.widgets import elements, plan_status, shared_plan
from frontier_app.widgets.input_errors import InputErrors


def page() -> None:
    """All of it on one page; the plan follows every input."""
    now = state.get()
    st.title("Threat and uses", anchor=False)
    if now.plan is None or now.base is None:
        elements.empty_page(
            "Open data first; then say what an intruder may know, and what users do with the data.",
            "data",
            "Open data",
        )
        return
    if now.raw is not None:
        try:
            actions.coded()
        except EngineError as error:
            elements.show_error(error)
            elements.go("data", "Back to the data")
            return
    fixed = plan_status.approval(now.plan)
    status = st.container()
    wrong = InputErrors()
    plan = _inputs(now.base, f"{now.version}", fixed, wrong)
    shared_plan.keep(plan)
    with status:
        plan_status.show(plan)
    st.divider()
    elements.go("plan", "Next: plan the candidates")


def _inputs(base: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan that the inputs say; what is wrong keeps its old value."""
    left, right = st.columns(2, gap="large")
    with left:
        plan = intruder.inputs(base, tag, fixed, wrong)
    with right:
        used = uses.inputs(base, tag, fixed)
    plan = wrong.attempt(lambda: _measured(base, replace(plan, tables=used.tables, analyses=used.analyses)), plan)
    with right:
        plan = rule.inputs(base, plan, tag, fixed, wrong)
    st.subheader("4. What goes with the release", anchor=False)
    plan = public.inputs(base, plan, tag, fixed, wrong)
    return cover.inputs(base, plan, tag, wrong)


def _measured(base: Plan, plan: Plan) -> Plan:
    """The plan that measures what it declares; a study keeps the measures that it has."""
    return plan if actions.own_study() is not None else with_uses_measured(base, plan)


page()
