"""Fit of the plan at hand to the open file."""

from __future__ import annotations

import streamlit as st

from engine.plan import Plan
from engine.plan.check import mismatches
from engine.plan.mismatches import Mismatch, UnusedLevels
from frontier_app.session import actions, navigation, state


def open_ones(plan: Plan) -> tuple[Mismatch, ...]:
    """The mismatches that have not been accepted as they are."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return ()
    depends = (raw.source, plan.data, plan.data.seen, plan.edits, plan.analyses)
    found = now.memo.get("mismatches", depends, lambda: mismatches(plan, raw))
    accepted = actions.declined()
    return tuple(mismatch for mismatch in found if mismatch.key not in accepted)


def stands_in_the_way(plan: Plan) -> bool:
    """Return whether the file cannot be coded by the plan before something is settled; levels that nobody has are no
    obstacle."""
    return any(not isinstance(mismatch, UnusedLevels) for mismatch in open_ones(plan))


def sent_to_file(plan: Plan) -> bool:
    """Say that the plan does not fit the open file, with the way to the page where that is settled; return whether it
    is so."""
    if not stands_in_the_way(plan):
        return False
    st.warning("The plan does not fit this file yet.", icon=":material/difference:")
    if st.button("Settle it under File", key="go-data-fit", type="primary"):
        state.set_file_view(part=None, turn=state.get().file_view.turn + 1)
        navigation.go_to("data")
    return True
