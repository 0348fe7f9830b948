"""A bound on risk in words, and ways out where no candidate meets it: a larger rate, coarser keys.

A bound is a figure "of at most" so much, told in the unit of its measure and, of a share, in percent of what.  A run or
an average meets a bound or does not; a candidate is within it where its average, or as many of its runs as the plan
asks for, meet it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from engine.common.wording import lower_first
from engine.decision.statements import Statement, catalogue, statement
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.release.spec import percent as rate_percent
from engine.release.spec import rate_text
from engine.study.study import Study

_MOST = 0.5  # the largest rate that a straight line is followed to: beyond it few records are left as they were
_KEYS = 3  # keys that are named


@dataclass(frozen=True)
class UnmetBound:
    """A ``bound`` on risk that no candidate meets, as a loss (smaller is better).

    ``offered`` is a bound that new runs of the candidate with the least risk are likely to meet too: the least of many
    figures is partly luck.  ``next_rate`` is a swap rate to try (empty: risk does not fall with the rate, or no larger
    one exists), ``coarse_keys`` are tabulated attributes that have levels to merge, those with most first.
    ``statements`` tell the least risk reached, and what would lower it.
    """

    bound: float
    offered: float
    next_rate: str
    coarse_keys: tuple[str, ...]
    statements: tuple[Statement, ...]


def unmet_bound(study: Study, view: RiskUtilityMap, bound: float) -> UnmetBound | None:
    """The facts about a bound that nothing meets; None where a candidate meets it, or none has enough runs to be held
    against one."""
    bounded = np.where(np.isinf(view.bounded_risk), np.nan, view.bounded_risk)
    if np.isnan(bounded).all() or view.meets(bound).any():
        return None
    call, index = view.measures[view.risk], int(np.nanargmin(bounded))
    least, original = float(bounded[index]), float(view.original_losses[view.risk])
    told = [
        statement(
            "limit_unmet",
            limit=figure_words(call, bound),
            least=figure_words(call, least),
            share=None if view.single_runs is None else float(view.single_runs.probability),
            candidate=view.scenarios[index].label,
            original=figure_words(call, original) if original <= bound else "",
        )
    ]
    next_rate = ""
    by_rate: dict[str, float] = {}  # the least risk, of the random swaps that were run
    for scenario, risk in zip(view.scenarios, view.bounded_risk.tolist(), strict=True):
        if scenario.spec.by_roles and np.isfinite(risk):
            by_rate[scenario.spec.rate] = min(risk, by_rate.get(scenario.spec.rate, np.inf))
    if by_rate:
        rates = sorted(by_rate, key=Decimal)
        next_rate, reaches = _next_rate([(0.0, original), *((float(rate), by_rate[rate]) for rate in rates)], bound)
        told.append(
            statement(
                "larger_rate",
                rates=tuple(map(rate_percent, rates[-2:])),
                risks=tuple(figure_words(call, by_rate[rate]) for rate in rates[-2:]),
                next_rate=rate_percent(next_rate) if next_rate else "",
                reaches=reaches,
                most=_MOST,
            )
        )
    named = call.attributes or (study.plan.keys if call.measure.over == "keys" else ())
    n_levels = dict(zip(study.about["attributes"], study.about.get("levels", ()), strict=False))
    sizes = [(name, n_levels[name]) for name in named if name in n_levels]
    keys = sorted(sizes, key=lambda pair: -pair[1])[:_KEYS]
    coarse = {name: f"{name} ({n} levels)" for name, n in keys if n > 2}
    if keys:
        told.append(statement("coarser_keys", keys=tuple(coarse.values())))
    if view.single_runs is None:
        most = float(view.risk_loss[index] + 2 * np.nan_to_num(view.summary.se[index, view.risk]))
    else:
        most = float(np.nanmax(study.runs.of([index]).values[:, view.risk]))
    offered = reachable_bound(max(least, min(most, original)))
    return UnmetBound(bound, offered, next_rate, tuple(coarse), tuple(told))


def _next_rate(points: list[tuple[float, float]], bound: float) -> tuple[str, bool]:
    """A rate to try after points of rate and risk, ascending from 0 (the data unchanged), and whether a straight line
    through the last two meets the bound there; empty where risk does not fall, or no larger rate exists.

    It is rounded up to a whole percentage, above a tenth to a multiple of five.
    """
    (before, risk_before), (last, risk_last) = points[-2:]
    slope = (risk_last - risk_before) / (last - before) if last > before else 0.0
    if not slope < 0 or last >= 1:
        return "", False
    needed = last + (bound - risk_last) / slope
    reaches = needed <= _MOST
    rate = needed if reaches else min(1.0, 2 * last)
    step = Decimal("0.05") if rate > 0.1 else Decimal("0.01")
    steps = (Decimal(repr(round(rate, 9))) / step).to_integral_value(ROUND_CEILING)
    return rate_text(min(Decimal(1), steps * step)), reaches


# -- in words --------------------------------------------------------------------------------------------------------


def title_of(call: MeasureCall) -> str:
    """A measure's title with what is particular about it; never a file's name."""
    title, particulars = call.measure.title, []
    if call.measure.better == "zero":
        title = f"Size of {lower_first(title)}"
    for key, value in call.parameters:
        names_file = key == "file" or re.search(r"[/\\]|\.\w{2,8}$", str(value))
        if value != call.measure.parameters[key] and not names_file:
            particulars.append(f"{key.replace('_', ' ')} {value}")
    if call.attributes is not None:
        particulars.append("of " + " × ".join(call.attributes))
    return title + (f" ({', '.join(particulars)})" if particulars else "")


def in_words(macro: str, *values: Any) -> str:
    """Return a setting of a plan or a choice in words, by a macro of ``settings.jinja``."""
    return str(getattr(catalogue("settings.jinja", title_of=title_of), macro)(*values)).strip()


def figure_words(call: MeasureCall, value: float) -> str:
    """A figure of a risk measure with its unit: ``0.014 (1.4 % of unaltered records)``, ``12 records``."""
    measure = call.measure
    if measure.unit_kind == "count":
        return f"{value:.4g} {measure.unit}"
    return f"{value:.4g} ({100 * value:.3g} % of {measure.share_of})" if measure.share_of else f"{value:.4g}"


def bound_words(call: MeasureCall, bound: float, n_records: int) -> str:
    """The amount that a bound allows, in records where its unit tells that; "" where the bound says all itself."""
    measure = call.measure
    if not measure.share_of:
        return ""
    share = f"{100 * bound:.3g} % of {measure.share_of}"
    most = int(Decimal(repr(bound)) * n_records)  # 0.29 of 100 is 29, and not 28
    if measure.share_of == "records":
        return f"That is {share}: {most:,} of {n_records:,}."
    fewer = f" It is at most {most:,} records of {n_records:,}, and fewer the more records a candidate alters."
    return f"That is {share}." + (fewer if measure.of_unaltered else "")


def example_bound(doing_nothing: float | None, least: float | None = None) -> str:
    """A bound to begin with: half the risk of doing nothing, to two digits, and never less than the ``least`` risk that
    a candidate reached, where one is known; "" where the risk of doing nothing is none or not known."""
    if doing_nothing is None or not math.isfinite(doing_nothing) or doing_nothing <= 0:
        return ""
    half = doing_nothing / 2
    if least is not None and math.isfinite(least) and least > half:
        return f"{reachable_bound(least):g}"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    return f"{half:.{decimals}f}"


def reachable_bound(least: float) -> float:
    """A figure rounded up to two digits: a bound that whoever has the figure meets with some room."""
    if least <= 0:
        return 0.0
    step = Decimal(1).scaleb(Decimal(repr(least)).adjusted() - 1)
    return float((Decimal(repr(least)) / step).to_integral_value(ROUND_CEILING) * step)
