"""Which candidate is recommended, and by which rule: the plan's own, or one that is tried on the map."""

from __future__ import annotations

from dataclasses import dataclass

from engine.decision import RiskUtilityMap, objective_places
from engine.errors import EngineError
from engine.neighbours import lettered
from engine.study import Study
from frontier_app import drawing, text
from frontier_app.state import Look


@dataclass(frozen=True)
class Rule:
    """The rule in force: a ``bound`` on risk (a loss) or a ``slope``, the ``place`` it picks, and ``letters`` of that
    and its neighbours; ``words`` say where it comes from, ``trouble`` why it picks nothing."""

    bound: float | None = None
    slope: float | None = None
    place: int | None = None
    letters: tuple[tuple[str, int], ...] = ()
    words: str = ""
    trouble: str = ""

    @property
    def letter(self) -> str:
        """The letter of what is recommended."""
        return next((letter for letter, place in self.letters if place == self.place), "")

    def letter_of(self, place: int) -> str:
        """A candidate's letter; empty where it has none."""
        return next((letter for letter, other in self.letters if other == place), "")


def planned(study: Study, view: RiskUtilityMap) -> tuple[float | None, float | None]:
    """Bound and slope of the plan, where it has one and the map is under the measures it is about."""
    decision = study.plan.decision
    try:
        risk, utility = objective_places(study)
    except EngineError:
        return None, None
    if view.risk != risk or (decision.slope is not None and view.utility != utility):
        return None, None
    bound, slope = (None if value is None else float(value) for value in (decision.max_risk, decision.slope))
    return bound, slope


def rule(study: Study, view: RiskUtilityMap, look: Look) -> Rule:
    """The rule in force under a look."""
    bound, slope = {
        "plan": planned(study, view),
        "bound": (look.bound, None),
        "slope": (None, look.slope),
        "none": (None, None),
    }[look.rule]
    if bound is None and slope is None:
        return Rule()
    source = "the plan's" if look.rule == "plan" else "tried here, not the plan's"
    try:
        if bound is not None:
            place = view.under_bound(bound)
            shown = text.figure(drawing.value_of(view, view.risk, bound))
            words = f"the most useful within α = {shown} ({source})"
        else:
            assert slope is not None
            place = view.by_slope(slope)[0]
            words = f"best at {text.figure(slope)} of risk per unit of utility ({source})"
    except EngineError as error:
        return Rule(bound, slope, trouble=str(error))
    return Rule(bound, slope, place, tuple(lettered(view, place).items()), words)
