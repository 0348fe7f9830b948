"""Find any column by name, label or value; give it a role, or see why not and go where that is mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.columns import ColumnFound, Obstacle, find_columns, searchable
from frontier_app.session import state
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_SHOWN = 6  # columns found that are listed
_VERBS = {"keys": "Known", "swap": "Exchanged", "analyse": "Tabulated"}


def shown(raw: RawTable, plan: Plan, lists: Mapping[str, str]) -> None:
    """The field, and what it finds; ``lists`` are the inputs of the roles, by role, to which a column is added."""
    typed = st.text_input(
        "Find any column",
        key="role-find",
        placeholder="part of a name, a label or a value, such as married",
        icon=":material/search:",
    )
    columns = state.get().memo.get("searchable", raw.source, lambda: searchable(raw))
    found = find_columns(columns, plan, typed)
    if typed.strip() and not found:
        st.caption("No column has this in its name, its label or its values.")
    for column in found[:_SHOWN]:
        _row(column, lists)
    if len(found) > _SHOWN:
        st.caption(f"These are the first {_SHOWN} of {len(found):,} columns found. Type more of the name.")


def _row(column: ColumnFound, lists: Mapping[str, str]) -> None:
    words, buttons = st.columns([3, 2], vertical_alignment="center")
    details = " · ".join(part for part in (column.label, text.listed(list(column.values))) if part)
    block = f"part of the block {column.block}" if column.block not in (None, column.name) else ""
    why = f"not offered: {column.obstacle.value}" if column.obstacle is not None else block
    words.markdown(markdown("**{}** {} :gray[{}]", column.name, details, f"({why})" if why else ""))
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        if column.attribute is not None:
            for role, key in lists.items():
                is_in = column.attribute in (state.input_value(key) or ())
                st.button(
                    _VERBS[role],
                    key=f"found-{role}-{column.name}",
                    icon=":material/check:" if is_in else ":material/add:",
                    disabled=is_in,
                    on_click=partial(_add, key, column, tuple(lists.values())),
                    help="It is in this list" if is_in else "Add it to this list",
                )
        elif column.obstacle is Obstacle.TOO_MANY_VALUES:
            st.button("Cut it into levels", key=f"cut-{column.name}", on_click=partial(_go, "levels", column.name))
        else:
            st.button("See it under Columns", key=f"see-{column.name}", on_click=partial(_go, "columns", column.name))


def _add(key: str, column: ColumnFound, keys: Sequence[str]) -> None:
    """Add a column to a list; in all of them it takes the place of the block that it then names."""
    assert column.attribute is not None
    for one in keys:
        chosen = state.input_value(one) or ()
        names = [column.attribute if name == column.block else name for name in chosen]
        state.set_input(one, list(dict.fromkeys((*names, *([column.attribute] if one == key else ())))))


def _go(part: str, column: str) -> None:
    view = state.get().file_view
    where = {"column": column} if part == "levels" else {"find": column, "groups": ()}
    state.set_file_view(part=part, turn=view.turn + 1, **where)
    state.renew()
