"""The selected candidate beside the map: its effect in counts, its figures, and why not another."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from engine.frontier.risk_utility_map import RiskUtilityMap, indistinguishable_groups
from engine.mechanisms import mechanism
from engine.report.sentences import spread
from engine.study.study import Pin, Study, pin, unpin
from frontier_app.session import actions, navigation, state
from frontier_app.widgets import candidate_card, elements, recommendation
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import markup, mechanisms, text
from frontier_app.wording.markup import markdown

_PICKED = 2000  # scenarios up to which all are in the list


PARTS = ("headline", "map", "card", "table")
"""Parts of the page that are drawn again by themselves."""


def select(label: str, where: str = "card") -> None:
    """Put a candidate at hand in a callback; the map is not drawn again for a click ``where`` it is itself."""
    now = state.get()
    state.put(selected=label, picks=now.picks + (where != "table"))
    st.rerun([part for part in PARTS if part != "map" or where != "map"])


def card(study: Study, view: RiskUtilityMap, rule: Rule, index: int | None, pins: dict[int, Pin]) -> None:
    """The candidate at hand, or what to do when there is none."""
    if index is None:
        _picker(view, rule, index)
        _invitation(view)
        return
    chosen, kept = st.columns([3, 1], gap="small")
    with chosen:
        _picker(view, rule, index)
    with kept:
        _pin(view, index, pins.get(index))
    scenario, summary = view.scenarios[index], view.summary
    n = int(study.about["n_records"])
    runs, failed = int(summary.counted[index]), int(summary.failed[index])
    head, onward = st.columns([4, 5], vertical_alignment="center", gap="small")
    with head:
        _head(view, rule, index, pins.get(index))
    with onward:
        _onward(study, view, rule, index, runs)
    st.markdown(candidate_card.badges(view, index, rule.index))
    st.markdown(text.spec_words(scenario.spec, n))
    _counts(study, view, index, rule.bound)
    figures_tab, others_tab, runs_tab = st.tabs(["Figures", "Why not another?", "Its runs"])
    with figures_tab:
        if runs:
            st.markdown(candidate_card.figures(view, index, narrow=True))
        else:
            why = study.notes.warning_on(index)
            st.warning(
                markdown(
                    "Every run failed: no feasible pair was left before the rate was reached.{}",
                    f" In the first run {why}." if why else "",
                ),
                icon=":material/warning:",
            )
        if joint_risk := candidate_card.joint_words(view, index):
            st.markdown(joint_risk)
        for line in candidate_card.on_unswapped_keys(study, view, index):
            st.markdown(line)
        _worst(view, index)
    with others_tab:
        _why_not(view, rule, index)
    with runs_tab:
        st.markdown(candidate_card.certainty(view, index, runs, failed))
        _runs(study, view, index)
        _settings(view, index)


def _onward(study: Study, view: RiskUtilityMap, rule: Rule, index: int, runs: int) -> None:
    """The next step with the candidate at hand."""
    if rule.recorded and index == rule.index:
        elements.go("decide", "Its recommendation", stretch=True)
    elif st.button(
        "Recommend this one…",
        key="recommend-this",
        type="primary",
        icon=":material/gavel:",
        disabled=runs == 0,
        width="stretch",
    ):
        state.put(selected=view.scenarios[index].label)
        recommendation.draft(study, rule, index)
        navigation.go_to("decide")


def _picker(view: RiskUtilityMap, rule: Rule, index: int | None) -> None:
    """The candidate at hand in a list: a way to choose it without a pointer."""
    on = view.frontier().tolist()
    others = np.flatnonzero(~view.dominance.undominated).tolist() if len(view.scenarios) <= _PICKED else []
    first = [other for _, other in rule.letters]
    order = list(dict.fromkeys([*first, *on, *others, *([] if index is None else [index])]))
    scenarios = {view.scenarios[i].label: view.scenarios[i] for i in order}
    letters = {view.scenarios[other].label: letter for letter, other in rule.letters}

    def words(label: str) -> str:
        letter = f"{letters[label]}  " if label in letters else ""
        return f"{letter}{text.swap_short(scenarios[label].spec)} ({label})"

    def picked() -> None:
        label = state.input_value("candidate")
        if label in scenarios:  # the browser sends words back whose letter has gone since
            select(label)

    now = None if index is None else view.scenarios[index].label
    state.set_input("candidate", now)  # always: the browser would go on showing a letter that has gone
    st.selectbox(
        "Candidate",
        list(scenarios),
        index=None,
        format_func=words,
        key="candidate",
        on_change=picked,
        placeholder="Choose one, the frontier first",
        label_visibility="collapsed",
    )


def _invitation(view: RiskUtilityMap) -> None:
    st.markdown(markdown("**No candidate selected**"))
    st.markdown(
        markdown(
            "Click on a point of the map, or on a row of the table below it. To get a **recommendation**, set the"
            " largest acceptable risk α above the map: the most useful candidate within it gets a ring and the letter"
            " A, its neighbours other letters.\n\n"
            "**Filled** points are the frontier: no other candidate is, on average, both safer and more useful."
            " **Hollow** ones are dominated. The triangle is the data as they are."
        )
    )
    riskier = int(view.riskier_than_original.sum())
    if riskier:
        st.markdown(
            markdown(
                "**{:,} of {}** {} on average *riskier than doing nothing*, which is also the most useful: swapping can"
                " leave more unaltered records alone in small cells.",
                riskier,
                text.plural(len(view.scenarios), "scenario"),
                "is" if riskier == 1 else "are",
            )
        )


def _head(view: RiskUtilityMap, rule: Rule, index: int, pinned: Pin | None) -> None:
    """Letter, what is swapped, and the name that somebody gave; the id stands in the list above."""
    scenario, letter = view.scenarios[index], rule.letter_of(index)
    opening, named = f"{letter} · " if letter else "", f" · {pinned.name}" if pinned and pinned.name else ""
    name = text.swap_short(scenario.spec)
    st.markdown(markdown("#### {}{}{}", opening, name, named))


def _pin(view: RiskUtilityMap, index: int, pinned: Pin | None) -> None:
    """Keep the candidate at hand, or its name."""
    label = view.scenarios[index].label
    with st.popover(
        "Pinned" if pinned else "Pin", icon=":material/keep:" if pinned else ":material/keep_off:", width="stretch"
    ):
        st.caption("Pinned candidates keep a ring on the map and can be compared side by side.")
        name = st.text_input("Name", pinned.name if pinned else "", key=f"pin-name-{label}", placeholder="optional")
        with st.container(horizontal=True):
            if st.button("Rename" if pinned else "Pin it", key=f"pin-{label}"):
                _keep(label, name, pinned.note if pinned else "")
            if pinned and st.button("Unpin", key=f"unpin-{label}"):
                _keep(label, None)


def _keep(label: str, name: str | None, note: str = "") -> None:
    """Pin a candidate under a name, or take its pin away where there is no name."""
    with elements.errors_shown(), actions.opened() as study:
        if study is None:
            return
        if name is None:
            unpin(study, label)
        else:
            pin(study, label, name, note)
        st.rerun()


def _counts(study: Study, view: RiskUtilityMap, index: int, bound: float | None) -> None:
    """Show the risk in records, and the edit rules that are broken."""
    for line in candidate_card.lines(study, view, index, bound, unswapped=False):
        st.markdown(line)
    for k, call in enumerate(view.measures):
        if str(call) == "edit_failures" and np.isfinite(view.original[k]):
            mean = text.with_error(view.summary.mean[index, k], view.summary.se[index, k])
            st.markdown(markdown("**{} records** break an edit rule; {:,.0f} in the original.", mean, view.original[k]))


def _worst(view: RiskUtilityMap, index: int) -> None:
    """The worst-hit analysis and subgroup, as the measures name them."""
    notes = mechanisms.figure_notes(actions.notes(index))
    for k, lines in notes.items():
        if k < len(view.measures) and lines:
            st.caption(markdown("**{}:** {}", text.measure_title(view.measures[k]), "; ".join(lines)))


def _why_not(view: RiskUtilityMap, rule: Rule, index: int) -> None:
    """Show what dominates the candidate at hand and by how much; the next safer and the next more useful of the
    frontier."""
    if np.isnan(view.risk_loss[index]) or np.isnan(view.utility_loss[index]):
        st.caption(markdown("It cannot be compared: {}.", view.why_apart(index)))
        return
    better = [int(i) for i in view.dominators(index) if view.dominance.undominated[i]]
    better.sort(key=lambda i: (view.utility_loss[i], view.risk_loss[i]))
    if better:
        st.markdown(
            markdown("**Better than {}:** no worse on either, better on one.", text.named(view.scenarios[index]))
        )
        for i in better[:3]:
            _other(view, rule, index, i, "dominator")
        if len(better) > 3:
            st.caption(f"{text.plural(len(better) - 3, 'more candidate')} of the frontier dominate it too.")
    groups = indistinguishable_groups(view, representative=index)
    indistinguishable = next((group.others for group in groups if group.index == index), ())
    neighbours = candidate_card.neighbours(view, index, [group.index for group in groups])
    for direction, title in (("safer", "Next safer"), ("more useful", "Next more useful")):
        if direction in neighbours and neighbours[direction] not in better[:3]:
            st.markdown(markdown("**{}:**", title))
            _other(view, rule, index, neighbours[direction], "next")
        elif direction not in neighbours:
            st.caption(f"No candidate of the frontier is clearly {direction}.")
    if indistinguishable:
        names = text.listed([text.named(view.scenarios[i]) for i in indistinguishable])
        st.caption(f"It differs from {names} by no more than noise.")


def _other(view: RiskUtilityMap, rule: Rule, index: int, other: int, kind: str) -> None:
    scenario = view.scenarios[other]
    letter = rule.letter_of(other)
    st.button(
        f"{f'{letter} · ' if letter else ''}{text.swap_short(scenario.spec)} ({scenario.label})",
        key=f"{kind}-{scenario.label}",
        on_click=partial(select, scenario.label),
        width="stretch",
    )
    st.caption(candidate_card.difference(view, index, other))


def _runs(study: Study, view: RiskUtilityMap, index: int) -> None:
    ranges = spread(study, view, index)
    if ranges and view.summary.counted[index] > 1:
        rows = [(text.measure_title(view.measures[k]), text.figure(a), text.figure(b)) for k, a, b in ranges]
        st.markdown(markup.table(("", "least", "greatest"), "lrr", rows))


def _settings(view: RiskUtilityMap, index: int) -> None:
    """Show the notes of mechanism and runs, and the candidate's settings."""
    warnings, counted = mechanisms.diagnostics(actions.notes(index))
    for warning in warnings[:3]:
        st.warning(warning[:1].upper() + warning[1:], icon=":material/warning:")
    spec = view.scenarios[index].spec
    if spec.by_roles and not spec.params and not counted:
        return
    with st.popover("Settings, and what its runs said", icon=":material/notes:", width="stretch"):
        st.markdown(f"When to use it: {mechanism(spec.mechanism).when}.")
        rows = mechanisms.parameter_rows(spec)
        shown = [(markdown("**{}** – {}", name, meaning), value) for name, value, meaning in rows]
        if shown:
            st.markdown(markup.table(("parameter", "value"), "lr", shown))
        if counted:
            st.markdown(markdown("**Counted in its runs** (means)"))
            st.markdown(markup.table(("", ""), "lr", counted))


def at_hand(view: RiskUtilityMap, rule: Rule) -> int | None:
    """The candidate at hand: the one selected, else the one recommended."""
    selected = state.get().selected
    index = view.scenarios.index_of(selected)
    return rule.index if index is None else index
