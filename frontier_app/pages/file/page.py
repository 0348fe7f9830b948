"""File: open a sample or a file, and assign every column its use."""

from __future__ import annotations

import streamlit as st

from engine.common.errors import EngineError
from engine.plan import Plan
from engine.plan.mismatches import Clash
from frontier_app.pages.file import column_warnings, fit, levels, opening, proposals, roles, saved_plan, table
from frontier_app.session import actions, state
from frontier_app.widgets import elements, households, key_table, plan_approval, plan_fit, shared_plan, tour
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_FEW = 12  # columns up to which the table of columns says everything at a glance


def opened() -> None:
    """Data are open."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    left, right = st.columns([3, 3], vertical_alignment="bottom")
    left.title(raw.source, anchor=False)
    left.caption(f"{text.plural(raw.n_records, 'record')}, {text.plural(len(raw.names), 'column')}")
    with right.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Plan file", icon=":material/description:", key=f"plan-file-open-{now.file_view.turn}"):
            saved_plan.plan_file()
        with st.popover("Codebook", icon=":material/menu_book:"):
            saved_plan.codebook()
        with st.popover("Workspace", icon=":material/folder:"):
            saved_plan.workspace()
    if now.plan is not None and now.plan.lock is not None:
        plan_approval.shown(now.plan)
    counts, last_action = st.container(), st.container()
    complaint, n_open = _part(now.plan)
    with counts:
        _counts(complaint)
    with last_action:  # after the table, whose edits are actions too
        _take_back()
    st.divider()
    plan = state.get().plan
    settled = not n_open and plan is not None and len(plan.keys) <= key_table.MOST_KEYS
    held = complaint is not None or plan is None or plan_fit.stands_in_the_way(plan)
    # While levels or roles are made, the next step is to use them.
    making = state.get().file_view.part in ("levels", "roles", "households")
    elements.go("threat", "Next: threat and uses", primary=settled and not held and not making, disabled=held)
    tour.offer()


def _take_back() -> None:
    """The last decision, and the way back."""
    done = state.get().actions
    if not done:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(markdown(":material/check: Done: {}.", done[0].done), width="content")
        if st.button("Take back", icon=":material/undo:", key="undo", type="tertiary"):
            actions.take_back()
            st.rerun()


def _part(plan: Plan | None) -> tuple[str | None, int]:
    """The part of the page that is looked at; returns what is wrong with the plan as it is edited, and how many
    suggestions and warnings are open."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    if plan is None:
        return _table(), 0
    found = plan_fit.open_ones(plan)
    if any(isinstance(mismatch, Clash) and not mismatch.attribute for mismatch in found):
        fit.page(plan, found)  # nothing else can be said about columns whose uses contradict each other
        return None, len(found)
    with st.spinner("Looking at how the columns hang together…", show_time=False):
        n_open = len(proposals.open_ones(plan))
        warnings = column_warnings.open_ones(plan)
    asks = households.asks_for_places(plan)
    names = {
        **({"fit": f"Does not fit ({len(found)})"} if found else {}),
        "roles": "Roles",
        "suggestions": f"Suggestions ({n_open})",
        "warnings": f"Warnings ({len(warnings)})",
        "columns": f"Columns ({len(raw.names)})",
        "levels": "Levels",
        **({"households": f"Households ({int(asks)})"} if households.concerns(plan) else {}),
    }
    fitting = _fitting(plan, n_open, bool(warnings), asks)
    shown = now.file_view.part or fitting
    if shown not in names:  # what did not fit does now
        now = state.set_file_view(part=None, turn=now.file_view.turn + 1)
        shown = fitting
    if now.file_view.part is None:
        state.set_file_view(part=shown)
    key = f"file-part-{now.file_view.turn}"

    def chosen() -> None:
        # before the page is drawn: inputs drawn under the version before would lose what is given to them
        state.set_file_view(part=state.input_value(key))
        state.renew()

    picked = elements.switch("What to settle", names, shown, key, chosen)
    if picked == "columns":
        return _table(), n_open + len(warnings)
    if picked == "fit":
        fit.page(plan, found)
    elif picked == "suggestions":
        proposals.page(plan)
    elif picked == "warnings":
        column_warnings.page(plan, warnings, n_open)
    elif picked == "roles":
        roles.page(plan)
    elif picked == "households":
        households.inputs(plan, "file")
    else:
        levels.page(plan)
    return None, n_open + len(warnings) + asks


def _fitting(plan: Plan, n_open: int, warned: bool, asks: bool) -> str:
    """The part that is shown first, by what is open."""
    raw = state.get().raw
    assert raw is not None
    if plan_fit.stands_in_the_way(plan):
        return "fit"
    # Roles first: what is asked about columns that nobody tabulates need not be decided.
    if len(raw.names) > _FEW and len(plan.keys) > key_table.MOST_KEYS:
        return "roles"
    if n_open:
        return "suggestions"
    return "households" if asks else "warnings" if warned else "columns"


def _table() -> str | None:
    plan, complaint = table.page()
    if complaint is not None or plan is not None:
        shared_plan.keep(plan if complaint is None else None)
    return complaint


def _counts(complaint: str | None) -> None:
    """Live counts of the table that the keys span, or what is wrong."""
    if complaint:
        elements.show_error(complaint)
        return
    plan = state.get().plan
    if plan is None:
        st.info("Mark the columns that are to become attributes.", icon=":material/info:")
        return
    if plan_fit.stands_in_the_way(plan):
        st.warning(
            "The plan does not fit this file yet. What differs is listed below, each with the ways to settle it.",
            icon=":material/difference:",
        )
        return
    try:
        actions.coded()
        key_table.live(plan)
    except EngineError as error:
        elements.show_error(error)


if state.get().raw is not None:
    opened()
elif state.get().workspace is not None and actions.own_study():
    opening.data_of_study()
else:
    opening.start()
