"""The recommended candidate, as recorded or as a rule picks it, and the letters of it and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.common.errors import EngineError
from engine.decision.bound_words import figure_words
from engine.decision.choice import measures_of, planned_indices
from engine.decision.gate import beaten_by_original, slope_of
from engine.decision.statements import words
from engine.decision.states import decision_status
from engine.frontier.neighbours import lettered
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.release.scenarios import Choice
from engine.study.map_reader import objective_indices, remapped
from engine.study.study import Study
from frontier_app.charts import candidate_map as drawing
from frontier_app.session import state
from frontier_app.session.state import Look
from frontier_app.wording import remedies, text

_TRIED = ("bound", "slope")
WITHHELD = (
    "it was decided to release nothing, so nothing is recommended; a new recommendation on the page Recommend begins "
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
    def letter(self) -> str:
        """The letter of what the rule picks; empty where it has none."""
        return "" if self.index is None else self.letter_of(self.index)

    def letter_of(self, index: int) -> str:
        """A candidate's letter; empty where it has none."""
        return next((letter for letter, other in self.letters if other == index), "")


def drafted(rule_in_force: Rule, index: int) -> dict[str, Any]:
    """Entries of a recommendation of the scenario ``index`` that is about to be written: the rule in force where that
    picks it, else that somebody named it."""
    look = state.get().look
    if index != rule_in_force.index or rule_in_force.recorded or look.rule == "none":
        return {"rule": "hand"}
    return {"rule": look.rule} if look.rule == "plan" else {name: getattr(look, name) for name in ("rule", look.rule)}


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
    status = decision_status(study)
    choice = status.choice
    tried = _rule(study, view, look)
    if choice is not None and look.rule == "plan":
        index = study.find(choice.label)[0].index
        why = choice.rule + _doubt(view, index, _recorded_slope(study, view, choice))
        tried = Rule(tried.bound, tried.slope, index, words=why, recorded=True)
    if status.state == "withheld" and look.rule not in _TRIED:
        tried = Rule(tried.bound, tried.slope, trouble=WITHHELD)
    return replace(tried, letters=letters(study, view, look))


def letters(study: Study, view: RiskUtilityMap, look: Look | None = None) -> tuple[tuple[str, int], ...]:
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


def _recorded_slope(study: Study, view: RiskUtilityMap, choice: Choice) -> float | None:
    """The slope of a recorded choice, where the map is under the measures that it is about."""
    slope = slope_of(study, choice.record)
    if slope is None or objective_indices(study, *measures_of(study, choice)) != (view.risk, view.utility):
        return None
    return slope


def _doubt(view: RiskUtilityMap, index: int, slope: float | None) -> str:
    """The words that follow those of a slope by which doing nothing is better; nothing elsewhere."""
    beaten = None if slope is None else beaten_by_original(view, index, slope)
    return f". {words(beaten)}" if beaten else ""


def _rule(study: Study, view: RiskUtilityMap, look: Look) -> Rule:
    bound, slope = {
        "plan": planned(study, view),
        "bound": (look.bound, None),
        "slope": (None, look.slope),
        "none": (None, None),
    }[look.rule]
    if bound is None and slope is None:
        return Rule()
    is_planned = look.rule == "plan"
    try:
        if bound is not None:
            index = view.under_bound(bound)
            shown = figure_words(view.measures[view.risk], drawing.value_of(view, view.risk, bound))
            whose = "the plan's bound" if is_planned else "a bound that is tried here, not the plan's,"
            why = f"the most useful within {whose} α = {shown}"
        else:
            assert slope is not None
            index = view.by_slope(slope)[0]
            source = "the plan's" if is_planned else "tried here, not the plan's"
            why = f"best at {text.figure(slope)} of risk per unit of utility ({source}){_doubt(view, index, slope)}"
    except EngineError as error:
        return Rule(bound, slope, trouble=remedies.error_text(error))
    return Rule(bound, slope, index, words=why)
