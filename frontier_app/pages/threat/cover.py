"""The cover of the memo: survey, vintage, sponsor, contact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from engine.plan import AboutPlan, Plan
from engine.plan.entries import RELEASE_TYPES
from frontier_app.session import state
from frontier_app.widgets.input_errors import InputErrors

_SHORT = {
    "survey": ("Survey", "National Household Survey"),
    "vintage": ("Vintage", "2025"),
    "sponsor": ("Sponsor", "Ministry of Labour"),
    "contact": ("Contact", "whom the board may ask"),
    "authority": ("Authority", "Statistics Act, section 4"),
    "geography": ("Smallest geography released", "region"),
    "classification": ("Classification of the memo", "Confidential"),
    "overlaps": ("Other releases of the same data", "tables of 2024"),
}
_HELP = {
    "authority": "The law or agreement under which the data were collected",
    "overlaps": "Files of the same people that are protected differently can undo each other's protection",
}
_TYPES = {"new": "new", "series": "one of a series", "re-release": "a release again"}


def inputs(base: Plan, plan: Plan, tag: str, wrong: InputErrors) -> Plan:
    """The plan with its cover; an approval leaves it open."""
    old = base.about
    names = (*_SHORT, "design")
    given = sum(bool(state.input_or(f"about-{name}-{tag}", getattr(old, name))) for name in names)
    title = f"Who asks: the cover of the memo ({given} of {len(names)} given)"
    fold = st.expander(title, key=f"fold-about-{tag}", icon=":material/badge:")
    fold.caption("You can leave it empty and complete it later, also after an approval.")
    values: dict[str, Any] = {}
    columns = fold.columns(4)
    for i, (name, (label, example)) in enumerate(_SHORT.items()):
        values[name] = columns[i % 4].text_input(
            label, getattr(old, name), key=f"about-{name}-{tag}", placeholder=example, help=_HELP.get(name)
        )
    left, right = fold.columns(2)
    values["design"] = left.text_area(
        "Design: weights, strata, sampling units, households",
        old.design,
        key=f"about-design-{tag}",
        height=68,
        placeholder="Two-stage sample of households; final weight wt; strata are regions",
    )
    with right:
        values["release_type"] = st.selectbox(
            "The release is",
            RELEASE_TYPES,
            index=RELEASE_TYPES.index(old.release_type),
            format_func=lambda name: _TYPES.get(name, name),
            key=f"about-type-{tag}",
        )
        values["changes"] = st.text_input(
            "What changed since the earlier one",
            old.changes,
            key=f"about-changes-{tag}",
            disabled=values["release_type"] == "new" and not old.changes,
        )
    with fold:
        return wrong.attempt(lambda: replace(plan, about=AboutPlan(**values)), plan)
