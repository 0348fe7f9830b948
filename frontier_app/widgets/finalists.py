"""Candidates on fresh replicates: started, watched and stopped; figures beside the sweep's own."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.frontier.choosing import fresh_runs_needed
from engine.frontier.risk_utility_map import RiskUtilityMap, lettered
from frontier_app.session import actions, jobs, state
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card, elements, job_watcher
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_MOST = 10  # of the frontier, proposed for fresh replicates
_OFFERED = 200
_NEEDED = "Fresh replicates are drawn from"


def finalists(view: RiskUtilityMap, rule: Rule) -> None:
    """Run the best again on replicates that had no part in finding them."""
    at = state.get().workspace if state.get().raw is not None else None
    st.subheader("Finalists on fresh replicates", anchor=False)
    st.caption(
        "A candidate that looks best among many was partly lucky. Fresh replicates had no part in finding it and show"
        " it without that luck. The figures of the sweep stay as they are."
    )
    if at is None:
        elements.needs_data(_NEEDED)
        return
    if _is_idle(at):
        _ask(view, rule, at)
    _figures(view, {index: letter for letter, index in rule.letters})


def of_recommendation(view: RiskUtilityMap, index: int) -> None:
    """Run a recommended candidate and its neighbours again before anything is submitted."""
    letters = {other: letter for letter, other in lettered(view, index).items()}
    again = _figures(view, letters)
    done = 0 if again is None else int(again.summary.counted[index])
    at = state.get().workspace if state.get().raw is not None else None
    if at is None:
        if not done:
            elements.needs_data(_NEEDED)
        return
    if not _is_idle(at):
        return
    explanation, number, button = st.columns([5, 2, 3], vertical_alignment="bottom")
    explanation.markdown(
        "A candidate that looks best among many was partly lucky. Before anything is submitted, the recommendation"
        f" and its {text.plural(len(letters) - 1, 'neighbour')} are run again on replicates that had no part in finding"
        " them."
    )
    replicates = number.number_input(
        "Fresh runs of each, in all", 2, 10_000, _start(view, done), key=f"decide-fresh-{done}"
    )
    _button(button, view, at, [view.scenarios[i].label for i in letters], replicates, done)


def _start(view: RiskUtilityMap, done: int = 0) -> int:
    """How many fresh runs of each are proposed: as many as tell what the plan asks, then twice as many as are there."""
    asked = None if view.single_runs is None else view.single_runs.probability
    return min(10_000, max(fresh_runs_needed(asked), 2 * done))


def _is_idle(at: Workspace) -> bool:
    """Watch fresh runs that are under way, or say how the last ones ended; return whether others can be asked for."""
    job = jobs.recheck_job(at)
    if job.busy:
        job_watcher.watch(lambda: jobs.recheck_job(at), _progress, lambda: jobs.cancel_recheck(at), "stop-recheck")
        return False
    if job.state == "cancelled":
        st.info(
            f"The fresh runs stopped after {job.done:,} of {job.total:,}; finished ones are kept.",
            icon=":material/pause_circle:",
        )
    elif job.message:
        elements.show_error(f"the fresh runs ended: {job.message}")
    return True


def _progress(job: jobs.Job) -> str:
    done = f"{job.done:,} of {text.plural(job.total, 'fresh run')}. You may leave this page."
    return f"Stopping after the runs at hand… {done}" if job.state == "stopping" else done


def _figures(view: RiskUtilityMap, letters: dict[int, str]) -> RiskUtilityMap | None:
    """Show the figures on fresh runs beside the sweep's own; return their map, None before there are any."""
    try:
        again = actions.fresh_map(view)
    except EngineError as error:
        elements.show_error(error)
        return None
    if again is not None:
        st.markdown(markdown("#### On fresh runs, beside the sweep’s own"))
        st.markdown(candidate_card.before_and_after(view, again, letters))
    return again


def _ask(view: RiskUtilityMap, rule: Rule, at: Workspace) -> None:
    labels = [view.scenarios[i].label for i in view.frontier()[:_OFFERED].tolist()]
    lettered = [view.scenarios[index].label for _, index in rule.letters]
    proposed = dict.fromkeys((*filter(None, [state.get().selected]), *lettered, *labels))
    start = [label for label in proposed if view.scenarios.index_of(label) is not None][:_MOST]
    chosen = st.multiselect(
        "Finalists",
        list(dict.fromkeys((*start, *labels))),
        default=start,
        format_func=lambda label: text.swap_short(view.scenarios[view.scenarios.index_of(label) or 0].spec),
        key=f"finalists-{view.risk}-{view.utility}-{rule.index}",
    )
    left, right, _ = st.columns([2, 3, 5], vertical_alignment="bottom")
    replicates = left.number_input("Fresh replicates of each", 2, 10_000, _start(view), key="finalists-replicates")
    _button(right, view, at, chosen, replicates, label="Run the finalists again")


def _button(
    place: DeltaGenerator,
    view: RiskUtilityMap,
    at: Workspace,
    labels: Sequence[str],
    replicates: int,
    done: int = 1,
    *,
    label: str = "",
) -> None:
    """A button that starts fresh runs; it is the next step where none of the candidate at hand is ``done``."""
    sweeping = jobs.status(at).busy
    if place.button(
        label or ("Run more of them" if done else "Run on fresh replicates"),
        key="run-fresh",
        icon=":material/replay:",
        type="secondary" if done else "primary",
        disabled=not labels or sweeping,
        help="The sweep has to end first." if sweeping else "The runs go on when you leave this page.",
    ):
        with elements.errors_shown():
            risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
            jobs.start_recheck(at, labels, int(replicates), risk, utility)
            st.rerun()
