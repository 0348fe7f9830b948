"""Ways out where no candidate meets a bound on risk, with a button for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from engine.decision.unmet_bound import UnmetBound, unmet_bound, unmet_sentences
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import edit_plan
from engine.release.spec import percent
from engine.study.ledger import change_plan
from engine.study.map_reader import planned_risk
from engine.study.study import Study
from frontier_app.session import actions, navigation, state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import bullets, markdown


def shown(study: Study, view: RiskUtilityMap, bound: float, allow: Callable[[float], None]) -> bool:
    """Show what would help where nothing meets a bound (a loss); return whether that is the trouble.

    ``allow`` is called with a bound that can be met, before the page is drawn again.
    """
    unmet = unmet_bound(study, view, bound)
    if unmet is None:
        return False
    least, *ways_out = unmet_sentences(unmet, view)
    with st.container(border=True):
        st.warning(markdown("{}", least), icon=":material/warning:")
        st.markdown(bullets(ways_out))
        in_plan = _is_open_in_the_plan(study, view, unmet)
        if in_plan:
            _allow_in_plan(study, unmet.offered)
        with st.container(horizontal=True):
            _buttons(unmet, allow, is_next=not in_plan)
    return True


def _is_open_in_the_plan(study: Study, view: RiskUtilityMap, unmet: UnmetBound) -> bool:
    """Return whether the bound is the plan's and no approval fixes it."""
    decision, risk = study.plan.decision, planned_risk(study)
    planned = decision.max_risk is not None and float(decision.max_risk) == unmet.bound and view.risk == risk
    return planned and study.plan.lock is None


def _allow_in_plan(study: Study, bound: float) -> None:
    """Put a bound that can be met into the plan, for a reason that the decision log keeps."""
    st.caption(
        "No release above the bound of the plan is submitted without a reason. To change that bound now is a change"
        " after results were seen: the decision log keeps it, with its reason and your name."
    )
    left, middle, right = st.columns([4, 2, 3], vertical_alignment="bottom")
    why = left.text_input("Why more risk is acceptable", key="unmet-why").strip()
    by = middle.text_input("Your name", state.get().draft.by, key="unmet-by").strip()
    if right.button(
        f"Set the plan's bound to {text.figure(bound)}",
        key="unmet-plan",
        type="secondary" if state.get().selected else "primary",  # the next step, unless a candidate is at hand
        icon=":material/edit_note:",
        width="stretch",
        disabled=not (why and by),
        help="needs the reason and your name",
    ):
        with elements.errors_shown():
            decision = replace(study.plan.decision, max_risk=repr(bound))
            change_plan(study, replace(study.plan, decision=decision), why=why, by=by)
            if plan := state.get().plan:
                actions.change(replace(plan, decision=decision), f"the bound is {text.figure(bound)}")
            state.set_draft(by=by)
            st.rerun()


def _buttons(unmet: UnmetBound, allow: Callable[[float], None], *, is_next: bool) -> None:
    st.button(
        f"Try the bound {text.figure(unmet.offered)}",
        key="unmet-allow",
        type="primary" if is_next and not state.get().selected else "secondary",
        icon=":material/vertical_align_top:",
        on_click=allow,
        args=(unmet.offered,),
        help="A bound that a candidate meets, with room for new runs. It is tried here; the plan keeps its own.",
    )
    plan = state.get().plan
    rate = unmet.trend.next_rate if unmet.trend is not None else None
    if plan is not None and rate is not None and rate not in plan.space.rates:
        label = f"Add a rate of {percent(rate)} to the plan"
        if st.button(label, key="unmet-rate", icon=":material/add:", help="The sweep then adds it to the study."):
            actions.change(
                edit_plan(plan, rates=[*plan.space.rates, rate]), f"a swap rate of {percent(rate)} is in the plan"
            )
            navigation.go_to("sweep")
    name, _ = next(iter(unmet.coarse_keys), ("", 0))
    if name and st.button(f"Make {name} coarser", key="unmet-keys", icon=":material/merge:"):
        state.set_file_view(part="levels", column=name, turn=state.get().file_view.turn + 1)
        navigation.go_to("data")
