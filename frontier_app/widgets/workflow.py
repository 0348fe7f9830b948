"""The workflow of a recommendation: its state, the next step, the approved plan beside it, and its history."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.common.errors import EngineError
from engine.decision.choice import fresh_figures, gate_now
from engine.decision.statements import Statement, from_stored, of_severity, words
from engine.decision.states import DecisionStatus, decide
from engine.decision.verdict_log import logged_verdict
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.differences import departures
from engine.release.scenarios import Choice
from engine.study.decision_log import EVENTS, Entry, commitment_words, entries, seal_words
from engine.study.ledger import Ledger, ledger_in, ledger_sentences
from engine.study.study import Study
from frontier_app.session import jobs, state
from frontier_app.widgets import candidate_card, elements, finalists
from frontier_app.wording import text
from frontier_app.wording.markup import Markdown, bullets, joined, markdown

_STEPS = {
    "draft": ("Draft", "edit_note"),
    "submitted": ("Submitted", "outbox"),
    "approved": ("Approved", "verified"),
    "released": ("Released", "public"),
}


def when(at: str) -> str:
    """A logged moment as people write it."""
    return f"{at[:10]} {at[11:16]} UTC" if len(at) >= 16 else at


# -- the state -------------------------------------------------------------------------------------------------


def state_box(study: Study, status: DecisionStatus) -> None:
    """The states as steps, and the present one in words."""
    with st.container(border=True):
        if status.state not in ("none", "withheld"):
            st.markdown(_steps(status.state))
        st.markdown(_words(study, status))
        if status.conditions:
            title = "Proposed condition" if status.state == "submitted" else "On condition"
            st.warning(markdown("**{}:** {}", title, status.conditions), icon=":material/rule:")


def _steps(current: str) -> Markdown:
    reached = list(_STEPS).index("submitted" if current == "returned" else current)
    labels = []
    for i, (name, (label, icon)) in enumerate(_STEPS.items()):
        if name == current:
            labels.append(markdown(":blue-badge[:material/{}: **{}: now**]", icon, label))
        elif i == reached and current == "returned":
            labels.append(markdown(":orange-badge[:material/undo: **Returned: now**]"))
        elif i < reached:
            labels.append(markdown(":gray-badge[:material/check: {}]", label))
        else:
            labels.append(markdown(":gray[{}]", label))
    return joined(" → ", labels)


def _words(study: Study, status: DecisionStatus) -> Markdown:
    who = f" by {status.by}" if status.by else ""
    stamp = f" on {when(status.at)}" if status.at else ""
    if status.choice is None:
        state_text = markdown("**{}**", status.words)
        if status.state == "withheld":
            state_text = markdown("**Nothing is released.** Decided{}{}: {}", who, stamp, status.why)
        return state_text
    choice = status.choice
    scenario = study.find(choice.label)[0]
    verbs = {
        "draft": "Recommended",
        "submitted": "Submitted to the board",
        "returned": "Returned by the board",
        "approved": f"Approved under number {status.number}",
        "released": f"Released under approval {status.number}",
    }
    state_text = markdown(
        "**A · {}** ({}), run {}: {}.  \n", text.swap_short(scenario.spec), choice.label, choice.replicate, choice.rule
    )
    state_text += f"{verbs[status.state]}{who}{stamp}. Reason of the recommendation: {choice.why}"
    if status.state == "returned":
        state_text += markdown("  \n**Why it was returned:** {}", status.why)
    return state_text


def approved_plan(study: Study) -> None:
    """The lock of the plan and how the study departs from it; nothing where the plan is not locked."""
    lock = study.plan.lock
    if lock is None:
        return
    try:
        departed = departures(study.plan)
    except EngineError as error:
        elements.show_error(error)
        return
    sentences = [departure.sentence for departure in departed.values()]
    approval = markdown("The plan was approved under number **{}** by {} on {}.", lock.number, lock.by, when(lock.at))
    if not departed:
        st.success(approval + " The plan of the study is still the approved one.", icon=":material/lock:")
        return
    departs = markdown(
        " The study **departs from it**, which the board has to approve:\n{}",
        bullets(sentences),
    )
    st.warning(approval + departs, icon=":material/lock_open:")


# -- the next step ---------------------------------------------------------------------------------------------------


def standing(study: Study, choice: Choice) -> list[Statement]:
    """Return the obstacles to the release of a recorded choice and the cautions about it, as they are today."""
    now = state.get()
    fresh = fresh_figures(study, study.find(choice.label)[0].index)
    attacked = logged_verdict(study, f"{choice.label}/{choice.replicate}")
    grown = (study.progress.done, study.choices.count(), choice.at, str(fresh), attacked)
    depends = (str(study.path), *grown, study.plan.decision, now.look.partial)
    found: list[Statement] = now.memo.get("gate", depends, lambda: gate_now(study, choice, now.look.partial))
    return found


def tells_share(study: Study, status: DecisionStatus) -> bool:
    """Return whether :func:`next_step` tells how many runs of the recommendation meet the bound."""
    if status.choice is None or status.state == "released":
        return False
    return any("within" in each.values for each in standing(study, status.choice))


def next_step(study: Study, view: RiskUtilityMap, status: DecisionStatus) -> None:
    """Show what to bear in mind, and what can be done now."""
    choice = status.choice
    assert choice is not None
    index = study.find(choice.label)[0].index
    found = standing(study, choice)
    obstacles = of_severity(found, "obstacle")
    cautions = [each for each in found if each not in obstacles]
    if cautions and status.state != "released":
        lines = bullets(map(words, cautions))
        st.warning(markdown("**To bear in mind**\n{}", lines), icon=":material/info:")
    if status.state == "released":
        return
    if obstacles:
        lines = bullets(map(words, obstacles))
        st.error(markdown("**What stands against this release**\n{}", lines), icon=":material/block:")
    st.subheader("Next step", anchor=False)
    if status.state in ("draft", "returned"):
        finalists.of_recommendation(view, index)
        _submit(study, fresh_figures(study, index) is not None, bool(obstacles))
    elif status.state == "submitted":
        _board(study, status)
    else:
        _publish(study, choice)


def _step(study: Study, name: str, by: str, **more: str) -> None:
    with elements.errors_shown():
        status = decide(study, name, by, **more)
        state.put(notice=status.words)
        st.rerun()


def _submit(study: Study, ready: bool, obstructed: bool) -> None:
    despite = ""
    with st.form("decide-submit", border=False, enter_to_submit=False):
        if obstructed:
            despite = st.text_area(
                "Why it is submitted all the same",
                key="decide-submit-despite",
                height=80,
                help="Without a reason it is not submitted. The memo prints it on its first page, beside what stands"
                " against the release.",
            )
        conditions = st.text_area(
            "Conditions to propose, if any",
            key="decide-submit-conditions",
            height=80,
            help="Such as a warning to users. The memo prints them, and the board may change them.",
        )
        name, button = st.columns([3, 2], vertical_alignment="bottom")
        by = name.text_input("Who submits it to the board", state.input_or("recommend-by", ""), key="decide-submit-by")
        pressed = button.form_submit_button(
            "Submit to the board",
            key="record-submission",
            type="primary" if ready else "secondary",
            icon=":material/outbox:",
            disabled=not ready,
        )
    if not ready:
        st.caption("It can be submitted once the recommendation has been run on fresh replicates.")
    if pressed:
        _step(study, "submitted", by, despite=despite, conditions=conditions)


VIEW = "decide-view"
"""The input that says whether the page Decide shows the way of a decision, or what the board sees."""


def as_the_board() -> None:
    """A button that shows what the board sees."""
    st.button("See what the board sees", key="see-board", on_click=partial(state.set_input, VIEW, "board"))


def _board(study: Study, status: DecisionStatus) -> None:
    """Show what the board can look at, and ask for its answer: approved, perhaps with conditions, or returned with a
    reason."""
    st.caption(
        "“As the board sees it” shows what the board reads; its bundle, which the page Export writes, holds the same"
        " and opens without the data. Record here what they decide."
    )
    see, hand, _ = st.columns([1, 1, 2])
    with see:
        as_the_board()
    with hand:
        elements.go("release", "Write the board's bundle", primary=False)
    left, right = st.columns(2, gap="large")
    with left.form("decide-approve", enter_to_submit=False):
        st.markdown(markdown("**The board approves**"))
        by = st.text_input("Who approves", key="decide-approve-by")
        number = st.text_input("Approval number", key="decide-approve-number")
        conditions = st.text_area("Conditions, if any", status.conditions, key="decide-approve-conditions", height=80)
        why = ""
        assert status.choice is not None
        if any(each.kind == "not_attacked" for each in standing(study, status.choice)):
            why = st.text_area("Reason to approve it without an attack", key="decide-approve-why", height=80)
        if st.form_submit_button(
            "Record the approval", key="record-approval", type="primary", icon=":material/verified:"
        ):
            _step(study, "approved", by, number=number, conditions=conditions, why=why)
    with right.form("decide-return", enter_to_submit=False):
        _return_inputs(study, "The board returns it", "Record the return")


def _return_inputs(study: Study, title: str, label: str) -> None:
    st.markdown(markdown("**{}**", title))
    by = st.text_input("Who returns it", key="decide-return-by")
    why = st.text_area("Reason", key="decide-return-why", height=80)
    if st.form_submit_button(label, key="record-return", icon=":material/undo:"):
        _step(study, "returned", by, why=why)


def _publish(study: Study, choice: Choice) -> None:
    """The export of the public bundle, then the record that it was published; the first of both that is not done is the
    next step."""
    at = state.get().workspace
    written = at is not None and jobs.has_public(at, choice.label)
    st.markdown(
        "The public bundle is written. Publish it, then record the publication here."
        if written
        else "The board has approved this release. Export the public bundle and publish it, then record the"
        " publication here."
    )
    elements.go("release", "See the public bundle" if written else "Export the public bundle", primary=not written)
    left, right = st.columns(2, gap="large")
    with left.form("decide-release", enter_to_submit=False):
        st.markdown(markdown("**The release is published**"))
        by = st.text_input("Who published it", key="decide-release-by")
        if st.form_submit_button(
            "Record the publication",
            key="record-publication",
            type="primary" if written else "secondary",
            icon=":material/public:",
        ):
            _step(study, "released", by)
    with right.form("decide-return", enter_to_submit=False):
        _return_inputs(study, "The board takes its approval back", "Record the return")


# -- looking back ----------------------------------------------------------------------------------------------------


def history(study: Study) -> None:
    """Everything that was logged, newest first."""
    log = entries(study)
    if not log:
        return
    st.subheader("History", anchor=False)
    rows = [
        (str(entry.number), when(entry.at), entry.by or "–", EVENTS[entry.event], _details(entry))
        for entry in reversed(log)
    ]
    st.html(
        candidate_card.listing(("No.", "When", "Who", "What", "Details"), rows, "The decision log, newest entry first")
    )
    st.caption(
        "Each entry holds the digest of the one before it, so a changed, inserted or removed entry shows."
        f" The program overwrites no entry. {seal_words(study)} {commitment_words(study)}"
    )


def _details(entry: Entry) -> str:
    """The details of an entry, in words."""
    detail = entry.detail
    parts = []
    if "candidate" in detail:
        parts.append(f"{detail['candidate']}" + (f"/{detail['replicate']}" if "replicate" in detail else ""))
    if "candidates" in detail:
        parts.append(f"{text.listed([str(x) for x in detail['candidates']])}, {detail.get('replicates')} runs each")
    for name, label in (("rule", "rule"), ("number", "number"), ("conditions", "conditions"), ("tiers", "for")):
        value = detail.get(name)
        if value:
            parts.append(f"{label}: {', '.join(value) if isinstance(value, list) else value}")
    if detail.get("despite"):
        obstacles = " ".join(words(from_stored(each)) for each in detail.get("obstacles", ()))
        parts.append(f"submitted despite obstacles: {obstacles} Reason: {detail['despite']}")
    if detail.get("why"):
        parts.append(f"reason: {detail['why']}")
    parts += [f"not {item['candidate']}: {item['why']}" for item in detail.get("others", ()) if item.get("why")]
    parts += [str(item) for item in detail.get("what", ())]
    parts += ledger_sentences(ledger_in([entry], "the study") or Ledger())
    return " · ".join(parts)
