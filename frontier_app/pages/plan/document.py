"""The plan as a document that a board can approve."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from engine.common.errors import EngineError
from engine.data.microdata import Microdata
from engine.plan import Plan
from engine.release.space import Space
from engine.release.spec import ReleaseSpec
from engine.report.plan_counts import plan_counts
from engine.report.plan_document import document_bytes, plan_document
from engine.sweeps.candidates import Counted
from frontier_app.session import state
from frontier_app.widgets import plan_size
from frontier_app.wording.markup import markdown

WHAT = markdown(
    "What the board approves is this plan as a document, its **Disclosure Analysis Plan**: data, attributes, threat,"
    " uses, methods, candidates, measures, the selection rule and what may change afterwards, with the counts of these"
    " data."
)
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def section(plan: Plan, data: Microdata, wrong: bool) -> None:
    """Download the plan as it stands in the inputs; ``wrong`` says that they are not a plan yet."""
    st.markdown(WHAT)
    swaps: Space | Counted | None = None
    others: Sequence[ReleaseSpec] = []
    try:
        swaps, others = plan_size.counted(plan, data)
        state.get().memo.get("document", plan, lambda: plan_document(plan) and None)
    except EngineError:  # the page has said it above
        wrong = True
    st.download_button(
        "Document for the board",
        partial(_content, plan, data, swaps, others),
        "disclosure-analysis-plan.docx",
        _DOCX,
        icon=":material/description:",
        on_click="ignore",
        key="plan-document",
        disabled=wrong,
        help="Mend first what the page complains about above." if wrong else "with the rates: for the board alone",
    )


def _content(plan: Plan, data: Microdata, swaps: Space | Counted | None, others: Sequence[ReleaseSpec]) -> bytes:
    """The file, made when it is asked for."""
    return document_bytes(plan_document(plan, plan_counts(plan, data, swaps, others)), ".docx")
