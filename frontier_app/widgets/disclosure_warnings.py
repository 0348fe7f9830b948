"""Warnings about what a release of the open data would tell, shown before anybody decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from engine.common.wording import upper_first
from engine.decision.states import DecisionStatus
from engine.plan import Plan, dependencies
from engine.plan.recode import code
from engine.study.study import Study
from engine.sweeps.release_warnings import ReleaseWarning, carried_identifiers, finer_than_counted, loose_recodes
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
    with elements.errors_shown():
        same = now.plan is not None and (now.plan.data, now.plan.edits) == (plan.data, plan.edits)
        # a study's plan is not always the one that is being edited
        data = (
            actions.coded() if same else now.memo.get("coded-warned", (plan.data, plan.edits), lambda: code(raw, plan))
        )
        known = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
        boxes: list[tuple[str, str, Sequence[ReleaseWarning]]] = [
            ("Tells records apart", "fingerprint", carried_identifiers(data)),
            ("Can be worked out from another column", "link", loose_recodes(data, plan, known)),
        ]
        if refused_only:
            boxes = [
                (title, icon, [warning for warning in warnings if warning.refused]) for title, icon, warnings in boxes
            ]
        for title, icon, warnings in boxes:
            _box(title, icon, warnings)
        if any(warnings for *_, warnings in boxes):
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
    if spec is not None and spec.by_roles:
        only = replace(plan.space, specs=(str(spec.attributes),), swap_sizes=(), all_specs=False, search=False)
        plan = replace(plan, space=only, mechanisms=())
    shown(plan, refused_only=True)


def _box(title: str, icon: str, warnings: Sequence[ReleaseWarning]) -> None:
    if warnings:
        sentences = " ".join(f"{upper_first(str(warning))}." for warning in warnings)
        st.warning(markdown("**{}.** {}", title, sentences), icon=f":material/{icon}:")
