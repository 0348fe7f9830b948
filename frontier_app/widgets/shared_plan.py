"""One plan in several tabs: a page's inputs are kept without loss, and what two tabs changed otherwise is asked."""

from __future__ import annotations

import streamlit as st

from engine.plan import Plan
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording.markup import bullets, markdown
from frontier_app.wording.plan_words import disputed_words


def keep(plan: Plan | None) -> bool:
    """Keep the plan that a page's inputs say; returns whether it is a new one.  The page begins again where another tab
    had changed it, unless the inputs are no plan yet (None): they would be lost."""
    state.put(typing=plan is None)
    if plan is None:
        return False
    version = state.get().version
    changed = False
    with elements.errors_shown():
        changed = actions.set_plan(plan)
    if state.get().version != version:
        st.rerun()
    return changed


def catch_up() -> None:
    """Begin the page again where another tab has changed the plan."""
    with elements.errors_shown():
        if not state.get().typing and actions.catch_up():
            st.rerun()


def disputes() -> None:
    """Ask which side of what two tabs changed otherwise is kept."""
    now = state.get()
    for k, dispute in enumerate(actions.disputes() if now.plan is not None else ()):
        assert now.plan is not None
        with st.container(border=True, key=f"dispute-{k}"):
            lines = []
            for entry in dispute.entries:
                label, here = disputed_words(entry, dispute.mine)
                lines.append(f"{label}: {here} here, {disputed_words(entry, now.plan)[1]} in the plan now")
            st.markdown(
                markdown(
                    ":material/call_split: **Another tab changed the same entries.** The plan has one of the two"
                    " changes; the other is kept here until you choose, also when the page is loaded again.\n{}",
                    bullets(lines),
                )
            )
            with st.container(horizontal=True), elements.errors_shown():
                theirs = st.button("Keep what is in the plan", key=f"dispute-theirs-{k}", icon=":material/check:")
                mine = st.button("Put in what is kept here", key=f"dispute-mine-{k}", icon=":material/edit:")
                if theirs or mine:
                    actions.settle(dispute, mine=mine)
                    st.rerun()
