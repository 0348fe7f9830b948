"""Cards of what does not fit between a plan and the open file, with the ways to settle each or all of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import lower_first, upper_first
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.fixes import Fix, fixes, settle
from engine.plan.mismatches import KINDS, Mismatch, MismatchKind
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_SHOWN = 12  # cards of a kind drawn at a time


@dataclass(frozen=True)
class _Kind:
    """A kind on the page: its ``title``, ``why`` it is asked, and the fixes for all at once with their words."""

    title: str
    why: str
    all_at_once: tuple[tuple[str, str], ...] = ()


_OF_KIND: dict[MismatchKind, _Kind] = {
    "absent": _Kind(
        "Columns that this file does not have",
        "The plan names them. They may be gone, or go by another name now.",
        (("drop", "Take all out of the plan"),),
    ),
    "new": _Kind(
        "New columns",
        "The plan does not name them. What is carried is released.",
        (("drop", "Drop all"), ("carry", "Carry all"), ("attribute", "Make all attributes")),
    ),
    "notation": _Kind(
        "Numbers that can be read in several ways",
        "The plan uses these columns as numbers.",
        (("comma", "All have a decimal comma"), ("point", "All have a decimal point")),
    ),
    "code": _Kind(
        "New missing codes",
        "They seem to mean that there is no answer.",
        (("missing", "All mean missing"), ("level", "All are levels")),
    ),
    "level": _Kind(
        "New levels",
        "The plan declares the levels of these attributes, and these are not among them.",
        (("level", "Accept all as levels"),),
    ),
    "missing": _Kind("Missing values", "The plan expects an answer of everybody.", (("level", "A level in all"),)),
    "number": _Kind(
        "Values that are no numbers", "These columns are cut by numbers.", (("missing", "All mean missing"),)
    ),
    "empty": _Kind("Attributes without any value", "Nothing can be exchanged in them.", (("drop", "Drop all"),)),
    "rule": _Kind(
        "Rules on levels that are not there",
        "A combination that must not occur names a level that no attribute has.",
        (("drop", "Take all out of their rules"),),
    ),
    "unused": _Kind(
        "Levels that nobody has now",
        "They may stay in the plan for another year.",
        (("keep", "Keep all"), ("drop", "Take all out of the plan")),
    ),
    "clash": _Kind("Entries that contradict each other", "The plan cannot be read on this file as it stands."),
}


def page(plan: Plan, found: Sequence[Mismatch]) -> None:
    """Show the mismatches, kind by kind."""
    raw = state.get().raw
    assert raw is not None
    st.markdown(
        f"The plan and this file differ in {text.plural(len(found), 'place')}. Settle each, or all of a kind at once."
        " Nothing is carried or dropped unless you say so."
    )
    for kind in KINDS:
        if of_kind := [mismatch for mismatch in found if mismatch.kind == kind]:
            _kind(plan, raw, kind, of_kind)


def _kind(plan: Plan, raw: RawTable, kind: MismatchKind, found: Sequence[Mismatch]) -> None:
    words = _OF_KIND[kind]
    left, right = st.columns([3, 3], vertical_alignment="center")
    left.markdown(markdown("**{}** ({:,})  \n:gray[{}]", words.title, len(found), words.why))
    offered = [fixes(mismatch, plan, raw) for mismatch in found[:_SHOWN]]
    if len(found) > 1:
        common = set.intersection(*({fix.name for fix in ways} for ways in offered))
        with right.container(horizontal=True, horizontal_alignment="right"):
            for name, label in words.all_at_once:
                # whether a column can be an attribute was looked at only where its card is drawn
                there = name in common and (name != "attribute" or len(found) <= _SHOWN)
                if there and st.button(label, key=f"fit-all-{kind}-{name}", icon=":material/done_all:"):
                    _settle(plan, raw, found, name, f"{words.title} ({len(found):,}): {lower_first(label)}")
    for mismatch, ways in zip(found, offered, strict=False):
        with st.container(border=True):
            _card(plan, raw, mismatch, ways)
    if len(found) > _SHOWN:
        st.caption(f"and {len(found) - _SHOWN:,} more, which are shown once these are settled")


def _card(plan: Plan, raw: RawTable, mismatch: Mismatch, ways: Sequence[Fix]) -> None:
    """One difference with its ways out: those that lead to a column or level are picked from a list."""
    sentence, buttons = st.columns([3, 3], vertical_alignment="center")
    sentence.markdown(markdown("{}.", upper_first(mismatch.sentence)))
    for fix in ways:
        if fix.takes_along:
            sentence.caption(markdown("“{}” also takes out {}.", fix.label, text.listed(fix.takes_along)))
    direct = [fix for fix in ways if not fix.target]
    led = [fix for fix in ways if fix.target]
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        for fix in (*(fix for fix in led if fix.likely), *direct):
            icon = ":material/lightbulb:" if fix.likely else None
            if st.button(fix.label, key=f"fit-{mismatch.key}-{fix.name}", icon=icon, help=upper_first(fix.done)):
                _settle(plan, raw, [mismatch], fix.name, fix.done)
        for verb, title in (("rename", "Renamed…"), ("merge", "Counts as…")):
            if targets := {fix.target: fix for fix in led if fix.verb == verb}:
                with st.popover(title):
                    picked = st.selectbox(
                        "It is now called" if verb == "rename" else "It counts as",
                        list(targets),
                        key=f"fit-target-{mismatch.key}-{verb}",
                        filter_mode="contains",
                    )
                    if st.button("Use it", key=f"fit-use-{mismatch.key}-{verb}", type="primary"):
                        fix = targets[str(picked)]
                        _settle(plan, raw, [mismatch], fix.name, fix.done)


def _settle(plan: Plan, raw: RawTable, chosen: Sequence[Mismatch], fix_name: str, done: str) -> None:
    """Carry out one fix of all that was chosen, and draw the page anew."""
    try:
        settled = settle(plan, raw, chosen, fix_name)
    except EngineError as error:
        elements.show_error(error)
        return
    if settled == plan:
        actions.decline([mismatch.key for mismatch in chosen], done)
    else:
        actions.change(settled, done)
    state.set_file_view(part=None, turn=state.get().file_view.turn + 1)
    st.rerun()
