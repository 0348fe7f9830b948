"""Warnings about released columns with their remedies: those of the pages Threat and Recommend are mended here."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import upper_first
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.sweeps.warnings import ReleaseWarning, one_by_one, remedies
from frontier_app.session import actions, state
from frontier_app.widgets import disclosure_warnings
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_SHOWN = 20  # warnings drawn at a time


def open_ones(plan: Plan) -> list[ReleaseWarning]:
    """The warnings about the plan's released columns that nobody decided to live with; none while the file cannot be
    coded by the plan, of which the page says why."""
    try:
        warnings = disclosure_warnings.of(plan)
    except EngineError:
        return []
    accepted = actions.declined()
    return [warning for warning in one_by_one(warnings) if disclosure_warnings.key_of(warning) not in accepted]


def page(plan: Plan, warnings: list[ReleaseWarning], n_suggestions: int) -> None:
    """The warnings by kind, each with the buttons that mend it; without one, the way to the suggestions that are still
    open."""
    if not warnings:
        st.success("No released column asks for a decision.", icon=":material/check_circle:")
        if n_suggestions and st.button(
            f"Next: {text.plural(n_suggestions, 'suggestion')}", type="primary", key="to-suggestions"
        ):
            state.set_file_view(part="suggestions", turn=state.get().file_view.turn + 1)
            st.rerun()
        return
    bearable = [disclosure_warnings.key_of(warning) for warning in warnings if not warning.refused]
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(
        f"{text.plural(len(warnings), 'warning')} about columns that would be released as the plan stands. Each button"
        " is one way out. Once each is settled or left so, the next step is the threat."
    )
    if len(bearable) > 1:
        with right.container(horizontal=True, horizontal_alignment="right"):
            if st.button(
                f"Leave all {len(bearable):,} so",
                type="primary",
                icon=":material/done_all:",
                key="leave-all",
                help="The columns are released as the plan has them. What no public bundle may hold stays listed.",
            ):
                _leave(bearable)
    nearest = warnings[0] if len(bearable) < 2 else None
    for kind in disclosure_warnings.KINDS:
        of_kind = [warning for warning in warnings if isinstance(warning, kind.warning)]
        if of_kind:
            _kind(plan, kind, of_kind, nearest, len(bearable))


def _kind(
    plan: Plan,
    kind: disclosure_warnings.Kind,
    warnings: list[ReleaseWarning],
    nearest: ReleaseWarning | None,
    n_bearable: int,
) -> None:
    """The warnings of one kind, and what mends or leaves all of them; the usual way out of the ``nearest`` is the next
    step.  ``n_bearable`` warnings of all kinds can be left so."""
    raw = state.get().raw
    assert raw is not None
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(markdown("**{}** ({:,})", kind.title, len(warnings)))
    bearable = [disclosure_warnings.key_of(warning) for warning in warnings if not warning.refused]
    if len(warnings) > 1:
        with right.container(horizontal=True, horizontal_alignment="right"):
            if kind.all_at_once and st.button(kind.all_at_once, key=f"mend-all-{kind.icon}"):
                _mend_all(plan, raw, warnings)
            if 1 < len(bearable) < n_bearable and st.button("Leave these so", key=f"leave-all-{kind.icon}"):
                _leave(bearable)
    for warning in warnings[:_SHOWN]:
        with st.container(border=True):
            sentence, buttons = st.columns([3, 2], vertical_alignment="center")
            sentence.markdown(f"{upper_first(warning.what)}.")
            with buttons.container(horizontal=True, horizontal_alignment="right"):
                _ways_out(plan, raw, warning, is_next=warning is nearest)
    if len(warnings) > _SHOWN:
        st.caption(f"The first {_SHOWN} of {len(warnings):,}; the others come when these are decided.")


def _ways_out(plan: Plan, raw: RawTable, warning: ReleaseWarning, *, is_next: bool) -> None:
    """The buttons of one warning; the first of them is blue where it ``is_next``."""
    name = disclosure_warnings.key_of(warning)
    blue: Literal["primary", "secondary"] = "primary" if is_next else "secondary"
    ways = remedies(warning, plan, raw)
    for i, way in enumerate(ways):
        if st.button(way.label, key=f"mend-{i}-{name}", type=blue if i == 0 else "secondary"):
            actions.change(way.plan, way.done)
            st.rerun()
    if not warning.refused and st.button("Leave it so", key=f"leave-{name}", type="secondary" if ways else blue):
        _leave([name])


def _mend_all(plan: Plan, raw: RawTable, warnings: list[ReleaseWarning]) -> None:
    """Take the first way out of each warning; where there is none, it stays."""
    mended = 0
    for warning in warnings:
        if ways := remedies(warning, plan, raw):
            plan, mended = ways[0].plan, mended + 1
    actions.change(plan, f"{text.plural(mended, 'warning')} mended")
    st.rerun()


def _leave(keys: list[str]) -> None:
    actions.decline(keys, f"{text.plural(len(keys), 'warning')} left as {'it is' if len(keys) == 1 else 'they are'}")
    st.rerun()
