"""The status of the plan: new, run already (changes are logged), or approved (fixed)."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.plan import Plan
from engine.plan.differences import CONTEXT, departures
from engine.study.ledger import change_plan
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording.markup import bullets, markdown
from frontier_app.wording.plan_words import ENTRIES, differences

_PARTS = ("decision", "about", "threat", "tolerances", "publish", "tables")


def approval(plan: Plan) -> bool:
    """Show what an approval fixed; return whether those parts are read-only."""
    if plan.lock is None:
        return False
    lock = plan.lock
    st.info(
        markdown(
            "This plan was approved as **{}** by **{}** on {}. What was approved is shown and cannot be changed; who"
            " asks may be completed.",
            lock.number,
            lock.by,
            lock.at[:10],
        ),
        icon=":material/lock:",
    )
    departing = st.toggle(
        "Enter a deviation from what was approved",
        bool(departures(plan)),
        key="deviate",
        help="A deviation is recorded with its reason, and the board has to approve it.",
    )
    return not departing


def departing(plan: Plan) -> list[str]:
    """The departures of a locked plan from what was approved, one sentence per entry in the words of the pages."""
    return [
        f"{ENTRIES[name]}: {departure.words}" if name in ENTRIES else departure.sentence
        for name, departure in departures(plan).items()
    ]


def show(plan: Plan) -> None:
    """Show how the plan departs from its approval, whether results exist already, and what differs from their plan."""
    if departures_found := departing(plan):
        st.warning(
            markdown("The plan departs from what was approved:\n{}", bullets(departures_found)),
            icon=":material/gavel:",
        )
    path = actions.own_study()
    if path is None:
        st.success(
            "Nothing has been run with this plan yet. What you enter now is settled before any result is seen.",
            icon=":material/check_circle:",
        )
        return
    with Study.open(path) as study:
        old, progress = study.plan, study.progress
    changes = differences(old, plan)
    free = {name: sentence for name, sentence in changes.items() if name.startswith(CONTEXT)}
    others = {name: sentence for name, sentence in changes.items() if name not in free}
    if not changes:
        st.info(
            f"Results exist already: {progress.done:,} runs in {path.name}. A change from now on comes after results"
            " were seen. It is allowed, and the decision log of the study records it.",
            icon=":material/history:",
        )
        return
    with st.container(border=True):
        if free:
            st.markdown(
                markdown(
                    "**Changed after results were seen** ({:,} runs in {}), not in the study yet:\n{}",
                    progress.done,
                    path.name,
                    bullets(free.values()),
                )
            )
            _record(path.name, plan, exact=not others)
        if others:
            st.markdown(
                markdown(
                    "**These change figures**, so the study keeps its own; the page Sweep offers a new study for"
                    " them:\n{}",
                    bullets(list(others.values())[:8]),
                )
            )
            if st.button("Go back to the study's plan", key="back-to-study"):
                actions.change(old, "back to the study's plan")
                st.rerun()


def _record(name: str, plan: Plan, *, exact: bool) -> None:
    """Keep what changes no figure in the study, with its reason."""
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    why = left.text_input("Why", key="change-why", placeholder="the reason, for the decision log")
    by = middle.text_input("Your name", key="change-by")
    if right.button(
        "Keep in the study",
        icon=":material/edit_note:",
        key="keep-change",
        width="stretch",
        disabled=not (why.strip() and by.strip()),
        help="needs the reason and your name; both go into the decision log",
    ):
        path = actions.own_study()
        assert path is not None
        with elements.errors_shown():
            with Study.open(path) as study:
                new = plan if exact else replace(study.plan, **{part: getattr(plan, part) for part in _PARTS})
                change_plan(study, new, why=why.strip(), by=by.strip())
            state.put(notice=f"Kept in {name}; its decision log says what was changed, why and by whom.")
            st.rerun()
