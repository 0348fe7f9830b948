"""Ways out where no candidate meets a bound on risk: the least risk reached, a larger rate, coarser keys."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np

from engine.decision.bound_words import figure_words, reachable_bound
from engine.decision.statements import Statement, statement
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.release.spec import percent as rate_percent
from engine.release.spec import rate_text
from engine.study.study import Study

_MOST = 0.5  # the largest rate that a straight line is followed to: beyond it few records are left as they were
_KEYS = 3  # keys that are named


@dataclass(frozen=True)
class RateTrend:
    """The trend of the least risk reached with the swap rate: at ``rates``, from the smallest to the largest, it is
    ``risks``. ``next_rate`` is one to try, None where risk does not fall with the rate or no larger one exists;
    ``reaches`` says whether a straight line through the last two rates meets the bound there."""

    rates: tuple[str, ...]
    risks: tuple[float, ...]
    next_rate: str | None = None
    reaches: bool = False


@dataclass(frozen=True)
class UnmetBound:
    """A ``bound`` on risk that no candidate meets (both as losses, smaller is better).

    ``least`` is the least figure that a bound is held against, of the scenario ``index``; ``original`` the risk of the
    data unchanged.  ``offered`` is a bound that new runs of that scenario are likely to meet too: the least of many
    figures is partly luck.  ``trend`` is None without a random swap; ``keys`` are the tabulated attributes that have
    most levels, with their numbers of levels.
    """

    call: MeasureCall
    bound: float
    least: float
    index: int
    original: float
    offered: float
    trend: RateTrend | None
    keys: tuple[tuple[str, int], ...]

    @property
    def coarse_keys(self) -> tuple[tuple[str, int], ...]:
        """Those of the ``keys`` that have levels to merge."""
        return tuple((name, n_levels) for name, n_levels in self.keys if n_levels > 2)


def unmet_bound(study: Study, view: RiskUtilityMap, bound: float) -> UnmetBound | None:
    """The facts about a bound that nothing meets; None where a candidate meets it, or none has enough runs to be held
    against one."""
    bounded = np.where(np.isinf(view.bounded_risk), np.nan, view.bounded_risk)
    if np.isnan(bounded).all() or view.meets(bound).any():
        return None
    call = view.measures[view.risk]
    index = int(np.nanargmin(bounded))
    return UnmetBound(
        call,
        bound,
        float(bounded[index]),
        index,
        float(view.original_losses[view.risk]),
        reachable_bound(_likely_most(study, view, index)),
        _trend(view, bound),
        _keys(study, call),
    )


def _likely_most(study: Study, view: RiskUtilityMap, index: int) -> float:
    """The largest likely figure of new runs of a scenario that is held against a bound: the greatest of its runs, or
    where the bound is on the mean, two standard errors above it; no more than doing nothing has, where the scenario is
    safer than that."""
    if view.single_runs is None:
        most = float(view.risk_loss[index] + 2 * np.nan_to_num(view.summary.se[index, view.risk]))
    else:
        most = float(np.nanmax(study.runs.of([index]).values[:, view.risk]))
    least, nothing = float(view.bounded_risk[index]), float(view.original_losses[view.risk])
    return max(least, min(most, nothing))


def _trend(view: RiskUtilityMap, bound: float) -> RateTrend | None:
    """The least risk by rate, over the random swaps that were run."""
    least: dict[str, float] = {}
    for scenario, risk in zip(view.scenarios, view.bounded_risk.tolist(), strict=True):
        if scenario.spec.by_roles and np.isfinite(risk):
            least[scenario.spec.rate] = min(risk, least.get(scenario.spec.rate, np.inf))
    if not least:
        return None
    rates = tuple(sorted(least, key=Decimal))
    risks = tuple(least[rate] for rate in rates)
    # Rate 0 is the data unchanged.
    points = [(0.0, float(view.original_losses[view.risk])), *zip(map(float, rates), risks, strict=True)]
    (before, risk_before), (last, risk_last) = points[-2:]
    slope = (risk_last - risk_before) / (last - before) if last > before else 0.0
    if not slope < 0 or last >= 1:
        return RateTrend(rates, risks)
    needed = last + (bound - risk_last) / slope
    reaches = needed <= _MOST
    return RateTrend(rates, risks, _round_rate(needed if reaches else min(1.0, 2 * last)), reaches)


def _round_rate(rate: float) -> str:
    """A rate rounded up to a whole percentage, above a tenth to a multiple of five."""
    step = Decimal("0.05") if rate > 0.1 else Decimal("0.01")
    steps = (Decimal(repr(round(rate, 9))) / step).to_integral_value(ROUND_CEILING)
    return rate_text(min(Decimal(1), steps * step))


def _keys(study: Study, call: MeasureCall) -> tuple[tuple[str, int], ...]:
    """The attributes that a risk tabulates, those with most levels first; none where it tabulates no keys."""
    named = call.attributes or (study.plan.keys if call.measure.over == "keys" else ())
    about = study.about
    n_levels = dict(zip(about["attributes"], about.get("levels", ()), strict=False))
    sizes = [(name, n_levels[name]) for name in named if name in n_levels]
    return tuple(sorted(sizes, key=lambda pair: -pair[1])[:_KEYS])


def unmet_statements(unmet: UnmetBound, view: RiskUtilityMap) -> list[Statement]:
    """Return the least risk reached, and what would lower it: a larger rate, coarser keys."""
    told = [
        statement(
            "limit_unmet",
            limit=figure_words(unmet.call, unmet.bound),
            least=figure_words(unmet.call, unmet.least),
            share=None if view.single_runs is None else float(view.single_runs.probability),
            candidate=view.scenarios[unmet.index].label,
            original=figure_words(unmet.call, unmet.original) if unmet.original <= unmet.bound else "",
        )
    ]
    if trend := unmet.trend:
        told.append(
            statement(
                "larger_rate",
                rates=tuple(map(rate_percent, trend.rates[-2:])),
                risks=tuple(figure_words(unmet.call, risk) for risk in trend.risks[-2:]),
                next_rate="" if trend.next_rate is None else rate_percent(trend.next_rate),
                reaches=trend.reaches,
                most=_MOST,
            )
        )
    if unmet.keys:
        keys = tuple(f"{name} ({n} levels)" for name, n in unmet.coarse_keys)
        told.append(statement("coarser_keys", keys=keys))
    return told
