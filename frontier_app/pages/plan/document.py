"""The plan as a document that a board can approve: for its members, and with the rates for its chair."""

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
    " data. Members must not see how much is exchanged, so the rates stand in the chair's version alone."
)
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_READERS = (
    ("member", "Document for the board", "disclosure-analysis-plan.docx", "without rates and other amounts"),
    ("chair", "Document for the chair", "disclosure-analysis-plan-chair.docx", "names the rates: for the chair alone"),
)


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
    with st.container(horizontal=True):
        for reader, label, name, tip in _READERS:
            st.download_button(
                label,
                partial(_content, plan, data, swaps, others, rates=reader == "chair"),
                name,
                _DOCX,
                icon=":material/lock:" if reader == "chair" else ":material/description:",
                on_click="ignore",
                key=f"plan-document-{reader}",
                disabled=wrong,
                help="Mend first what the page complains about above." if wrong else tip,
            )


def _content(
    plan: Plan, data: Microdata, swaps: Space | Counted | None, others: Sequence[ReleaseSpec], rates: bool
) -> bytes:
    """The file, made when it is asked for."""
    return document_bytes(plan_document(plan, plan_counts(plan, data, swaps, others), rates=rates), ".docx")
