"""Warnings about what a release of these data would disclose, computed once and shown on several pages."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.decision.states import DecisionStatus
from engine.plan import Plan, dependencies
from engine.plan.recode import code
from engine.release.spec import RANDOM_SWAP
from engine.study.study import Study
from engine.sweeps.candidates import carried_identifiers, finer_than_counted, loose_recodes
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording.markup import markdown


def shown(plan: Plan, *, refused_only: bool = False) -> None:
    """The warnings about released columns, and the way to the page where they are mended; nothing where no data are
    open.  ``refused_only`` leaves out what does not stand in the way of a public bundle."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return
    with elements.spoken():
        same = now.plan is not None and (now.plan.data, now.plan.edits) == (plan.data, plan.edits)
        # a study's plan is not always the one that is being edited
        data = (
            actions.coded() if same else now.memo.get("coded-warned", (plan.data, plan.edits), lambda: code(raw, plan))
        )
        found = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
        said = [
            ("Tells records apart", "fingerprint", carried_identifiers(data)),
            ("Can be worked out from another column", "link", loose_recodes(data, plan, found)),
        ]
        if refused_only:
            said = [(title, icon, [words for words in lines if "is refused" in words]) for title, icon, lines in said]
        for title, icon, lines in said:
            _box(title, icon, lines)
        if any(lines for *_, lines in said):
            elements.go("data", "Mend it under File", primary=False)
        if not refused_only:
            _box("Released finer than it is counted", "zoom_in", finer_than_counted(data, plan.keys))


def before_submission(study: Study, status: DecisionStatus) -> None:
    """What would stand in the way of a public bundle, as long as nothing is submitted: of the recommended candidate, or
    of the plan while none is."""
    if status.state not in ("none", "draft", "returned"):
        return
    plan = study.plan
    spec = study.find(status.choice.label)[0].spec if status.choice is not None else None
    if spec is not None and spec.mechanism == RANDOM_SWAP:
        only = replace(plan.space, specs=(str(spec.attributes),), swap_sizes=(), all_specs=False, search=False)
        plan = replace(plan, space=only, mechanisms=())
    shown(plan, refused_only=True)


def _box(title: str, icon: str, lines: list[str]) -> None:
    if lines:
        words = " ".join(f"{line[:1].upper()}{line[1:]}." for line in lines)
        st.warning(markdown("**{}.** {}", title, words), icon=f":material/{icon}:")
