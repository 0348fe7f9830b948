"""Explore: the risk–utility map of a study, and the selected candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from engine.common.wording import upper_first
from engine.decision.statements import words
from engine.frontier.choosing import runs_needed
from engine.frontier.risk_utility_map import RiskUtilityMap, indistinguishable_groups
from engine.plan.differences import CONTEXT, plan_differences
from engine.report.sentences import headline, hidden
from engine.study.study import Pin, Study, pins
from frontier_app.charts import map_data, maps
from frontier_app.charts.map_data import MANY
from frontier_app.pages.explore.card import at_hand, card, select
from frontier_app.pages.explore.controls import controls
from frontier_app.pages.explore.table import measures, table
from frontier_app.session import actions, jobs, state
from frontier_app.widgets import elements, finalists, recommendation
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import Markdown, joined, markdown

_WHAT = {
    "map": "",
    "quantile": "",
    "rates": "One panel per swap rate, each with its own frontier, labelled by what is swapped"
    " (Gomatam, Karr and Sanil 2005, figure 3).",
    "pooled": "All rates together, with one frontier (Gomatam, Karr and Sanil 2005, figure 4).",
    "labelled": "Every candidate labelled by what it swaps (Gomatam, Karr and Sanil 2005, figure 5).",
    "runs": "Every run instead of means, one attribute highlighted (Gomatam, Karr and Sanil 2005, figure 7). A run is"
    " one realisation. Scenarios are compared by their means, since the best run is partly luck.",
    "measures": "",
}


def page() -> None:
    """The map, the candidate at hand, and the table of candidates."""
    st.title("Explore the map", anchor=False)
    elements.with_map("There is no map yet: the sweep of a plan draws and measures every candidate.", _study)


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
    rule = recommendation.rule(study, view, state.get().look)
    _part("headline", _headline)
    planned, _ = recommendation.planned(study, view)
    controls(view, list(study.measures), rule, planned)
    left, right = st.columns([62, 38], gap="medium")
    with left:
        _drawn()
        _part("map", _figure)
    with right:
        _part("card", _card)
    _part("table", lambda study, view, rule, pinned: table(view, rule, pinned))
    finalists.finalists(view, rule)


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
    with st.container(border=True, key="card", gap="xxsmall"):
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
    """One sentence of counts; then where the recommendation comes from."""
    index = at_hand(view, rule)
    name = rule.letter or (text.swap_short(view.scenarios[index].spec) if index is not None else "")
    sentence = headline(study, view, rule.index if rule.index is not None else index, name)
    st.markdown(markdown("##### {}", words(sentence)))
    if rule.trouble:
        if rule.bound is None or not recommendation.shown(study, view, rule.bound, _try_bound):
            st.warning(f"{upper_first(rule.trouble).rstrip('.')}.", icon=":material/warning:")
    elif rule.index is not None:
        st.caption(_recommended(view, rule))
    else:
        st.caption("Nothing is recommended yet: set the largest acceptable risk α below, or under Intruder and uses.")


def _try_bound(bound: float) -> None:
    """Let a bound be tried in place of one that nothing meets."""
    state.look(rule="bound", bound=bound, slope=None)


def _recommended(view: RiskUtilityMap, rule: Rule) -> Markdown:
    """Words on what is recommended and by what, and on whose the letters are."""
    assert rule.index is not None
    scenario = view.scenarios[rule.index]
    label, name = scenario.label, text.swap_short(scenario.spec)
    recorded_index = dict(rule.letters).get("A")
    if rule.recorded:
        return markdown("**A · {}** ({}) is the recorded recommendation: {}.", name, label, rule.words)
    if recorded_index == rule.index:
        return markdown("**A · {}** ({}) is recommended: {}.", name, label, rule.words)
    named = markdown("**{}{}** ({})", f"{rule.letter} · " if rule.letter else "", name, label)
    would = markdown("{} would be recommended: {}.", named, rule.words)
    if recorded_index is None:
        return would
    recorded = text.named(view.scenarios[recorded_index])
    return would + markdown(" **A** is still the recorded recommendation, {}.", recorded)


def _drawn() -> None:
    """Ask which figure is drawn."""
    look = state.get().look
    if state.input_value("look-drawn") != look.drawn:
        state.set_input("look-drawn", look.drawn)

    def changed() -> None:
        state.look(drawn=state.input_value("look-drawn") or "map")

    st.segmented_control(
        "Figure",
        list(map_data.DRAWN),
        required=True,
        format_func=map_data.DRAWN.__getitem__,
        key="look-drawn",
        on_change=changed,
        label_visibility="collapsed",
    )


def _map(view: RiskUtilityMap, rule: Rule, pinned: dict[int, Pin]) -> None:
    """The map; a click selects, a box on a density lists what is in it."""
    now = state.get()
    look = replace(now.look, bound=rule.bound, slope=rule.slope)
    if look.drawn == "runs":
        look = _highlight(view, look)
    shown = map_data.Shown(
        selected=view.scenarios.index_of(now.selected),
        optimum=rule.index,
        letters=dict(rule.letters),
        pins={i: pin.name or pin.label for i, pin in pinned.items()},
    )
    with st.spinner("Drawing…", show_time=_points(view, look) > MANY):
        drawn = maps.candidate_figure(view, look, shown)
    many = any(trace.type == "heatmap" for trace in drawn.data)
    boxes = many and look.drawn != "quantile"  # a box lists candidates by their means
    hidden = ["lasso2d", "autoScale2d", *([] if boxes else ["select2d"])]
    elements.chart(
        drawn,
        "map",
        f"Risk–utility map: {len(view.scenarios)} scenarios, {len(view.frontier())} on the frontier. "
        "The table below lists them and selects them too.",
        chosen=lambda: _chosen(view),
        boxes=boxes,
        toolbar={"modeBarButtonsToRemove": hidden},
        tall=look.drawn != "rates",
    )
    _below(view, rule, look, many)


def _points(view: RiskUtilityMap, look: state.Look) -> int:
    return len(view.results) if look.drawn == "runs" else len(view.scenarios)


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
    """A click on a point selects it; a box over a density asks for what is inside."""
    event: dict[str, Any] = state.input_value("map") or {}
    selection = event.get("selection", {})
    points = [p["customdata"] for p in selection.get("points", []) if p.get("customdata") is not None]
    boxes = selection.get("box", [])
    if boxes:
        signs = [map_data.sign(view, k) for k in (view.risk, view.utility)]
        (r0, r1), (u0, u1) = boxes[-1]["y"], boxes[-1]["x"]
        state.look(box=(signs[0] * r0, signs[0] * r1, signs[1] * u0, signs[1] * u1), rows="box")
        st.rerun("table")
    elif points and state.get().look.drawn != "measures":
        index = points[0][0] if isinstance(points[0], list) else points[0]
        if isinstance(index, int):
            select(view.scenarios[index].label, "map")


def _quantile_words(view: RiskUtilityMap) -> list[str]:
    """Sentences on what a quantile of single runs is, what its bars are, and whom it leaves out."""
    share, needed = map_data.run_share(view), runs_needed(view.quantiles.probability)
    sentences = [
        f"One run is released, so the risk drawn here is what {share} of a candidate's single runs do not exceed; use"
        " is the mean. Bars are the 95 % interval of that risk; one that leaves the figure has no end with so few"
        " runs."
    ]
    if view.single_runs is None:
        sentences.append("The plan's limit is on the mean, so it is not drawn here.")
    elif state.get().look.rule != "none":
        sentences.append("A limit on single runs is held against this risk.")
    few = int(np.count_nonzero((view.quantiles.missing > 0) & ~np.isnan(view.quantiles.quantile)))
    if few:
        verb = "has" if few == 1 else "have"
        sentences.append(
            f"{text.plural(few, 'candidate')} {verb} fewer than the {needed} runs that this takes, and no place on this"
            " frontier."
        )
    return sentences


def _letter_words(view: RiskUtilityMap, rule: Rule) -> list[str]:
    """Words on whose the letters beside A are, and how many of the frontier have none because noise hides them."""
    recommended = dict(rule.letters).get("A")
    if recommended is None:
        return []
    sentences = []
    if len(rule.letters) > 1:
        sentences.append("Letters other than A are its neighbours, from the safest to the most useful.")
    groups = indistinguishable_groups(view, representative=recommended)
    if hidden := sum(len(group.others) for group in groups):
        verb = "candidate of the frontier differs" if hidden == 1 else "candidates of the frontier differ"
        sentences.append(f"{hidden} {verb} from a neighbour by no more than noise.")
    return sentences


def _below(view: RiskUtilityMap, rule: Rule, look: state.Look, many: bool) -> None:
    """Say below the drawing what it leaves unsaid."""
    sentences = [_WHAT[look.drawn]] if _WHAT[look.drawn] else []
    if look.drawn == "quantile":
        sentences = _quantile_words(view)
    sentences.append(
        f"{actions.source_words()}: {text.plural(len(view.scenarios), 'scenario')}"
        + f", {text.plural(len(view.results), 'run')}, {len(view.frontier())} on the frontier"
        + (" of means." if look.drawn in ("runs", "quantile") else ".")
    )
    sentences += [f"{n:,} cannot be compared: {reason}." for reason, n in view.all_apart.items()]
    if int(view.summary.counted.max(initial=0)) == 1:
        sentences.append(
            "Every candidate has one run only, so nothing is known about noise, and the frontier is partly luck. Before"
            " you decide, run the finalists again on fresh replicates, below."
        )
    if look.drawn == "map":
        sentences += map(words, hidden(view))
        sentences += _letter_words(view, rule)
    amounts = len(map_data.amounts(view)[1])
    if look.drawn == "rates" and amounts > map_data.PANELS:
        sentences.append(f"Of {amounts} amounts {map_data.PANELS} are drawn, evenly spread.")
    if look.drawn in ("rates", "labelled"):
        short = map_data.abbreviations(view.scenarios[0].spec.attributes.names)
        key = "; ".join(f"{sign} = {name}" for name, sign in short.items() if sign != name)
        sentences.append(
            f"Here letters are attributes{f': {key}' if key else ''}; those of candidates stand on the map."
        )
        sentences.append("Labels without room are left out; point at a candidate to see what it swaps.")
    if many:
        noun = "runs" if look.drawn == "runs" else "candidates"
        sentences.append(
            f"So many {noun} are drawn as a density: darker where there are more. The frontier stays points."
            + (
                ""
                if look.drawn == "quantile"
                else " A box drawn with the dashed square of the toolbar lists the candidates inside, below."
            )
        )
    if look.mechanism is not None and map_data.forms(view)[1]:
        sentences.append(
            f"Only {mechanisms.title(look.mechanism)} is shown; hidden candidates still count for the frontier."
        )
    joint = map_data.joint_measure(view)
    if joint is not None and joint != view.risk and map_data.several_tables(view):
        sentences.append(
            markdown(
                "D = tables published together. The risk drawn here judges one table at a time; R2, *{}*, judges all of"
                " them: choose it to compare releases of several tables.",
                text.measure_within(view.measures[joint]),
            )
        )
    st.caption(joined(" ", sentences))


page()
