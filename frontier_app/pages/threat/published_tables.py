"""Published tables of the original: whether there are any, and what they tell of a release."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.decision.meant_run import meant_run
from engine.decision.states import decision_status
from engine.plan import Plan
from engine.plan.entries import PUBLISHED_TABLES
from engine.report.describe import remade
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import detection, elements, verdict
from frontier_app.wording import recognised, text
from frontier_app.wording.markup import markdown

_AT_ONCE = 100_000  # records times attributes up to which the figures are worked out without being asked for


def inputs(base: Plan, plan: Plan, tag: str, fixed: bool) -> Plan:
    """The plan with what is published of the original, and what that undoes."""
    key = f"threat-tables-{tag}"
    policy = recognised.POLICIES[state.input_or(key, base.threat.published_tables)]
    title = f"Published tables of the original: {policy}"
    fold = st.expander(title, key=f"fold-{key}", icon=":material/lock_open:")
    fold.markdown(markdown("{}", recognised.UNDONE))
    published = fold.selectbox(
        recognised.PUBLISHED,
        PUBLISHED_TABLES,
        index=PUBLISHED_TABLES.index(base.threat.published_tables),
        format_func=recognised.POLICIES.__getitem__,
        key=key,
        disabled=fixed,
        help="Such as the tables of a report on the same survey. Several tables that cross the same two variables count"
        " as one.",
    )
    with elements.errors_shown():
        _of_candidate()
    return replace(plan, threat=replace(plan.threat, published_tables=published))


def _of_candidate() -> None:
    """Show what such tables tell of the candidate at hand: its release is remade for it, of a large file on demand."""
    now = state.get()
    path, raw = actions.own_study(), now.raw
    if path is None or raw is None:
        return
    with Study.open(path) as study:
        choice = decision_status(study).choice
        label = now.selected or (choice.label if choice else None)
        if label is None:
            st.caption("Select a candidate under Explore to see here what such tables tell of it, in figures.")
            return
        scenario, _ = study.find(label)
        replicate = meant_run(study, scenario.index, allow_partial=now.look.partial)
        which = (str(study.path), label, replicate)
        known = now.memo.peek("detected", which) is not None
        small = raw.n_records * len(study.plan.attributes) <= _AT_ONCE
        place = st.empty()
        if not known and not small and not place.button(f"Work it out for {text.named(scenario)}", key="threat-detect"):
            return
        place.empty()
        with st.spinner("Remaking the release…"):
            release = now.memo.get("remade", which, lambda: remade(study, raw, label, replicate))
        verdict.show(verdict.of(study, release, which))
        st.info(
            markdown("**{}:** {}", text.named(scenario), detection.of(study, release, which)), icon=":material/policy:"
        )
