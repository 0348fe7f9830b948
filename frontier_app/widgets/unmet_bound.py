"""Ways out where no candidate meets a bound on risk, with a button for each."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.decision.unmet_bound import UnmetBound, unmet_bound, unmet_sentences
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import edit_plan
from engine.release.spec import percent
from engine.study.study import Study
from frontier_app.session import actions, navigation, state
from frontier_app.wording import text
from frontier_app.wording.markup import bullets, markdown


def shown(study: Study, view: RiskUtilityMap, bound: float, allow: Callable[[float], None]) -> bool:
    """What would help against a bound (a loss) that nothing meets; returns whether that is the trouble.

    ``allow`` is called with the least bound that can be met, before the page is drawn again.
    """
    unmet = unmet_bound(study, view, bound)
    if unmet is None:
        return False
    least, *ways_out = unmet_sentences(unmet, view)
    with st.container(border=True):
        st.warning(markdown("{}", least), icon=":material/warning:")
        st.markdown(bullets(ways_out))
        with st.container(horizontal=True):
            _buttons(unmet, allow)
    return True


def _buttons(unmet: UnmetBound, allow: Callable[[float], None]) -> None:
    reachable = reachable_bound(unmet.least)
    st.button(
        f"Try the bound {text.figure(reachable)}",
        key="unmet-allow",
        icon=":material/vertical_align_top:",
        on_click=allow,
        args=(reachable,),
        help="The least bound that a candidate meets. It is tried here, and the plan keeps its own.",
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


def reachable_bound(least: float) -> float:
    """The least figure rounded up to four digits, so that its candidate meets it."""
    if least == 0:
        return 0.0
    rounded = float(f"{least:.4g}")
    return rounded if rounded >= least else float(f"{least * 1.0006:.4g}")
