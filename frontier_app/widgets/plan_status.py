"""The state of the plan: whether it fits the file, what is approved, and changes of other tabs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.plan import Plan
from engine.plan.check import mismatches
from engine.plan.differences import CONTEXT, approved_plan, departures, lock, plan_differences
from engine.plan.mismatches import Mismatch, UnusedLevels
from engine.study.ledger import change_plan
from engine.study.study import Study
from frontier_app.session import actions, navigation, state
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements
from frontier_app.wording.markup import bullets, markdown
from frontier_app.wording.plan_words import differences, disputed_words, label_of


def open_ones(plan: Plan) -> tuple[Mismatch, ...]:
    """The mismatches that have not been accepted as they are."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return ()
    depends = (raw.source, plan.data, plan.data.seen, plan.edits, plan.analyses)
    found = now.memo.get("mismatches", depends, lambda: mismatches(plan, raw))
    accepted = actions.declined()
    return tuple(mismatch for mismatch in found if mismatch.key not in accepted)


def stands_in_the_way(plan: Plan) -> bool:
    """Return whether the file cannot be coded by the plan before something is settled; levels that nobody has are no
    obstacle."""
    return any(not isinstance(mismatch, UnusedLevels) for mismatch in open_ones(plan))


def sent_to_file(plan: Plan) -> bool:
    """Say that the plan does not fit the open file, with the way to the page where that is settled; return whether it
    is so."""
    if not stands_in_the_way(plan):
        return False
    st.warning("The plan does not fit this file yet.", icon=":material/difference:")
    if st.button("Settle it under Data", key="go-data-fit", type="primary"):
        state.show_part(None)
        navigation.go_to("data")
    return True


WHAT = (
    "Lock the plan once the board has approved it. Then replicates may grow and the cover may be completed; every other"
    " change is a deviation, which needs a reason and a new approval. A lock cannot be taken back here."
)


def save_plan(at: Workspace, label: str, key: str, tip: str) -> None:
    """A button that downloads the plan of a workspace as it is on disk."""
    st.download_button(
        label,
        at.plan_path.read_bytes(),
        "plan.toml",
        "text/plain",
        icon=":material/download:",
        on_click="ignore",
        key=key,
        help=tip,
    )


def shown(plan: Plan) -> None:
    """Show what an approval fixed, how the plan departs from it, and the way back."""
    if plan.lock is None:
        return
    st.info(
        f"This plan was approved as {plan.lock.number} by {plan.lock.by}, {_day(plan)}, and is locked."
        " Replicates may grow; every other change is a deviation that the board has to see.",
        icon=":material/lock:",
    )
    try:
        departures = departing(plan)
    except EngineError as error:
        elements.show_error(error)
        return
    if departures:
        st.warning(
            markdown(
                "It departs from what was approved:\n{}\n\nThe page Candidates asks for the reason before it runs this"
                " plan.",
                bullets(departures),
            ),
            icon=":material/warning:",
        )
        if st.button("Go back to what was approved", icon=":material/undo:", key="back-to-approved"):
            actions.change(_as_approved(plan), "back to what was approved")
            st.rerun()


def _day(plan: Plan) -> str:
    assert plan.lock is not None
    return f"{plan.lock.at[:10]} at {plan.lock.at[11:16]} UTC" if len(plan.lock.at) > 15 else plan.lock.at


def _as_approved(plan: Plan) -> Plan:
    """The approved plan with what an approval leaves open as it is now."""
    approved = approved_plan(plan)
    assert approved is not None
    more = max(plan.space.replicates, approved.space.replicates)
    space = replace(approved.space, replicates=more)
    publish = replace(plan.publish, include=approved.publish.include)
    return replace(approved, space=space, about=plan.about, publish=publish, lock=plan.lock)


def section(plan: Plan, wrong: bool) -> None:
    """Lock the plan, or keep the locked one as a file; ``wrong`` says that the inputs are not a plan yet."""
    now = state.get()
    assert now.workspace is not None
    if plan.lock is not None:
        who = plan.lock.number, plan.lock.by, _day(plan)
        st.markdown(markdown(":material/lock: Locked as **{}**, approved by **{}**, {}.", *who))
        save_plan(
            now.workspace,
            "Save the locked plan",
            "locked-plan-download",
            "the plan with its approval, as a text file; another approval needs a copy without its [lock] section",
        )
        return
    st.markdown(WHAT)
    _late(plan)
    # A form, so that the button can be reached by the keyboard while the last text is still being typed.
    with st.form("lock", border=False, enter_to_submit=False):
        number, by = st.columns(2)
        no = number.text_input("Number of the approval", key="lock-number", placeholder="such as DRB-2026-017").strip()
        name = by.text_input("Approved by", key="lock-by", placeholder="who approved it").strip()
        pressed = st.form_submit_button(
            "Lock the plan",
            icon=":material/lock:",
            key="lock-plan",
            disabled=wrong,
            help="mend what is complained about above first" if wrong else "needs the number and the name",
        )
    if pressed:
        with elements.errors_shown():
            _lock(plan, no, name)
            st.rerun()


def _late(plan: Plan) -> None:
    """Warn where results of this plan were seen before its approval."""
    path = actions.own_study()
    if path is None:
        return
    with Study.open(path) as study:
        old, done = study.plan, study.progress.done
    if old.lock is None and not plan_differences(old, plan) and done:
        st.warning(
            f"{path.name} holds {done:,} runs of this plan already: an approval now comes after results were seen, and"
            " the study's decision log says so.",
            icon=":material/history:",
        )


def _lock(plan: Plan, number: str, by: str) -> None:
    """Write the approval into the plan, and into the study that runs this very plan.  It cannot be taken back."""
    if not number or not by:
        raise UsageError(
            f"the approval has no {'name' if number else 'number'}; fill in both its number and who approved"
        )
    actions.refuse_behind()  # what is approved is what was seen here
    locked = lock(plan, number, by)
    actions.change(locked, "the plan was locked")
    if state.get().plan != locked:  # another tab wrote meanwhile; the page says what
        return
    actions.forget_actions()
    notice = f"The plan is locked as {number}, approved by {by}."
    path = actions.own_study()
    if path is not None:
        with Study.open(path) as study:
            if study.plan.lock is None and not plan_differences(study.plan, plan):
                change_plan(study, locked, by=by)
                notice += f" The decision log of {path.name} holds the approval."
    state.put(notice=notice)


_PARTS = ("decision", "about", "threat", "tolerances", "publish", "tables")


def approval(plan: Plan) -> bool:
    """Show what an approval fixed; return whether those parts are read-only."""
    if plan.lock is None:
        return False
    lock = plan.lock
    st.info(
        markdown(
            "This plan was approved as **{}** by **{}** on {}. What was approved is shown and cannot be changed; who"
            " asks may be completed.",
            lock.number,
            lock.by,
            lock.at[:10],
        ),
        icon=":material/lock:",
    )
    departing = st.toggle(
        "Enter a deviation from what was approved",
        bool(departures(plan)),
        key="deviate",
        help="A deviation is recorded with its reason, and the board has to approve it.",
    )
    return not departing


def departing(plan: Plan) -> list[str]:
    """The departures of a locked plan from what was approved, one sentence per entry in the words of the pages."""
    return [
        f"{label}: {departure.words}" if (label := label_of(name)) else departure.sentence
        for name, departure in departures(plan).items()
    ]


def show(plan: Plan) -> None:
    """Show how the plan departs from its approval, whether results exist already, and what differs from their plan."""
    if departures_found := departing(plan):
        st.warning(
            markdown("The plan departs from what was approved:\n{}", bullets(departures_found)),
            icon=":material/gavel:",
        )
    path = actions.own_study()
    if path is None:
        st.caption("Nothing has been run with this plan yet: these choices are made before any result is seen.")
        return
    with Study.open(path) as study:
        old, progress = study.plan, study.progress
    changes = differences(old, plan)
    free = {name: sentence for name, sentence in changes.items() if name.startswith(CONTEXT)}
    others = {name: sentence for name, sentence in changes.items() if name not in free}
    if not changes:
        st.info(
            f"Results exist already: {progress.done:,} runs in {path.name}. A change from now on comes after results"
            " were seen. It is allowed, and the decision log of the study records it.",
            icon=":material/history:",
        )
        return
    with st.container(border=True):
        if free:
            st.markdown(
                markdown(
                    "**Changed after results were seen** ({:,} runs in {}), not in the study yet:\n{}",
                    progress.done,
                    path.name,
                    bullets(free.values()),
                )
            )
            _record(path.name, plan, exact=not others)
        if others:
            st.markdown(
                markdown(
                    "**These change figures**, so the study keeps its own; the page Candidates offers a new study for"
                    " them:\n{}",
                    bullets(list(others.values())[:8]),
                )
            )
            if st.button("Go back to the study's plan", key="back-to-study"):
                actions.change(old, "back to the study's plan")
                st.rerun()


def _record(name: str, plan: Plan, *, exact: bool) -> None:
    """Keep what changes no figure in the study, with its reason."""
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    why = left.text_input("Why", key="change-why", placeholder="the reason, for the decision log")
    by = middle.text_input("Your name", key="change-by")
    if right.button(
        "Keep in the study",
        icon=":material/edit_note:",
        key="keep-change",
        width="stretch",
        disabled=not (why.strip() and by.strip()),
        help="needs the reason and your name; both go into the decision log",
    ):
        path = actions.own_study()
        assert path is not None
        with elements.errors_shown():
            with Study.open(path) as study:
                new = plan if exact else replace(study.plan, **{part: getattr(plan, part) for part in _PARTS})
                change_plan(study, new, why=why.strip(), by=by.strip())
            state.put(notice=f"Kept in {name}; its decision log says what was changed, why and by whom.")
            st.rerun()


def keep(plan: Plan | None) -> bool:
    """Keep the plan that a page's inputs say; returns whether it is a new one.  The page begins again where another tab
    had changed it, unless the inputs are no plan yet (None): they would be lost."""
    state.put(typing=plan is None)
    if plan is None:
        return False
    version = state.get().version
    changed = False
    with elements.errors_shown():
        changed = actions.set_plan(plan)
    if state.get().version != version:
        st.rerun()
    return changed


def catch_up() -> None:
    """Begin the page again where another tab has changed the plan."""
    with elements.errors_shown():
        if not state.get().typing and actions.catch_up():
            st.rerun()


def disputes() -> None:
    """Ask which side of what two tabs changed otherwise is kept."""
    now = state.get()
    for k, dispute in enumerate(actions.disputes() if now.plan is not None else ()):
        assert now.plan is not None
        with st.container(border=True, key=f"dispute-{k}"):
            lines = []
            for entry in dispute.entries:
                label, here = disputed_words(entry, dispute.mine)
                lines.append(f"{label}: {here} here, {disputed_words(entry, now.plan)[1]} in the plan now")
            st.markdown(
                markdown(
                    ":material/call_split: **Another tab changed the same entries.** The plan has one of the two"
                    " changes; the other is kept here until you choose, also when the page is loaded again.\n{}",
                    bullets(lines),
                )
            )
            with st.container(horizontal=True), elements.errors_shown():
                theirs = st.button("Keep what is in the plan", key=f"dispute-theirs-{k}", icon=":material/check:")
                mine = st.button("Put in what is kept here", key=f"dispute-mine-{k}", icon=":material/edit:")
                if theirs or mine:
                    actions.settle(dispute, mine=mine)
                    st.rerun()
