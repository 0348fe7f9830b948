"""The approval of the plan: its number and name, shown once recorded, and the way back to the approved plan."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.plan import Plan
from engine.plan.differences import approved_plan, lock, plan_differences
from engine.study.ledger import change_plan
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements
from frontier_app.widgets.plan_status import departing
from frontier_app.wording.markup import bullets, markdown

WHAT = (
    "Lock the plan once the board has approved it as its Disclosure Analysis Plan. The approval is written into the"
    " plan, with a copy of what was approved. From then on only replicates may grow, and who asks and what is said in"
    " public may be completed, but not what is released. Every other change is a deviation: a sweep refuses it until a"
    " reason is given, the reason goes into the decision log, and the board has to approve it. A lock cannot be taken"
    " back here."
)


def save_plan(at: Workspace, label: str, key: str, tip: str) -> None:
    """A button that downloads the plan of a workspace as it is on disk."""
    st.download_button(
        label,
        at.plan_path.read_bytes(),
        "plan.toml",
        "text/plain",
        icon=":material/download:",
        on_click="ignore",
        key=key,
        help=tip,
    )


def shown(plan: Plan) -> None:
    """Show what an approval fixed, how the plan departs from it, and the way back."""
    if plan.lock is None:
        return
    st.info(
        f"This plan was approved as {plan.lock.number} by {plan.lock.by}, {_day(plan)}, and is locked."
        " Replicates may grow; every other change is a deviation that the board has to see.",
        icon=":material/lock:",
    )
    try:
        departures = departing(plan)
    except EngineError as error:
        elements.show_error(error)
        return
    if departures:
        st.warning(
            markdown(
                "It departs from what was approved:\n{}\n\nThe page Sweep asks for the reason before it runs this"
                " plan.",
                bullets(departures),
            ),
            icon=":material/warning:",
        )
        if st.button("Go back to what was approved", icon=":material/undo:", key="back-to-approved"):
            actions.change(_as_approved(plan), "back to what was approved")
            st.rerun()


def _day(plan: Plan) -> str:
    assert plan.lock is not None
    return f"{plan.lock.at[:10]} at {plan.lock.at[11:16]} UTC" if len(plan.lock.at) > 15 else plan.lock.at


def _as_approved(plan: Plan) -> Plan:
    """The approved plan with what an approval leaves open as it is now."""
    approved = approved_plan(plan)
    assert approved is not None
    more = max(plan.space.replicates, approved.space.replicates)
    space = replace(approved.space, replicates=more)
    publish = replace(plan.publish, include=approved.publish.include)
    return replace(approved, space=space, about=plan.about, publish=publish, lock=plan.lock)


def section(plan: Plan, wrong: bool) -> None:
    """Lock the plan, or keep the locked one as a file; ``wrong`` says that the inputs are not a plan yet."""
    now = state.get()
    assert now.workspace is not None
    st.subheader("The approval of this plan", anchor=False)
    if plan.lock is not None:
        who = plan.lock.number, plan.lock.by, _day(plan)
        st.markdown(markdown(":material/lock: Locked as **{}**, approved by **{}**, {}.", *who))
        save_plan(
            now.workspace,
            "Save the locked plan",
            "locked-plan-download",
            "the plan with its approval, as a text file; another approval needs a copy without its [lock] section",
        )
        return
    st.markdown(WHAT)
    _late(plan)
    # A form, so that the button can be reached by the keyboard while the last text is still being typed.
    with st.form("lock", border=False, enter_to_submit=False):
        number, by = st.columns(2)
        no = number.text_input("Number of the approval", key="lock-number", placeholder="such as DRB-2026-017").strip()
        name = by.text_input("Approved by", key="lock-by", placeholder="who approved it").strip()
        pressed = st.form_submit_button(
            "Lock the plan",
            icon=":material/lock:",
            key="lock-plan",
            disabled=wrong,
            help="mend what is complained about above first" if wrong else "needs the number and the name",
        )
    if pressed:
        with elements.errors_shown():
            _lock(plan, no, name)
            st.rerun()


def _late(plan: Plan) -> None:
    """Warn where results of this plan were seen before its approval."""
    path = actions.own_study()
    if path is None:
        return
    with Study.open(path) as study:
        old, done = study.plan, study.progress.done
    if old.lock is None and not plan_differences(old, plan) and done:
        st.warning(
            f"{path.name} holds {done:,} runs of this plan already: an approval now comes after results were seen, and"
            " the study's decision log says so.",
            icon=":material/history:",
        )


def _lock(plan: Plan, number: str, by: str) -> None:
    """Write the approval into the plan, and into the study that runs this very plan.  It cannot be taken back."""
    if not number or not by:
        raise UsageError(
            f"the approval has no {'name' if number else 'number'}; fill in both its number and who approved"
        )
    actions.refuse_behind()  # what is approved is what was seen here
    locked = lock(plan, number, by)
    actions.change(locked, "the plan was locked")
    if state.get().plan != locked:  # another tab wrote meanwhile; the page says what
        return
    actions.forget_actions()
    notice = f"The plan is locked as {number}, approved by {by}."
    path = actions.own_study()
    if path is not None:
        with Study.open(path) as study:
            if study.plan.lock is None and not plan_differences(study.plan, plan):
                change_plan(study, locked, by=by)
                notice += f" The decision log of {path.name} holds the approval."
    state.put(notice=notice)
