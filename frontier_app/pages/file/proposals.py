"""Proposals from the records for the plan: short lists of plain sentences, confirmed singly or by kind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from engine.common.errors import EngineError
from engine.plan import Plan, Proposal, accept, dependencies, propose
from engine.plan.proposal import KINDS
from engine.plan.propose import accept_all
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import remedies, text
from frontier_app.wording.markup import markdown

_MORE = 8  # proposals shown at first, and with every "more"


@dataclass(frozen=True)
class _Kind:
    """The words for a kind of proposals: its ``name``, one ``noun`` of it, and ``why`` it matters."""

    name: str
    noun: str
    why: str


WORDS = {
    "unit": _Kind(
        "Households", "number of households", "Persons of one household stay together, and its number never leaves."
    ),
    "line": _Kind(
        "Line numbers", "line number", "A number within a household says nothing about a person, and is not swapped."
    ),
    "id": _Kind("Ids", "id", "A number that names a person or household would undo every protection if it left."),
    "weight": _Kind("Weights", "weight", "A weight says how many people a record stands for; it follows its record."),
    "missing": _Kind("Missing codes", "list of codes", "Codes such as -9 are no answers, and must not count as some."),
    "code": _Kind(
        "Answers or codes",
        "value",
        "A text such as NA or None may be an answer, as Namibia's code is, or mean missing: only you can know.",
    ),
    "alike": _Kind(
        "Look-alikes",
        "group of look-alikes",
        "Texts that differ in blanks, capitals or the way of writing a number count as different answers.",
    ),
    "number": _Kind(
        "Unclear numbers",
        "column of unclear numbers",
        "1,234 is a thousand in one country and little more than one in another: only you can know.",
    ),
    "constant": _Kind("Constant columns", "group of columns", "A column with one value has nothing to exchange."),
    "block": _Kind(
        "Recodes and flags",
        "block",
        "Columns that say the same thing must move together, or a record would contradict itself: an age of 34 in the"
        " group 60 and over.",
    ),
    "skip": _Kind(
        "Skipped questions",
        "skip pattern",
        "Questions that were skipped because of an earlier answer must move with that answer, or somebody without a"
        " job would have working hours.",
    ),
    "name": _Kind(
        "Names", "name", "Measures are written with the names of attributes, and some signs mean something in them."
    ),
}


def open_ones(plan: Plan) -> list[Proposal]:
    """Proposals that would change the plan and have not been declined."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    known = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
    declined = actions.declined()
    proposals = now.memo.get("proposals", plan, lambda: propose(raw, plan, known))
    return [proposal for proposal in proposals if _is_wanted(proposal, declined)]


def _is_wanted(proposal: Proposal, declined: Collection[str]) -> bool:
    """Return whether a proposal is open; places have a question of their own, beside that on households."""
    return proposal.kind != "places" and proposal.key not in declined


def page(plan: Plan) -> None:
    """The open proposals, a kind at a time."""
    proposals = open_ones(plan)
    declined = len(actions.declined())
    if not proposals:
        st.success(
            "Nothing in the records asks for another decision"
            + (", but for what was declined." if declined else ": what belongs together is together."),
            icon=":material/check_circle:",
        )
        _again(declined)
        return
    by_kind: dict[str, list[Proposal]] = {kind: [p for p in proposals if p.kind == kind] for kind in KINDS}
    kinds = {kind: f"{WORDS[kind].name} ({len(of_kind)})" for kind, of_kind in by_kind.items() if of_kind}
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(
        f"The records suggest {text.plural(len(proposals), 'decision')}. Each was checked on all records. Accept all at"
        " once, or decide them one by one."
    )
    n_certain = sum(proposal.certain for proposal in proposals)
    with right.container(horizontal=True, horizontal_alignment="right"):
        if n_certain > 1 and st.button(
            f"Accept all {n_certain:,} suggestions",
            type="primary",
            icon=":material/done_all:",
            key="all-suggestions",
            help="Also those that arise from accepting, so that one pass is enough. What only may be so stays open.",
        ):
            _accept_all(plan)
    last = state.get().file_view.kind
    shown = last if last in kinds else next(iter(kinds))
    picked = st.segmented_control(
        "Kind of proposals",
        list(kinds),
        default=shown,
        format_func=kinds.__getitem__,
        key=f"proposal-kind-{state.get().version}",
        label_visibility="collapsed",
        required=True,
    )
    kind = str(picked or shown)
    if kind != last:
        state.set_file_view(kind=kind, shown=_MORE)
    _kind(plan, kind, by_kind[kind], only_one=n_certain == 1)
    _again(declined)


def _kind(plan: Plan, kind: str, proposals: list[Proposal], *, only_one: bool) -> None:
    kind_words = WORDS[kind]
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.caption(kind_words.why)
    certain = [proposal for proposal in proposals if proposal.certain]
    if len(proposals) > 1:
        with right.container(horizontal=True, horizontal_alignment="right"):
            if len(certain) > 1 and st.button(
                f"Accept these {len(certain)}", icon=":material/done_all:", key=f"all-{kind}"
            ):
                _accept(plan, certain)
            if st.button("Decline all", key=f"none-{kind}"):
                _decline(plan, proposals)
    for proposal in proposals[: state.get().file_view.shown]:
        with st.container(border=True):
            sentence, buttons = st.columns([5, 2], vertical_alignment="center")
            sentence.markdown(markdown("{}  \n:gray[{}]", proposal.sentence, proposal.effect))
            with buttons.container(horizontal=True, horizontal_alignment="right"):
                if st.button(
                    f"Rename to {proposal.new_name}" if proposal.new_name else "Accept",
                    key=f"accept-{proposal.key}",
                    type="primary" if only_one and proposal.certain else "secondary",
                    icon=":material/check:",
                ):
                    _accept(plan, [proposal])
                if st.button("Decline", key=f"decline-{proposal.key}"):
                    _decline(plan, [proposal])
    left_over = len(proposals) - state.get().file_view.shown
    if left_over > 0 and st.button(f"Show {min(left_over, _MORE)} more of {left_over}", icon=":material/expand_more:"):
        state.set_file_view(shown=state.get().file_view.shown + _MORE)
        st.rerun()


def _accept(plan: Plan, proposals: list[Proposal]) -> None:
    """Carry out what can be; what stands in the way of one is said, and the others are done."""
    complaints = []
    done = 0
    for proposal in proposals:
        try:
            plan = accept(plan, proposal)
            done += 1
        except EngineError as error:
            complaints.append(remedies.error_text(error))
    if done:
        kind = WORDS[proposals[0].kind]
        actions.change(plan, f"{text.plural(done, kind.noun)} accepted")
        _move_on(plan)
    if not complaints:
        st.rerun()
    for complaint in complaints[:3]:
        elements.show_error(complaint)


def _accept_all(plan: Plan) -> None:
    """Carry out all suggestions in one action, but for those that were declined or only may be so."""
    raw, memo = state.get().raw, state.get().memo
    assert raw is not None
    known, declined = memo.get("dependencies", raw.source, lambda: dependencies(raw)), actions.declined()
    done = accept_all(raw, plan, known, lambda proposal: proposal.certain and _is_wanted(proposal, declined))
    if done.accepted:
        actions.change(done.plan, f"{text.plural(len(done.accepted), 'suggestion')} accepted")
        _move_on(done.plan)
    if not done.refused:
        st.rerun()
    for _, error in done.refused[:3]:
        elements.show_error(error)


def _move_on(plan: Plan) -> None:
    """Show the part that comes next, once nothing is suggested any more."""
    if not open_ones(plan):
        state.set_file_view(part=None, turn=state.get().file_view.turn + 1)


def _decline(plan: Plan, proposals: list[Proposal]) -> None:
    noun = WORDS[proposals[0].kind].noun
    actions.decline([proposal.key for proposal in proposals], f"{text.plural(len(proposals), noun)} declined")
    _move_on(plan)
    st.rerun()


def _again(declined: int) -> None:
    if declined and st.button(f"Look again at the {declined} declined", type="tertiary", icon=":material/undo:"):
        actions.reconsider()
        st.rerun()
