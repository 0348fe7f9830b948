"""Obstacles to the release of one run, a typed value each, and their words.

A bound on the mean does not bind the one run that is released.  So the run itself must meet the bound and be less risky
than the data unchanged, its scenario must have enough runs, and fresh runs must confirm the figure.  A recorded reason
can overrule an obstacle; the memo then prints both on its first page.  No reason overrules that the run changes
nothing: the file would be the original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial

import numpy as np

from engine.decision.bound_words import with_share
from engine.frontier.chance import (
    ShareWithin,
    fresh_runs_needed,
    is_safer,
    run_quantiles,
    runs_needed,
    share_within,
)
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.release.results import Results


class ObstacleKind(StrEnum):
    """A kind of obstacle to the release of a run."""

    RUN_CHANGES_NOTHING = "run changes nothing"
    RUN_WITHOUT_FIGURE = "run without a figure"
    RUN_ABOVE_BOUND = "run above the bound"
    RUN_NOT_SAFER = "run not safer than the original"
    TOO_FEW_RUNS = "too few runs"
    TOO_RARELY_WITHIN = "runs too rarely within the bound"
    MEAN_NOT_SAFER = "mean not safer than the original"
    MEAN_ABOVE_BOUND = "mean above the bound"
    FRESH_ABOVE_BOUND = "fresh mean above the bound"
    FRESH_TOO_RARELY_WITHIN = "fresh runs too rarely within the bound"
    TOO_FEW_FRESH_RUNS = "too few fresh runs"
    FRESH_UNSETTLED = "fresh runs do not settle the share"


@dataclass(frozen=True)
class Obstacle:
    """One obstacle with its figures; a field that its kind does not need is empty.

    ``measure`` is the title of the risk measure within a sentence, ``value`` its figure, ``limit`` what that must not
    exceed, both a share of ``share_of`` where they are shares. ``share`` tells how many runs meet the bound,
    ``probability`` which share must; ``runs`` of ``needed`` were made.
    """

    kind: ObstacleKind
    measure: str = ""
    value: float = np.nan
    limit: float = np.nan
    share_of: str = ""
    share: ShareWithin | None = None
    runs: int = 0
    needed: int = 0
    probability: Fraction | None = None


_TEXTS = {
    ObstacleKind.RUN_CHANGES_NOTHING: "the run to be released changes nothing: its rows are those of the original,"
    " which no reason can overrule",
    ObstacleKind.RUN_WITHOUT_FIGURE: "the run to be released has no {measure}: its figure is undefined",
    ObstacleKind.RUN_ABOVE_BOUND: "the run to be released has a {measure} of {value:.5g}, above the bound {most}",
    ObstacleKind.RUN_NOT_SAFER: "the run to be released has a {measure} of {value:.5g}, no less than the {limit:.5g} of"
    " the data unchanged",
    ObstacleKind.TOO_FEW_RUNS: "it has {runs} runs that count, and a choice needs {needed}",
    ObstacleKind.TOO_RARELY_WITHIN: "{within} meet the bound {most}, fewer than the {asked} that the plan asks for",
    ObstacleKind.MEAN_NOT_SAFER: "its mean {measure}, {value:.5g}, is no less than the {limit:.5g} of the data"
    " unchanged: a safer run is luck",
    ObstacleKind.MEAN_ABOVE_BOUND: "its mean {measure}, {value:.5g}, is above the bound {most}",
    ObstacleKind.FRESH_ABOVE_BOUND: "on fresh runs its mean {measure} is {value:.5g}, above the bound {most}",
    ObstacleKind.FRESH_TOO_RARELY_WITHIN: "of the fresh runs only {within} meet the bound {most}, clearly fewer than"
    " the {asked} that the plan asks for (add runs with an adaptive sweep until the choice is settled, and choose"
    " again)",
    ObstacleKind.TOO_FEW_FRESH_RUNS: "it has {runs} fresh runs, and {needed} are needed to tell whether {asked} of all"
    " runs meet the bound {most}",
    ObstacleKind.FRESH_UNSETTLED: "{within} meet the bound {most} on fresh replicates, which does not tell whether"
    " {asked} of all runs do (add fresh runs)",
}


def obstacle_text(obstacle: Obstacle) -> str:
    """Return an obstacle for the analyst, in one sentence with its figures."""
    within = "" if obstacle.share is None else share_words(obstacle.share)
    asked = "" if obstacle.probability is None else percent(obstacle.probability)
    most = with_share(obstacle.limit, obstacle.share_of)
    return _TEXTS[obstacle.kind].format(**vars(obstacle), within=within, asked=asked, most=most)


def percent(share: Fraction | float) -> str:
    """Return a share in per cent, such as ``90 %``."""
    return f"{float(100 * share):.3g} %"


def share_words(share: ShareWithin) -> str:
    """Return how many runs are within a bound, with the limits of the share of all runs that are."""
    return f"{share.within} of {share.runs} runs (95 % interval {float(100 * share.low):.3g} to {percent(share.high)})"


def counted_losses(view: RiskUtilityMap, runs: Results) -> np.ndarray:
    """Return the figures of the map's risk measure in the runs that count, turned so that smaller is better."""
    loss = view.measures[view.risk].measure.loss(runs.values[runs.counted(view.allow_partial), view.risk])
    return np.asarray(loss, float)


@dataclass(frozen=True)
class ReleasedRun:
    """The run to be released among the runs of its scenario, under the map's risk measure as a loss.

    It takes the ``place`` (1 is the least risky; equal runs share the better one) ``of`` so many runs that count and
    has the figure ``value``, which ``as_safe`` of them have, itself among them; ``mean`` is that of all.  ``quantile``
    is what the share ``probability`` of the runs does not exceed; None where a bound is on the mean.  ``share`` tells
    how many runs meet the ``bound``, a share of ``share_of`` where it is one; both None without.
    """

    place: int
    of: int
    value: float
    mean: float
    quantile: float | None
    probability: Fraction | None
    bound: float | None
    share: ShareWithin | None
    as_safe: int
    share_of: str = ""


def released_run_text(run: ReleasedRun) -> str:
    """Return where a run stands, for the analyst: its place, and how many of its siblings meet the bound."""
    text = f"the run to be released is number {run.place} of {run.of} from the safest"
    if run.share is None or run.bound is None:
        return text
    return f"{text}; {share_words(run.share)} meet the bound {with_share(run.bound, run.share_of)}"


def released_run(
    view: RiskUtilityMap, runs: Results, row: int, *, bound: float | None, probability: Fraction | None
) -> ReleasedRun:
    """Return where the run ``row`` stands among ``runs``, those of one scenario; ``bound`` and ``probability`` are as
    in :func:`obstacles`."""
    losses = counted_losses(view, runs)
    value = float(view.measures[view.risk].measure.loss(runs.values[row : row + 1, view.risk])[0])
    quantile = None
    if probability is not None:
        quantile = float(run_quantiles(losses, np.zeros(len(losses), np.int64), 1, probability).quantile[0])
    return ReleasedRun(
        place=1 + int(np.count_nonzero(losses < value)),
        of=len(losses),
        value=value,
        mean=float(losses.mean()) if len(losses) else np.nan,
        quantile=quantile,
        probability=probability,
        bound=bound,
        share=None if bound is None else share_within(losses, bound),
        as_safe=int(np.count_nonzero(losses == value)),
        share_of=view.measures[view.risk].measure.share_of,
    )


def obstacles(
    view: RiskUtilityMap,
    runs: Results,
    row: int,
    *,
    bound: float | None,
    probability: Fraction | None,
    fresh: Results | None = None,
) -> list[Obstacle]:
    """Return what stands against releasing the run ``row`` of ``runs``, the runs of one scenario.

    ``bound`` is in the units of the map's risk measure turned so that smaller is better; None where no bound was set.
    ``probability`` is the share of runs that must meet it; None where the bound is on the mean.  ``fresh`` are the
    scenario's fresh runs.
    """
    measure = view.measures[view.risk].measure
    about = partial(Obstacle, measure=measure.title.lower(), share_of=measure.share_of)
    run = released_run(view, runs, row, bound=bound, probability=probability)
    original = float(view.original_losses[view.risk])
    standing = [Obstacle(ObstacleKind.RUN_CHANGES_NOTHING)] if runs.is_void(row) else []
    standing += _of_the_run(about, run.value, bound, original)
    if not np.isnan(run.mean) and not np.isnan(original) and not is_safer(np.array(run.mean), original):
        standing.append(about(ObstacleKind.MEAN_NOT_SAFER, value=run.mean, limit=original))
    needed = runs_needed(probability if probability is not None else Fraction(1, 2))
    if run.of < needed:
        standing.append(Obstacle(ObstacleKind.TOO_FEW_RUNS, runs=run.of, needed=needed))
    if bound is None or run.share is None:
        return standing
    if probability is None:
        if not run.mean <= bound:
            standing.append(about(ObstacleKind.MEAN_ABOVE_BOUND, value=run.mean, limit=bound))
    elif run.share.within < probability * run.of:
        kind = ObstacleKind.TOO_RARELY_WITHIN
        standing.append(about(kind, limit=bound, share=run.share, probability=probability))
    again = np.zeros(0) if fresh is None else counted_losses(view, fresh)
    return standing + _of_fresh_runs(about, again, bound, probability)


def _of_the_run(about: Callable[..., Obstacle], value: float, bound: float | None, original: float) -> list[Obstacle]:
    """Return the obstacles of the run itself; data unchanged whose risk is undefined (NaN) set no limit."""
    if np.isnan(value):
        return [about(ObstacleKind.RUN_WITHOUT_FIGURE)]
    standing = []
    if bound is not None and value > bound:
        standing.append(about(ObstacleKind.RUN_ABOVE_BOUND, value=value, limit=bound))
    if not np.isnan(original) and not is_safer(np.array(value), original):
        standing.append(about(ObstacleKind.RUN_NOT_SAFER, value=value, limit=original))
    return standing


def _of_fresh_runs(
    about: Callable[..., Obstacle], losses: np.ndarray, bound: float, probability: Fraction | None
) -> list[Obstacle]:
    """Return the obstacles that fresh runs raise: a mean above the bound, and a share of runs within it that is refuted
    (its upper limit is below the ``probability``), rests on too few runs, or is not settled; none without runs."""
    standing = []
    if len(losses) and float(losses.mean()) > bound:
        standing.append(about(ObstacleKind.FRESH_ABOVE_BOUND, value=float(losses.mean()), limit=bound))
    if probability is None or not len(losses):
        return standing
    share, needed = share_within(losses, bound), fresh_runs_needed(probability)
    if share.high < probability:
        kind = ObstacleKind.FRESH_TOO_RARELY_WITHIN
    elif share.runs < needed:
        kind = ObstacleKind.TOO_FEW_FRESH_RUNS
    elif not share.settled(probability):
        kind = ObstacleKind.FRESH_UNSETTLED
    else:
        return standing
    found = about(kind, limit=bound, share=share, runs=share.runs, needed=needed, probability=probability)
    return [*standing, found]
