"""Warnings about released columns with their remedies: those of the pages Threat and Recommend are mended here."""

from __future__ import annotations

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import upper_first
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.sweeps.release_warnings import ReleaseWarning
from engine.sweeps.warning_remedies import one_by_one, remedies
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


def page(plan: Plan, warnings: list[ReleaseWarning]) -> None:
    """The warnings by kind, each with the buttons that mend it."""
    if not warnings:
        st.success("No released column asks for a decision.", icon=":material/check_circle:")
        return
    st.markdown(
        f"{text.plural(len(warnings), 'warning')} about columns that would be released as the plan stands. Each button"
        " is one way out. Once each is settled or left so, the next step is the threat."
    )
    for kind in disclosure_warnings.KINDS:
        of_kind = [warning for warning in warnings if isinstance(warning, kind.warning)]
        if of_kind:
            _kind(plan, kind, of_kind)


def _kind(plan: Plan, kind: disclosure_warnings.Kind, warnings: list[ReleaseWarning]) -> None:
    """The warnings of one kind, and what mends or leaves all of them."""
    raw = state.get().raw
    assert raw is not None
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(markdown("**{}** ({:,})", kind.title, len(warnings)))
    bearable = [disclosure_warnings.key_of(warning) for warning in warnings if not warning.refused]
    if len(warnings) > 1:
        with right.container(horizontal=True, horizontal_alignment="right"):
            if kind.all_at_once and st.button(kind.all_at_once, key=f"mend-all-{kind.icon}"):
                _mend_all(plan, raw, warnings)
            if len(bearable) > 1 and st.button("Leave all so", key=f"leave-all-{kind.icon}"):
                _leave(bearable)
    for warning in warnings[:_SHOWN]:
        with st.container(border=True):
            sentence, buttons = st.columns([3, 2], vertical_alignment="center")
            sentence.markdown(f"{upper_first(warning.what)}.")
            with buttons.container(horizontal=True, horizontal_alignment="right"):
                for i, way in enumerate(remedies(warning, plan, raw)):
                    if st.button(way.label, key=f"mend-{i}-{disclosure_warnings.key_of(warning)}"):
                        actions.change(way.plan, way.done)
                        st.rerun()
                if not warning.refused and st.button("Leave it so", key=f"leave-{disclosure_warnings.key_of(warning)}"):
                    _leave([disclosure_warnings.key_of(warning)])
    if len(warnings) > _SHOWN:
        st.caption(f"The first {_SHOWN} of {len(warnings):,}; the others come when these are decided.")


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
