"""The entries of the plan that a board asks for and that are still empty, before the recommendation is submitted."""

from __future__ import annotations

import streamlit as st

from engine.common.wording import listed
from engine.decision.states import DecisionStatus
from engine.plan.types import unstated
from engine.study.study import Study
from frontier_app.widgets import elements
from frontier_app.wording.markup import markdown


def before_submission(study: Study, status: DecisionStatus) -> None:
    """Show what the memo would call not stated, as long as a draft can be changed; nothing where all is filled in."""
    missing = unstated(study.plan) if status.state in ("draft", "returned") else ()
    if not missing:
        return
    titles = listed(entry.title for entry in missing)
    st.info(
        markdown(
            "**Still to be filled in for the board:** {}. The memo says “not stated” where they stay empty.", titles
        ),
        icon=":material/edit_note:",
    )
    elements.go("threat", "Fill them in under Threat and uses", primary=False)
