"""The public statement on the protection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from engine.common.wording import columns_named
from engine.plan import Plan, PublishPlan
from engine.plan.entries import INCLUDE, MEMBERS_RATES, RATE_POLICIES
from frontier_app.session import state
from frontier_app.widgets.input_errors import InputErrors

_POLICIES = {"withhold": "withhold it (usual)", "range": "give a range in words"}
_TOLD = {"withhold": "no rate", "range": "a range of the rate"}
_MEMBERS = {"tell": "tell it (usual)", "withhold": "withhold it from a circulating copy"}


def inputs(base: Plan, plan: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with what is said in public, which an approval leaves open, and what is released with the file, which is
    read-only where ``fixed``."""
    old = base.publish
    include = _included(base, tag, fixed)
    told = _TOLD[state.input_or(f"publish-policy-{tag}", old.rate_policy)]
    fold = st.expander(f"What is said in public ({told})", key=f"fold-publish-{tag}", icon=":material/campaign:")
    fold.caption(
        "A paragraph on methods goes with the released file. It never names the swapped variables or the exact rate."
    )
    first, second, third = fold.columns(3)
    title = first.text_input(
        "Title of the released file", old.title, key=f"publish-title-{tag}", placeholder="Household Survey 2025"
    )
    policy = second.selectbox(
        "Share of records in swaps",
        RATE_POLICIES,
        index=RATE_POLICIES.index(old.rate_policy),
        format_func=_POLICIES.__getitem__,
        key=f"publish-policy-{tag}",
    )
    ranged = policy == "range"
    range_words = third.text_input(
        "The range, in words",
        old.rate_range,
        key=f"publish-range-{tag}",
        placeholder="between 1 and 5 percent",
        disabled=not ranged,
    )
    wording = fold.text_area(
        "Further wording",
        old.wording,
        key=f"publish-wording-{tag}",
        height=68,
        placeholder="Whom users may ask about the file",
    )
    values: dict[str, Any] = {
        "title": title,
        "rate_policy": policy,
        "rate_range": range_words if ranged else "",
        "wording": wording,
    }
    if ranged and not range_words.strip():
        fold.caption("The share is withheld until the range is given.")
        values |= {"rate_policy": "withhold"}
    values["members_rate"] = fold.selectbox(
        "The rate, to readers of circulated papers",
        MEMBERS_RATES,
        index=MEMBERS_RATES.index(old.members_rate),
        format_func=_MEMBERS.__getitem__,
        key=f"publish-members-{tag}",
        disabled=fixed,
        help="The board reads exact figures and the rate. Where it is withheld, a circulating copy leaves out every "
        "figure that depends on the rate.",
    )
    values["include"] = include
    with fold:
        return wrong.attempt(lambda: replace(plan, publish=PublishPlan(**values)), plan)


def _included(base: Plan, tag: str, fixed: bool) -> tuple[str, ...]:
    """Ask what is released besides the attributes and carried columns: the weight, a new id."""
    data = base.data
    labels = {
        "weight": f"The weight (column {data.weight})",
        "id": f"A new id in place of column {data.id}",
        "unit": f"New numbers of households in place of {columns_named(data.unit_columns)}",
    }
    with st.container(horizontal=True, gap="medium"):
        return tuple(
            role
            for role in INCLUDE
            if getattr(data, role) is not None
            and st.checkbox(
                labels[role],
                role in base.publish.include,
                key=f"publish-{role}-{tag}",
                disabled=fixed,
                width="content",
            )
        )
