"""Explore: the risk–utility map of a study, the selected candidate, and the candidates as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from engine.common.wording import upper_first
from engine.decision.statements import words
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.differences import CONTEXT, plan_differences
from engine.report.parameters import bound_is_on
from engine.report.sentences import hidden
from engine.study.study import Pin, Study, pins
from frontier_app.charts import map_data, maps
from frontier_app.charts.map_data import MANY
from frontier_app.pages.explore.card import at_hand, card, select
from frontier_app.pages.explore.controls import controls
from frontier_app.pages.explore.measures import measures
from frontier_app.pages.explore.table import passing, table
from frontier_app.session import actions, jobs, state
from frontier_app.widgets import elements, finalists, recommendation
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text
from frontier_app.wording.markup import joined

_BOXED = 5_000  # points up to which a box over them is sent back by the browser
_NOTES = {
    "quantile": "Risk here is what {} of a candidate's single runs do not exceed; bars are its 95 % interval.",
    "rates": "One panel for each rate, each with its own frontier (Gomatam, Karr and Sanil 2005, figure 3).",
    "labelled": "Names without room are left out (Gomatam, Karr and Sanil 2005, figure 5).",
    "runs": "A point is one run. Candidates are compared by their means: the best run is partly luck.",
}


def page() -> None:
    """The map, the candidate at hand, and the table of candidates."""
    elements.with_map("There is no map yet: the sweep of a plan draws and measures every candidate.", _study, "Explore")


def _unfinished(study: Study) -> None:
    now, progress = state.get(), study.progress
    at = now.workspace
    if now.plan is not None and any(not name.startswith(CONTEXT) for name in plan_differences(study.plan, now.plan)):
        notice = "The plan has changed since this sweep. This page shows the plan that was swept."
        st.info(notice, icon=":material/history:")
    if at is None or progress.done >= progress.total:
        return
    busy = jobs.status(at).busy
    st.info(
        f"{'The sweep is still running' if busy else 'The sweep is not finished'}: {progress.done:,} of"
        f" {progress.total:,} runs. Figures and frontier may change.",
        icon=":material/hourglass_top:" if busy else ":material/pause_circle:",
    )


def _study(study: Study, view: RiskUtilityMap) -> None:
    _unfinished(study)
    planned, _ = recommendation.planned(study, view)
    title, row = st.columns([44, 56], gap="medium", vertical_alignment="bottom")
    with title:
        _part("headline", _headline)
    with row:
        _part("controls", lambda study, view, rule, pinned: controls(view, list(study.measures), rule, planned))
    _part("trouble", _trouble)
    left, right = st.columns([62, 38], gap="medium")
    with left:
        _part("map", _figure)
    with right:
        _part("card", _card)
    _part("table", lambda study, view, rule, pinned: table(view, rule, pinned))
    at = state.get().workspace
    job = None if at is None else jobs.recheck_job(at)
    told = job is not None and (job.busy or job.state == "cancelled" or bool(job.message))
    with st.expander("Finalists on fresh runs", expanded=told or actions.fresh_map(view) is not None):
        finalists.finalists(view, recommendation.rule(study, view, state.get().look))


def _part(name: str, draw: Callable[[Study, RiskUtilityMap, Rule, dict[int, Pin]], None]) -> None:
    """Draw a part of the page, now and whenever it is drawn again by itself, from the study as it is then."""

    def part() -> None:
        look = state.get().look
        with elements.errors_shown(), actions.opened() as study:
            view = actions.the_map(look.risk, look.utility, look.partial)
            assert study is not None and view is not None
            draw(study, view, recommendation.rule(study, view, look), _pins(study, view))
        state.save()

    st.fragment(part, key=name)()


def _card(study: Study, view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    with st.container(border=True, key="card", gap="xsmall"):
        card(study, view, rule, at_hand(view, rule), pinned)


def _figure(study: Study, view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    if state.get().look.drawn == "measures":
        measures(view)
    else:
        _map(view, rule, pinned)


def _pins(study: Study, view: RiskUtilityMap) -> dict[int, Pin]:
    """The pinned candidates by place."""
    by_index = {view.scenarios.index_of(pin.label): pin for pin in pins(study)}
    return {index: pin for index, pin in by_index.items() if index is not None}


def _headline(study: Study, view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    """The finding: how many candidates are within the limit; below it how often each was run."""
    known = ~np.isnan(view.risk_loss + view.utility_loss)
    n, noun = f"{int(known.sum()):,}", "candidate" if known.sum() == 1 else "candidates"
    held, by_mean = ~np.isnan(view.bounded_risk), ""
    if rule.bound is None:
        title = f"{len(view.frontier()):,} of {n} {noun} {'is' if len(view.frontier()) == 1 else 'are'} on the frontier"
    else:
        met = map_data.within_limit(view, rule.bound) & known
        if held.any():
            n = f"{int(held.sum()):,}"
        else:
            by_mean = " in their only run" if view.summary.counted.max(initial=0) == 1 else " by their means"
        met_words = f"{int(met.sum()):,}" if met.any() else "None"
        title = f"{met_words} of {n} {noun} {'is' if met.sum() == 1 else 'are'} within the limit{by_mean}"
    with st.container(key="headline"):
        st.title(title, anchor=False)
    runs = view.summary.counted[known]
    each = f"{int(runs.min(initial=0)):,} to {int(runs.max(initial=0)):,} runs"
    parts = [each if len(set(runs.tolist())) > 1 else text.plural(int(runs.max(initial=0)), "run") + " each"]
    apart = view.all_apart
    parts += [f"{sum(apart.values()):,} cannot be compared"] if apart else []
    parts += [bound_is_on(study.plan.decision)] if rule.bound is not None else []
    if state.get().look.rule in ("bound", "slope"):
        parts.append("tried here, not the plan's")
    why = " ".join(f"{k:,}: {reason}." for reason, k in apart.items())
    st.caption(upper_first(" · ".join(parts)), help=why or None)


def _trouble(study: Study, view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    """Say why nothing is recommended, with ways out."""
    if not rule.trouble or (rule.bound is not None and np.isnan(view.bounded_risk).all()):
        return  # of too few runs the card says it
    if rule.bound is None or not recommendation.shown(study, view, rule.bound, _try_bound):
        st.warning(f"{upper_first(rule.trouble).rstrip('.')}.", icon=":material/warning:")


def _try_bound(bound: float) -> None:
    """Let a bound be tried in place of one that nothing meets."""
    state.look(rule="bound", bound=bound, slope=None)


def _map(view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    """The map; a click selects, a box filters the table and stays drawn."""
    now = state.get()
    look = replace(now.look, bound=rule.bound, slope=rule.slope)
    if look.drawn == "runs":
        look = _highlight(view, look)
    shown = map_data.Shown(
        selected=at_hand(view, rule),
        optimum=rule.index,
        letters=dict(rule.letters),
        pins={i: pin.name or pin.label for i, pin in pinned.items()},
        lit=passing(view, rule, pinned),
        dark=elements.is_dark(),
    )
    n = len(view.results) if look.drawn == "runs" else len(view.scenarios)
    with st.spinner("Drawing…", show_time=n > MANY):
        drawn = maps.candidate_figure(view, look, shown)
    many = any(trace.type == "heatmap" for trace in drawn.data)
    boxes = look.drawn in ("map", "labelled") and (many or n <= _BOXED)  # a box lists candidates by their means
    elements.chart(
        drawn,
        "map",
        f"Risk–utility map: {len(view.scenarios)} candidates, {len(view.frontier())} on the frontier. "
        "The table below lists them and selects them too.",
        chosen=lambda: _chosen(view),
        boxes=boxes,
        toolbar={"modeBarButtonsToRemove": ["lasso2d", "autoScale2d", *([] if boxes else ["select2d"])]},
        tall=look.drawn != "rates",
    )
    _below(view, look, boxes=boxes)


def _highlight(view: RiskUtilityMap, look: state.Look) -> state.Look:
    """Ask which runs stand out; the first attribute's until something else is chosen."""
    names = map_data.swappable(view)
    if not names:
        return look
    picked = st.selectbox(
        "Highlight runs that swap",
        [None, *names],
        index=names.index(look.highlight) + 1 if look.highlight in names else 0 if look.highlight == "" else 1,
        format_func=lambda name: f"Highlight the runs that swap {name}" if name else "Highlight no runs",
        key="look-highlight",
        label_visibility="collapsed",
    )
    if (picked or "") != look.highlight:
        state.look(highlight=picked or "")
    return replace(look, highlight=picked or "")


def _chosen(view: RiskUtilityMap) -> None:
    """A click on a point selects it; a box asks for what is inside."""
    event: dict[str, Any] = state.input_value("map") or {}
    selection = event.get("selection", {})
    points = [p["customdata"] for p in selection.get("points", []) if p.get("customdata") is not None]
    boxes = selection.get("box", [])
    if boxes:
        signs = [map_data.sign(view, k) for k in (view.risk, view.utility)]
        (r0, r1), (u0, u1) = boxes[-1]["y"], boxes[-1]["x"]
        state.look(box=(signs[0] * r0, signs[0] * r1, signs[1] * u0, signs[1] * u1))
        st.rerun(["table", "map"])
    elif points:
        index = points[0][0] if isinstance(points[0], list) else points[0]
        if isinstance(index, int):
            select(view.scenarios[index].label, "map" if len(view.scenarios) <= MANY else "density")


def _below(view: RiskUtilityMap, look: state.Look, *, boxes: bool) -> None:
    """Say below the drawing what it does not show."""
    sentences = [_NOTES[look.drawn].format(map_data.run_share(view))] if look.drawn in _NOTES else []
    if look.drawn in ("map", "labelled") and look.colour == "standing":
        filled = "Filled: within the limit. Ring: over it." if look.bound is not None else ""
        sentences.append(f"{filled} Blue: frontier. ★ recommended.".strip())
    if look.drawn == "map":
        sentences += map(words, hidden(view))
    if boxes:
        sentences.append("Box: the dashed square of the toolbar.")
    if look.drawn == "quantile" and view.single_runs is None:
        sentences.append("The plan's limit is on the mean, so it is not drawn here.")
    joint = map_data.joint_measure(view)
    if joint is not None and joint != view.risk and map_data.several_tables(view):
        sentences.append(
            f"D: tables published together; {text.measure_within(view.measures[joint])} judges all of them."
        )
    st.caption(joined(" ", sentences))


page()
