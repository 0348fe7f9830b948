"""The sweep: it draws and measures every candidate, in a process of its own that outlives the page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.common.wording import upper_first
from engine.data.microdata import Microdata
from engine.plan import Plan
from engine.plan.differences import CONTEXT
from engine.study.ledger import MAY_GROW, change_plan
from engine.study.study import Study
from engine.sweeps.adaptive import most_runs
from frontier_app.charts import maps
from frontier_app.pages.candidates import results as grid
from frontier_app.session import actions, jobs, state
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements, job_watcher, plan_size, plan_status
from frontier_app.widgets.plan_status import departing
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import bullets, markdown
from frontier_app.wording.plan_words import differences

_DRAW_EVERY = 2.0  # seconds between redrawings of the map


def heading(plan: Plan | None, data: Microdata) -> None:
    """The page's title, and what can be started: begin, resume, extend, or begin anew, whichever the plan and the study
    allow; ``plan`` is None while the inputs are none."""
    now = state.get()
    assert now.workspace is not None
    at = now.workspace
    job, path = jobs.status(at), actions.own_study()
    row = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="heading")
    row.title(_title(job, plan, data), anchor=False, width="content")
    if job.busy:
        _watch(at)
        return
    if job.state == "failed":
        elements.show_error(f"the last sweep stopped: {job.message}")
    if plan is None:
        row.button("Start the sweep", type="primary", icon=":material/play_arrow:", key="begin-new", disabled=True)
        return
    if plan_status.sent_to_file(plan):
        return
    if path is None:
        st.caption(f"Every candidate is drawn {_often(plan)} and measured. The sweep goes on when you leave this page.")
        why, by = _reason(plan)
        with row:
            _begin_button("Start the sweep", new=True, why=why, by=by)
        return
    _told(job)
    with Study.open(path) as study:
        changed = differences(study.plan, plan)
    if changed:
        _changed(path, plan, changed)
        return
    with row:
        if job.state != "finished":
            _begin_button("Resume the sweep")
        else:
            elements.go("explore", "Next: explore the map")


def _title(job: jobs.Job, plan: Plan | None, data: Microdata) -> str:
    """The finding: how many candidates, and how many runs of them are done."""
    if actions.own_study() is None:
        n = None
        if plan is not None:
            with suppress(EngineError):
                n = plan_size.n_candidates(plan, data)
        return "Candidates" if n is None else f"{text.plural(n, 'candidate')} to try"
    with actions.opened() as study:
        assert study is not None
        n, done, total = study.n_scenarios, study.progress.done, study.progress.total
    runs = f"{total:,} runs: done" if done >= total else f"{done:,} of {total:,} runs"
    return f"{text.plural(n, 'candidate')}, {'sweeping' if job.busy else runs}"


def _watch(at: Workspace) -> None:
    """The progress of the sweep, and a way to stop it."""
    job_watcher.watch(lambda: jobs.status(at), _progress_words, lambda: jobs.cancel(at), "stop-sweep")


def without_data() -> None:
    """The page without data that the plan codes: the sweep under way and the results of a study, or what is missing."""
    now = state.get()
    if now.workspace is None or actions.own_study() is None:
        st.title("Candidates", anchor=False)
        if now.raw is None:
            elements.empty_page("Open data first; the plan says what is tried on them.", "data", "Open data")
        return
    job = jobs.status(now.workspace)
    st.title("Candidates of this study", anchor=False)
    if job.busy:
        _watch(now.workspace)
    else:
        _told(job)
        if now.raw is None:
            elements.needs_data("To go on, the sweep needs")
    results()


def _changed(path: Path, plan: Plan, changed: Mapping[str, str]) -> None:
    """Say how the plan differs from the study's, with the ways on."""
    st.markdown(markdown("**The plan has changed since this study was made:**"))
    for sentence in list(changed.values())[:8]:
        st.markdown(markdown("- {}", sentence))
    if len(changed) > 8:
        st.caption(f"and {len(changed) - 8} more")
    why, by = _reason(plan)
    figures = {name for name in changed if not name.startswith(CONTEXT)}
    grows = figures <= set(MAY_GROW) and _only_more(path, plan)
    with st.container(horizontal=True):
        if not figures:
            _record_button(path, plan, why, by)
        elif grows:
            _begin_button("Add this to the study", extend=True, why=why, by=by)
        only = bool(figures) and not grows
        _begin_button("Start a new study with this plan", new=True, primary=only, why=why, by=by)
        if st.button("Go back to the study's plan", key="sweep-back-to-study"):
            with Study.open(path) as study:
                actions.change(study.plan, "back to the study's plan")
            st.rerun()
    if figures:
        st.caption("A new study keeps the earlier one; its decision log begins with what was seen before.")


def _often(plan: Plan) -> str:
    """The number of times a candidate is drawn, in words."""
    times = text.plural(plan.space.replicates, "time")
    if plan.space.adaptive or plan.space.search:
        most = most_runs(plan)
        settling = f", up to {most:,} while the choice under α depends on it" if most > plan.space.replicates else ""
        return f"{plan.space.screen} times first, and up to {times} while it may be on the frontier{settling}"
    return times


def _only_more(path: Path, plan: Plan) -> bool:
    with Study.open(path) as study:
        old = study.plan
    return (
        plan.space.replicates >= old.space.replicates
        and set(old.space.rates) <= set(plan.space.rates)
        and mechanisms.grown(old, plan)
    )


def _reason(plan: Plan) -> tuple[str, str]:
    """Ask why an approved plan is departed from, and who says so; empty where nothing departs."""
    differences_found = departing(plan)
    if not differences_found or plan.lock is None:
        return "", ""
    st.warning(
        markdown(
            "The plan departs from the one approved as {}:\n{}\n\nA deviation is recorded with its reason, and the"
            " board has to approve it anew.",
            plan.lock.number,
            bullets(differences_found),
        ),
        icon=":material/gavel:",
    )
    left, right = st.columns([3, 1])
    why = left.text_input("Why the plan departs from its approval", key="deviation-why")
    by = right.text_input("Your name", key="deviation-by")
    return why.strip(), by.strip()


def _record_button(path: Path, plan: Plan, why: str, by: str) -> None:
    """Changes that alter no figure: kept in the study and logged."""
    if st.button(
        "Keep these changes in the study",
        key="keep-changes",
        type="primary",
        icon=":material/edit_note:",
        help="they are logged",
    ):
        with elements.errors_shown():
            with Study.open(path) as study:
                change_plan(study, plan, why=why, by=by)
            state.put(notice="The study's plan was changed; its decision log says how.")
            st.rerun()


def _studies() -> None:
    """The studies of the workspace, when there are several."""
    at = state.get().workspace
    assert at is not None
    paths = at.studies
    if len(paths) < 2:
        return
    st.subheader("Studies in this workspace", anchor=False)
    for path in paths:
        left, middle, right = st.columns([3, 5, 2], vertical_alignment="center")
        with Study.open(path) as study:
            progress, n = study.progress, study.n_scenarios
            created = time.strftime("%Y-%m-%d %H:%M", time.localtime(study.about["created"]))
        left.markdown(markdown("**{}**, made {}", path.name, created))
        middle.markdown(
            f"{text.plural(n, 'scenario')}, {progress.done:,} of {text.plural(progress.total, 'run')}, {progress.state}"
        )
        if path == at.study:
            right.markdown(markdown(":material/check: at work"))
        elif right.button("Open", key=f"study-{path.name}", width="stretch"):
            with elements.errors_shown():
                actions.open_study(path)
                st.rerun()


def _begin_button(
    label: str, *, new: bool = False, extend: bool = False, primary: bool = True, why: str = "", by: str = ""
) -> None:
    now = state.get()
    at = now.workspace
    assert at is not None
    key = "begin-new" if new else "begin-more" if extend else "begin-again"
    if st.button(label, key=key, type="primary" if primary else "secondary", icon=":material/play_arrow:"):
        with elements.errors_shown():
            if (new or extend) and now.plan is not None and departing(now.plan) and not (why and by):
                raise UsageError("the plan departs from its approval; fill in above why it does, and your name")
            if new:
                at.begin_study()
                state.put(selected=None)
            jobs.start(at, extend=extend, deviation=why, by=by, after=actions.earlier_elsewhere())
            st.rerun()


def _told(job: jobs.Job) -> None:
    if job.state == "finished":
        if job.message:
            st.caption(f"{upper_first(job.message).rstrip('.')}.")
    elif job.total:
        st.warning(
            f"Stopped at {job.done:,} of {text.plural(job.total, 'run')}; what is done is kept.",
            icon=":material/pause_circle:",
        )
        st.progress(job.done / max(1, job.total))


def _progress_words(job: jobs.Job) -> str:
    """The progress of a sweep, in words."""
    done = f"{job.done:,} of {text.plural(job.total, 'run')}" if job.total else ""
    if job.state == "stopping":
        return f"Stopping{f' at {done}' if done else ''}, after the runs at hand…"
    if job.state == "starting" or not job.total:
        return "Starting: reading the data, preparing the draw…"
    left = jobs.time_left(job)
    return done if left is None else f"{done}, {left}"


def results() -> None:
    """The results: while runs are made the map as it fills, then the grid of what was varied."""
    now = state.get()
    assert now.workspace is not None
    job = jobs.status(now.workspace)
    with actions.opened() as study:
        assert study is not None
        finished = study.progress.done >= study.progress.total
    if job.busy or not finished:
        st.subheader("The map so far", anchor=False)
        if job.busy:
            st.fragment(_map, run_every=_DRAW_EVERY)()
        else:
            _map()
    else:
        st.fragment(_grid, key="grid")()
    _studies()


def _grid() -> None:
    with elements.errors_shown(), actions.opened() as study:
        look = state.get().look
        view = actions.the_map(look.risk, look.utility, look.partial)
        assert study is not None and view is not None
        grid.results(study, view, state.get().plan, actions.change)


def _map() -> None:
    """The map of what there is, without choosing; figures are added up by the study, so that looking costs little."""
    growing = actions.frontier_so_far()
    if growing is None or not len(growing.frontier.scenarios):
        st.caption("The first results will appear here.")
        return
    frontier = growing.frontier
    first, second, third = st.columns(3)
    first.metric(
        "Candidates with results", f"{len(frontier.scenarios):,}", help="scenarios, each a mean of its runs so far"
    )
    if len(frontier.scenarios) < growing.scenarios:
        others = "the others have no completed run yet, or lack a figure"
        first.caption(f"of {text.plural(growing.scenarios, 'scenario')}; {others}")
    second.metric("On the frontier", f"{int(frontier.undominated.sum()):,}", help="no other is safer and more useful")
    third.metric(
        "Area under the frontier",
        f"{100 * frontier.area:.1f} %",
        help="Of the rectangle between the best and the worst mean figures so far, the share that the frontier"
        " dominates (its hypervolume). While it stays the same, further candidates have added nothing so far; it does"
        " not show what those still to come will add.",
    )
    elements.chart(
        maps.live_figure(frontier, *growing.titles, growing.signs, growing.original),
        "filling",
        "Risk–utility map of the results so far, with the frontier and the original data",
        toolbar=True,
        tall=True,
    )
