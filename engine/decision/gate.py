"""Obstacles and cautions of one run that is to be released, as statements.

A limit on the mean does not bind the one run that is released.  So the run itself must meet the limit and be less risky
than the unaltered file, its scenario must have enough runs, and fresh runs must confirm the figure.  A recorded reason
can overrule an obstacle; page 1 then prints both.  No reason overrules that the run changes nothing: the file would be
the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from engine.common.wording import lower_first
from engine.decision.statements import Statement, statement
from engine.decision.verdict_log import logged_verdict, why_not_made
from engine.frontier.choosing import (
    ShareWithin,
    fresh_runs_needed,
    is_safer,
    run_quantiles,
    runs_needed,
    share_within,
)
from engine.frontier.risk_utility_map import RiskUtilityMap, over_limits
from engine.frontier.summary import believed_errors
from engine.release.scenarios import Results, RunStatus
from engine.study.ledger import BoundOrigin, bound_origin
from engine.study.map_reader import risk_bound
from engine.study.study import Study

FAR_ABOVE_RATE = 2.0
"""Times the share of altered records of all from which on that of a group is far above it."""


def counted_losses(view: RiskUtilityMap, runs: Results) -> np.ndarray:
    """Return the figures of the map's risk measure in the runs that count, turned so that smaller is better."""
    loss = view.measures[view.risk].measure.loss(runs.values[runs.counted(view.allow_partial), view.risk])
    return np.asarray(loss, float)


def _held(view: RiskUtilityMap, runs: Results, losses: np.ndarray) -> np.ndarray:
    """Return the losses of the runs that count, infinite where a run is over a limit of an edit rule."""
    return np.where(over_limits(runs.values[runs.counted(view.allow_partial)], view.edit_limits), np.inf, losses)


@dataclass(frozen=True)
class ReleasedRun:
    """The run to be released among the runs of its scenario, under the map's risk measure as a loss.

    It takes the ``place`` (1 is the least risky; equal runs share the better one) ``of`` so many runs that count and
    has the figure ``value``, which ``as_safe`` of them have, itself among them; ``mean`` is that of all.  ``quantile``
    is what the share ``asked`` of the runs does not exceed; None where a limit is on the mean.  ``share`` is that of
    runs that meet the limit; None without one.
    """

    place: int
    of: int
    value: float
    mean: float
    quantile: float | None
    share: ShareWithin | None
    as_safe: int
    asked: float | None = None

    @property
    def statements(self) -> list[Statement]:
        """The place of the run, and how many of its siblings meet the limit."""
        place = statement("run_place", place=self.place, of=self.of, as_safe=self.as_safe)
        if self.share is None:
            return [place]
        return [place, statement("runs_within", fresh=False, **self.share._asdict(), asked=self.asked)]


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
        share=None if bound is None else share_within(_held(view, runs, losses), bound),
        as_safe=int(np.count_nonzero(losses == value)),
        asked=None if probability is None else float(probability),
    )


def gate(study: Study, view: RiskUtilityMap, runs: Results, row: int, record: Mapping[str, Any]) -> list[Statement]:
    """Return the obstacles to releasing the run ``row`` of ``runs``, those of one scenario, and then the cautions about
    its choice, which ``record`` holds."""
    index = int(runs.scenario[row])
    bound, probability = risk_bound(study, view.risk, record.get("bound")), study.plan.decision.run_share
    fresh = study.runs.of([index], "fresh")
    standing = obstacles(view, runs, row, bound=bound, probability=probability, fresh=fresh)
    verdict = logged_verdict(study, f"{study.scenarios[index].label}/{int(runs.replicate[row])}")
    if verdict is not None and (why := why_not_made(study, verdict)):
        standing.append(statement("not_attacked", why=why))
    collected = []
    if bound is not None and view.original_losses[view.risk] <= bound:
        collected.append(_unaltered_within(view, bound))
    if record.get("bound") is not None:
        origin = bound_origin(study, float(record["bound"]))
        collected += [] if origin is BoundOrigin.FIXED else [statement("limit_set_late", origin=origin.name.lower())]
        collected += _tie(view, index, float(record["bound"]))
    slope = slope_of(study, record)
    if slope is not None and (beaten := beaten_by_original(view, index, slope)):
        collected.append(beaten)
    if record.get("planned") is False:
        collected.append(statement("off_plan"))
    if runs.status[row] == RunStatus.FAILED:
        collected.append(statement("partial_run", changed=int(runs.changed[row])))
    if bound is not None and probability is None:
        collected += _near_limit(view, index, bound)
    for k, call in enumerate(view.measures):  # without the records no group has a name
        if call.measure.name == "altered_share_max" and (share := float(view.summary.mean[index, k])) > FAR_ABOVE_RATE:
            collected.append(statement("uneven_group", group=None, times=share))
    if not len(fresh):
        collected.append(statement("not_rechecked"))
    progress = study.progress
    if progress.state != "finished":
        state = str(progress.state)
        collected.append(statement("sweep_unfinished", state=state, done=progress.done, total=progress.total))
    return standing + collected


def obstacles(
    view: RiskUtilityMap,
    runs: Results,
    row: int,
    *,
    bound: float | None,
    probability: Fraction | None,
    fresh: Results | None = None,
) -> list[Statement]:
    """Return what stands against releasing the run ``row`` of ``runs``, the runs of one scenario.

    ``bound`` is in the units of the map's risk measure turned so that smaller is better; None where no bound was set.
    ``probability`` is the share of runs that must meet it; None where the bound is on the mean.  ``fresh`` are the
    scenario's fresh runs.
    """
    run = released_run(view, runs, row, bound=bound, probability=probability)
    original = float(view.original_losses[view.risk])
    standing = [statement("changes_nothing")] if runs.is_void(row) else []
    standing += _of_the_run(view, run.value, bound, original)
    standing += [
        statement("over_edit_limit", of="run", rule=limit.rule, records=records, at_most=limit.at_most, share=None)
        for limit in view.edit_limits
        if (records := float(runs.values[row, limit.column])) > limit.at_most
    ]
    standing += over_edit_limits(view, int(runs.scenario[row]))
    if not np.isnan(run.mean) and not np.isnan(original) and not is_safer(np.array(run.mean), original):
        standing.append(_compared(view, "not_safer", "mean", run.mean, original=original))
    needed = runs_needed(probability if probability is not None else Fraction(1, 2))
    if run.of < needed:
        standing.append(statement("too_few_runs", fresh=False, runs=run.of, needed=needed))
    if bound is None or run.share is None:
        return standing
    if probability is None:
        if np.isnan(run.mean) and not np.isnan(run.value):
            standing.append(statement("no_figure", of="mean", measure=_title(view)))
        if run.mean > bound:
            standing.append(_compared(view, "over_limit", "mean", run.mean, limit=bound))
    elif run.share.within < probability * run.of:
        standing.append(statement("rarely_within", fresh=False, **run.share._asdict(), asked=float(probability)))
    if fresh is None or not len(again := counted_losses(view, fresh)):
        return standing
    return standing + _of_fresh_runs(view, again, _held(view, fresh, again), bound, probability)


def over_edit_limits(view: RiskUtilityMap, index: int) -> list[Statement]:
    """Return the limits of edit rules that a scenario is over."""
    if view.of_rules is None:
        return []
    of, share = "mean", None
    if view.single_runs is not None:
        of, share = "runs", float(view.single_runs.probability)
    return [
        statement("over_edit_limit", of=of, rule=limit.rule, records=records, at_most=limit.at_most, share=share)
        for limit, records in zip(view.edit_limits, view.of_rules[index].tolist(), strict=True)
        if records > limit.at_most
    ]


def _of_the_run(view: RiskUtilityMap, value: float, bound: float | None, original: float) -> list[Statement]:
    """Return the obstacles of the run itself; an unaltered file whose risk is undefined (NaN) sets no limit."""
    if np.isnan(value):
        return [statement("no_figure", of="run", measure=_title(view))]
    standing = []
    if bound is not None and value > bound:
        standing.append(_compared(view, "over_limit", "run", value, limit=bound))
    if not np.isnan(original) and not is_safer(np.array(value), original):
        standing.append(_compared(view, "not_safer", "run", value, original=original))
    return standing


def _of_fresh_runs(
    view: RiskUtilityMap, losses: np.ndarray, held: np.ndarray, bound: float, probability: Fraction | None
) -> list[Statement]:
    """Return the obstacles that fresh runs raise: a mean above the bound, and a share of runs within it that is refuted
    (its upper limit is below the ``probability``), rests on too few runs, or is not settled; ``held`` are the losses
    that a bound is held against."""
    standing = []
    if float(losses.mean()) > bound:
        standing.append(_compared(view, "over_limit", "fresh", float(losses.mean()), limit=bound))
    if probability is None:
        return standing
    share, needed = share_within(held, bound), fresh_runs_needed(probability)
    figures = {**share._asdict(), "asked": float(probability)}
    if share.high < probability:
        return [*standing, statement("rarely_within", fresh=True, **figures)]
    if share.runs < needed:
        return [*standing, statement("too_few_runs", fresh=True, runs=share.runs, needed=needed)]
    return standing if share.settled(probability) else [*standing, statement("share_unsettled", **figures)]


def _tie(view: RiskUtilityMap, index: int, bound: float) -> list[Statement]:
    """Return a note where a further measure picked a scenario among those that the rule cannot tell apart."""
    tie = view.tie_under(bound)
    if tie is None or tie.pick != index or tie.measure is None:
        return []
    measure, mean = view.measures[tie.measure].measure, view.summary.mean[:, tie.measure]
    figures = {"value": float(mean[index]), "instead": float(mean[tie.leader])}
    named = {"measure": lower_first(measure.title), "share_of": measure.share_of}
    return [statement("tie_broken", n=len(tie.among) - 1, **named, **figures)]


def _near_limit(view: RiskUtilityMap, index: int, bound: float) -> list[Statement]:
    """Return a caution where a limit on the mean is not met for certain."""
    mean, se = float(view.risk_loss[index]), float(view.summary.se[index, view.risk])
    runs = int(view.summary.counted[index])
    known = bool(np.isfinite(believed_errors(np.array([se]), np.array([runs]))[0]))
    if not mean <= bound or (known and bound >= mean + 2 * se):
        return []
    about = _compared(view, "over_limit", "mean", mean, limit=bound).values
    figures = {name: about[name] for name in ("measure", "value", "limit", "share_of")}
    return [statement("near_limit", **figures, runs=runs, noise_known=known)]


def _unaltered_within(view: RiskUtilityMap, bound: float) -> Statement:
    """Return a caution that no swap is needed to meet the limit."""
    about = _compared(view, "not_safer", "run", bound, original=float(view.original_losses[view.risk])).values
    named = {name: about[name] for name in ("measure", "original", "share_of")}
    return statement("limit_met_unaltered", **named, limit=about["value"])


def _title(view: RiskUtilityMap) -> str:
    return lower_first(view.measures[view.risk].measure.title)


def _compared(view: RiskUtilityMap, kind: str, of: str, loss: float, **other: float) -> Statement:
    """Return a statement on a loss of the map's risk measure beside another, both in the measure's own units."""
    measure = view.measures[view.risk].measure
    sign = -1.0 if measure.better == "higher" else 1.0
    against = {name: sign * value for name, value in other.items()}
    return statement(kind, of=of, measure=_title(view), value=sign * loss, **against, share_of=measure.share_of)


# -- a straight trade-off --------------------------------------------------------------------------------------------


def slope_of(study: Study, record: Mapping[str, Any]) -> float | None:
    """Return the slope that a recorded choice rests on: its own, or that of the plan whose rule picks it; None without
    one."""
    own, planned = record.get("slope"), study.plan.decision.slope
    if own is None and planned is not None and record.get("planned") is True:
        own = planned
    return None if own is None else float(own)


def beaten_by_original(view: RiskUtilityMap, index: int, slope: float) -> Statement | None:
    """Return a caution where a straight trade-off favours the unaltered file over a scenario, with the weighted sums of
    both: risk + slope × loss of utility, or the latter alone where the slope is infinite."""
    sums = view.beaten_by_original(index, slope)
    if sums is None:
        return None
    return statement("beaten_by_original", candidate=sums[0], original=sums[1], utility_only=slope == np.inf)
