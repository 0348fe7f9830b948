"""The swap of survey records between targets and partners: what is usually tried, and which attributes may change."""

from __future__ import annotations

from engine.data.microdata import Microdata
from engine.plan.mechanism import MechanismPlan
from engine.plan.places import household_attributes, suggested_places
from engine.plan.types import Plan

SURVEY_SWAP = "survey_swap"
"""The mechanism that swaps targets of a survey with partners of near weight."""
_RATES = ("0.01", "0.025", "0.05")  # of targets; twice as many records are perturbed
_MOST_EXCHANGED = 2  # attributes that partners usually exchange; more make cells too small to tell near ones


def personal_attributes(plan: Plan, data: Microdata) -> tuple[str, ...]:
    """Attributes that partners may exchange: all but those that members of each household share, where some household
    has several members; the plan's keys that may be swapped come first."""
    units = data.units
    in_households = units is not None and len(units) < data.n_records
    shared = household_attributes(data, ()) if in_households else ()
    able = [name for name in plan.names if name not in shared]
    first = [name for name in able if name in plan.keys and name in plan.swap_candidates]
    return (*first, *(name for name in able if name not in first))


def usual_survey_swap(plan: Plan, data: Microdata) -> MechanismPlan:
    """The survey swap with the grid that is tried where nobody says otherwise: within the coarsest place that the
    records suggest, if any, partners exchange the first personal attributes that are no places."""
    places = suggested_places(data.raw, plan, data.unit)
    able = [name for name in personal_attributes(plan, data) if name not in places]
    grid: dict[str, object] = {"rate": list(_RATES), "swap": "+".join(able[:_MOST_EXCHANGED])}
    if places:
        grid["boundary"] = places[0]
    return MechanismPlan.of(SURVEY_SWAP, grid)
