"""The run of a scenario that is meant wherever one run is shown, measured or exported."""

from __future__ import annotations

from engine.decision.states import decision_status
from engine.release.scenarios import Results
from engine.study.map_reader import planned_risk, realisation_of
from engine.study.study import Study


def meant_run(
    study: Study,
    index: int,
    risk: int | None = None,
    *,
    bound: float | None = None,
    runs: Results | None = None,
    allow_partial: bool = False,
) -> int:
    """Return the replicate that is meant by a scenario (its index) alone.

    That is the run of the recommendation that stands, where it is of this scenario: its own bound picked it.  Otherwise
    it is the run that the plan's rule releases under a risk measure (its column; by default the plan's) and a ``bound``
    that is tried.  ``runs`` are those of the scenario, where they are at hand.
    """
    choice = decision_status(study).choice
    if bound is None and choice is not None and choice.label == study.scenarios[index].label:
        return choice.replicate
    return realisation_of(
        study,
        study.runs.of([index]) if runs is None else runs,
        index,
        planned_risk(study) if risk is None else risk,
        bound=bound,
        allow_partial=allow_partial,
    )
