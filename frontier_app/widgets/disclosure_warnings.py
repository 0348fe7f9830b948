"""Warnings about what a release of the open data would tell, shown before anybody decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from engine.common.wording import upper_first
from engine.decision.states import DecisionStatus
from engine.plan import Plan, dependencies
from engine.plan.coding import code
from engine.study.study import Study
from engine.sweeps.warnings import (
    FinerThanCounted,
    Identifier,
    LooseRecodes,
    ReleaseWarning,
    TornUnits,
    carried_identifiers,
    finer_than_counted,
    loose_recodes,
    one_by_one,
    torn_units,
)
from frontier_app.session import actions, navigation, state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import bullets, joined, markdown


@dataclass(frozen=True)
class Kind:
    """A kind of warnings on the pages: its title, its icon, and the order that mends all of them, "" for none."""

    warning: type[ReleaseWarning]
    title: str
    icon: str
    all_at_once: str = ""


KINDS = (
    Kind(TornUnits, "Tears households apart", "family_restroom"),
    Kind(Identifier, "Tells records apart", "fingerprint", "Drop all"),
    Kind(LooseRecodes, "Can be worked out from another column", "link", "Move all as blocks"),
    Kind(FinerThanCounted, "Released finer than it is counted", "zoom_in"),
)


def of(plan: Plan) -> list[ReleaseWarning]:
    """The warnings about the columns that a plan releases of the open data; raises what keeps the data from being
    coded.  None where no data are open."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return []

    def found() -> list[ReleaseWarning]:
        # a study's plan is not always the one that is being edited
        same = now.plan is not None and (now.plan.data, now.plan.edits) == (plan.data, plan.edits)
        data = actions.coded() if same else code(raw, plan)
        known = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
        released = [*carried_identifiers(data), *loose_recodes(data, plan, known)]
        return [*torn_units(data, plan), *released, *finer_than_counted(data, plan.keys)]

    depends = (plan.data, plan.edits, plan.keys, plan.swap, plan.space, plan.mechanisms)
    return now.memo.get("warnings", depends, found)


def key_of(warning: ReleaseWarning) -> str:
    """A name by which a warning that is lived with is known again."""
    if isinstance(warning, Identifier):
        return f"warning:{warning.column}"
    if isinstance(warning, LooseRecodes):
        return "warning:{}:{}".format(*warning.pairs[0])
    if isinstance(warning, TornUnits):
        return "warning:torn"
    assert isinstance(warning, FinerThanCounted)
    return f"warning:finer:{warning.keys[0].name}"


def shown(plan: Plan, *, refused_only: bool = False) -> None:
    """The warnings about released columns, and the way to the page where they are mended; nothing where no data are
    open.  ``refused_only`` leaves out what does not stand in the way of a public bundle; those that somebody decided to
    live with are folded."""
    with elements.errors_shown():
        warnings = [warning for warning in of(plan) if warning.refused or not refused_only]
        accepted = actions.declined()
        single = one_by_one(warnings)
        left_so = [warning for warning in single if key_of(warning) in accepted]
        unsettled = [warning for warning in single if key_of(warning) not in accepted] if left_so else warnings
        for kind in KINDS:
            _box(kind.title, kind.icon, [warning for warning in unsettled if isinstance(warning, kind.warning)])
        if left_so:
            with st.expander(f"{text.plural(len(left_so), 'warning')} left so under File", icon=":material/done_all:"):
                st.markdown(bullets([f"{upper_first(warning.what)}." for warning in left_so]))
        if warnings and st.button("Mend it under File", key="mend-under-file"):
            state.set_file_view(part="warnings", turn=state.get().file_view.turn + 1)
            navigation.go_to("data")


def before_submission(study: Study, status: DecisionStatus) -> None:
    """Show what would stand in the way of a public bundle, as long as nothing is submitted: of the recommended
    candidate, or of the plan while none is."""
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
        details = [f"{upper_first(detail)}." for warning in warnings for detail in warning.details]
        if details:
            with st.expander("Which columns"):
                st.markdown(joined("\n", [markdown("- {}", detail) for detail in details]))
