"""The recommended candidate, its letters, and the ways out where none meets the bound."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import streamlit as st

from engine.common.errors import EngineError
from engine.decision.bounds import UnmetBound, figure_words, unmet_bound
from engine.decision.choice import measures_of, planned_indices
from engine.decision.gate import beaten_by_original, slope_of
from engine.decision.statements import words
from engine.decision.states import DecisionStatus, decision_status
from engine.frontier.risk_utility_map import RiskUtilityMap, lettered
from engine.plan import edit_plan
from engine.release.scenarios import Choice
from engine.release.spec import percent
from engine.study.ledger import change_plan
from engine.study.map_reader import objective_indices, planned_risk, remapped
from engine.study.study import Study, pins
from frontier_app.charts import map_data as drawing
from frontier_app.session import actions, navigation, state
from frontier_app.session.state import Look
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import bullets, markdown


def shown(study: Study, view: RiskUtilityMap, bound: float, allow: Callable[[float], None]) -> bool:
    """Show what would help where nothing meets a bound (a loss); return whether that is the trouble.

    ``allow`` is called with a bound that can be met, before the page is drawn again.
    """
    unmet = unmet_bound(study, view, bound)
    if unmet is None:
        return False
    least, *ways_out = map(words, unmet.statements)
    with st.container(border=True):
        st.warning(markdown("{}", least), icon=":material/warning:")
        st.markdown(bullets(ways_out))
        limit, risk = study.plan.decision.max_risk, planned_risk(study)
        planned = limit is not None and float(limit) == unmet.bound and view.risk == risk
        if in_plan := planned and study.plan.lock is None:  # no approval fixes it
            _allow_in_plan(study, unmet.offered)
        with st.container(horizontal=True):
            _buttons(unmet, allow, is_next=not in_plan)
    return True


def _allow_in_plan(study: Study, bound: float) -> None:
    """Put a bound that can be met into the plan, for a reason that the decision log keeps."""
    st.caption(
        "No release above the limit of the plan is submitted without a reason. To change that limit now is a change"
        " after results were seen: the decision log keeps it, with its reason and your name."
    )
    left, middle, right = st.columns([4, 2, 3], vertical_alignment="bottom")
    why = left.text_input("Why more risk is acceptable", key="unmet-why").strip()
    by = middle.text_input("Your name", state.input_or("recommend-by", ""), key="unmet-by").strip()
    if right.button(
        f"Set the plan's limit to {text.figure(bound)}",
        key="unmet-plan",
        type="secondary" if state.get().selected else "primary",  # the next step, unless a candidate is at hand
        icon=":material/edit_note:",
        width="stretch",
        disabled=not (why and by),
        help="needs the reason and your name",
    ):
        with elements.errors_shown():
            decision = replace(study.plan.decision, max_risk=repr(bound))
            change_plan(study, replace(study.plan, decision=decision), why=why, by=by)
            if plan := state.get().plan:
                actions.change(replace(plan, decision=decision), f"the limit is {text.figure(bound)}")
            state.set_input("recommend-by", by)
            st.rerun()


def _buttons(unmet: UnmetBound, allow: Callable[[float], None], *, is_next: bool) -> None:
    st.button(
        f"Try the limit {text.figure(unmet.offered)}",
        key="unmet-allow",
        type="primary" if is_next and not state.get().selected else "secondary",
        icon=":material/vertical_align_top:",
        on_click=allow,
        args=(unmet.offered,),
        help="A limit that a candidate meets, with room for new runs. It is tried here; the plan keeps its own.",
    )
    plan, rate = state.get().plan, unmet.next_rate
    if plan is not None and rate and rate not in plan.space.rates:
        label = f"Add a rate of {percent(rate)} to the plan"
        if st.button(label, key="unmet-rate", icon=":material/add:", help="The sweep then adds it to the study."):
            actions.change(
                edit_plan(plan, rates=[*plan.space.rates, rate]), f"a swap rate of {percent(rate)} is in the plan"
            )
            navigation.go_to("candidates")
    name = next(iter(unmet.coarse_keys), "")
    if name and st.button(f"Make {name} coarser", key="unmet-keys", icon=":material/merge:"):
        state.show_part("levels", column=name)
        navigation.go_to("data")


_LISTED = 300  # candidates of the frontier that the box lists; any other is typed


def candidate(
    study: Study,
    view: RiskUtilityMap,
    label: str,
    current: str | None,
    *,
    key: str,
    leave_out: Collection[str] = (),
) -> str | None:
    """The label of the candidate picked; None while there is none, or where what was typed is no candidate.

    Pins stand first, then the frontier from safe to useful; every other candidate can be typed by its id.
    """
    named = {option.label: option.name for option in pins(study)}
    letters = {view.scenarios[index].label: letter for letter, index in letters_of(study, view)}
    frontier = [view.scenarios[index].label for index in view.frontier()[:_LISTED].tolist()]
    own = [current] if current else []
    options = [option for option in dict.fromkeys((*own, *named, *frontier)) if option not in leave_out]

    def words(label: str) -> str:
        try:
            scenario, _ = study.find(label)
        except EngineError:
            return label
        name = f" “{named[label]}”" if named.get(label) else ""
        letter = f"{letters[label]} · " if label in letters else ""
        return f"{letter}{text.swap_short(scenario.spec)}{name} ({label})"

    shown = {option: words(option) for option in options}
    picked = st.selectbox(
        label,
        options,
        index=options.index(current) if current in options else None,
        format_func=lambda option: shown.get(option, option),
        accept_new_options=True,
        placeholder="choose from the frontier, or type an id",
        key=key,
        width=720,
    )
    if not picked:
        return None
    # the id in what was typed, or in an option's words as they were before its letter changed
    typed = picked.strip().removesuffix(")").rpartition("(")[2].split("/")[0]
    lettered = {letter: option for option, letter in letters.items()}
    try:
        return study.find(lettered.get(picked.strip().upper(), typed))[0].label
    except EngineError as error:
        elements.show_error(error)
        return None


_TRIED = ("bound", "slope")
WITHHELD = (
    "it was decided to release nothing, so nothing is recommended; a new recommendation on the page Decide begins "
    "again as a draft"
)
"""Why no candidate is recommended once it was decided to release nothing."""


@dataclass(frozen=True)
class Rule:
    """The rule in force: a ``bound`` on risk (a loss) or a ``slope``, the ``index`` of the scenario that it
    picks or that is recorded (``recorded`` says which), and the ``letters`` of the study; ``words`` say why that one,
    ``trouble`` why none."""

    bound: float | None = None
    slope: float | None = None
    index: int | None = None
    letters: tuple[tuple[str, int], ...] = ()
    words: str = ""
    trouble: str = ""
    recorded: bool = False

    @property
    def tried(self) -> bool:
        """Return whether a rule that is not the plan's picks another candidate than A."""
        return state.get().look.rule in _TRIED and dict(self.letters).get("A") != self.index

    def letter_of(self, index: int | None) -> str:
        """A candidate's letter; empty where it has none."""
        return next((letter for letter, other in self.letters if other == index), "")


def form_key(name: str, study: Study, status: DecisionStatus) -> str:
    """The key of an input of a recommendation: after each step that is recorded it is another, empty one."""
    return f"recommend-{name}-{len(study.choices.all())}-{status.state}"


def draft(study: Study, rule_in_force: Rule, index: int) -> None:
    """Fill in the recommendation of the scenario ``index``: by the rule in force where that picks it, else by name."""
    look = state.get().look
    by_hand = index != rule_in_force.index or rule_in_force.recorded or look.rule == "none"
    state.set_input(form_key("rule", study, decision_status(study)), "hand" if by_hand else look.rule)
    if not by_hand and look.rule in _TRIED:
        state.set_input(f"recommend-{look.rule}", getattr(look, look.rule))


def planned(study: Study, view: RiskUtilityMap) -> tuple[float | None, float | None]:
    """Bound and slope of the plan, where it has one and the map is under the measures it is about."""
    decision = study.plan.decision
    try:
        risk, utility = objective_indices(study)
    except EngineError:
        return None, None
    if view.risk != risk or (decision.slope is not None and view.utility != utility):
        return None, None
    bound, slope = (None if value is None else float(value) for value in (decision.max_risk, decision.slope))
    return bound, slope


def rule(study: Study, view: RiskUtilityMap, look: Look) -> Rule:
    """The rule in force under a look: a recorded recommendation, or the decision to release nothing, stands until
    another rule is tried."""
    status, tried = decision_status(study), _rule(study, view, look)
    choice = status.choice
    if choice is not None and look.rule == "plan":
        index, slope = study.find(choice.label)[0].index, slope_of(study, choice.record)
        if slope is not None and objective_indices(study, *measures_of(study, choice)) != (view.risk, view.utility):
            slope = None  # the map is under other measures than those that the slope is about
        tried = Rule(tried.bound, tried.slope, index, words=choice.rule + _doubt(view, index, slope), recorded=True)
    if status.state == "withheld" and look.rule not in _TRIED:
        tried = Rule(tried.bound, tried.slope, trouble=WITHHELD)
    return replace(tried, letters=letters_of(study, view, look))


def letters_of(study: Study, view: RiskUtilityMap, look: Look | None = None) -> tuple[tuple[str, int], ...]:
    """The letters of a study: A is what is recommended, the others its neighbours.

    They belong to the recorded recommendation; before there is one, to what a rule that is tried on the map picks, else
    to what the plan's rule picks.  They rest on the measures of that recommendation, whichever the map shows, so that a
    letter means one candidate on every page, on the board and in the memo.  None before anything is recommended.
    """
    status, look = decision_status(study), look or state.get().look
    choice = status.choice
    tried = look if choice is None and look.rule in _TRIED else None
    if status.state == "withheld" and tried is None:
        return ()
    depends_on = choice and (choice.label, choice.at), tried and (tried.rule, tried.bound, tried.slope)
    key = (id(view), study.plan.decision, *depends_on)
    return state.get().memo.get("letters", key, lambda: _letters(study, view, choice, tried))


def _letters(
    study: Study, view: RiskUtilityMap, choice: Choice | None, tried: Look | None
) -> tuple[tuple[str, int], ...]:
    plan = study.plan.decision
    if tried is not None:
        picked = _rule(study, view, tried).index
        return () if picked is None else tuple(lettered(view, picked).items())
    if choice is None and plan.max_risk is None and plan.slope is None:
        return ()
    try:
        chosen = measures_of(study, choice)
        same = objective_indices(study, *chosen) == (view.risk, view.utility)
        here = view if same else remapped(study, view, *chosen)
        indices = planned_indices(study, here) if choice is None else [study.find(choice.label)[0].index]
    except EngineError:  # the plan's rule picks nothing, or rests on a measure that was not run
        return ()
    return tuple(lettered(here, indices[0]).items())


def _doubt(view: RiskUtilityMap, index: int, slope: float | None) -> str:
    """The words that follow those of a slope by which doing nothing is better; nothing elsewhere."""
    beaten = None if slope is None else beaten_by_original(view, index, slope)
    return f". {words(beaten)}" if beaten else ""


def _rule(study: Study, view: RiskUtilityMap, look: Look) -> Rule:
    bound = look.bound if look.rule == "bound" else None
    slope = look.slope if look.rule == "slope" else None
    if look.rule == "plan":
        bound, slope = planned(study, view)
    if bound is None and slope is None:
        return Rule()
    is_planned = look.rule == "plan"
    try:
        if bound is not None:
            index = view.under_bound(bound)
            shown = figure_words(view.measures[view.risk], drawing.value_of(view, view.risk, bound))
            whose = "the plan's limit" if is_planned else "a limit that is tried here, not the plan's,"
            why = f"the most useful within {whose} α = {shown}"
        else:
            assert slope is not None
            index = view.by_slope(slope)[0]
            source = "the plan's" if is_planned else "tried here, not the plan's"
            why = f"best at {text.figure(slope)} of risk per unit of utility ({source}){_doubt(view, index, slope)}"
    except EngineError as error:
        return Rule(bound, slope, trouble=text.error_text(error))
    return Rule(bound, slope, index, words=why)
