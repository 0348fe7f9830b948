"""A bound on risk in words: the same everywhere.

A bound is a figure "of at most" so much, told in the unit of its measure and, of a share, in percent of what.  A run or
an average meets a bound or does not; a candidate is within it where its average, or as many of its runs as the plan
asks for, meet it.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

from engine.measures import MeasureCall


def figure_words(call: MeasureCall, value: float) -> str:
    """A figure of a risk measure with its unit: ``0.014 (1.4 % of unaltered records)``, ``12 records``."""
    measure = call.measure
    if measure.unit_kind == "count":
        return f"{value:.4g} {measure.unit}"
    return with_share(value, measure.share_of)


def with_share(value: float, share_of: str) -> str:
    """A share with what it is of; a figure alone where that is no share."""
    return f"{value:.4g} ({100 * value:.3g} % of {share_of})" if share_of else f"{value:.4g}"


def bound_words(call: MeasureCall, bound: float, n_records: int) -> str:
    """The amount that a bound allows, in records where its unit tells that; "" where the bound says all itself."""
    measure = call.measure
    if not measure.share_of:
        return ""
    share = f"{100 * bound:.3g} % of {measure.share_of}"
    most = int(Decimal(repr(bound)) * n_records)  # 0.29 of 100 is 29, and not 28
    if measure.share_of == "records":
        return f"That is {share}: {most:,} of {n_records:,}."
    if measure.of_unaltered:
        return (
            f"That is {share}. It is at most {most:,} records of {n_records:,}, and fewer the more records a candidate "
            "alters."
        )
    return f"That is {share}."


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
