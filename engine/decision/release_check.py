"""What stands against releasing one run: obstacles to a submission, one typed value each, and their words.

A bound on the mean does not bind the one run that is released.  So the run itself must meet the bound and be less risky
than the data unchanged, its scenario must have enough runs, and fresh runs must confirm the figure.  A recorded reason
can overrule an obstacle; the memo then prints both on its first page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from engine.frontier.chance import ShareWithin, runs_needed, share_within
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import Measure
from engine.release.results import Results


class ObstacleKind(StrEnum):
    """What stands against the release of a run."""

    RUN_WITHOUT_FIGURE = "run without a figure"
    RUN_ABOVE_BOUND = "run above the bound"
    RUN_NOT_SAFER = "run not safer than the original"
    TOO_FEW_RUNS = "too few runs"
    TOO_RARELY_WITHIN = "runs too rarely within the bound"
    MEAN_ABOVE_BOUND = "mean above the bound"
    FRESH_ABOVE_BOUND = "fresh mean above the bound"


@dataclass(frozen=True)
class Obstacle:
    """One obstacle with its figures; a field that its kind does not need is empty.

    ``measure`` is the title of the risk measure within a sentence, ``value`` its figure, ``limit`` what that must not
    exceed.  ``within`` of ``runs`` runs meet the bound, or ``runs`` of ``needed`` were made; ``probability`` is the
    share of runs that must meet the bound.
    """

    kind: ObstacleKind
    measure: str = ""
    value: float = np.nan
    limit: float = np.nan
    within: int = 0
    runs: int = 0
    needed: int = 0
    probability: Fraction | None = None


_TEXTS = {
    ObstacleKind.RUN_WITHOUT_FIGURE: "the run to be released has no {measure}: its figure is undefined",
    ObstacleKind.RUN_ABOVE_BOUND: "the run to be released has a {measure} of {value:.5g}, above the bound {limit:g}",
    ObstacleKind.RUN_NOT_SAFER: "the run to be released has a {measure} of {value:.5g}, no less than the {limit:.5g} of"
    " the data unchanged",
    ObstacleKind.TOO_FEW_RUNS: "it has {runs} runs that count, and a choice needs {needed}",
    ObstacleKind.TOO_RARELY_WITHIN: "{within} of {runs} runs meet the bound {limit:g}, fewer than the {share} that the"
    " plan asks for",
    ObstacleKind.MEAN_ABOVE_BOUND: "its mean {measure}, {value:.5g}, is above the bound {limit:g}",
    ObstacleKind.FRESH_ABOVE_BOUND: "on fresh runs its mean {measure} is {value:.5g}, above the bound {limit:g}",
}


def obstacle_text(obstacle: Obstacle) -> str:
    """Return an obstacle for the analyst, in one sentence with its figures."""
    share = "" if obstacle.probability is None else f"{float(100 * obstacle.probability):g} %"
    return _TEXTS[obstacle.kind].format(**vars(obstacle), share=share)


def obstacles(
    view: RiskUtilityMap,
    runs: Results,
    row: int,
    *,
    bound: float | None,
    probability: Fraction | None,
    fresh: Mapping[str, Any] | None = None,
) -> list[Obstacle]:
    """Return what stands against releasing the run ``row`` of ``runs``, the runs of one scenario.

    ``bound`` is in the units of the map's risk measure turned so that smaller is better; None where no bound was set.
    ``probability`` is the share of runs that must meet it; None where the bound is on the mean.  ``fresh`` are the
    means over fresh runs by measure.
    """
    call = view.measures[view.risk]
    measure, title = call.measure, call.measure.title.lower()
    counted = runs.counted(view.allow_partial)
    risk = np.asarray(measure.loss(runs.values[:, view.risk]), float)
    original = float(view.original_losses[view.risk])
    found = _of_the_run(float(risk[row]), title, bound, original)
    needed = runs_needed(probability if probability is not None else Fraction(1, 2))
    if (made := int(counted.sum())) < needed:
        found.append(Obstacle(ObstacleKind.TOO_FEW_RUNS, runs=made, needed=needed))
    if bound is None:
        return found
    if probability is None:
        mean = float(risk[counted].mean()) if made else np.nan
        if not mean <= bound:
            found.append(Obstacle(ObstacleKind.MEAN_ABOVE_BOUND, title, mean, bound))
    else:
        share = share_within(risk[counted], bound)
        if share.within < probability * share.runs:
            found.append(_too_rare(title, share, bound, probability))
    if fresh and (again := _fresh_loss(fresh, str(call), measure)) is not None and again > bound:
        found.append(Obstacle(ObstacleKind.FRESH_ABOVE_BOUND, title, again, bound))
    return found


def _of_the_run(value: float, title: str, bound: float | None, original: float) -> list[Obstacle]:
    """Return the obstacles of the run itself; data unchanged whose risk is undefined (NaN) set no limit."""
    if np.isnan(value):
        return [Obstacle(ObstacleKind.RUN_WITHOUT_FIGURE, title)]
    found = []
    if bound is not None and value > bound:
        found.append(Obstacle(ObstacleKind.RUN_ABOVE_BOUND, title, value, bound))
    if value >= original:
        found.append(Obstacle(ObstacleKind.RUN_NOT_SAFER, title, value, original))
    return found


def _too_rare(title: str, share: ShareWithin, bound: float, probability: Fraction) -> Obstacle:
    return Obstacle(
        ObstacleKind.TOO_RARELY_WITHIN,
        title,
        limit=bound,
        within=share.within,
        runs=share.runs,
        probability=probability,
    )


def _fresh_loss(fresh: Mapping[str, Any], name: str, measure: Measure) -> float | None:
    """Return the mean over fresh runs as a loss; None where it is undefined."""
    mean = fresh.get(name, {}).get("mean")
    return None if mean is None else float(measure.loss(np.array([float(mean)]))[0])
