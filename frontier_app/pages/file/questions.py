"""Questions about columns with their answers: warnings on what is released, misfits of plan and file, proposals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.common.wording import lower_first, upper_first
from engine.data.microdata import RawTable
from engine.plan import Plan, Proposal, accept, dependencies, propose
from engine.plan.check import Fix, fixes, settle
from engine.plan.doubts import PROPOSALS
from engine.plan.mismatches import KINDS, Mismatch, MismatchKind
from engine.plan.propose import accept_all
from engine.sweeps.warnings import ReleaseWarning, one_by_one
from engine.sweeps.warnings import remedies as ways_out
from frontier_app.session import actions, state
from frontier_app.widgets import elements, small_cells
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_ALL = ":material/done_all:"
_SHOWN = 12  # questions of a kind drawn at a time


@dataclass(frozen=True)
class Way:
    """An answer to a question: a button and what it does."""

    label: str
    key: str
    act: Callable[[], None]
    icon: str | None = None
    help: str | None = None
    primary: bool = False


def _asked(words: str, ways: Iterable[Way], more: Callable[[], None] | None = None) -> DeltaGenerator:
    """A question, or the heading of several, with its answers on the right; ``more`` draws others beside them."""
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(words)
    with right.container(horizontal=True, horizontal_alignment="right"):
        for way in ways:
            kind: Literal["primary", "secondary"] = "primary" if way.primary else "secondary"
            if st.button(way.label, key=way.key, icon=way.icon, help=way.help, type=kind):
                way.act()
        if more is not None:
            more()
    return left


@dataclass(frozen=True)
class Question:
    """A question with its answers; ``more`` draws others beside them, and ``notes`` stand below it."""

    words: str
    ways: Sequence[Way]
    more: Callable[[], None] | None = None
    notes: Sequence[str] = ()


def _question_list(head: str, ways: Iterable[Way], questions: Iterable[Question], total: int) -> None:
    """Questions of a kind below its heading and the answers to all of them."""
    _asked(head, ways)
    for question in questions:
        with st.container(border=True):
            place = _asked(question.words, question.ways, question.more)
            for note in question.notes:
                place.caption(note)
    if total > _SHOWN:
        st.caption(f"The first {_SHOWN} of {total:,}; the others come when these are decided.")


def open_warnings(plan: Plan) -> list[ReleaseWarning]:
    """The warnings about the plan's released columns that nobody decided to live with; none while the file cannot be
    coded by the plan, of which the page says why."""
    try:
        warnings = small_cells.disclosure_warnings(plan)
    except EngineError:
        return []
    accepted = actions.declined()
    return [warning for warning in one_by_one(warnings) if small_cells.key_of(warning) not in accepted]


def warnings(plan: Plan, warnings: list[ReleaseWarning], n_suggestions: int) -> None:
    """The warnings by kind, each with the buttons that mend it; without one, the way to the suggestions that are still
    open."""
    if not warnings:
        st.success("No released column asks for a decision.", icon=":material/check_circle:")
        if n_suggestions and st.button(
            f"Next: {text.plural(n_suggestions, 'suggestion')}", type="primary", key="to-suggestions"
        ):
            state.show_part("suggestions")
            st.rerun()
        return
    bearable = [small_cells.key_of(warning) for warning in warnings if not warning.refused]
    leave_all = Way(
        f"Leave all {len(bearable):,} so",
        "leave-all",
        partial(_leave, bearable),
        _ALL,
        "The columns are released as the plan has them. What no public bundle may hold stays listed.",
        primary=True,
    )
    _asked(
        f"{text.plural(len(warnings), 'warning')} about columns that would be released as the plan stands. Each button"
        " is one way out. Once each is settled or left so, the next step is the threat.",
        [leave_all] if len(bearable) > 1 else [],
    )
    nearest = warnings[0] if len(bearable) < 2 else None
    for kind in small_cells.KINDS:
        of_kind = [warning for warning in warnings if isinstance(warning, kind.warning)]
        if of_kind:
            _warned_kind(plan, kind, of_kind, nearest, len(bearable))


def _warned_kind(
    plan: Plan,
    kind: small_cells.Kind,
    warnings: list[ReleaseWarning],
    nearest: ReleaseWarning | None,
    n_bearable: int,
) -> None:
    """The warnings of one kind, and what mends or leaves all of them; the usual way out of the ``nearest`` is the next
    step.  ``n_bearable`` warnings of all kinds can be left so."""
    raw = state.get().raw
    assert raw is not None
    bearable = [small_cells.key_of(warning) for warning in warnings if not warning.refused]
    ways = []
    if len(warnings) > 1 and kind.all_at_once:
        ways.append(Way(kind.all_at_once, f"mend-all-{kind.icon}", partial(_mend_all, plan, raw, warnings)))
    if 1 < len(bearable) < n_bearable:
        ways.append(Way("Leave these so", f"leave-all-{kind.icon}", partial(_leave, bearable)))
    head = markdown("**{}** ({:,})", kind.title, len(warnings))
    questions = [
        Question(f"{upper_first(warning.what)}.", _ways_out(plan, raw, warning, is_next=warning is nearest))
        for warning in warnings[:_SHOWN]
    ]
    _question_list(head, ways, questions, len(warnings))


def _ways_out(plan: Plan, raw: RawTable, warning: ReleaseWarning, *, is_next: bool) -> list[Way]:
    """The answers to one warning; the first of them is blue where it ``is_next``."""
    name = small_cells.key_of(warning)
    found = [
        Way(way.label, f"mend-{i}-{name}", partial(_change, way.plan, way.done), primary=is_next and i == 0)
        for i, way in enumerate(ways_out(warning, plan, raw))
    ]
    if not warning.refused:
        found.append(Way("Leave it so", f"leave-{name}", partial(_leave, [name]), primary=is_next and not found))
    return found


def _change(plan: Plan, done: str) -> None:
    actions.change(plan, done)
    st.rerun()


def _mend_all(plan: Plan, raw: RawTable, warnings: list[ReleaseWarning]) -> None:
    """Take the first way out of each warning; where there is none, it stays."""
    mended = 0
    for warning in warnings:
        if ways := ways_out(warning, plan, raw):
            plan, mended = ways[0].plan, mended + 1
    _change(plan, f"{text.plural(mended, 'warning')} mended")


def _leave(keys: list[str]) -> None:
    actions.decline(keys, f"{text.plural(len(keys), 'warning')} left as {'it is' if len(keys) == 1 else 'they are'}")
    st.rerun()


@dataclass(frozen=True)
class _FitKind:
    """A kind on the page: its ``title``, ``why`` it is asked, and the fixes for all at once with their words."""

    title: str
    why: str
    all_at_once: tuple[tuple[str, str], ...] = ()


_OF_KIND: dict[MismatchKind, _FitKind] = {
    "absent": _FitKind(
        "Columns that this file does not have",
        "The plan names them. They may be gone, or go by another name now.",
        (("drop", "Take all out of the plan"),),
    ),
    "new": _FitKind(
        "New columns",
        "The plan does not name them. What is carried is released.",
        (("drop", "Drop all"), ("carry", "Carry all"), ("attribute", "Make all attributes")),
    ),
    "notation": _FitKind(
        "Numbers that can be read in several ways",
        "The plan uses these columns as numbers.",
        (("comma", "All have a decimal comma"), ("point", "All have a decimal point")),
    ),
    "code": _FitKind(
        "New missing codes",
        "They seem to mean that there is no answer.",
        (("missing", "All mean missing"), ("level", "All are levels")),
    ),
    "level": _FitKind(
        "New levels",
        "The plan declares the levels of these attributes, and these are not among them.",
        (("level", "Accept all as levels"),),
    ),
    "missing": _FitKind("Missing values", "The plan expects an answer of everybody.", (("level", "A level in all"),)),
    "number": _FitKind(
        "Values that are no numbers", "These columns are cut by numbers.", (("missing", "All mean missing"),)
    ),
    "empty": _FitKind("Attributes without any value", "Nothing can be exchanged in them.", (("drop", "Drop all"),)),
    "rule": _FitKind(
        "Rules on levels that are not there",
        "A combination that must not occur names a level that no attribute has.",
        (("drop", "Take all out of their rules"),),
    ),
    "unused": _FitKind(
        "Levels that nobody has now",
        "They may stay in the plan for another year.",
        (("keep", "Keep all"), ("drop", "Take all out of the plan")),
    ),
    "clash": _FitKind("Entries that contradict each other", "The plan cannot be read on this file as it stands."),
}


def fit(plan: Plan, found: Sequence[Mismatch]) -> None:
    """Show the mismatches, kind by kind."""
    raw = state.get().raw
    assert raw is not None
    st.markdown(
        f"The plan and this file differ in {text.plural(len(found), 'place')}. Settle each, or all of a kind at once."
        " Nothing is carried or dropped unless you say so."
    )
    for kind in KINDS:
        if of_kind := [mismatch for mismatch in found if mismatch.kind == kind]:
            _fit_kind(plan, raw, kind, of_kind)


def _fit_kind(plan: Plan, raw: RawTable, kind: MismatchKind, found: Sequence[Mismatch]) -> None:
    words = _OF_KIND[kind]
    offered = [fixes(mismatch, plan, raw) for mismatch in found[:_SHOWN]]
    common = set.intersection(*({fix.name for fix in ways} for ways in offered)) if len(found) > 1 else set()
    together = [
        Way(
            label,
            f"fit-all-{kind}-{name}",
            partial(_settle, plan, raw, found, name, f"{words.title} ({len(found):,}): {lower_first(label)}"),
            _ALL,
        )
        for name, label in words.all_at_once
        # whether a column can be an attribute was looked at only where its card is drawn
        if name in common and (name != "attribute" or len(found) <= _SHOWN)
    ]
    head = markdown("**{}** ({:,})  \n:gray[{}]", words.title, len(found), words.why)
    questions = [_difference(plan, raw, *one) for one in zip(found, offered, strict=False)]
    _question_list(head, together, questions, len(found))


def _difference(plan: Plan, raw: RawTable, mismatch: Mismatch, ways: Sequence[Fix]) -> Question:
    """One difference with its ways out: those that lead to a column or level are picked from a list."""
    led = [fix for fix in ways if fix.target]
    direct = [*(fix for fix in led if fix.likely), *(fix for fix in ways if not fix.target)]
    one = [mismatch]
    answers = [
        Way(
            fix.label,
            f"fit-{mismatch.key}-{fix.name}",
            partial(_settle, plan, raw, one, fix.name, fix.done),
            ":material/lightbulb:" if fix.likely else None,
            upper_first(fix.done),
        )
        for fix in direct
    ]

    def targets() -> None:
        for verb, title, label in (
            ("rename", "Renamed…", "It is now called"),
            ("merge", "Counts as…", "It counts as"),
        ):
            if fixes_by_target := {fix.target: fix for fix in led if fix.verb == verb}:
                with st.popover(title):
                    key = f"{mismatch.key}-{verb}"
                    names = list(fixes_by_target)
                    picked = st.selectbox(label, names, key=f"fit-target-{key}", filter_mode="contains")
                    if st.button("Use it", key=f"fit-use-{key}", type="primary"):
                        fix = fixes_by_target[str(picked)]
                        _settle(plan, raw, one, fix.name, fix.done)

    notes = [
        markdown("“{}” also takes out {}.", fix.label, text.listed(fix.takes_along)) for fix in ways if fix.takes_along
    ]
    return Question(markdown("{}.", upper_first(mismatch.sentence)), answers, targets, notes)


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
    state.show_part(None)
    st.rerun()


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


def proposals(plan: Plan) -> None:
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
    by_kind: dict[str, list[Proposal]] = {kind: [p for p in proposals if p.kind == kind] for kind in PROPOSALS}
    kinds = {kind: f"{WORDS[kind].name} ({len(of_kind)})" for kind, of_kind in by_kind.items() if of_kind}
    n_certain = sum(proposal.certain for proposal in proposals)
    all_of_them = Way(
        f"Accept all {n_certain:,} suggestions",
        "all-suggestions",
        partial(_accept_all, plan),
        _ALL,
        "Also those that arise from accepting, so that one pass is enough. What only may be so stays open.",
        primary=True,
    )
    _asked(
        f"The records suggest {text.plural(len(proposals), 'decision')}. Each was checked on all records. Accept all at"
        " once, or decide them one by one.",
        [all_of_them] if n_certain > 1 else [],
    )
    kind = elements.switch("Kind of proposals", kinds, next(iter(kinds)), "proposal-kind")
    _kind(plan, kind, by_kind[kind], only_one=n_certain == 1)
    _again(declined)


def _kind(plan: Plan, kind: str, proposals: list[Proposal], *, only_one: bool) -> None:
    certain = [proposal for proposal in proposals if proposal.certain]
    ways = []
    if len(certain) > 1:
        ways.append(Way(f"Accept these {len(certain)}", f"all-{kind}", partial(_accept, plan, certain), _ALL))
    if len(proposals) > 1:
        ways.append(Way("Decline all", f"none-{kind}", partial(_decline, plan, proposals)))
    questions = []
    for proposal in proposals[:_SHOWN]:
        accepting = Way(
            f"Rename to {proposal.new_name}" if proposal.new_name else "Accept",
            f"accept-{proposal.key}",
            partial(_accept, plan, [proposal]),
            ":material/check:",
            primary=only_one and proposal.certain,
        )
        declining = Way("Decline", f"decline-{proposal.key}", partial(_decline, plan, [proposal]))
        words = markdown("{}  \n:gray[{}]", proposal.sentence, proposal.effect)
        questions.append(Question(words, [accepting, declining]))
    _question_list(markdown(":gray[{}]", WORDS[kind].why), ways, questions, len(proposals))


def _accept(plan: Plan, proposals: list[Proposal]) -> None:
    """Carry out what can be; what stands in the way of one is said, and the others are done."""
    complaints = []
    done = 0
    for proposal in proposals:
        try:
            plan = accept(plan, proposal)
            done += 1
        except EngineError as error:
            complaints.append(text.error_text(error))
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
        state.show_part(None)


def _decline(plan: Plan, proposals: list[Proposal]) -> None:
    noun = WORDS[proposals[0].kind].noun
    actions.decline([proposal.key for proposal in proposals], f"{text.plural(len(proposals), noun)} declined")
    _move_on(plan)
    st.rerun()


def _again(declined: int) -> None:
    if declined and st.button(f"Look again at the {declined} declined", type="tertiary", icon=":material/undo:"):
        actions.reconsider()
        st.rerun()
