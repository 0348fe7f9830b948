"""Finalists on fresh replicates: started, watched and stopped; figures before and after side by side."""

from __future__ import annotations

import streamlit as st

from engine.common.errors import EngineError
from engine.frontier.choosing import fresh_runs_needed
from engine.frontier.risk_utility_map import RiskUtilityMap
from frontier_app.charts.map_data import index_of
from frontier_app.session import actions, jobs, state
from frontier_app.widgets import candidate_card, elements, job_watcher
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text

_MOST = 10  # of the frontier, proposed for fresh replicates
_OFFERED = 200


def fresh_start(view: RiskUtilityMap, done: int = 0) -> int:
    """How many fresh runs of each are proposed: as many as tell what the plan asks, then twice as many as are there."""
    asked = None if view.single_runs is None else view.single_runs.probability
    return min(10_000, max(fresh_runs_needed(asked), 2 * done))


def finalists(view: RiskUtilityMap, rule: Rule) -> None:
    """Run the best again on replicates that had no part in finding them."""
    now = state.get()
    at = now.workspace
    st.subheader("Finalists on fresh replicates", anchor=False)
    st.caption(
        "A candidate that looks best among many was partly lucky. Fresh replicates had no part in finding it and show"
        " it without that luck. The figures of the sweep stay as they are."
    )
    if now.raw is None or at is None:
        elements.needs_data("Fresh replicates are drawn from")
        return
    job = jobs.recheck_job(at)
    if job.busy:
        watch_runs()
    else:
        if job.state == "cancelled":
            st.info(
                f"The fresh runs stopped after {job.done:,} of {job.total:,}; finished ones are kept.",
                icon=":material/pause_circle:",
            )
        elif job.message:
            elements.show_error(f"the finalists could not be run again: {job.message}")
        _ask(view, rule)
    try:
        again = actions.fresh_map(view)
    except EngineError as error:
        elements.show_error(error)
        return
    if again is not None:
        letters = {index: letter for letter, index in rule.letters}
        st.markdown(candidate_card.before_and_after(view, again, letters))


def watch_runs() -> None:
    """Progress of the fresh runs, with a way to stop them, until they end."""
    at = state.get().workspace
    assert at is not None

    job_watcher.watch(lambda: jobs.recheck_job(at), _progress_words, lambda: jobs.cancel_recheck(at), "stop-recheck")


def _progress_words(job: jobs.Job) -> str:
    done = f"{job.done:,} of {text.plural(job.total, 'fresh run')}. You may leave this page."
    return f"Stopping after the runs at hand… {done}" if job.state == "stopping" else done


def _ask(view: RiskUtilityMap, rule: Rule) -> None:
    now = state.get()
    at = now.workspace
    assert at is not None
    labels = [view.scenarios[i].label for i in view.frontier()[:_OFFERED].tolist()]
    lettered = [view.scenarios[index].label for _, index in rule.letters]
    start = [*filter(None, [now.selected]), *lettered, *labels]
    start = list(dict.fromkeys(label for label in start if view_has(view, label)))[:_MOST]
    chosen = st.multiselect(
        "Finalists",
        list(dict.fromkeys((*start, *labels))),
        default=start,
        format_func=lambda label: text.swap_short(view.scenarios[index_of(view, label) or 0].spec),
        key=f"finalists-{view.risk}-{view.utility}-{rule.index}",
    )
    left, right, _ = st.columns([2, 3, 5], vertical_alignment="bottom")
    replicates = left.number_input("Fresh replicates of each", 2, 10_000, fresh_start(view), key="finalists-replicates")
    sweeping = jobs.status(at).busy
    if right.button(
        "Run the finalists again",
        icon=":material/replay:",
        disabled=not chosen or sweeping,
        help="The sweep has to end first."
        if sweeping
        else "The runs go on in a process of their own, as a sweep does.",
    ):
        with elements.errors_shown():
            risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
            jobs.start_recheck(at, chosen, int(replicates), risk, utility)
            st.rerun()


def view_has(view: RiskUtilityMap, label: str) -> bool:
    """Return whether a scenario is in the map."""
    return index_of(view, label) is not None
