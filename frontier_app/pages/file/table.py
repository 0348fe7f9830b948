"""The table of columns: the use of each, and the roles of its attribute."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pandas as pd
import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.plan import Plan
from engine.plan.edit import set_unit, set_use
from engine.plan.entries import SINGLE_USES, SingleUse, labelled_as_far
from frontier_app.pages.file import column_rows
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import remedies, text

_MANY = 12  # columns from which a filter is offered
_MOST_PARTS = 5  # columns that number households together
_A_PAGE = 60  # rows drawn at a time
_SETTING = {"decision": "Decision", "keys": "Key", "swap": "Swap", "analyse": "Analyse"}


def looks() -> pd.DataFrame:
    """A description of each column; made once."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    said = now.plan.data.columns if now.plan else ()
    read = labelled_as_far(raw, said)
    table: pd.DataFrame = now.memo.get("looks", (raw.source, said), lambda: column_rows.looks(read))
    return table


def page() -> tuple[Plan | None, str | None]:
    """The table; returns the plan it says and what is wrong with it."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    before = column_rows.rows(raw, now.base, looks())
    many = len(before) > _MANY
    filters = st.container()
    filtered = _filtered(before) if many else before
    shown = _paged(filtered)
    edited = st.data_editor(
        shown,
        key=f"columns-{now.version}",
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * max(1, len(shown)), 480),
        disabled=["column", "label", "holds", "values", "missing"],
        column_config=_config(),
        alt="Columns of the file with their decision and roles",
    )
    merged = before.copy()
    merged.loc[edited.index, list(edited.columns)] = edited
    plan, complaint = now.plan, None
    try:
        plan = column_rows.plan_of(merged, before, raw, now.base)
    except EngineError as error:
        complaint = remedies.error_text(error)
    if many:
        with filters:  # drawn last: it counts what the table says now
            _filters(column_rows.rows(raw, plan, looks()))
        _set_all(before, filtered)
    return plan, complaint


def _filtered(before: pd.DataFrame) -> pd.DataFrame:
    """The rows that the filters leave."""
    view = state.get().file_view
    matches = _named(before, view.find)
    for group in view.groups:
        if group in _GROUPS:
            matches &= before[group]
    decisions = [group for group in view.groups if group in column_rows.DECISIONS]
    if decisions:
        matches &= before["decision"].isin(decisions)
    return before[matches]


def _filters(current: pd.DataFrame) -> None:
    """Ask which rows of the table are shown: a name, or decisions and roles, each with the number that has it."""
    now = state.get()
    left, right = st.columns([3, 9], vertical_alignment="bottom")

    def renew() -> None:
        # Edits are kept by row number, so other rows need a fresh table.
        find, chosen = state.input_value("find-columns"), state.input_value("find-decisions")
        state.set_file_view(find=find or "", groups=tuple(chosen or ()))
        state.renew()

    left.text_input(
        "Find columns",
        value=now.file_view.find,
        key="find-columns",
        placeholder="part of a name, or *_WT",
        help="part of a name or label, or a pattern for the name such as *_WT",
        on_change=renew,
    )
    counts, chosen = current["decision"].value_counts(), now.file_view.groups
    groups = {
        decision: f"{_counted_word(decision)} ({counts.get(decision, 0)})"
        for decision in column_rows.DECISIONS
        if decision in counts or decision in chosen
    }
    # attributes are counted, as on the other parts of the page, not the columns of their blocks
    n_having = {role: current.loc[current[role], "attribute"].nunique() for role in _GROUPS}
    groups |= {
        role: f"{label} ({n_having[role]})" for role, label in _GROUPS.items() if n_having[role] or role in chosen
    }
    right.pills(
        "Show only",
        list(groups),
        selection_mode="multi",
        default=[group for group in chosen if group in groups],
        key="find-decisions",
        on_change=renew,
        format_func=groups.__getitem__,
    )


_GROUPS = {"keys": "keys", "swap": "swapped", "analyse": "analysed"}


def _named(before: pd.DataFrame, typed: str) -> pd.Series:
    """Rows whose name matches a pattern, or whose name or label holds what was typed."""
    typed = typed.strip().casefold()
    if any(sign in typed for sign in "*?"):
        return before["column"].map(lambda name: fnmatchcase(name.casefold(), typed)).astype(bool)
    named = before["column"].str.contains(typed, case=False, regex=False)
    return named | before["label"].str.contains(typed, case=False, regex=False) if "label" in before else named


def _paged(filtered: pd.DataFrame) -> pd.DataFrame:
    """A page of the rows."""
    if len(filtered) <= _A_PAGE:
        return filtered
    pages = list(range(1, -(-len(filtered) // _A_PAGE) + 1))

    def words(page: int) -> str:
        rows = filtered["column"].iloc[(page - 1) * _A_PAGE : page * _A_PAGE]
        return f"{rows.iloc[0]} … {rows.iloc[-1]}"

    def renew() -> None:
        state.renew()

    page = st.segmented_control(
        f"Page of {len(filtered)} columns",
        pages,
        default=1,
        key=f"columns-page-{state.get().file_view.find}-{state.get().file_view.groups}",
        format_func=words,
        on_change=renew,
        required=True,
    )
    begin = ((page or 1) - 1) * _A_PAGE
    return filtered.iloc[begin : begin + _A_PAGE]


def _set_all(before: pd.DataFrame, filtered: pd.DataFrame) -> None:
    """Set one mark or decision of every row found."""
    with st.popover(
        f"Set for all {text.plural(len(filtered), 'column')} found",
        icon=":material/checklist:",
        disabled=filtered.empty,
    ):
        what = st.selectbox("What", tuple(_SETTING), format_func=_SETTING.__getitem__, key="set-what")
        value: object
        if what == "decision":
            value = st.selectbox("To", tuple(column_rows.DECISIONS), format_func=_decision_word, key="set-decision")
        else:
            value = st.radio("To", (True, False), format_func=lambda on: "yes" if on else "no", key="set-mark")
        if st.button("Set", key="set-all"):
            if use := next((use for use in SINGLE_USES if use == value), None):
                _set_one(filtered["column"].tolist(), use)
                return
            now = state.get()
            assert now.raw is not None
            current = column_rows.rows(now.raw, now.plan, looks())
            edited = current.copy()
            rows = (
                filtered.index
                if what == "decision"
                else filtered.index[edited.loc[filtered.index, "decision"] == "attribute"]
            )
            edited.loc[rows, what] = value
            with elements.errors_shown():
                plan = column_rows.plan_of(edited, current, now.raw, now.plan)
                if plan is not None:
                    actions.change(plan, f"{text.plural(len(rows), 'column')} set")
                st.rerun()


def _set_one(names: list[str], use: SingleUse) -> None:
    """Make the one column found the weight, the id or the unit."""
    with elements.errors_shown():
        plan = state.get().plan
        if plan is not None and use == "unit" and len(names) <= _MOST_PARTS:
            actions.change(set_unit(plan, names), f"{text.listed(names)} number households")
            st.rerun()
        if len(names) != 1 or plan is None:
            raise UsageError(
                f"{text.plural(len(names), 'column')} are found, and a plan has one {use}; find the one column first"
            )
        actions.change(set_use(plan, names[0], use), f"{names[0]} is the {use}")
        st.rerun()


def _counted_word(decision: str) -> str:
    """The words for a number of columns: those of an attribute are counted, not the attributes."""
    return "in attributes" if decision == "attribute" else _decision_word(decision)


def _decision_word(decision: str) -> str:
    return {"carry": "carried", "drop": "dropped"}.get(decision, decision)


def _config() -> dict[str, Any]:
    column = st.column_config
    return {
        "column": column.TextColumn("Column", pinned=True, width=140),
        "label": column.TextColumn("Label", width=150),
        "holds": column.TextColumn("Holds", width=150),
        "values": column.NumberColumn(
            "Values", format="localized", help="distinct values, missing ones aside", width=65
        ),
        "missing": column.NumberColumn("Missing", format="localized", help="records without a value", width=70),
        "decision": column.SelectboxColumn(
            "Decision",
            options=list(column_rows.DECISIONS),
            required=True,
            width=85,
            help="; ".join(f"{decision}: {meaning}" for decision, meaning in column_rows.DECISIONS.items()),
        ),
        "attribute": column.TextColumn(
            "Attribute",
            width=105,
            help="name of the attribute; columns with the same name move together as one block",
        ),
        "keys": column.CheckboxColumn("Key", help="an intruder may know it: risk is measured on these", width=65),
        "swap": column.CheckboxColumn("Swap", help="its values may be exchanged", width=75),
        "analyse": column.CheckboxColumn("Analyse", help="users tabulate it: utility is measured on these", width=90),
        "on_missing": column.SelectboxColumn(
            "Missing is",
            options=[column_rows.NONE, *column_rows.MISSING.values()],
            width=105,
            help="refuse: the data must have none; a level: missing values become a level of their own",
        ),
    }
