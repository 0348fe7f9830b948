"""Sweep: draw and measure every candidate, in a process of its own that outlives this page."""

from __future__ import annotations

import streamlit as st

from engine.errors import EngineError
from engine.plan import Plan
from engine.study import Study
from engine.sweep import plan_differences
from frontier_app import actions, jobs, mechanisms, parts, state, text

_EVERY = 1.0  # seconds between looks
_DRAW_EVERY = 2.0  # seconds between redrawings of the map
GROWTH = {"space.rates", "space.replicates", "space.swap_sizes", "space.specs", "space.all_specs", "mechanisms"}


def page() -> None:
    """What can be started, and what is under way."""
    now = state.get()
    st.title("Run the sweep", anchor=False)
    if now.workspace is None:
        parts.nothing("Open data and settle a plan first; the sweep runs the plan on the data.", "data", "Open data")
        return
    job = jobs.status(now.workspace)
    if job.busy:
        _under_way()
        return
    _start(job)
    if actions.own_study():
        _so_far(job.state != "finished")


def _start(job: jobs.Job) -> None:
    """Begin, resume, extend, or begin anew, whichever the plan and the study allow."""
    now = state.get()
    plan = now.plan
    assert now.workspace is not None
    if job.state == "failed":
        parts.complain(f"the last sweep stopped: {job.message}")
    if now.raw is None or plan is None:
        if job.total:
            _told(job)
        st.info("The data of this study are not open, so it cannot be continued here.", icon=":material/info:")
        return
    path = actions.own_study()
    if path is None:
        st.markdown(
            f"Every candidate of the plan is drawn {text.plural(plan.space.replicates, 'time')}, and measured."
            " The sweep goes on when you leave or reload this page; you can stop and resume it without losing anything."
        )
        _begin_button("Start the sweep", new=True)
        return
    with Study.open(path) as study:
        differences = _differences(study.plan, plan)
    _told(job)
    if not differences:
        if job.state != "finished":
            _begin_button("Resume the sweep")
        else:
            parts.go("explore", "Next: explore the map")
        return
    st.markdown("**The plan has changed since this study was made:**")
    for sentence in list(differences.values())[:8]:
        st.markdown(f"- {sentence}")
    with st.container(horizontal=True):
        if set(differences) <= GROWTH and _only_more(differences, path, plan):
            _begin_button("Add this to the study", extend=True)
        _begin_button("Start a new study with this plan", new=True, primary=False)
        if st.button("Go back to the study's plan"):
            with Study.open(path) as study:
                actions.set_plan(study.plan, renew=True)
            st.rerun()
    st.caption("A new study keeps the earlier one in the workspace, with its key.")


def _differences(old: Plan, new: Plan) -> dict[str, str]:
    """What differs, one sentence per entry; what is declared in tables is said by its names."""
    found = plan_differences(old, new)
    said = {
        "mechanisms": lambda plan: [mechanisms.entry_words(one) for one in mechanisms.chosen(plan)],
        "analyses": lambda plan: [f"{one.name} ({one.formula}, {one.family})" for one in plan.analyses],
        "edits": lambda plan: [one.name for one in plan.edits],
    }
    for name, words in said.items():
        if name in found:
            has, asked = ("; ".join(words(plan)) or "nothing" for plan in (old, new))
            found[name] = f"{name}: the study has {has}, asked {asked}"
    return found


def _only_more(differences: dict[str, str], path: object, plan: Plan) -> bool:
    with Study.open(path) as study:  # type: ignore[arg-type]
        old = study.plan
    return (
        plan.space.replicates >= old.space.replicates
        and set(old.space.rates) <= set(plan.space.rates)
        and mechanisms.grown(old, plan)
    )


def _begin_button(label: str, *, new: bool = False, extend: bool = False, primary: bool = True) -> None:
    now = state.get()
    at = now.workspace
    assert at is not None
    if st.button(label, type="primary" if primary else "secondary", icon=":material/play_arrow:"):
        with parts.spoken():
            if new:
                at.note(study=at.next_study().name)
                state.put(selected=None, shown=None)
            jobs.start(at, extend=extend)
            st.rerun()


def _told(job: jobs.Job) -> None:
    if job.state == "finished":
        st.success(f"Finished: {text.plural(job.total, 'run')} drawn and measured.", icon=":material/check_circle:")
    elif job.total:
        st.warning(
            f"Stopped at {job.done:,} of {text.plural(job.total, 'run')}; what is done is kept.",
            icon=":material/pause_circle:",
        )
        st.progress(job.done / max(1, job.total))


def _under_way() -> None:
    at = state.get().workspace
    assert at is not None

    @st.fragment(run_every=_EVERY)
    def watch() -> None:
        job = jobs.status(at)
        if not job.busy:
            st.rerun()
        left = jobs.seconds_left(job)
        if job.state == "starting" or job.total == 0:
            st.progress(job.done / max(1, job.total), "Starting: reading the data, preparing the draw…")
        elif job.state == "stopping":
            st.progress(job.done / job.total, f"Stopping at {job.done:,} of {text.plural(job.total, 'run')}…")
        else:
            words = f"{job.done:,} of {text.plural(job.total, 'run')}"
            words += f", about {text.duration(left)} left" if left is not None and job.done < job.total else ""
            st.progress(min(1.0, job.done / job.total), words)
        if st.button("Stop", icon=":material/stop:", disabled=job.state == "stopping"):
            with parts.spoken():
                jobs.cancel(at)
            st.toast("Stopping after the runs at hand…")

    watch()
    st.caption(
        "You may leave or reload this page; the sweep goes on. After a stop, what is done is kept and can be resumed."
    )
    st.subheader("The map so far", anchor=False)

    @st.fragment(run_every=_DRAW_EVERY)
    def fill() -> None:
        _map()

    fill()


def _so_far(unfinished: bool) -> None:
    st.subheader("The map so far" if unfinished else "The map", anchor=False)
    _map()


def _map() -> None:
    """The plain map, without choosing."""
    from frontier_app.drawing import plain_map

    try:
        view = actions.the_map(None, None, False)
    except EngineError as error:
        parts.complain(error)
        return
    if view is None or not len(view.results):
        st.caption("The first results will appear here.")
        return
    st.plotly_chart(
        plain_map(view),
        key="filling",
        config={"displaylogo": False},
        alt="Risk–utility map of the results so far",
    )


page()
