"""The rate of a swap from figures before and after of which only intervals are known.

A swap at rate r changes a figure by ``slope * r`` on average, with variance ``variance * r``: records that leave a
level carry its values along, those that arrive bring the values of the others.  A figure that is printed roughly tells
in which interval its change lies; the likelihood of r is the product of the intervals' probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

LEAST_RATE = 1e-4
RATES = np.geomspace(LEAST_RATE, 1.0, 600)
"""The rates that are tried."""
_DROP = 3.841458820694124 / 2  # of the log likelihood, at the ends of a 95 % interval
_POINT = 1e-3  # an interval of so few standard deviations is a point
_EXACT = 1e-6  # standard deviations at a rate of 1 that an exact figure is taken to be wide
_NEVER = -1e6


class Shift(NamedTuple):
    """A change of one figure: its interval from ``low`` to ``high``, expected change and variance per unit of the rate;
    ``either`` if only its size is known, whichever way it went."""

    low: float
    high: float
    slope: float
    variance: float
    either: bool = False


class RateEstimate(NamedTuple):
    """A rate by least squares with its standard error, cells taken as independent."""

    rate: float
    error: float


def rate_estimate(shifts: Sequence[Shift]) -> RateEstimate:
    """``sum w change slope / sum w slope^2`` with ``w = 1 / variance`` and the middles of intervals; not a number where
    no figure tells anything."""
    used = [s for s in shifts if s.variance > 0 and np.isfinite([s.low, s.high]).all() and not s.either]
    information = sum(s.slope**2 / s.variance for s in used)
    if not information:
        return RateEstimate(math.nan, math.nan)
    rate = sum((s.low + s.high) / 2 * s.slope / s.variance for s in used) / information
    return RateEstimate(rate, math.sqrt(max(rate, 0.0) / information))


def rate_interval(shifts: Sequence[Shift]) -> tuple[float, float]:
    """The rates (0 to 1) that a likelihood-ratio test at 5 % does not reject; 0 to 1 where no figure tells anything.

    An end at the edge of the rates that are tried is 0 or 1.  Figures are taken as independent.
    """
    used = tuple(s for s in shifts if s.variance > 0)
    return _interval(used) if used else (0.0, 1.0)


@lru_cache(maxsize=64)  # figures are told step by step more coarsely, and many stay as they are
def _interval(shifts: tuple[Shift, ...]) -> tuple[float, float]:
    total = np.zeros(len(RATES))
    for shift in shifts:
        total += _of_shift(shift)
    return likely_rates(total)


def likely_rates(total: np.ndarray) -> tuple[float, float]:
    """The interval of :func:`rate_interval`, from the log likelihood of each of :data:`RATES`."""
    inside = np.flatnonzero(total >= total.max() - _DROP)
    first, last = int(inside[0]), int(inside[-1])
    return (0.0 if first == 0 else float(RATES[first - 1])), float(RATES[min(last + 1, len(RATES) - 1)])


def _of_shift(shift: Shift) -> np.ndarray:
    """By rate, up to a constant."""
    room = max(0.0, _EXACT * math.sqrt(shift.variance) - (shift.high - shift.low)) / 2
    low, high = np.array(shift.low - room), np.array(shift.high + room)
    return log_likelihood(low, high, np.array(shift.slope), np.array(shift.variance), RATES, either=shift.either)


def log_likelihood(
    low: np.ndarray, high: np.ndarray, slope: np.ndarray, variance: np.ndarray, rates: np.ndarray, *, either: bool
) -> np.ndarray:
    """Logarithm of the probability that a change lies between its ends, at each rate; arrays are broadcast.  Where the
    change went ``either`` way the ends are those of its size."""
    spread, centre = np.sqrt(variance * rates), slope * rates
    low = np.maximum(low, 0.0) if either else low
    ends = [(low, high), (-high, -low)] if either else [(low, high)]
    return np.asarray(np.logaddexp.reduce([_log_mass((a - centre) / spread, (b - centre) / spread) for a, b in ends]))


def _log_mass(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Logarithm of the standard normal probability between two points."""
    from scipy.special import log_ndtr

    swap = low > 0  # where both are in the upper tail the lower one tells the same without loss
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    upper, lower = log_ndtr(high), log_ndtr(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = upper + np.log1p(-np.exp(np.minimum(lower - upper, 0.0)))
        point = -(((low + high) / 2) ** 2) / 2 - math.log(math.sqrt(2 * math.pi)) + np.log(high - low)
    return np.asarray(np.where(high - low < _POINT, point, np.maximum(exact, _NEVER)))
