"""Obstacles and cautions of one run that is to be released, as statements.

A limit on the mean does not bind the one run that is released.  So the run itself must meet the limit and be less risky
than the unaltered file, its scenario must have enough runs, and fresh runs must confirm the figure.  A recorded reason
can overrule an obstacle; page 1 then prints both.  No reason overrules that the run changes nothing: the file would be
the original.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.wording import lower_first
from engine.decision.statements import Statement, Value, statement
from engine.decision.verdict_log import logged_verdict, why_not_made
from engine.frontier.choosing import fresh_runs_needed, is_safer, run_quantiles, runs_needed, share_within
from engine.frontier.risk_utility_map import RiskUtilityMap, over_limits
from engine.frontier.summary import believed_errors
from engine.release.scenarios import Results, RunStatus
from engine.study.ledger import bound_origin
from engine.study.map_reader import risk_bound
from engine.study.study import Study

if TYPE_CHECKING:
    from engine.sweeps.remake import Remade

FAR_ABOVE_RATE = 2.0
"""Times the share of altered records of all from which on that of a group is far above it."""
_ERRORS = 3.0  # standard errors of a count, by which a share is above the limit before a caution is given


def counted_losses(view: RiskUtilityMap, runs: Results) -> np.ndarray:
    """Return the figures of the map's risk measure in the runs that count, turned so that smaller is better."""
    loss = view.measures[view.risk].measure.loss(runs.values[runs.counted(view.allow_partial), view.risk])
    return np.asarray(loss, float)


def held_losses(view: RiskUtilityMap, runs: Results) -> np.ndarray:
    """Return the same figures, infinite where a run is over a limit of an edit rule: a bound is held against these."""
    over = over_limits(runs.values[runs.counted(view.allow_partial)], view.edit_limits)
    return np.where(over, np.inf, counted_losses(view, runs))


@dataclass(frozen=True)
class ReleasedRun:
    """The run to be released among the runs of its scenario that count, under the map's risk measure.

    It takes the ``place`` (1 is the least risky; equal runs share the better one) ``of`` so many runs; ``released`` is
    its figure, which ``as_safe`` of them have, itself among them (None in findings of an earlier version).  ``mean`` is
    that of all, ``quantile`` what the share ``asked`` of the runs does not exceed (None where the limit is on the
    mean).  ``within`` of them meet the limit, which says of all runs that a share from ``low`` to ``high`` does (95 %
    confidence); None without a limit.  Of ``fresh`` runs, made to check the choice, ``fresh_within`` meet it, which
    says the same from ``fresh_low`` to ``fresh_high``; None without such runs.
    """

    place: int
    of: int
    title: str
    unit: str
    released: float | None
    mean: float | None
    quantile: float | None
    asked: float | None
    within: int | None
    low: float | None
    high: float | None
    fresh: int | None = None
    fresh_within: int | None = None
    fresh_low: float | None = None
    fresh_high: float | None = None
    as_safe: int | None = None

    @property
    def statements(self) -> list[Statement]:
        """The place of the run, and how many of its siblings meet the limit."""
        place = statement("run_place", place=self.place, of=self.of, as_safe=self.as_safe or 1)
        if self.within is None:
            return [place]
        share = {"within": self.within, "runs": self.of, "low": self.low, "high": self.high, "asked": self.asked}
        return [place, statement("runs_within", fresh=False, **share)]


def released_run(
    study: Study,
    view: RiskUtilityMap,
    runs: Results,
    row: int,
    record: Mapping[str, Any],
    figures: np.ndarray | None = None,
) -> ReleasedRun:
    """Return where the run ``row`` stands among ``runs``, those of one scenario; ``record`` is that of the choice.

    ``figures`` are those of ``runs`` that are shown, in another unit than the places are by.
    """
    measure, asked = view.measures[view.risk].measure, study.plan.decision.run_share
    counted, column = runs.counted(view.allow_partial), runs.values[:, view.risk]
    losses, own = counted_losses(view, runs), measure.loss(column[row : row + 1])
    shown = np.asarray(measure.loss(column if figures is None else figures), float)
    quantile, sign = np.nan, -1 if measure.better == "higher" else 1
    if asked is not None:
        quantile = run_quantiles(shown[counted], np.zeros(len(losses), np.int64), 1, asked).quantile[0]
    mean = shown[counted].mean() if len(losses) else np.nan
    released = shown[row] if counted[row] else np.nan
    bound = risk_bound(study, view.risk, record.get("bound"))
    share = fresh = None
    if bound is not None:
        again = held_losses(view, study.runs.of([int(runs.scenario[row])], "fresh"))
        share = share_within(held_losses(view, runs), bound)
        fresh = share_within(again, bound) if len(again) else None
    return ReleasedRun(
        place=1 + int(np.count_nonzero(losses < own)),
        of=len(losses),
        title=measure.title,
        unit=measure.unit,
        released=figure_or_none(sign * released),
        mean=figure_or_none(sign * mean),
        quantile=figure_or_none(sign * quantile),
        asked=None if asked is None else float(asked),
        within=share and share.within,
        low=share and share.low,
        high=share and share.high,
        fresh=fresh and fresh.runs,
        fresh_within=fresh and fresh.within,
        fresh_low=fresh and fresh.low,
        fresh_high=fresh and fresh.high,
        as_safe=int(np.count_nonzero(losses == own)),
    )


def figure_or_none(value: float) -> float | None:
    """A figure, None where it is undefined (NaN)."""
    return None if np.isnan(value) else float(value)


def gate(study: Study, view: RiskUtilityMap, runs: Results, row: int, record: Mapping[str, Any]) -> list[Statement]:
    """Return the obstacles to releasing the run ``row`` of ``runs``, those of one scenario, and then the cautions about
    its choice, which ``record`` holds."""
    index = int(runs.scenario[row])
    bound, chosen = risk_bound(study, view.risk, record.get("bound")), record.get("bound")
    fresh = study.runs.of([index], "fresh")
    found = obstacles(view, runs, row, bound, fresh)
    verdict = logged_verdict(study, f"{study.scenarios[index].label}/{int(runs.replicate[row])}")
    if verdict is not None and (why := why_not_made(study, verdict)):
        found.append(statement("not_attacked", why=why))
    if bound is not None and (original := view.original_losses[view.risk]) <= bound:
        found.append(statement("limit_met_unaltered", **_figures(view, original=original, limit=bound)))
    if chosen is not None:
        origin = bound_origin(study, float(chosen))
        found += [] if origin == "fixed" else [statement("limit_set_late", origin=origin)]
        found += _tie(view, index, float(chosen))
    slope = slope_of(study, record)
    if slope is not None and (beaten := beaten_by_original(view, index, slope)):
        found.append(beaten)
    if record.get("planned") is False:
        found.append(statement("off_plan"))
    if runs.status[row] == RunStatus.FAILED:
        found.append(statement("partial_run", changed=int(runs.changed[row])))
    if bound is not None and view.single_runs is None:
        found += _near_limit(view, index, bound)
    for k, call in enumerate(view.measures):  # without the records no group has a name
        if call.measure.name == "altered_share_max" and (share := float(view.summary.mean[index, k])) > FAR_ABOVE_RATE:
            found.append(statement("uneven_group", group=None, times=share))
    if not len(fresh):
        found.append(statement("not_rechecked"))
    progress = study.progress
    if progress.state != "finished":
        state = str(progress.state)
        found.append(statement("sweep_unfinished", state=state, done=progress.done, total=progress.total))
    return found


def obstacles(view: RiskUtilityMap, runs: Results, row: int, bound: float | None, fresh: Results) -> list[Statement]:
    """Return what stands against releasing the run ``row`` of ``runs``, the runs of one scenario.

    ``bound`` is in the units of the map's risk measure turned so that smaller is better; None where no bound was set.
    ``fresh`` are the scenario's fresh runs.
    """
    measure, losses = view.measures[view.risk].measure, counted_losses(view, runs)
    value = float(measure.loss(runs.values[row : row + 1, view.risk])[0])
    mean, single = losses.mean() if len(losses) else np.nan, view.single_runs
    asked = Fraction(1, 2) if single is None else single.probability
    found = [statement("changes_nothing")] if runs.is_void(row) else []
    if np.isnan(value):
        found.append(statement("no_figure", of="run", measure=lower_first(measure.title)))
    found += [*_over_limit(view, "run", value, bound), *_not_safer(view, "run", value)]
    found += _over_edit_limit(view, "run", runs.values[row])
    found += over_edit_limits(view, int(runs.scenario[row]))
    again = fresh.values[fresh.counted(view.allow_partial)]
    if single is None and len(again):
        found += _over_edit_limit(view, "fresh", again.mean(axis=0))
    found += _not_safer(view, "mean", mean)
    if len(losses) < (needed := runs_needed(asked)):
        found.append(statement("too_few_runs", fresh=False, runs=len(losses), needed=needed))
    if bound is None:
        return found
    if single is None:
        if np.isnan(mean) and not np.isnan(value):
            found.append(statement("no_figure", of="mean", measure=lower_first(measure.title)))
        found += _over_limit(view, "mean", mean, bound)
    else:
        share = share_within(held_losses(view, runs), bound)
        if share.within < asked * share.runs:
            found.append(statement("rarely_within", fresh=False, **share._asdict(), asked=float(asked)))
    return found + _of_fresh_runs(view, fresh, bound) if len(again) else found


def _over_limit(view: RiskUtilityMap, of: str, loss: float, bound: float | None) -> list[Statement]:
    if bound is None or not loss > bound:
        return []
    return [statement("over_limit", of=of, **_figures(view, value=loss, limit=bound))]


def _not_safer(view: RiskUtilityMap, of: str, loss: float) -> list[Statement]:
    """Return an obstacle where a loss is not below that of the unaltered file; one that is undefined sets no limit."""
    original = float(view.original_losses[view.risk])
    if np.isnan(loss) or np.isnan(original) or is_safer(np.array(loss), original):
        return []
    return [statement("not_safer", of=of, **_figures(view, value=loss, original=original))]


def _over_edit_limit(view: RiskUtilityMap, of: str, values: np.ndarray) -> list[Statement]:
    """Return the limits of edit rules that ``values``, one for each measure, are over."""
    share = None if of != "runs" or view.single_runs is None else float(view.single_runs.probability)
    return [
        statement("over_edit_limit", of=of, rule=limit.rule, records=records, at_most=limit.at_most, share=share)
        for limit in view.edit_limits
        if (records := float(values[limit.column])) > limit.at_most
    ]


def over_edit_limits(view: RiskUtilityMap, index: int) -> list[Statement]:
    """Return the limits of edit rules that a scenario is over: each alone or, in single runs, several together."""
    if view.of_rules is None:
        return []
    values = np.full(len(view.measures), np.nan)
    values[[limit.column for limit in view.edit_limits]] = view.of_rules[index]
    single, results = view.single_runs, view.results
    found = _over_edit_limit(view, "mean" if single is None else "runs", values)
    if found or single is None:
        return found
    runs = results.values[(results.scenario == index) & results.counted(view.allow_partial)]
    over = over_limits(runs, view.edit_limits)
    if len(runs) - over.sum() >= single.probability * len(runs):
        return []
    rules = tuple(limit.rule for limit in view.edit_limits if over_limits(runs, [limit]).any())
    within = {"within": int(np.count_nonzero(~over)), "runs": len(runs), "asked": float(single.probability)}
    return [statement("over_edit_limits", rules=rules, **within)]


def _of_fresh_runs(view: RiskUtilityMap, fresh: Results, bound: float) -> list[Statement]:
    """Return the obstacles that fresh runs raise: a mean above the bound, and a share of runs within it that is refuted
    (its upper limit is below the share that the plan asks for), rests on too few runs, or is not settled."""
    found = _over_limit(view, "fresh", counted_losses(view, fresh).mean(), bound)
    if view.single_runs is None:
        return found
    asked, share = view.single_runs.probability, share_within(held_losses(view, fresh), bound)
    figures = {**share._asdict(), "asked": float(asked)}
    if share.high < asked:
        found.append(statement("rarely_within", fresh=True, **figures))
    elif share.runs < (needed := fresh_runs_needed(asked)):
        found.append(statement("too_few_runs", fresh=True, runs=share.runs, needed=needed))
    elif not share.settled(asked):
        found.append(statement("share_unsettled", **figures))
    return found


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
    return [statement("near_limit", **_figures(view, value=mean, limit=bound), runs=runs, noise_known=known)]


def _figures(view: RiskUtilityMap, **losses: float) -> dict[str, Value]:
    """Return losses of the map's risk measure in its own units, with its name and what a share is of."""
    measure = view.measures[view.risk].measure
    sign = -1.0 if measure.better == "higher" else 1.0
    turned = {name: sign * float(loss) for name, loss in losses.items()}
    return {"measure": lower_first(measure.title), **turned, "share_of": measure.share_of}


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


# -- who carries the change ------------------------------------------------------------------------------------------
# A swap of an attribute with a small level alters much of that level and little of the others, whatever its rate.  The
# shares give the rate away: the board and the analyst see them, never the public.


@dataclass(frozen=True)
class AlteredGroup:
    """The released records of one ``level`` of one ``attribute``: how many ``records`` they are, how many of them are
    ``altered`` in any attribute, and the ``share`` of these.  Several tables are averaged, and counts rounded."""

    attribute: str
    level: str
    records: int
    altered: int
    share: float

    @property
    def name(self) -> str:
        """The group in words."""
        return f"{self.attribute}: {self.level}"


def altered_share(realisation: Remade) -> float:
    """Share of records that are altered in any attribute, averaged over tables."""
    return float(np.mean([mask.mean() for mask in _masks(realisation)]))


def altered_groups(realisation: Remade, min_n: int) -> tuple[AlteredGroup, ...]:
    """Every level of every attribute that the release has: those of more than ``min_n`` records first, of these the
    most altered first."""
    masks, rows = _masks(realisation), []
    for j, attribute in enumerate(realisation.data.domain.attributes):
        codes = [realisation.codes(j, d) for d in range(len(masks))]
        records = np.mean([np.bincount(own, minlength=attribute.size) for own in codes], axis=0)
        counts = [np.bincount(own, mask, attribute.size) for own, mask in zip(codes, masks, strict=True)]
        altered = np.mean(counts, axis=0)
        for level in np.flatnonzero(records).tolist():
            share = float(altered[level] / records[level])
            label = attribute.levels[level]
            rows.append(AlteredGroup(attribute.name, label, round(records[level]), round(altered[level]), share))
    return tuple(sorted(rows, key=lambda group: (group.records <= min_n, -group.share, -group.records)))


def group_caution(groups: Sequence[AlteredGroup], rate: float, min_n: int) -> Statement | None:
    """A caution where the share of a group of more than ``min_n`` records is far above that of all (``rate``); of
    several groups it names the one with the largest share.

    Far above is more than :data:`FAR_ABOVE_RATE` times the rate, and by more than chance
    explains: three standard errors of a count of records.
    """

    def is_far_above(group: AlteredGroup) -> bool:
        limit = FAR_ABOVE_RATE * rate * group.records
        return group.records > min_n and group.share * group.records > limit + _ERRORS * math.sqrt(limit)

    uneven = [group for group in groups if rate > 0 and is_far_above(group)]
    if not uneven:
        return None
    worst = max(uneven, key=lambda group: group.share)
    return statement("uneven_group", group=worst.name, times=worst.share / rate)


def _masks(realisation: Remade) -> list[np.ndarray]:
    original = realisation.data.codes
    return [
        np.any([table.codes(j) != codes for j, codes in enumerate(original)], axis=0) for table in realisation.tables
    ]
