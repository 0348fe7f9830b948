"""Questions about columns, one row each: misfits of plan and file, proposals, and warnings on what is released."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import listed, upper_first
from engine.data.microdata import RawTable
from engine.plan import Dependencies, Plan, Proposal, accept, dependencies, propose
from engine.plan.check import Fix, fixes, settle
from engine.plan.mismatches import AbsentColumn, Mismatch, MismatchKind, UnusedLevels
from engine.plan.propose import accept_all
from engine.sweeps.warnings import FinerThanCounted, Identifier, LooseRecodes, ReleaseWarning, TornUnits, one_by_one
from engine.sweeps.warnings import remedies as ways_out
from frontier_app.pages.file.columns import decision_word, uses
from frontier_app.session import actions, state
from frontier_app.widgets import small_cells
from frontier_app.wording import text

LEAVE = "as it is"
"""The answer that leaves the plan alone: the question is not asked again."""
_MOST_TARGETS = 40  # columns or levels offered for one that has gone or is new
Change = Callable[[Plan], Plan]


@dataclass(frozen=True)
class Question:
    """A row of the table: the ``column``, what was ``found``, what it is ``now`` and the ``ways`` out, the usual one
    first; ``why`` says all of it in sentences.  ``keys`` are those by which it is known not to be asked again.  Only
    one that is ``bearable`` can be left as it is; one that is ``certain`` begins ticked."""

    keys: tuple[str, ...]
    column: str
    found: str
    now: str
    ways: Mapping[str, Change]
    why: str
    certain: bool = False
    bearable: bool = True
    proposal: Proposal | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """The words of all answers."""
        return (*self.ways, *([LEAVE] if self.bearable else []))


# -- misfits of plan and file ----------------------------------------------------------------------------------------

_FITS: dict[MismatchKind, str] = {
    "absent": "not in this file",
    "new": "new column",
    "notation": "numbers of unclear notation",
    "code": "new code {}",
    "level": "new level {}",
    "missing": "has missing values",
    "number": "values that are no numbers",
    "empty": "has no value",
    "rule": "rule on a level that is not there",
    "unused": "levels that nobody has",
    "clash": "uses that contradict each other",
}


def _misfits(plan: Plan, raw: RawTable, found: Sequence[Mismatch]) -> Iterator[Question]:
    """A question for each mismatch; a column that probably is an old one under a new name is asked about once."""
    offered = [fixes(mismatch, plan, raw) for mismatch in found]
    renamed = {
        ways[0].target
        for mismatch, ways in zip(found, offered, strict=True)
        if isinstance(mismatch, AbsentColumn) and ways and ways[0].likely
    }
    for mismatch, ways in zip(found, offered, strict=True):
        if mismatch.kind == "new" and mismatch.subject[0] in renamed:
            continue
        subject = [part for part in mismatch.subject if part]
        takes = [f"“{way.label}” also takes out {text.listed(way.takes_along)}." for way in ways if way.takes_along]
        yield Question(
            (mismatch.key,),
            subject[0] if subject else "",
            _FITS[mismatch.kind].format(*(f"'{part}'" for part in subject[1:2])),
            "" if mismatch.kind in ("absent", "new") else "in the plan",
            {way.label: partial(_settled, raw, mismatch, way) for way in _few(ways)},
            " ".join((f"{upper_first(mismatch.sentence)}.", *takes)),
            certain=bool(ways) and ways[0].likely,
            bearable=isinstance(mismatch, UnusedLevels),
        )


def _few(ways: Sequence[Fix]) -> list[Fix]:
    """The ways to a column or level that are likely or among the first, and all others."""
    led = [way for way in ways if way.target]
    return [way for way in ways if not way.target or way in led[:_MOST_TARGETS]]


def _settled(raw: RawTable, mismatch: Mismatch, way: Fix, plan: Plan) -> Plan:
    return settle(plan, raw, [mismatch], way.name)


# -- proposals -------------------------------------------------------------------------------------------------------

_PROPOSED = {
    "unit": ("numbers households", "household number"),
    "line": ("counts within a household", "carried"),
    "id": ("tells records apart", "id"),
    "weight": ("a weight by name and values", "survey weight"),
    "missing": ("codes {codes}", "missing"),
    "code": ("{codes}: an answer, or none?", "missing"),
    "alike": ("{codes} look alike", "one level each"),
    "number": ("numbers of unclear notation", "{reading}"),
    "constant": ("one value only", "carried"),
    "block": ("decides {others}", "one block"),
    "skip": ("skipped with {others}", "one block"),
    "name": ("a name that no measure can hold", "called {new}"),
}
"""What was found and what becomes of the column, by the kind of proposal."""


def open_ones(plan: Plan) -> list[Proposal]:
    """Proposals that would change the plan and have not been declined."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    declined = actions.declined()
    proposals = now.memo.get("proposals", plan, lambda: propose(raw, plan, _known(raw)))
    return [proposal for proposal in proposals if _is_wanted(proposal, declined)]


def _known(raw: RawTable) -> Dependencies:
    return state.get().memo.get("dependencies", raw.source, lambda: dependencies(raw))


def _is_wanted(proposal: Proposal, declined: Collection[str]) -> bool:
    """Return whether a proposal is open; places have a question of their own, beside that on households."""
    return proposal.kind != "places" and proposal.key not in declined


def _proposed(plan: Plan, raw: RawTable) -> Iterator[Question]:
    used = uses(plan, raw)
    readings = [one for one in open_ones(plan) if one.notation is not None]
    for proposal in open_ones(plan):
        same = [one for one in readings if one.columns == proposal.columns and proposal in readings] or [proposal]
        if proposal != same[0]:
            continue  # another reading of the same numbers
        first, *others = proposal.columns
        yield Question(
            tuple(one.key for one in same),
            _some([first], len(others)),
            _worded(proposal, 0),
            f"{len(proposal.columns)} columns" if others else decision_word(used.get(first, "")),
            {_worded(one, 1): partial(_accepted, one) for one in same},
            f"{proposal.sentence} {proposal.effect}",
            certain=proposal.certain,
            proposal=proposal,
        )


def _worded(proposal: Proposal, which: int) -> str:
    """What was found, or what becomes of the column."""
    if proposal.kind == "weight" and not proposal.certain and which == 0:
        return "may be a weight"
    codes = list(dict.fromkeys(code for _, found in proposal.codes for code in found))
    if proposal.notation is not None:
        reading = f"decimal {proposal.notation.name}"
    else:
        reading = "texts missing" if codes else "dropped"
    others = _some(proposal.columns[1:])
    return _PROPOSED[proposal.kind][which].format(
        codes=_some(codes), others=others, new=proposal.new_name, reading=reading
    )


def _some(names: Sequence[str], more: int = 0) -> str:
    """A few names, and how many more there are."""
    more += len(names[2:])
    return ", ".join(names[:2]) + (f" +{more}" if more else "")


def _accepted(proposal: Proposal, plan: Plan) -> Plan:
    return accept(plan, proposal)


# -- warnings on released columns ------------------------------------------------------------------------------------


def open_warnings(plan: Plan) -> list[ReleaseWarning]:
    """The warnings about the plan's released columns that nobody decided to live with; none while the file cannot be
    coded by the plan, of which the page says why."""
    try:
        warnings = small_cells.disclosure_warnings(plan)
    except EngineError:
        return []
    accepted = actions.declined()
    return [warning for warning in one_by_one(warnings) if small_cells.key_of(warning) not in accepted]


def _warned(plan: Plan, raw: RawTable) -> Iterator[Question]:
    placed = {name for one in open_ones(plan) if one.kind != "missing" for name in one.columns}
    for warning in open_warnings(plan):
        column, found = _subject(warning)
        if column in placed:
            continue  # what is proposed comes first, and may be all that is needed
        labels = [way.label for way in ways_out(warning, plan, raw)]
        yield Question(
            (small_cells.key_of(warning),),
            column,
            found,
            "released",
            {label: partial(_mended, raw, warning, label) for label in labels},
            f"{upper_first(str(warning))}.",
            certain=warning.refused and bool(labels),
            bearable=not warning.refused,
        )


def _subject(warning: ReleaseWarning) -> tuple[str, str]:
    """The column that a warning is about, and what was found of it."""
    match warning:
        case Identifier():
            return warning.column, f"{warning.n_values:,} different values"
        case LooseRecodes():
            decider, decided = warning.pairs[0]
            return decider, f"decides {decided}"
        case FinerThanCounted():
            key = warning.keys[0]
            return key.name, f"{key.levels} levels, released with {max(n for _, n in key.columns):,}"
        case TornUnits():
            return _some(warning.names), "one value in each household"
    return "", warning.what


def _mended(raw: RawTable, warning: ReleaseWarning, label: str, plan: Plan) -> Plan:
    """The plan with a way out of a warning; as it is where that has become needless."""
    return next((way.plan for way in ways_out(warning, plan, raw) if way.label == label), plan)


# -- the table -------------------------------------------------------------------------------------------------------


def questions(plan: Plan, found: Sequence[Mismatch], *, fits: bool) -> list[Question]:
    """All open questions; while the plan does not fit the file, what differs alone."""
    raw = state.get().raw
    assert raw is not None
    depends = (plan, tuple(found), fits, actions.declined())

    def made() -> list[Question]:
        misfits = list(_misfits(plan, raw, found))
        return [*misfits, *_proposed(plan, raw), *_warned(plan, raw)] if fits else misfits

    return state.get().memo.get("questions", depends, made)


def table(plan: Plan, asked: Sequence[Question]) -> bool:
    """The questions with a tick and an answer each, and the button that applies all that are ticked; returns whether
    that is the next step."""
    head, place = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"), st
    head.subheader("Suggestions", anchor=False, width="content")
    rows = pd.DataFrame(
        {
            "tick": [one.certain for one in asked],
            "column": [one.column for one in asked],
            "found": [one.found for one in asked],
            "now": [one.now for one in asked],
            "to": [one.answers[0] if one.answers else "" for one in asked],
            "why": [one.why for one in asked],
        }
    )
    column = st.column_config
    edited = place.data_editor(
        rows,
        key=f"questions-{state.get().version}",
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(rows), 510),
        disabled=["column", "found", "now", "why"],
        column_config={
            "tick": column.CheckboxColumn("", width=35, pinned=True),
            "column": column.TextColumn("Column", width=115, pinned=True),
            "found": column.TextColumn("Found", width=170),
            "now": column.TextColumn("From", width=85),
            "to": column.SelectboxColumn(
                "To",
                options=list(dict.fromkeys(answer for one in asked for answer in one.answers)),
                required=True,
                width=150,
                help="The usual answer; a click shows others.",
            ),
            "why": column.TextColumn("In full", width=600),
        },
        alt="Questions about columns: what was found, and what becomes of the column",
    )
    ticked = [
        (one, str(row.to))
        for one, first, row in zip(asked, rows["to"], edited.itertuples(), strict=True)
        if row.tick or row.to != first
    ]
    answered = [one for one, _ in ticked]
    left = [one for one in asked if one.bearable and one not in answered]
    with head.container(horizontal=True, width="content"):
        if left and st.button(
            f"Leave {'the other ' if ticked else ''}{len(left):,} as {'it is' if len(left) == 1 else 'they are'}",
            key="leave-questions",
            type="secondary" if ticked else "primary",
            help="They are not asked again.",
        ):
            _answer(plan, asked, [(one, LEAVE) for one in left])
        if st.button(
            f"Apply {len(ticked):,} ticked",
            key="apply-questions",
            type="primary" if ticked else "secondary",
            disabled=not ticked,
        ):
            _answer(plan, asked, ticked)
    return bool(ticked or left)


def _answer(plan: Plan, asked: Sequence[Question], chosen: Sequence[tuple[Question, str]]) -> None:
    """Give the answers; what stands in the way of one is said, and the others are given.  With certain proposals those
    go that arise from them."""
    raw = state.get().raw
    assert raw is not None
    before, complaints, n = plan, [], 0
    leave = [one for one, answer in chosen if answer == LEAVE and one.bearable]
    given = [(one, answer) for one, answer in chosen if one not in leave]
    certain = {key for one, _ in given if one.proposal and one.certain for key in one.keys}
    if certain:
        known = {key for one in asked for key in one.keys} - certain
        aside = {*actions.declined(), *(key for one in leave for key in one.keys)}
        done = accept_all(
            raw, plan, _known(raw), lambda one: one.certain and one.key not in known and _is_wanted(one, aside)
        )
        plan, n = done.plan, len(done.accepted)
        complaints += [text.error_text(error) for _, error in done.refused]
    for one, answer in given:
        if one.keys[0] in certain:
            continue
        if answer not in one.ways:
            complaints.append(f"'{answer}' is no answer for {one.column}, which can be: {listed(one.answers)}")
            continue
        try:
            changed = one.ways[answer](plan)
        except EngineError as error:
            complaints.append(text.error_text(error))
            continue
        leave += [one] if changed == plan and one.bearable else []
        plan, n = changed, n + (changed != plan)
    if plan != before:
        actions.change(plan, f"{text.plural(n, 'answer')} applied")
    if leave:
        so = "it is" if len(leave) == 1 else "they are"
        keys = [key for one in leave for key in one.keys]
        actions.decline(keys, f"{text.plural(len(leave), 'question')} left as {so}")
    if complaints:
        state.put(error=" ".join(f"{upper_first(one)}." for one in complaints[:3]))
    else:
        state.show_part(None)
    st.rerun()


def again() -> None:
    """Offer to ask about what was left as it is."""
    declined = len(actions.declined())
    if declined and st.button(f"Ask again about the {declined} left as they are", key="ask-again", type="tertiary"):
        actions.reconsider()
        st.rerun()
