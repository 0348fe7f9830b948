"""A straight trade-off between risk and utility: its words, and whether the unaltered data are better by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.common.wording import lower_first
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.study.study import Study


@dataclass(frozen=True)
class BeatenByOriginal:
    """By the slope that picks a candidate, the unaltered data are better: the weighted sum of each.

    The sum is risk + slope × loss of utility, or the loss of utility alone where the slope is infinite
    (``utility_only``).
    """

    candidate: float
    original: float
    utility_only: bool


def slope_words(view: RiskUtilityMap, slope: float) -> str:
    """The rule of a straight trade-off in words: which measures it is about, by their titles."""
    risk, utility = (_measure_words(view.measures[k]) for k in (view.risk, view.utility))
    return f"best on the straight line of slope {slope:g} between {risk} and {utility}"


def _measure_words(call: MeasureCall) -> str:
    """A measure's title within a sentence, with the parameters that are not the usual ones."""
    usual = call.measure.parameters
    parts = [f"{key.replace('_', ' ')} {value}" for key, value in call.parameters if value != usual[key]]
    parts += ["of " + " × ".join(call.attributes)] if call.attributes is not None else []
    title = ("size of " if call.measure.better == "zero" else "") + lower_first(call.measure.title)
    return title + (f" ({', '.join(parts)})" if parts else "")


def slope_of(study: Study, record: Mapping[str, Any]) -> float | None:
    """The slope that a recorded choice rests on: its own, or that of the plan whose rule picks it; None without one."""
    own, planned = record.get("slope"), study.plan.decision.slope
    if own is None and planned is not None and record.get("planned") is True:
        own = planned
    return None if own is None else float(own)


def beaten_by_original(view: RiskUtilityMap, index: int, slope: float) -> BeatenByOriginal | None:
    """Compare a scenario with the unaltered data by a straight trade-off; None where the scenario is as good."""
    sums = view.beaten_by_original(index, slope)
    return None if sums is None else BeatenByOriginal(*sums, utility_only=slope == np.inf)


def beaten_text(beaten: BeatenByOriginal) -> str:
    """For the analyst: that doing nothing is better, with both sums, to the digits in which they differ."""
    sums = (beaten.candidate, beaten.original)
    digits = next((n for n in (4, 6, 9) if len({f"{total:.{n}g}" for total in sums}) == 2), 17)
    candidate, original = (f"{total:.{digits}g}" for total in sums)
    scale = "loss of utility" if beaten.utility_only else "risk + slope × loss of utility"
    return (
        f"by the slope that picks it, doing nothing is better: {scale} is {candidate} for it and {original} for the"
        " data unchanged"
    )
