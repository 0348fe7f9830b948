"""Roles of attributes: known to an intruder, exchanged, tabulated by users."""

from __future__ import annotations

import streamlit as st

from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.edit import could_be, set_roles
from frontier_app.pages.file import column_finder
from frontier_app.pages.file.opening import attempt
from frontier_app.session import actions, state
from frontier_app.wording.markup import markdown

_MANY = 40  # attributes in a role from which a list of all would only be in the way
ROLES = {
    "keys": (
        markdown("**Known to an intruder** (keys): what somebody may know about a person; risk is measured on these"),
        "choose columns",
    ),
    "swap": (
        markdown("**May be exchanged**: their values may go to another record; what is never exchanged stays exact"),
        "the keys, if none is chosen",
    ),
    "analyse": (
        markdown("**Tabulated by users**: what users cross in tables; utility is measured on these"),
        "all that are chosen above, if none is chosen",
    ),
}


def page(plan: Plan) -> None:
    """Three lists of names; what is in none is carried."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    more = now.memo.get("could-be", plan.data, lambda: could_be(raw, plan))
    order = {name: i for i, name in enumerate(raw.names)}
    names = sorted((*plan.names, *more), key=lambda name: order.get(name, -1))
    labels = _labels(raw, plan)
    st.caption(
        "A few columns are enough: a column in none of the three lists is carried, so it stays with its record"
        " unchanged, and is released."
    )
    lists = {role: f"role-{role}-{now.version}" for role in ROLES}
    for role, key in lists.items():
        chosen_before = list(getattr(plan, role))
        everything = len(chosen_before) == len(plan.names) and len(chosen_before) > _MANY
        if state.input_value(key) is None:
            state.set_input(key, [] if everything else chosen_before)
    column_finder.shown(raw, plan, lists)
    with st.container(border=True):
        chosen = {}
        for role, (label, empty) in ROLES.items():
            chosen[role] = st.multiselect(
                label,
                names,
                format_func=lambda name: labels.get(name, name),
                key=lists[role],
                placeholder=empty,
                filter_mode="contains",
                select_all=False,  # Enter would take all that match what is typed
            )
        if st.button("Use these roles", type="primary", icon=":material/check:", key="use-roles"):
            keys = chosen["keys"]
            swap = chosen["swap"] or keys
            analyse = chosen["analyse"] or list(dict.fromkeys((*keys, *swap)))

            def give() -> None:
                actions.change(set_roles(raw, plan, keys=keys, swap=swap, analyse=analyse), "the roles were given")
                state.set_file_view(part=None, turn=now.file_view.turn + 1)

            attempt(give)


def _labels(raw: RawTable, plan: Plan) -> dict[str, str]:
    """Names with the file's own words and the other columns of the block, so that each of these finds it."""
    block = {part.name: part for part in plan.attributes}
    labels = {}
    for name in (*plan.names, *raw.names):
        part = block.get(name)
        column = raw.columns.get(part.view[0] if part else name)
        label = column.about.label if column is not None else ""
        label = label if len(label) <= 40 else label[:39] + "…"
        others = [column_name for column_name in part.columns if column_name != name] if part else []
        if label or others:
            more = f" (with {', '.join(others)})" if others else ""
            labels[name] = f"{name}{' – ' if label else ''}{label}{more}"
    return labels
