"""Declarations about the data: columns used as numbers, and combinations that must not occur."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from engine.data.microdata import Microdata
from engine.plan import Plan
from frontier_app.session import state
from frontier_app.widgets import rules
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording.markup import markdown


def declared(base: Plan, tag: str, data: Microdata, wrong: InputErrors) -> Plan:
    """The plan with what a person declares about the data: numbers and forbidden combinations."""
    n_numeric = len(state.input_or(f"numeric-{tag}", base.data.numeric))
    title = markdown("Numeric columns ({:,}) and forbidden combinations ({:,})", n_numeric, len(base.edits))
    with st.expander(title, key=f"fold-declared-{tag}", expanded=bool(base.edits), icon=":material/rule:"):
        return _declared(base, tag, data, wrong)


def _declared(base: Plan, tag: str, data: Microdata, wrong: InputErrors) -> Plan:
    stays = rules.numbers_from(base, data.raw.names)
    numeric = st.multiselect(
        "Columns used as numbers",
        list(dict.fromkeys((*stays, *base.data.numeric))),
        default=list(base.data.numeric),
        key=f"numeric-{tag}",
        placeholder="the columns that the analyses use",
        help="Raw columns with numbers that stay in a release, such as an income. Measures of means and correlations"
        " use them, and so do mechanisms that model numbers.",
    )
    column = st.column_config
    st.caption(
        "A record breaks a rule when, for every attribute named in it, its level is one of those picked. Where"
        " attributes are picked as “only what exists”, it does when their combination occurs nowhere in the original."
        " A rule counts such records in every release; one that forbids also refuses every swap that would make any."
    )
    known = rules.picks(data.domain, base)
    edited = st.data_editor(
        rules.edit_rows(base),
        key=f"edits-{tag}",
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        column_config={
            "name": column.TextColumn("Rule", width=140),
            "forbid": column.MultiselectColumn(
                "Forbidden together", options=list(known), accept_new_options=False, width=380
            ),
            "effect": column.SelectboxColumn(
                "Effect", options=list(rules.EFFECTS), default=rules.EFFECTS[0], required=True, width=90
            ),
        },
        alt="Edit rules: name, the levels that must not occur together, and whether it counts or forbids",
    )
    edits = wrong.attempt(partial(rules.edits_of, edited, known), base.edits)
    data_plan = wrong.attempt(lambda: replace(base.data, numeric=tuple(numeric)), base.data)
    return wrong.attempt(lambda: replace(base, data=data_plan, edits=edits), base)
