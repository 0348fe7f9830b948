"""Decide: the release, the rule, the reasons, the alternatives; its way to the board and out; what the board sees."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.common.wording import upper_first
from engine.decision.bounds import example_bound, figure_words
from engine.decision.choice import choose, planned_indices
from engine.decision.gate import beaten_by_original
from engine.decision.statements import words
from engine.decision.states import DecisionStatus, decide, decision_status
from engine.frontier.risk_utility_map import RiskUtilityMap, lettered
from engine.release.scenarios import Choice
from engine.report.parameters import bound_is_on
from engine.study.map_reader import objective_indices, risk_bound
from engine.study.study import Study
from frontier_app.charts import map_data
from frontier_app.pages.decide import sheet
from frontier_app.session import actions, state
from frontier_app.widgets import candidate_card, elements, plan_fields, recommendation, small_cells, workflow
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_RULES = {
    "hand": "A candidate that I name",
    "plan": "The plan's own rule",
    "bound": "The most useful release within a risk limit",
    "slope": "The best trade of risk against utility",
    "nothing": "No release: nothing is published",
}


_VIEWS = {"decide": "Decide", "board": "As the board sees it"}
_TITLES = {
    "none": "No release is recommended yet",
    "draft": "A release is recommended",
    "submitted": "The board has been asked",
    "approved": "The board approved the release",
    "returned": "The board returned the recommendation",
    "released": "The release is published",
    "withheld": "Nothing is released",
}


def page() -> None:
    """Show where the recommendation stands, its next step, a new one, and what has happened; or what the board sees."""
    at = state.get().workspace
    if at is not None and at.board is not None:
        sheet.board()
        return
    if actions.own_study() is not None and elements.switch("View", _VIEWS, "decide", workflow.VIEW) == "board":
        sheet.board()
        return
    title = st.empty()
    title.title("Decide", anchor=False)
    elements.with_map(
        "There is nothing to recommend yet: a release is chosen among the candidates of a study.", partial(_page, title)
    )


def _page(title: DeltaGenerator, study: Study, view: RiskUtilityMap) -> None:
    status = decision_status(study)
    title.title(_TITLES[status.state], anchor=False)
    workflow.state_box(study, status)
    workflow.approved_plan(study)
    small_cells.before_submission(study, status)
    plan_fields.before_submission(study, status)
    if status.choice is not None:
        _recorded_risk(study, view, status.choice, share=not workflow.tells_share(study, status))
        workflow.next_step(study, view, status)
    _recommend(study, view, status)
    workflow.history(study)


def _recorded_risk(study: Study, view: RiskUtilityMap, choice: Choice, *, share: bool) -> None:
    """The risk of the recommended candidate, in the words of the map; ``share`` says whether to tell how many runs meet
    the bound."""
    bound = risk_bound(study, view.risk, choice.record.get("bound"))
    with st.container(border=True):
        for line in candidate_card.lines(study, view, study.find(choice.label)[0].index, bound, share=share):
            st.markdown(line)
        if np.isfinite(view.risk_loss[study.find(choice.label)[0].index]):
            st.markdown(candidate_card.released(study, view, choice))
        with elements.errors_shown():
            candidate_card.of_choice(study, choice, ask="Attack the recommended release")
        elements.go("threat", "What published tables of the original tell", primary=False)


def _recommend(study: Study, view: RiskUtilityMap, status: DecisionStatus) -> None:
    """A recommendation, or another one: the form, folded while one is under way."""
    if status.state == "none":
        st.subheader("Recommend a release", anchor=False)
        _form(study, view, status)
        return
    if status.state == "withheld":
        workflow.as_the_board()
    label = status.choice.label if status.choice else None
    # open for who comes from the map with another candidate
    by_hand = state.input_value(recommendation.form_key("rule", study, status)) == "hand"
    another = by_hand and state.get().selected not in (None, label)
    title = "Recommend a release instead" if status.state == "withheld" else "Recommend something else"
    with st.expander(title, expanded=another):
        st.caption("A new recommendation begins again as a draft. What was recorded before stays in the history.")
        _form(study, view, status)


def _form(study: Study, view: RiskUtilityMap, status: DecisionStatus) -> None:
    letters = {other: letter for letter, other in recommendation.letters_of(study, view)}
    left, right = st.columns([1, 1], gap="large")
    with left:
        how = _how(study, status)
        rule_asked, index = _picked(study, view, how)
    with right.container(border=True, height="stretch"):
        if how == "nothing":
            st.markdown(
                markdown(
                    "#### No release\nNo risk is taken, and nobody can use the data. To publish nothing is a decision"
                    " like any other: it is recorded with its reason and its author."
                )
            )
        else:
            told = status.choice is not None and index == study.find(status.choice.label)[0].index
            _at_hand(study, view, index, letters, None if told else rule_asked.get("max_risk"), share=not told)
            _against_nothing(study, view, how, rule_asked, index)
    key = recommendation.form_key("not", study, status)
    others = _alternatives(view, index, letters, key) if index is not None else []
    _record(study, view, how, rule_asked, index, others, status)


def _how(study: Study, status: DecisionStatus) -> str:
    look, plan = state.get().look, study.plan.decision
    rules = [rule for rule in _RULES if rule != "plan" or plan.max_risk is not None or plan.slope is not None]
    key = recommendation.form_key("rule", study, status)
    state.first_input(key, look.rule if look.rule in rules else "hand")
    return st.radio("How it is chosen", rules, format_func=_RULES.__getitem__, key=key, persist_state="session")


def _picked(study: Study, view: RiskUtilityMap, how: str) -> tuple[dict[str, Any], int | None]:
    """The arguments of :func:`choose`, and the scenario that it will pick."""
    now, plan = state.get(), study.plan.decision
    bound: float | None = None
    try:
        if how == "hand":
            label = recommendation.candidate(
                study, view, "Candidate", now.selected, key=f"recommend-candidate-{now.version}"
            )
            if label is None:
                return {}, None
            if label != now.selected:
                state.put(selected=label)
            return {"candidate": label}, study.find(label)[0].index
        if how == "bound":
            bound = _number(
                f"Largest acceptable {text.measure_within(view.measures[view.risk])}",
                "bound",
                now.look.bound,
                upper_first(bound_is_on(study.plan.decision)) + ".",
                _example(view),
            )
            return ({"max_risk": bound}, view.under_bound(bound)) if bound is not None else ({}, None)
        if how == "slope":
            slope = _number(
                "Additional risk accepted for one more unit of utility",
                "slope",
                now.look.slope,
                "",
            )
            return ({"slope": slope}, view.by_slope(slope)[0]) if slope is not None else ({}, None)
        if how == "plan":
            risk = view.measures[objective_indices(study)[0]]
            rule = f"a slope of {plan.slope}"
            if plan.max_risk:
                most = figure_words(risk, float(plan.max_risk))
                rule = f"{text.measure_within(risk)} of at most {most}; {bound_is_on(plan)}"
            st.caption(f"Fixed in the plan: {rule}.")
            bound = None if plan.max_risk is None else float(plan.max_risk)
            return {}, next(iter(planned_indices(study, view)))
    except EngineError as error:
        allow = partial(_try_bound, recommendation.form_key("rule", study, decision_status(study)))
        if bound is None or not recommendation.shown(study, view, bound, allow):
            elements.show_error(error)
    return {}, None


def _example(view: RiskUtilityMap) -> str:
    """A bound that a candidate meets."""
    bounded = view.bounded_risk
    least = float(bounded[np.isfinite(bounded)].min()) if np.isfinite(bounded).any() else None
    return example_bound(float(view.original[view.risk]), least)


def _try_bound(rule_key: str, bound: float) -> None:
    """Let a bound be tried in place of one that nothing meets; ``rule_key`` is the input of the rule."""
    state.set_input("recommend-bound", bound)
    state.set_input(rule_key, "bound")


def _number(label: str, name: str, start: float | None, note: str, example: str = "") -> float | None:
    key = f"recommend-{name}"
    state.first_input(key, start)
    typed = st.number_input(
        label,
        0.0,
        value=None,
        format="%.6g",
        key=key,
        placeholder=f"such as {example}" if example else "a number",
        persist_state="session",
    )
    if note:
        st.caption(note)
    return None if typed is None else float(typed)


def _at_hand(
    study: Study,
    view: RiskUtilityMap,
    index: int | None,
    letters: dict[int, str],
    bound: float | None,
    *,
    share: bool,
) -> None:
    if index is None:
        st.markdown(markdown("#### No candidate is chosen\nThe figures of the one that you choose will stand here."))
        return
    scenario, summary = view.scenarios[index], view.summary
    st.markdown(markdown("#### {}", candidate_card.name_of(view, index, letters)))
    st.markdown(candidate_card.badges(view, index))
    st.markdown(text.spec_words(scenario.spec, actions.n_records()))
    for line in candidate_card.lines(study, view, index, bound, share=share):
        st.markdown(line)
    runs, failed = int(summary.counted[index]), int(summary.failed[index])
    if runs:
        st.markdown(candidate_card.figures(view, index))
    st.markdown(candidate_card.certainty(view, index, runs, failed))
    if joint_risk := candidate_card.joint_words(view, index):
        st.markdown(joint_risk)


def _against_nothing(
    study: Study, view: RiskUtilityMap, how: str, rule_asked: dict[str, Any], index: int | None
) -> None:
    """Say it where a slope picks what by that slope is worse than releasing the data unchanged."""
    planned = study.plan.decision.slope if how == "plan" else None
    slope = rule_asked.get("slope", planned)
    if index is None or slope is None:
        return
    if beaten := beaten_by_original(view, index, float(slope)):
        st.warning(words(beaten), icon=":material/warning:")


def _alternatives(view: RiskUtilityMap, index: int, letters: dict[int, str], key: str) -> list[dict[str, str]]:
    """The neighbours, how they differ, and why they are not recommended."""
    others = [other for other in lettered(view, index).values() if other != index]
    if not others:
        return []
    st.markdown(markdown("**Alternatives considered**, its neighbours from the safest to the most useful"))
    if letters and letters.get(index) != "A":
        st.caption("Letters are those of the present recommendation; once this one is recorded, it is A.")
    alternatives = []
    for other in others:
        scenario = view.scenarios[other]
        column, reason_column = st.columns([3, 2], vertical_alignment="center", gap="medium")
        difference = candidate_card.difference(view, index, other, together=len(others))
        name = candidate_card.name_of(view, other, letters)
        column.markdown(markdown("**{}**  \n{}", name, difference))
        reason_typed = reason_column.text_input(
            f"Why not {letters.get(other, text.swap_short(scenario.spec))}?",
            key=f"{key}-{other}",
            placeholder="you may leave this empty",
            persist_state="session",
        )
        alternatives.append({"candidate": scenario.label, "difference": difference, "why": reason_typed.strip()})
    return alternatives


def _record(
    study: Study,
    view: RiskUtilityMap,
    how: str,
    rule_asked: dict[str, Any],
    index: int | None,
    others: list[dict[str, str]],
    status: DecisionStatus,
) -> None:
    left, right = st.columns([3, 1], gap="medium")
    why = left.text_area(
        "Reason, in words",
        key=recommendation.form_key("why", study, status),
        height=90,
        persist_state="session",
        placeholder=f"Why {'nothing' if how == 'nothing' else 'this one'}, for whoever reads it in five years",
    )
    who = "Who recommends it" if how != "nothing" else "Who decides it"
    by = right.text_input(who, key="recommend-by", persist_state="session")
    missing = [
        reason
        for reason, there in (
            ("a candidate", index is not None or how == "nothing"),
            ("a reason", bool(why.strip())),
            ("a name", bool(by.strip())),
        )
        if not there
    ]
    label, key = "Record the recommendation", "record-choice"
    if how == "nothing":
        label, key = "Record that nothing is released", "record-nothing"
    # Where a decision is under way, the next step is another one.
    kind: Literal["primary", "secondary"] = "primary" if status.state == "none" else "secondary"
    if st.button(label, key=key, type=kind, icon=":material/gavel:", disabled=bool(missing)):
        with elements.errors_shown():
            if how == "nothing":
                decide(study, "withheld", by, why=why)
                reason = "The decision to release nothing is recorded."
            else:
                choice = choose(study, view, why, by=by, others=others, **rule_asked)
                reason = f"The recommendation of {text.named(study.find(choice.label)[0])} is recorded as a draft."
                state.put(selected=choice.label)
            state.look(rule="plan", bound=None, slope=None)  # what was tried is now recorded, and stands
            state.put(notice=reason)
            st.rerun()
    if missing:
        st.caption(f"Still needed: {text.listed(missing)}.")
    if index is not None and map_data.is_dominated(view, index):
        st.caption("This candidate is dominated: another one is as safe and as useful, and better in one of the two.")


page()
