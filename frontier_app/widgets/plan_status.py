"""The status of the plan: new, run already (changes are logged), or approved (fixed)."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.plan import Plan
from engine.plan.differences import CONTEXT, PlanDifference, plan_differences
from engine.plan.lock import departures
from engine.release.spec import percent
from engine.study.plan_changes import change_plan
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import mechanisms, recognised, text
from frontier_app.wording.markup import bullets, markdown

_LABELS = {
    "decision.risk": "Measure that judges risk",
    "decision.utility": "Measure that judges use",
    "decision.max_risk": "Largest acceptable risk (α)",
    "decision.probability": "Share of single runs at or below α",
    "decision.slope": "Slope",
    "decision.realisation": "Run that is released",
    "threat.intruder": "Who the intruder could be",
    "threat.public_files": "Files that overlap",
    "threat.harm": "Harm of a disclosure",
    "threat.published_tables": recognised.PUBLISHED,
    "tolerances.change": "Tolerated change of a share or mean",
    "tolerances.min_n": "Records that it rests on",
    "tolerances.se": "Tolerated shift of a coefficient",
    "tolerances.se_ratio": "Tolerated growth of a standard error",
    "publish.include": "Released with the file",
    "publish.members_rate": "Whether members are told the rate",
    "publish.title": "Title in public",
    "publish.rate_policy": "How much of the rates is told in public",
    "publish.rate_range": "Range of rates told in public",
    "publish.wording": "Words on the method in public",
    "data.missing": "Codes that mean missing",
    "data.weight": "Weight",
    "data.id": "Id",
    "data.carry": "Columns that stay with their record",
    "data.drop": "Columns that never leave",
    "data.numeric": "Columns used as numbers",
    "keys": "Keys",
    "tables": "Tables that users make",
    "analyses": "Regressions that users run",
    "edits": "Combinations that must not occur",
    "measures": "Measures",
    "mechanisms": "Mechanisms",
    "swap": "Attributes that may be swapped",
    "analyse": "Attributes that users tabulate",
    "space.rates": "Swap rates",
    "space.replicates": "Replicates",
    "space.swap_sizes": "Numbers of attributes swapped together",
    "space.all_specs": "Complete space",
    "space.search": "Search of the complete space",
    "space.budget": "Scenarios that the search looks at",
    "space.specs": "Swaps written out",
    "space.fix": "Attributes that partners agree on (F)",
    "space.change": "Attributes that partners differ on (C)",
    "space.rule": "What a true swap is",
    "space.adaptive": "Replicates spent where dominance is uncertain",
    "space.screen": "Runs before a scenario is given up",
}
"""What entries of a plan are called on the page; others are said as the engine says them."""
_PARTS = ("decision", "about", "threat", "tolerances", "publish", "tables")


def approval(plan: Plan) -> bool:
    """What an approval fixed; returns whether those parts are read-only."""
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
    """How a locked plan departs from what was approved, one sentence per entry in the words of the pages."""
    return [
        f"{_LABELS[name]}: {departure.words}" if name in _LABELS else departure.sentence
        for name, departure in departures(plan).items()
    ]


def show(plan: Plan) -> None:
    """How the plan departs from its approval, whether results exist already, and what differs from their plan."""
    if departures_found := departing(plan):
        st.warning(
            markdown("The plan departs from what was approved:\n{}", bullets(departures_found)),
            icon=":material/gavel:",
        )
    path = actions.own_study()
    if path is None:
        st.success(
            "Nothing has been run with this plan yet. What you enter now is settled before any result is seen.",
            icon=":material/check_circle:",
        )
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
                    "**These change figures**, so the study keeps its own; the page Sweep offers a new study for"
                    " them:\n{}",
                    bullets(list(others.values())[:8]),
                )
            )
            if st.button("Go back to the study's plan", key="back-to-study"):
                actions.change(old, "back to the study's plan")
                st.rerun()


def differences(old: Plan, new: Plan) -> dict[str, str]:
    """What differs between a study's plan and another, by entry: one sentence each in the words of the pages."""
    return {name: _words(change, old, new) for name, change in plan_differences(old, new).items()}


def _words(change: PlanDifference, old: Plan, plan: Plan) -> str:
    """A difference in words; what is declared in rows is said by its names."""
    name = change.entry
    if name not in _LABELS and not name.startswith("about."):
        return change.sentence
    has, now = (_value(p, name) for p in (old, plan))
    label = _LABELS.get(name, name.replace("about.", "Who asks: ").replace("_", " "))
    return f"{label}: {has} in the study, {now} here" if has != now else f"{label}: changed inside"


def _value(plan: Plan, name: str) -> str:
    if name == "mechanisms":
        return "; ".join(mechanisms.entry_words(entry) for entry in mechanisms.chosen(plan))
    part, _, field = name.rpartition(".")
    value = getattr(getattr(plan, part) if part else plan, field)
    if name == "space.rates":
        return text.listed([percent(rate) for rate in value])
    if name == "analyses":
        value = tuple(f"{entry.name} ({entry.formula}, {entry.family_words})" for entry in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        value = ", ".join(getattr(entry, "name", str(entry)) for entry in value)
    return "nothing" if value is None or value == "" else str(value)


def _record(name: str, plan: Plan, *, exact: bool) -> None:
    """Keep what changes no figure in the study, with its reason."""
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    why = left.text_input("Why", key="change-why", placeholder="the reason, for the decision log")
    by = middle.text_input("Your name", key="change-by")
    if right.button(
        "Keep in the study",
        type="primary",
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
