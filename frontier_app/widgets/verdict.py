"""The verdict of the attacks on a release: a box whose colour and icon follow from its severity."""

from __future__ import annotations

import streamlit as st

from engine.decision.states import decision_status
from engine.decision.verdict_log import log_verdict, logged_verdict
from engine.measures.verdict import Severity, Verdict, verdict_words
from engine.release.scenarios import Choice
from engine.report.describe import remade
from engine.report.detected import release_verdict
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.session import state
from frontier_app.wording.markup import markdown

AT_ONCE = 100_000
"""Records times attributes up to which a release is attacked without being asked for."""
_BOXES = {
    "untried": (st.info, ":material/help:"),
    "none": (st.success, ":material/verified_user:"),
    "caution": (st.warning, ":material/warning:"),
    "serious": (st.error, ":material/gpp_bad:"),
}


def show(verdict: Verdict) -> None:
    """Show a verdict in its colour."""
    box(verdict.severity, verdict_words(verdict))


def box(severity: Severity, words: str) -> None:
    """Show words in the colour of a severity."""
    element, icon = _BOXES[severity]
    element(markdown("{}", words), icon=icon)


def of_choice(study: Study, choice: Choice, *, ask: str) -> None:
    """Show the verdict on the recommended release: the logged one, or that of an attack made now; of a large file on
    demand, by the button ``ask``.  An attack on what may still be approved is logged."""
    found = logged_verdict(study, f"{choice.label}/{choice.replicate}")
    raw = state.get().raw
    if found is None and raw is not None and raw.streamed is None:
        which = (str(study.path), choice.label, choice.replicate)
        known = state.get().memo.peek("verdict", which) is not None
        small = raw.n_records * len(study.plan.attributes) <= AT_ONCE
        place = st.empty()
        if known or small or place.button(ask, key="attack-choice"):
            place.empty()
            with st.spinner("Attacking the release…"):
                release = state.get().memo.get(
                    "remade", which, lambda: remade(study, raw, choice.label, choice.replicate)
                )
                found = of(study, release, which)
            if decision_status(study).state in ("draft", "submitted", "returned"):  # what the board needs to approve it
                log_verdict(study, f"{choice.label}/{choice.replicate}", found)
    if found is not None:
        show(found)


def of(study: Study, release: Remade, which: tuple[object, ...]) -> Verdict:
    """The verdict on a remade release, worked out once; ``which`` are study, candidate and replicate."""
    return state.get().memo.get("verdict", which, lambda: release_verdict(release, study.plan))
